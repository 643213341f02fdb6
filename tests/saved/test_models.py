"""Model files: what comes back is what was saved."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import auctor
from auctor import LinearRegressor, MetricClassifier, losses, streaming
from auctor.core.errors import DataError
from auctor.lab import learners
from auctor.saved import classes, read_saved
from auctor.saved.store import FORMAT
from tests.saved.models import (
    LEARNERS,
    MODELS,
    NUMBERS,
    THREE,
    TWO,
    X,
    fitted,
    roundtrip,
    same,
    without_solutions,
)


@pytest.mark.sample(2)
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.filterwarnings("ignore::auctor.DataWarning")
def test_classifiers_come_back(model, y, tmp_path):
    if y is THREE and isinstance(model.class_weight, dict):
        model = clone(model).set_params(class_weight={0: 1.0, 1: 2.0, 2: 0.5})
    model = fitted(model, y)
    other = roundtrip(model, tmp_path / "m")
    assert same(vars(model), vars(other))
    assert same(model.predict(X), other.predict(X))
    assert same(model.decision_function(X), other.decision_function(X))
    assert model.score(X, y) == other.score(X, y)
    if model.calibrate:
        assert same(model.predict_proba(X), other.predict_proba(X))
    auctor.save(other, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


@pytest.mark.parametrize("loss", ["squared", "poisson", losses.Quantile(0.9, 0.1)], ids=str)
def test_regressors_come_back(loss, tmp_path):
    model = LinearRegressor(loss, penalty="l1").fit(X, np.abs(NUMBERS))
    other = roundtrip(model, tmp_path / "m")
    assert same(vars(model), vars(other))
    assert np.shares_memory(other.coef_, other.solution_.coef)
    assert same(model.predict(X), other.predict(X))


@pytest.mark.sample(3)
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("whole", [True, False], ids=["fit", "partial_fit"])
def test_learners_go_on_where_they_were(learner, whole, tmp_path):
    learner = clone(learner)
    if isinstance(learner.get_params().get("means"), str) and learner.means == "data" and not whole:
        pytest.skip("needs all rows at once")
    learner.fit(X, TWO) if whole else learner.partial_fit(X[:77], TWO[:77])
    other = roundtrip(learner, tmp_path / "m")
    assert same(vars(learner), vars(other))
    assert same(learner.decision_function(X), other.decision_function(X))
    more = np.random.default_rng(3).normal(size=(90, 5))
    if learner.grow:
        more = np.hstack([more, more, more])
    for each in (learner, other):
        for low in range(0, 90, 31):
            each.partial_fit(more[low : low + 31], TWO[low : low + 31][: len(more[low : low + 31])])
    assert same(vars(learner), vars(other))
    assert same(learner.coef_, other.coef_)


def test_every_learner_is_tested():
    exported = [getattr(room, name) for room in (streaming, learners) for name in room.__all__]
    known = {kind for kind in exported if isinstance(kind, type)} - {streaming.OnlineClassifier}
    known = {kind for kind in known if issubclass(kind, streaming.OnlineClassifier)}
    assert {type(learner) for learner in LEARNERS} == known
    assert {kind.__name__ for kind in known} == set(classes.LEARNERS)


def test_every_class_of_a_file_is_where_the_table_says():
    for name in classes.CLASSES:
        assert classes.class_of(name).__name__ == name


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7], dtype=np.int8),
        np.array([0, 2**63], dtype=np.uint64),
        np.array([-1.0, 1.0], dtype=np.float32),
        np.array([1.0, 2.0]).astype(">f8"),
        np.array([False, True]),
        np.array(["no", "ja ü"]),
        np.array([b"a", b"bc"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda labels: labels.dtype.str,
)
@pytest.mark.parametrize("model", [MetricClassifier("log_loss"), learners.Spam()], ids=str)
def test_labels_of_every_kind(labels, model, tmp_path):
    if labels.dtype.kind == "S" and isinstance(model, MetricClassifier):
        pytest.skip("scikit-learn refuses bytes")
    model = clone(model).fit(X, labels[TWO])
    other = roundtrip(model, tmp_path / "m")
    assert same(model.classes_, other.classes_)
    assert same(model.predict(X), other.predict(X))


def test_names_of_columns(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b b", "ü", "</script>", ""])
    other = roundtrip(MetricClassifier("auc").fit(table, TWO), tmp_path / "m")
    assert other.feature_names_in_.tolist() == list(table.columns)
    assert other.predict(table).shape == (120,)
    with pytest.raises(DataError, match="names"):
        other.predict(table[table.columns[::-1]])


def test_schema_and_notes_and_paths(tmp_path):
    model = fitted(MODELS[0])
    notes = {
        "auc": np.float64(0.5),
        "none": np.nan,
        "rows": (1, 2),
        "out": tmp_path,
        "a": {"b": []},
    }
    auctor.save(model, str(tmp_path / "m"), schema={"columns": []}, notes=notes)
    saved = read_saved(tmp_path / "m")
    assert saved.schema == {"columns": []}
    assert saved.notes == {
        "auc": 0.5,
        "none": None,
        "rows": [1, 2],
        "out": str(tmp_path),
        "a": {"b": []},
    }
    assert saved.meta["version"] == auctor.__version__
    assert saved.meta["format"] == FORMAT
    assert os.listdir(tmp_path) == ["m"]


def test_a_wide_sparse_model_is_small(tmp_path):
    model = fitted(MODELS[0])
    d = 1_000_000
    wide = np.zeros((1, d))
    wide[0, ::10_000] = np.arange(100) - 50.0
    wide[0, 3] = -0.0
    without_solutions(model, coef=wide, ranges=None).n_features_in_ = d
    other = roundtrip(model, tmp_path / "m")
    assert same(model.coef_, other.coef_)
    assert (tmp_path / "m").stat().st_size < 10_000


def test_a_model_that_was_changed_by_hand(tmp_path):
    """Scaling of columns folded into the weights: the solution keeps its own."""
    model = fitted(MODELS[0])
    changed = replace(model.model_, coef=model.coef_ * 2.0)
    model.result_ = replace(model.result_, model=changed)
    other = roundtrip(model, tmp_path / "m")
    assert same(vars(model), vars(other))


def test_fitting_goes_on_from_a_loaded_model(tmp_path):
    model = MetricClassifier("log_loss", warm_start=True, max_iter=5000).fit(X, TWO)
    other = roundtrip(model, tmp_path / "m")
    assert same(model.fit(X, TWO).coef_, other.fit(X, TWO).coef_)
