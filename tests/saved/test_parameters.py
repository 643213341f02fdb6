"""Parameters in model files, and what cannot be saved."""

import json
import os

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import auctor
from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV, penalties, streaming
from auctor import solvers as solver_module
from auctor.core.errors import ParameterError
from auctor.lab import learners
from auctor.losses import BaseLoss
from auctor.saved.values import CODEC, parts
from tests.saved.models import MODELS, TWO, X, fitted, roundtrip, same

# --- parameters -----------------------------------------------------------------------------------


def examples():
    for name, part in parts().items():
        for k, example in enumerate(getattr(part, "examples", list)() or [part()]):
            yield pytest.param(example, id=f"{name}-{k}")


@pytest.mark.parametrize("part", list(examples()))
def test_every_exported_part_comes_back(part):
    arrays = {}
    value = json.loads(json.dumps(CODEC.encode(part, "p", arrays), allow_nan=False))
    other = CODEC.decode(value, arrays)
    assert not arrays
    assert same(vars(part), vars(other))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        "text ü",
        np.inf,
        [1, [2.0, "x"], (3, None)],
        {1: "a", "b": {2.5: [np.nan]}},
        np.arange(3),
        (np.arange(2), {"k": np.array(["a"], dtype=object)}),
        penalties.Sum(penalties.L1(0.1), penalties.Box(-1.0, np.array([1.0, 2.0]))),
        solver_module.Continuation(solver_module.Lbfgs()),
    ],
    ids=str,
)
def test_values(value):
    arrays = {}
    text = json.dumps(CODEC.encode(value, "p", arrays), allow_nan=False)
    assert same(value, CODEC.decode(json.loads(text), arrays))


class Own(BaseLoss):
    def value_grad(self, scores, target):
        return 0.0, scores


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"metric": Own()}, "metric"),
        ({"penalty": type("Mine", (penalties.L1,), {})(0.1)}, "penalty"),
        ({"random_state": np.random.default_rng(0)}, "random_state"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
        ({"class_weight": {0: print}}, "class_weight"),
        ({"strength": -1.0}, "strength"),
        ({"strength": 10**30}, "strength"),
        ({"n_threads": 10**9}, "n_threads"),
        ({"class_weight": "\ud800"}, "surrogates"),
        ({"class_weight": np.array(["\ud800"])}, "class_weight"),
        ({"class_weight": np.array(["2020"], dtype="M8[Y]")}, "class_weight"),
        ({"solver": "none"}, "solver"),
    ],
)
def test_parameters_that_cannot_be_saved(params, word, tmp_path):
    model = fitted(MODELS[0]).set_params(**params)
    with pytest.raises(ParameterError, match=word):
        auctor.save(model, tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_searches_with_objects(tmp_path):
    model = fitted(MODELS[7]).set_params(cv=StratifiedKFold(3))
    with pytest.raises(ParameterError, match=r"params\.cv .*StratifiedKFold"):
        auctor.save(model, tmp_path / "m")
    model.set_params(cv=[(np.arange(60), np.arange(60, 120))], scoring="roc_auc")
    assert roundtrip(model, tmp_path / "m").scoring == "roc_auc"


# --- what cannot be saved -------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MetricClassifier(), learners.Spam(), LinearRegressor()], ids=str)
def test_models_without_a_fit(model, tmp_path):
    with pytest.raises(ParameterError, match="fitted"):
        auctor.save(model, tmp_path / "m")


def test_a_search_that_did_not_refit(tmp_path):
    model = MetricClassifierCV(refit=False, n_strengths=2, cv=2).fit(X, TWO)
    with pytest.raises(ParameterError, match="fitted"):
        auctor.save(model, tmp_path / "m")


def test_other_models(tmp_path):
    class Mine(MetricClassifier):
        pass

    for model in (Mine().fit(X, TWO), streaming.Riverlike(learners.Spam(grow=True)), 3, None):
        with pytest.raises(ParameterError, match="save needs one of MetricClassifier"):
            auctor.save(model, tmp_path / "m")


@pytest.mark.parametrize("what", ["coef_", "intercept_", "threshold_"])
def test_models_that_are_not_finite(what, tmp_path):
    model = fitted(MODELS[0])
    getattr(model, what).flat[0] = np.nan
    with pytest.raises(ParameterError, match="finite"):
        auctor.save(model, tmp_path / "m")


def test_notes_of_text_that_is_not_utf8_are_escaped(tmp_path):
    auctor.save(fitted(MODELS[0]), tmp_path / "m", notes={"file": "caf\udce9.csv"})
    assert auctor.saved.read_saved(tmp_path / "m").notes == {"file": "caf\\udce9.csv"}


@pytest.mark.parametrize("notes", [{"a": object()}, {1: 2}, {"a": {2}}])
def test_notes_that_are_no_json(notes, tmp_path):
    with pytest.raises(ParameterError):
        auctor.save(fitted(MODELS[0]), tmp_path / "m", notes=notes)
    assert not os.listdir(tmp_path)


def test_destinations(tmp_path, monkeypatch):
    model = fitted(MODELS[0])
    for path in (tmp_path, tmp_path / "no" / "m"):
        with pytest.raises(ParameterError, match="save needs"):
            auctor.save(model, path)
    auctor.save(model, tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ParameterError, match="No space left"):
        auctor.save(fitted(MODELS[1]), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]
