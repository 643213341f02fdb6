"""Model files: what comes back is what was saved, and nonsense never becomes a model."""

import copy
import hashlib
import io
import json
import os
import pickle
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import auctor
from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV, losses, online, penalties
from auctor import solvers as solver_module
from auctor.core.archive import read_archive, write_archive, write_members
from auctor.core.errors import DataError, ParameterError
from auctor.losses import BaseLoss
from auctor.saved import FORMAT, read_saved
from auctor.saved.store import kinds
from auctor.saved.values import decoded, encoded, parts

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
TWO = (X[:, 0] + 0.5 * rng.normal(size=120) > 0.3).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=120), [-0.5, 0.5])
NUMBERS = X @ [1.0, -2.0, 0.0, 0.5, 0.0] + rng.normal(size=120)

LEARNERS = [
    online.AdaOam(),
    online.Fsauc(),
    online.MiniBatchAuc(random_state=1),
    online.Oam(random_state=1, buffer=7),
    online.OnlineGaussianAuc(),
    online.Opauc(),
    online.Opauc(rank=3, random_state=2),
    online.PassiveAggressive(),
    online.RegSolam(),
    online.Solam(),
    online.Spam(),
    online.Spam(penalty="l1", strength=0.01),
    online.Spam(penalty=penalties.ElasticNet(0.01, 0.5, weights=[1.0, 0.0, 2.0, 1.0, 1.0])),
    online.Spam(means="data"),
    online.Spam(means=(0.4, np.zeros(5), np.full(5, 0.1))),
    online.StreamingAUC(window=50, trace_every=20),
    online.StreamingAUC(strength=0.1, forget=100.0, window=50),
    online.StreamingAUC(max_exact_columns=3, window=50),
    online.StreamingAUC(grow=True, max_exact_columns=7, window=50),
    online.UniExp(),
]

MODELS = [
    MetricClassifier("auc", strength=0.01),
    MetricClassifier("f1", surrogate="logistic", threshold="recall(0.8)"),
    MetricClassifier("log_loss", penalty="l1", strength=0.05, class_weight={0: 1.0, 1: 2.0}),
    MetricClassifier("auc", calibrate="sigmoid", strength=0.01),
    MetricClassifier("auc", calibrate="isotonic", threshold_cv=3, strength=0.01),
    MetricClassifier(losses.PairwiseHinge(0.1), solver=solver_module.Lbfgs()),
    MetricClassifier(
        "log_loss",
        penalty=penalties.GroupL2(0.01, np.array([0, 0, 1, 1, 2]), weights=[1.0, 2.0, 0.5]),
    ),
    MetricClassifierCV("auc", strengths=[1.0, 0.01], cv=3),
    MetricClassifierCV("log_loss", penalty="l1", strengths=np.array([0.1, 0.01]), cv=3),
    MetricClassifierCV(
        "error", strengths=[0.1, 0.01], cv=3, calibrate="sigmoid", rule="one_standard_error"
    ),
]


