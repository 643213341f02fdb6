"""Files that are damaged or forged: nonsense never becomes a model."""

import os
import pickle

import numpy as np
import pytest

import auctor
from auctor import streaming
from auctor.core.errors import DataError
from auctor.lab import learners
from tests.saved.models import (
    MODELS,
    THREE,
    TWO,
    X,
    drop,
    fitted,
    forged,
    put,
    same,
    without_solutions,
)


def test_files_that_are_not_models(tmp_path):
    with pytest.raises(DataError, match="load needs a file; got"):
        auctor.load(tmp_path / "none")
    with pytest.raises(DataError, match="folder"):
        auctor.load(tmp_path)
    (tmp_path / "m").write_bytes(b"")
    with pytest.raises(DataError, match="whole"):
        auctor.load(tmp_path / "m")
    (tmp_path / "m").write_bytes(pickle.dumps(fitted(MODELS[0])))
    with pytest.raises(DataError, match="whole"):
        auctor.load(tmp_path / "m")
    streaming.save_checkpoint(tmp_path / "c", learners.Spam().fit(X, TWO), 120)
    with pytest.raises(DataError, match="needs a model; got a checkpoint"):
        auctor.load(tmp_path / "c")


def test_truncated_and_changed_files(tmp_path):
    model = fitted(MODELS[4], THREE)
    auctor.save(model, tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    generator = np.random.default_rng(1)
    for size in generator.choice(len(whole), 100, replace=False).tolist():
        (tmp_path / "m").write_bytes(whole[:size])
        with pytest.raises(DataError):
            auctor.load(tmp_path / "m")
    for where in generator.choice(len(whole), 300, replace=False).tolist():
        changed = bytearray(whole)
        changed[where] ^= 1 << int(generator.integers(8))
        (tmp_path / "m").write_bytes(changed)
        try:
            other = auctor.load(tmp_path / "m")
        except DataError:
            continue
        assert same(vars(model), vars(other))


BOMB = {"part": "os.abort", "arguments": {}}


@pytest.mark.parametrize(
    "change",
    [
        put("class", value="BaseEstimator"),
        put("class", value=["MetricClassifier"]),
        put("class", value="LinearRegressor"),
        put("class", value="Spam"),
        put("params", value=[]),
        put("params", "evil", value=1),
        put("params", "strength", value="x"),
        put("params", "strength", value=-1.0),
        put("params", "strength", value={"float": "nan"}),
        put("params", "strength", value={"float": "1e5"}),
        put("params", "metric", value="none"),
        put("params", "metric", value={"part": "penalties.L1", "arguments": {}}),
        put("params", "penalty", value=BOMB),
        put("params", "penalty", value={"part": "penalties.L1", "arguments": {"strength": 1.0}}),
        put("params", "penalty", value={"part": "losses.Hinge", "arguments": {}}),
        put("params", "penalty", value={"part": "penalties.L1", "arguments": {"x": 1.0}}),
        put("params", "penalty", value={"array": "coef"}),
        put("params", "penalty", value={"tuple": [], "list": []}),
        put("params", "penalty", value={}),
        put("params", "n_threads", value=10**9),
        put("params", "solver", value={"part": "solvers.Path", "arguments": {}}),
        put("params", "calibrate", value="none"),
        put("n_features_in", value=4),
        put("n_features_in", value=10**15),
        put("n_features_in", value=True),
        put("n_features_in", value=None),
        put("feature_names", value=["a"]),
        put("feature_names", value=[1, 2, 3, 4, 5]),
        put("feature_names", value="abcde"),
        put("fitted", value=None),
        put("fitted", "extra", value=1),
        put("fitted", "coef", value={"array": "intercept"}),
        put("fitted", "coef", value={"sparse": "coef", "shape": [1, 5]}),
        put("fitted", "coef", value=[[1.0] * 5]),
        put("fitted", "classes", value={"objects": ["b", "a"]}),
        put("fitted", "classes", value={"objects": ["a", "a"]}),
        put("fitted", "classes", value={"objects": ["a", 1]}),
        put("fitted", "classes", value={"objects": ["a", ["b"]]}),
        put("fitted", "classes", value={"objects": [None, None]}),
        put("fitted", "classes", value={"objects": ["a"]}),
        put("fitted", "classes", value=[0, 1]),
        put("fitted", "gap", value="small"),
        put("fitted", "n_iter", value=-1),
        put("fitted", "n_iter", value=1.5),
        put("fitted", "solutions", value=[]),
        put("fitted", "solutions", value=3),
        put("fitted", "solutions", 0, "status", value="NONE"),
        put("fitted", "solutions", 0, "certified", value=1),
        put("fitted", "solutions", 0, "steps", value=10**6),
        put("fitted", "solutions", 0, "steps", value=-1),
        put("fitted", "solutions", 0, "coef", value={"array": "intercept"}),
        put("fitted", "solutions", 0, "more", value=1),
        put("fitted", "calibrators", value=[]),
        put("fitted", "calibrators", value=[{"kind": "none"}]),
        put("fitted", "calibrators", value=[{"kind": "sigmoid", "slope": 1.0}]),
        put("schema", value=[]),
        put("notes", value=None),
        put("extra", value=1),
        drop("notes"),
        drop("fitted", "coef"),
        drop("fitted", "threshold"),
        drop("fitted", "solutions", 0, "tol"),
        drop("arrays", "coef"),
    ],
    ids=lambda change: str(change.__closure__ and [c.cell_contents for c in change.__closure__]),
)
def test_descriptions_that_make_no_sense(change, tmp_path):
    forged(fitted(MODELS[0]), tmp_path / "m", change)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")


@pytest.mark.parametrize(
    "arrays",
    [
        {"coef": np.zeros(5)},
        {"coef": np.zeros((2, 5))},
        {"coef": np.zeros((1, 5), dtype=np.float32)},
        {"coef": np.full((1, 5), np.nan)},
        {"coef": np.array([["a"] * 5])},
        {"intercept": np.array([np.inf])},
        {"intercept": np.array(0.0)},
        {"threshold": np.zeros(2)},
        {"classes": np.array([1, 0])},
        {"classes": np.array([1, 1])},
        {"classes": np.array([0.0, np.nan])},
        {"classes": np.array([0, 1, 2])},
        {"classes": np.array([[0, 1]])},
        {"classes": np.array([1j, 2j])},
        {"classes": np.array([0x7FF0000000000001] * 9, dtype=np.uint64).view(float)},
        {"classes": np.array([1, 0x7FFFFFFF], dtype=np.uint32).view("<U1")},
        {"trace": np.zeros((3, 6))},
        {"trace": np.zeros(6)},
        {"left over": np.zeros(3)},
        {"../../evil": np.zeros(3)},
    ],
    ids=",".join,
)
def test_arrays_that_make_no_sense(arrays, tmp_path):
    forged(fitted(MODELS[0]), tmp_path / "m", lambda meta: None, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize(
    "arrays",
    [
        {"coef.index": np.array([0, 100])},
        {"coef.index": np.array([-1, 2])},
        {"coef.index": np.array([2, 2])},
        {"coef.index": np.array([3, 1])},
        {"coef.index": np.array([1])},
        {"coef.index": np.array([1.0, 2.0])},
        {"coef.value": np.array([1.0, np.inf])},
    ],
    ids=str,
)
def test_sparse_weights_that_make_no_sense(arrays, tmp_path):
    forged(wide(), tmp_path / "m", lambda meta: None, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")


def wide(d=100):
    """A model most of whose weights are zero."""
    coef = np.zeros((1, d))
    coef[0, 1:3] = 1.0, 2.0
    model = without_solutions(fitted(MODELS[0]), coef=coef, ranges=None)
    model.n_features_in_ = d
    return model


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    forged(wide(), tmp_path / "m", put("fitted", "coef", "shape", value=[1, 10**12]))
    with pytest.raises(DataError, match="shape"):
        auctor.load(tmp_path / "m")


@pytest.mark.parametrize(
    "arrays",
    [
        {"calibrators.0.points": np.array([0.0, 0.0])},
        {"calibrators.0.points": np.array([1.0])},
        {"calibrators.0.levels": np.array([0.0, 2.0])},
        {"calibrators.0.levels": np.array([np.nan, 0.5])},
        {"calibrators.0.points": np.zeros(0), "calibrators.0.levels": np.zeros(0)},
    ],
    ids=str,
)
def test_calibrators_that_make_no_sense(arrays, tmp_path):
    forged(fitted(MODELS[4]), tmp_path / "m", lambda meta: None, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "arrays"),
    [
        (put("fitted", "best_index", value=4), {}),
        (put("fitted", "best_index", value=-1), {}),
        (put("fitted", "strengths", value={"array": "classes"}), {}),
        (lambda meta: None, {"strengths": np.array([-1.0] * 4)}),
        (lambda meta: None, {"scores": np.zeros((3, 5))}),
        (lambda meta: None, {"scores": np.array(1.0)}),
    ],
)
def test_searches_that_make_no_sense(change, arrays, tmp_path):
    forged(fitted(MODELS[7]), tmp_path / "m", change, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "arrays"),
    [
        (put("fitted", "rows_seen", value=-1), {}),
        (put("fitted", "state", value=[]), {}),
        (put("fitted", "state", value=3), {}),
        (put("n_features_in", value=4), {}),
        (put("params", "window", value=60), {}),
        (put("params", "window", value=10**15), {}),
        (put("params", "strength", value=-1.0), {}),
        (lambda meta: None, {"state.waiting": np.array([1000])}),
        (lambda meta: None, {"state.scatter": np.full((2, 5, 5), np.nan)}),
        (lambda meta: None, {"state.mean": np.full((2, 5), 1e308)}),
        (lambda meta: None, {"classes": np.array([0, 1, 2])}),
    ],
)
def test_learners_that_make_no_sense(change, arrays, tmp_path):
    learner = streaming.StreamingAUC(window=50).fit(X, TWO)
    forged(learner, tmp_path / "m", change, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")
