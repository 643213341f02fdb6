"""Reasons in SQL and ONNX are those of the model."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.core.errors import ParameterError

rng = np.random.default_rng(0)
N = 200


def table(seed):
    """A table with numbers, missing values, words that need quotes, and days."""
    r = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": r.normal(40, 10, N), "x part": r.normal(size=N)})
    frame["the city"] = r.choice(["Oslo", "L'Aquila", 'a "b"', None], N)
    frame["day"] = r.integers(19000, 19900, N).astype(float)
    frame.loc[::9, "age"] = np.nan
    score = 0.1 * (frame["age"].fillna(40) - 40) + (frame["the city"] == "Oslo") + frame["x part"]
    return frame, np.where(score + r.normal(size=N) > 0.8, "it's", "no")


def sqlite(frame, query):
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("rows", base, index=False)
        return pd.read_sql_query(query, base)


def duckdb(frame, query):
    base = pytest.importorskip("duckdb").connect()
    base.register("rows", frame)
    return base.execute(query).df()


def fitted(kind, frame, y, positive):
    model = auctor.TableClassifier("auc", model=kind, strength=1e-3, pos_label=positive)
    return model.set_params(members=2 if kind == "additive" else 8).fit(frame, y)


#: Ten tables: the kind of model, the positive class, the baseline and the seed.
TABLES = [
    (kind, positive, baseline, seed)
    for seed, (kind, positive, baseline) in enumerate(
        (kind, positive, baseline)
        for kind in ("linear", "additive")
        for positive in ("it's", "no")
        for baseline in ("mean", "best")
    )
] + [("linear", "no", "mean", 8), ("additive", "no", "mean", 9)]


def alike(found, wanted, scores):
    """The reasons of a query, of which ties to the last bit may be in another order."""
    total = found[["baseline", "rest", *(f"reason_{m}_part" for m in (1, 2, 3))]].sum(axis=1)
    np.testing.assert_allclose(total, scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["rest"], wanted.rest, rtol=1e-9, atol=1e-12)
    for m in range(3):
        np.testing.assert_allclose(
            found[f"reason_{m + 1}_part"], wanted.parts[:, m], rtol=1e-9, atol=1e-12
        )
        assert found[f"reason_{m + 1}"].fillna("").tolist() == wanted.names[:, m].tolist()


@pytest.mark.parametrize(("kind", "positive", "baseline", "seed"), TABLES)
@pytest.mark.parametrize("engine", [sqlite, duckdb])
def test_sql(engine, kind, positive, baseline, seed):
    frame, y = table(seed)
    model = fitted(kind, frame, y, positive)
    texts = {"the city": "It's the city"}
    how = {"reasons": 3, "baseline": baseline, "texts": texts}
    found = engine(frame, auctor.to_sql(model, **how))
    assert list(found)[:4] == list(frame)
    wanted = model.reasons(frame, 3, baseline=baseline, texts=texts)
    alike(found, wanted, wanted.scores)
    np.testing.assert_allclose(found["score"], wanted.scores, rtol=1e-12, atol=1e-12)
    assert found["reason_1_text"].fillna("").tolist() == wanted.sentences[:, 0].tolist()
    cities = found["reason_1"] == "the city"
    raw = frame.loc[cities, "the city"]
    assert found.loc[cities, "reason_1_value"].fillna("").tolist() == raw.fillna("").tolist()


@pytest.mark.parametrize(("kind", "positive", "baseline", "seed"), TABLES)
def test_onnx(kind, positive, baseline, seed):
    runtime = pytest.importorskip("onnxruntime")
    frame, y = table(seed)
    model = fitted(kind, frame, y, positive)
    content = auctor.to_onnx(model, reasons=5, baseline=baseline, texts={"age": "Years"})
    session = runtime.InferenceSession(content)
    given = {
        name: frame[[name]].fillna("").to_numpy(dtype=object)
        if name == "the city"
        else frame[[name]].to_numpy(dtype=float)
        for name in frame
    }
    outputs = [one.name for one in session.get_outputs()]
    found = dict(zip(outputs, session.run(None, given), strict=True))
    wanted = model.reasons(frame, 5, baseline=baseline, texts={"age": "Years"})
    sign = 1.0 if model.classes_[1] == positive else -1.0
    total = found["baseline"] + found["reason_parts"].sum(axis=1) + found["rest"]
    np.testing.assert_allclose(total, sign * found["scores"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["reason_parts"], wanted.parts, rtol=1e-9, atol=1e-12)
    assert found["reason_names"].tolist() == wanted.names.tolist()
    assert found["reason_texts"].tolist() == wanted.sentences.tolist()


def test_a_regression_and_arrays():
    X = rng.normal(size=(N, 3))
    model = auctor.LinearRegressor("poisson").fit(X, np.exp(X[:, 0]) + 0.1)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    found = sqlite(frame, auctor.to_sql(model, reasons=3))
    alike(found, model.reasons(X, 3), found["score"])
    np.testing.assert_allclose(np.exp(found["score"]), model.predict(X), rtol=1e-9)


def test_what_is_refused():
    X = rng.normal(size=(N, 1))
    frame = pd.DataFrame({"reason_1": X[:, 0]})
    model = auctor.MetricClassifier("auc").fit(frame, X[:, 0] > 0)
    with pytest.raises(ParameterError, match=r"columns with other names than.*reason_1"):
        auctor.to_sql(model, reasons=2)
    with pytest.raises(ParameterError, match="baseline to be one of"):
        auctor.to_onnx(model, reasons=2, baseline="worst")
