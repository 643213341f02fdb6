"""Other ways of keeping a model: pickle, joblib, copies, skops."""

import copy
import pickle

import joblib
import numpy as np
import pytest

from auctor import LinearRegressor, MetricClassifier, streaming
from auctor.lab import learners
from auctor.saved.values import parts
from tests.saved.models import MODELS, NUMBERS, THREE, TWO, X, fitted, same

KEPT = [
    (MetricClassifier("auc"), TWO),
    (MODELS[3], THREE),
    (MODELS[4], TWO),
    (MODELS[5], TWO),
    (MODELS[6], TWO),
    (MODELS[7], TWO),
    (LinearRegressor("huber"), NUMBERS),
    (streaming.StreamingAUC(window=50), TWO),
    (learners.Spam(penalty="l1"), TWO),
]


@pytest.mark.parametrize(
    ("model", "y"), KEPT, ids=lambda value: "" if isinstance(value, np.ndarray) else str(value)
)
def test_pickle_joblib_and_copy(model, y, tmp_path):
    model = fitted(model, y)
    joblib.dump(model, tmp_path / "j")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        joblib.load(tmp_path / "j"),
    ):
        assert same(vars(model), vars(other))
        assert same(model.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("model", "y"), KEPT, ids=lambda value: "" if isinstance(value, np.ndarray) else str(value)
)
def test_skops_needs_to_trust_auctor_alone(model, y):
    skops = pytest.importorskip("skops.io")
    model = fitted(model, y)
    content = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=content)
    assert all(name.startswith("auctor.") for name in unknown), unknown
    other = skops.loads(content, trusted=unknown)
    assert same(vars(model), vars(other))
    assert same(model.predict(X), other.predict(X))


@pytest.mark.parametrize("name", sorted(parts()))
def test_losses_penalties_and_solvers_can_be_sent_to_workers(name):
    part = parts()[name]
    for one in getattr(part, "examples", list)() or [part()]:
        assert same(vars(one), vars(pickle.loads(pickle.dumps(one))))
