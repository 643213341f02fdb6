"""ONNX graphs give the scores, labels and probabilities of the model."""

import json
import os
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import auctor
from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV, losses, streaming
from auctor.core.errors import MissingExtraError, ParameterError
from auctor.lab import learners
from auctor.tables import ReadOptions

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
TWO = (X[:, 0] + 0.5 * rng.normal(size=300) > 0.8).astype(int)
FOUR = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.7, 0.0, 0.7])
NUMBERS = X @ [1.0, -2.0, 0.0, 0.5, 0.0, 0.0] + rng.normal(size=300)


def run(model, X, dtype="float64"):
    """Outputs of the graph by name."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(
        auctor.to_onnx(model, dtype=dtype), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(dtype)}), strict=True))


CLASSIFIERS = [
    MetricClassifier("auc"),
    MetricClassifier("auc", threshold="recall(0.9)"),
    MetricClassifier("log_loss", threshold=0.7),
    MetricClassifier("auc", calibrate="sigmoid"),
    MetricClassifier("auc", calibrate="isotonic", threshold_cv=3),
    MetricClassifier("log_loss", fit_intercept=False),
    MetricClassifierCV("auc", penalty="l1", n_strengths=3, cv=3),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classifiers(model, y, dtype):
    model = clone(model).fit(X, y)
    new = np.vstack([X, 100.0 * rng.normal(size=(200, 6))]).astype(dtype)
    found = run(model, new, dtype)
    scores = model.decision_function(new)
    assert found["scores"].shape == scores.shape
    np.testing.assert_allclose(found["scores"], scores, rtol=1e-6, atol=1e-6)
    assert found["label"].tolist() == model.predict(new).tolist()
    likely = model.calibrate is not None or model.metric == "log_loss"
    assert ("probabilities" in found) == likely
    if likely:
        chances = model.predict_proba(new)
        np.testing.assert_allclose(found["probabilities"], chances, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "poisson", losses.Quantile(0.9)], ids=str)
def test_regressors(loss):
    model = LinearRegressor(loss).fit(X, np.abs(NUMBERS))
    found = run(model, X)
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "learner", [streaming.StreamingAUC(), learners.Spam(penalty="l1"), learners.Oam()], ids=str
)
def test_learners(learner):
    learner = clone(learner).fit(X, TWO)
    found = run(learner, X)
    np.testing.assert_allclose(found["scores"], learner.decision_function(X), rtol=0, atol=1e-6)
    assert found["label"].tolist() == learner.predict(X).tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7], dtype=np.int8),
        np.array([0, 2**63], dtype=np.uint64),
        np.array([-1.0, 1.0], dtype=np.float32),
        np.array([False, True]),
        np.array(["no", "ja ü"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_labels_of_every_kind(labels):
    model = MetricClassifier("log_loss").fit(X, labels[TWO])
    assert run(model, X)["label"].tolist() == model.predict(X).tolist()


def test_labels_of_bytes_are_text():
    model = learners.Spam().fit(X, np.array([b"a", b"bc"])[TWO])
    assert run(model, X)["label"].tolist() == [x.decode() for x in model.predict(X).tolist()]


def test_isotonic_with_one_level():
    model = MetricClassifier("auc", calibrate="isotonic").fit(X, TWO)
    only = type(model.calibrators_[0])(np.array([0.5]), np.array([0.25]))
    model.result_ = replace(model.result_, model=replace(model.model_, calibrators=[only]))
    found = run(model, X)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


def test_metadata_and_file(tmp_path):
    onnx = pytest.importorskip("onnx")
    table = pd.DataFrame(X, columns=["a", "b", "ü", "d d", "e", "f"])
    model = MetricClassifier("auc").fit(table, np.array(["no", "yes"])[TWO])
    content = auctor.to_onnx(model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == content == auctor.to_onnx(model)
    graph = onnx.load_model_from_string(content)
    props = {p.key: json.loads(p.value) for p in graph.metadata_props}
    assert props["feature_names"] == list(table.columns)
    assert props["classes"] == ["no", "yes"]
    assert props["threshold"] == model.threshold_.tolist()
    assert (graph.producer_name, graph.producer_version) == ("auctor", auctor.__version__)
    assert os.listdir(tmp_path) == ["m.onnx"]


def test_the_metadata_of_a_learner_name_no_threshold_and_no_positive_class():
    onnx = pytest.importorskip("onnx")
    table = pd.DataFrame(X, columns=list("abcdef"))
    for model, more in ((learners.Spam(), set()), (MetricClassifier(), {"threshold", "positive"})):
        graph = onnx.load_model_from_string(auctor.to_onnx(model.fit(table, TWO)))
        assert {p.key for p in graph.metadata_props} == {"feature_names", "classes"} | more
        assert graph.graph.name == type(model).__name__


def test_a_loaded_model_makes_the_same_graph(tmp_path):
    pytest.importorskip("onnx")
    model = MetricClassifier("auc", calibrate="isotonic").fit(X, FOUR)
    auctor.save(model, tmp_path / "m")
    assert auctor.to_onnx(auctor.load(tmp_path / "m")) == auctor.to_onnx(model)


def test_refusals(tmp_path):
    pytest.importorskip("onnx")
    model = MetricClassifier("auc").fit(X, TWO)
    with pytest.raises(ParameterError, match="dtype"):
        auctor.to_onnx(model, dtype="float16")
    with pytest.raises(ParameterError, match="fitted"):
        auctor.to_onnx(MetricClassifier())
    with pytest.raises(ParameterError, match="fitted"):
        auctor.to_onnx(learners.Spam())
    for other in (3, None, model.model_):
        with pytest.raises(ParameterError, match="model of auctor"):
            auctor.to_onnx(other)
    with pytest.raises(ParameterError, match="existing folder"):
        auctor.to_onnx(model, tmp_path / "no" / "m.onnx")

    class Odd(losses.Squared):
        def response(self, scores):
            return scores**3

    with pytest.raises(ParameterError, match="link"):
        auctor.to_onnx(LinearRegressor(Odd()).fit(X, NUMBERS))


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "auctor\[onnx\]"'):
        auctor.to_onnx(MetricClassifier("auc").fit(X, TWO))


# --- tables ---------------------------------------------------------------------------------------


def raw_table(n=120):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Oslo", "Rome ü", "Bonn"], n),
            "when": np.datetime64("2020-01-01") + rng.integers(0, 700, n),
            "job": rng.choice(["a", "b"], n),
        }
    )
    hit = table["age"] + 20 * (table["city"] == "Oslo") + 10 * rng.normal(size=n) > 60
    table.loc[::7, "age"] = np.nan
    table.loc[::5, "city"] = None
    return table, np.where(hit, "bad", "good")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("missing", ["auto", "most_frequent"])
@pytest.mark.parametrize("calibrate", ["sigmoid", "isotonic"])
def test_a_table_with_its_encoder(dtype, missing, calibrate):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    table, y = raw_table()
    model = auctor.TableClassifier(
        "f1",
        reading=ReadOptions(missing=missing),
        surrogate="logistic",
        strength=0.01,
        calibrate=calibrate,
    ).fit(table, y)
    assert model.pos_label_ == "bad"
    new = table.assign(job=np.where(table["job"] == "a", "a", "unseen"))
    new.loc[3, "when"] = None
    content = auctor.to_onnx(model, dtype=dtype)
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    kinds = {one.name: one.type for one in session.get_inputs()}
    number = f"tensor({'double' if dtype == 'float64' else 'float'})"
    text = "tensor(string)"
    assert kinds == {"age": number, "city": text, "when": number, "job": text}
    days = (new["when"].to_numpy() - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    given = {
        "age": new["age"].to_numpy(dtype)[:, None],
        "when": days.astype(dtype)[:, None],
        "city": new["city"].fillna("").to_numpy(object)[:, None],
        "job": new["job"].to_numpy(object)[:, None],
    }
    scores, label, likely = session.run(["scores", "label", "probabilities"], given)
    np.testing.assert_allclose(scores, model.decision_function(new), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(new).tolist()
    np.testing.assert_allclose(likely, model.predict_proba(new), rtol=0, atol=1e-9)


def test_a_table_whose_categories_are_hashed_is_refused():
    pytest.importorskip("onnx")
    table, y = raw_table()
    model = auctor.TableClassifier(
        "auc",
        reading=ReadOptions(categorical="hash", buckets=8),
        surrogate="logistic",
        strength=0.01,
    ).fit(table, y)
    with pytest.raises(ParameterError, match="categorical='one_hot'"):
        auctor.to_onnx(model)
    with pytest.raises(ParameterError, match="fitted"):
        auctor.to_onnx(auctor.TableClassifier())


# --- pipelines, by skl2onnx -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "target", "kind"),
    [
        (MetricClassifier("f1", surrogate="logistic"), np.array(["bad", "good"])[TWO], np.float32),
        (MetricClassifier("log_loss"), FOUR, np.float64),
        (MetricClassifier("auc", calibrate="isotonic"), TWO, np.float64),
        (LinearRegressor("huber"), NUMBERS, np.float64),
    ],
    ids=["first class positive", "four classes", "isotonic", "regression"],
)
def test_skl2onnx_converts_a_pipeline(last, target, kind):
    reason = "skl2onnx is not installed"
    skl2onnx = pytest.importorskip("skl2onnx", reason=reason)
    runtime = pytest.importorskip("onnxruntime")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from auctor.export import register_skl2onnx

    register_skl2onnx()
    model = make_pipeline(StandardScaler(), last).fit(X, target)
    rows = X.astype(kind)
    content = skl2onnx.to_onnx(model, rows[:1], target_opset=17).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": rows}), strict=True))
    near = 1e-9 if kind is np.float64 else 1e-4
    if isinstance(last, LinearRegressor):
        np.testing.assert_allclose(found["prediction"], model.predict(rows), atol=near)
        return
    np.testing.assert_allclose(found["scores"], model.decision_function(rows), atol=near)
    assert (found["label"] == model.predict(rows)).mean() > 0.99
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=near)


def test_skl2onnx_without_the_extra(monkeypatch):
    from auctor.export import register_skl2onnx

    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "auctor\[onnx\]"'):
        register_skl2onnx()
