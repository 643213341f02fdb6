"""SQL, ONNX and Python of additive models with pairs and categories give their predictions."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor

NAMES = ["age", "income", "town"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 400
    made = pd.DataFrame(
        {
            "age": rng.normal(size=n).round(2),
            "income": rng.normal(size=n).round(2),
            "town": rng.choice(["Oslo", "Rome", "O'Hara"], n),
        }
    )
    made.loc[rng.random(n) < 0.1, "town"] = None
    made.loc[rng.random(n) < 0.1, "age"] = np.nan
    return made


def _score(rows):
    rome = (rows["town"] == "Rome").to_numpy()
    return rows["age"].fillna(0.0).to_numpy() * np.where(rome, 1.0, -1.0) + rows["income"]


def _fitted(kind, rows):
    score = _score(rows).to_numpy()
    pairs = [("age", "town"), ("age", "income")]
    shared = {"members": 2, "strength": 0.01, "interactions": pairs}
    if kind == "monotone":  # curves and maps that rise with income
        return AdditiveRegressor(monotone={"income": 1}, **shared).fit(rows, score)
    if kind == "regression":
        return AdditiveRegressor(**shared).fit(rows, score)
    if kind == "counts":
        return AdditiveRegressor("poisson", **shared).fit(rows, np.exp(score).round())
    if kind == "classes":
        labels = np.digitize(score, [-0.7, 0.7])
        return AdditiveClassifier(**shared).fit(rows, np.array(["a", "b", "c"])[labels])
    return AdditiveClassifier(pos_label="no", **shared).fit(rows, np.where(score > 0, "yes", "no"))


NUMBERS = ["regression", "counts", "monotone"]
KINDS = ["two", "classes", *NUMBERS]


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, rows):
    return request.param, _fitted(request.param, rows)


def _new(rows):
    new = rows.head(50).copy()
    new.loc[new.index[:3], "town"] = "Paris"
    return new


def test_sql_predicts_alike(fitted, rows):
    kind, model = fitted
    new = _new(rows)
    with sqlite3.connect(":memory:") as base:
        base.create_function("EXP", 1, np.exp)
        new.to_sql("rows", base, index=False)
        found = pd.read_sql(auctor.to_sql(model), base)
    if kind in NUMBERS:
        np.testing.assert_allclose(found["prediction"], model.predict(new), rtol=1e-12, atol=1e-12)
        return
    assert found["predicted"].tolist() == model.predict(new).tolist()
    scores = model.decision_function(new)
    if kind == "two":  # the score of the positive class, which is the first
        np.testing.assert_allclose(found["score"], -scores, atol=1e-12)
    else:
        np.testing.assert_allclose(found[["score_0", "score_1", "score_2"]], scores, atol=1e-12)


def test_onnx_predicts_alike(fitted, rows):
    runtime = pytest.importorskip("onnxruntime")
    kind, model = fitted
    new = _new(rows)
    session = runtime.InferenceSession(auctor.to_onnx(model))
    given = {name: new[[name]].to_numpy(np.float64) for name in NAMES[:2]}
    given["town"] = new[["town"]].fillna("").to_numpy(object)
    if kind in NUMBERS:
        (found,) = session.run(["prediction"], given)
        np.testing.assert_allclose(found, model.predict(new), rtol=1e-12, atol=1e-12)
        return
    (scores,) = session.run(["scores"], given)
    np.testing.assert_allclose(scores, model.decision_function(new), atol=1e-12)


def test_a_card_scores_text(rows):
    model, new = _fitted("two", rows), _new(rows)
    card = model.scorecard(rounded=False)
    points = {}
    exec(card.to_python(), points)
    found = [points["points"](row) for row in new.replace({np.nan: None}).to_dict("records")]
    decision = (np.array(found) - 600.0) / card.factor
    np.testing.assert_allclose(decision, model.decision_function(new), atol=1e-12)


def test_duckdb_predicts_alike(fitted, rows):
    duckdb = pytest.importorskip("duckdb")
    kind, model = fitted
    new = _new(rows).astype({"town": "string"})
    with duckdb.connect() as base:
        base.register("frame", new)
        # NaN of pandas is NaN of DuckDB, where missing numbers are NULL.
        base.sql("CREATE TABLE t AS SELECT * REPLACE (nullif(age, 'nan') AS age) FROM frame")
        found = base.sql(auctor.to_sql(model, table="t")).df()
        if kind == "two":
            card = model.scorecard(rounded=False)
            points = base.sql(f"SELECT {card.to_sql()} AS points FROM t").df()["points"]
            decision = (points - 600.0) / card.factor
            np.testing.assert_allclose(decision, model.decision_function(new), atol=1e-12)
    if kind in NUMBERS:
        np.testing.assert_allclose(found["prediction"], model.predict(new), rtol=1e-12, atol=1e-12)
    elif kind == "two":
        np.testing.assert_allclose(found["score"], -model.decision_function(new), atol=1e-12)
    else:
        scores = model.decision_function(new)
        np.testing.assert_allclose(found[["score_0", "score_1", "score_2"]], scores, atol=1e-12)