def same(a, b):
    """Whether two values are the same, bit by bit, whatever they are made of."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        return a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    if hasattr(a, "__dict__") and type(a).__module__.startswith("auctor") and not callable(a):
        assert type(a) is type(b)
        hidden = ("_spec", "_tree", "_spec_columns", "_n_groups")
        left, right = ({k: v for k, v in vars(x).items() if k not in hidden} for x in (a, b))
        return same(left, right)
    return a == b


def roundtrip(model, path):
    auctor.save(model, path)
    return auctor.load(path)


def fitted(model, y=TWO):
    return clone(model).fit(X, y)


# --- what comes back ------------------------------------------------------------------------------


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
    assert other.coef_ is other.solution_.coef
    assert same(model.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (auctor.KernelClassifier(C=2.0), TWO),
        (auctor.KernelClassifier("poly", multiclass="ovr", calibrate="sigmoid"), THREE),
        (auctor.KernelClassifier(calibrate="isotonic"), THREE),
        (auctor.KernelClassifier("precomputed"), THREE),
        (auctor.KernelRegressor(gamma=0.3, shift=0.1), NUMBERS),
        (auctor.KernelRegressor("linear", loss="squared"), NUMBERS),
    ],
    ids=str,
)
@pytest.mark.parametrize("compressed", [False, True], ids=["dense", "compressed"])
def test_kernel_machines_come_back(model, y, compressed, tmp_path):
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    rows = rows @ rows.T if model.kernel == "precomputed" else rows
    rows = csr_array(rows) if compressed else rows
    model = clone(model).fit(rows, y)
    auctor.save(model, tmp_path / "model")
    again = auctor.load(tmp_path / "model")
    assert type(again) is type(model)
    same(again.get_params(), model.get_params())
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    for name in ("support_", "dual_coef_", "intercept_", "gap_", "n_iter_", "gamma_"):
        same(getattr(again, name), getattr(model, name))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    if getattr(model, "calibrate", None):
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    auctor.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_kernel_machines_that_cannot_be_saved(tmp_path):
    model = auctor.KernelClassifier(lambda a, b: a @ b.T).fit(X, TWO)
    with pytest.raises(ParameterError, match="kernel"):
        auctor.save(model, tmp_path / "model")
    with pytest.raises(ParameterError, match="fitted"):
        auctor.save(auctor.KernelClassifier(), tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"support": {"array": "nothing"}},
        {"gamma": -1.0},
        {"rows": None},
        {"rows": {"array": "coef"}},
        {"double": 1},
        {"calibrators": []},
        {"classes": {"objects": ["a"]}},
        {"extra": 1},
    ],
    ids=str,
)
def test_kernel_machines_that_make_no_sense(change, tmp_path):
    model = auctor.KernelClassifier().fit(X, TWO)
    auctor.save(model, tmp_path / "model")
    meta, arrays = read_archive(tmp_path / "model", who="test", format=FORMAT)
    meta["fitted"] |= change
    write_archive(tmp_path / "bad", meta, arrays, who="test")
    with pytest.raises(DataError):
        auctor.load(tmp_path / "bad")


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
    assert {type(learner) for learner in LEARNERS} == {
        kind for kind in kinds().values() if issubclass(kind, online.OnlineClassifier)
    }


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
@pytest.mark.parametrize("model", [MetricClassifier("log_loss"), online.Spam()], ids=str)
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
    model.coef_, model.n_features_in_ = wide, d
    del model.solution_
    other = roundtrip(model, tmp_path / "m")
    assert same(model.coef_, other.coef_)
    assert (tmp_path / "m").stat().st_size < 10_000


def test_a_model_that_was_changed_by_hand(tmp_path):
    """Scaling of columns folded into the weights: the solution keeps its own."""
    model = fitted(MODELS[0])
    model.coef_ = model.coef_ * 2.0
    other = roundtrip(model, tmp_path / "m")
    assert same(vars(model), vars(other))


def test_fitting_goes_on_from_a_loaded_model(tmp_path):
    model = MetricClassifier("log_loss", warm_start=True, max_iter=5000).fit(X, TWO)
    other = roundtrip(model, tmp_path / "m")
    assert same(model.fit(X, TWO).coef_, other.fit(X, TWO).coef_)


# --- parameters -----------------------------------------------------------------------------------


def examples():
    for name, part in parts().items():
        for k, example in enumerate(getattr(part, "examples", list)() or [part()]):
            yield pytest.param(example, id=f"{name}-{k}")


@pytest.mark.parametrize("part", list(examples()))
def test_every_exported_part_comes_back(part):
    arrays = {}
    value = json.loads(json.dumps(encoded(part, "p", arrays), allow_nan=False))
    other = decoded(value, arrays)
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
    text = json.dumps(encoded(value, "p", arrays), allow_nan=False)
    assert same(value, decoded(json.loads(text), arrays))


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


@pytest.mark.parametrize("model", [MetricClassifier(), online.Spam(), LinearRegressor()], ids=str)
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

    for model in (Mine().fit(X, TWO), online.Riverlike(online.Spam(grow=True)), 3, None):
        with pytest.raises(ParameterError, match="save needs one of MetricClassifier"):
            auctor.save(model, tmp_path / "m")


@pytest.mark.parametrize("what", ["coef_", "intercept_", "threshold_"])
def test_models_that_are_not_finite(what, tmp_path):
    model = fitted(MODELS[0])
    getattr(model, what).flat[0] = np.nan
    with pytest.raises(ParameterError, match="finite"):
        auctor.save(model, tmp_path / "m")


@pytest.mark.parametrize("notes", [{"a": object()}, {1: 2}, {"a": {2}}, {"a": "\ud800"}])
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


# --- what cannot be loaded ------------------------------------------------------------------------


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
    online.save_checkpoint(tmp_path / "c", online.Spam().fit(X, TWO), 120)
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


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["checksum"]
    return members


def forged(model, path, change, arrays=None):
    """A file with a right checksum whose description and arrays were changed."""
    auctor.save(model, path)
    members = members_of(path)
    meta = json.loads(members["meta.json"])
    for name, array in (arrays or {}).items():
        file = io.BytesIO()
        np.save(file, np.asarray(array))
        members[f"arrays/{name}.npy"] = file.getvalue()
        meta["arrays"][name] = [np.asarray(array).dtype.str, list(np.shape(array))]
    change(meta)
    members["meta.json"] = json.dumps(meta).encode()
    with open(path, "wb") as file:
        write_members(file, members)


def put(*path, value):
    def change(meta):
        for key in path[:-1]:
            meta = meta[key]
        meta[path[-1]] = value

    return change


def drop(*path):
    def change(meta):
        for key in path[:-1]:
            meta = meta[key]
        del meta[path[-1]]

    return change


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
        {"coef": np.zeros((1, 4))},
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
        {"coef.index": np.array([0, 9])},
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
    model = fitted(MODELS[0])
    model.coef_ = np.array([[0.0, 1.0, 2.0, 0.0, 0.0]])
    del model.solution_
    forged(model, tmp_path / "m", lambda meta: None, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    model = fitted(MODELS[0])
    model.coef_ = np.array([[0.0, 1.0, 2.0, 0.0, 0.0]])
    del model.solution_

    def widen(meta):
        meta["n_features_in"] = 10**12
        meta["fitted"]["coef"]["shape"] = [1, 10**12]

    forged(model, tmp_path / "m", widen)
    with pytest.raises(DataError, match="shape"):
        auctor.load(tmp_path / "m")


@pytest.mark.parametrize(
    "arrays",
    [
        {"calibrator.0.points": np.array([0.0, 0.0])},
        {"calibrator.0.points": np.array([1.0])},
        {"calibrator.0.levels": np.array([0.0, 2.0])},
        {"calibrator.0.levels": np.array([np.nan, 0.5])},
        {"calibrator.0.points": np.zeros(0), "calibrator.0.levels": np.zeros(0)},
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
    learner = online.StreamingAUC(window=50).fit(X, TWO)
    forged(learner, tmp_path / "m", change, arrays)
    with pytest.raises(DataError, match="load needs"):
        auctor.load(tmp_path / "m")


def test_newer_files_name_both_versions(tmp_path):
    def newer(meta):
        meta.update(format=FORMAT + 1, version="7.1.0", fitted="all new")

    forged(fitted(MODELS[0]), tmp_path / "m", newer)
    with pytest.raises(DataError, match=rf"got {FORMAT + 1} .* auctor 7\.1\.0, .* auctor 0\.1\.0"):
        auctor.load(tmp_path / "m")


def test_parameters_that_came_later_have_their_default(tmp_path):
    forged(fitted(MODELS[0]), tmp_path / "m", drop("params", "average"))
    assert auctor.load(tmp_path / "m").average == "macro"


def test_the_format_as_documented(tmp_path):
    """A file made by hand from docs/model-format.md alone: format 1 must stay readable."""
    meta = {
        "format": 1,
        "kind": "model",
        "version": "0.1.0",
        "class": "MetricClassifier",
        "params": {
            "metric": "log_loss",
            "strength": 0.5,
            "penalty": {
                "part": "penalties.L1",
                "arguments": {"strength": 0.1, "weights": {"array": "w"}},
            },
            "class_weight": {"dict": [[0, 1.0], [1, {"float": "inf"}]]},
        },
        "n_features_in": 3,
        "feature_names": ["a", "b", "c"],
        "fitted": {
            "classes": {"objects": ["no", "yes"]},
            "coef": {"sparse": "coef", "shape": [1, 3]},
            "intercept": {"array": "intercept"},
            "threshold": {"array": "threshold"},
            "calibrators": [{"kind": "sigmoid", "slope": 2.0, "offset": -1.0}],
            "gap": {"float": "nan"},
            "n_iter": 7,
            "solutions": [
                {
                    "coef": None,
                    "intercept": 0.5,
                    "value": 0.25,
                    "gap": 1e-5,
                    "tol": 1e-4,
                    "passes": 12.0,
                    "seconds": 0.5,
                    "n_iter": 7,
                    "evaluations": 9,
                    "certified": True,
                    "status": "CONVERGED",
                    "solver": "Newton",
                    "steps": 2,
                }
            ],
        },
        "schema": None,
        "notes": {"by": "hand"},
    }
    arrays = {
        "w": np.ones(3),
        "coef.index": np.array([1]),
        "coef.value": np.array([2.0]),
        "intercept": np.array([-1.0]),
        "threshold": np.array([0.25]),
        "trace": np.array([[0, 1.0, 0.5, 0.0, 2, 1], [1, 0.25, 1e-5, 0.5, 12, 9]]),
    }
    meta["arrays"] = {name: [a.dtype.str, list(a.shape)] for name, a in arrays.items()}
    members = {"meta.json": json.dumps(meta).encode()}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        members[f"arrays/{name}.npy"] = file.getvalue()
    digest = hashlib.sha256()
    for name, content in sorted(members.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for name, content in {**members, "checksum": digest.hexdigest().encode()}.items():
            archive.writestr(name, content)
    model = auctor.load(tmp_path / "m")
    assert model.coef_.tolist() == [[0.0, 2.0, 0.0]]
    assert model.penalty.weights.tolist() == [1.0, 1.0, 1.0]
    assert model.class_weight == {0: 1.0, 1: np.inf}
    assert model.solution_.trace.evaluations == (1, 9)
    assert model.solution_.converged
    table = pd.DataFrame([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], columns=["a", "b", "c"])
    assert model.predict(table).tolist() == ["yes", "no"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


# --- other ways of keeping a model ----------------------------------------------------------------

KEPT = [
    (MetricClassifier("auc"), TWO),
    (MODELS[3], THREE),
    (MODELS[4], TWO),
    (MODELS[5], TWO),
    (MODELS[6], TWO),
    (MODELS[7], TWO),
    (LinearRegressor("huber"), NUMBERS),
    (online.StreamingAUC(window=50), TWO),
    (online.Spam(penalty="l1"), TWO),
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
