"""Queries read text as `predict` does: ten raw tables in SQLite and DuckDB."""

import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import TableClassifier
from auctor.tables import ReadOptions

N = 160
RNG = np.random.default_rng(0)
AGE = RNG.normal(40.0, 9.0, N).round(1)
CITY = RNG.choice(["Oslo", "Rome", "L'Aquila"], N)
Y = np.where(0.1 * (AGE - 40.0) + (CITY == "Oslo") + RNG.normal(size=N) > 0.5, "yes", "no")
SOME = np.arange(N) % 5 == 0


def texts(values, some):
    """Numbers or words as text, every fifth of them as ``some`` writes it."""
    return [some(str(value)) if k % 5 == 0 else str(value) for k, value in enumerate(values)]


#: Columns of new rows, each written otherwise than in training.
TABLES = {
    "as in training": {},
    "spaces around words": {"city": texts(CITY, lambda word: f"  {word}\t")},
    "other spaces": {"city": texts(CITY, lambda word: f"\u00a0{word}\u2003")},
    "blanks for words": {"city": texts(CITY, lambda word: " ")},
    "words for missing words": {"city": texts(CITY, lambda word: "N/A")},
    "new words": {"city": texts(CITY, lambda word: "Lima")},
    "numbers as text": {"age": texts(AGE, str)},
    "spaces around numbers": {"age": texts(AGE, lambda word: f" {word} ")},
    "blanks for numbers": {"age": texts(AGE, lambda word: "")},
    "words for missing numbers": {"age": texts(AGE, lambda word: "NA")},
    "exponents": {"age": texts(AGE, lambda word: f"{float(word):.8e}")},
    "codes as numbers": {"code": np.arange(N) % 3 + 7.0},
    "codes as text": {"code": [f" {k % 3 + 7}" for k in range(N)]},
}


def in_sqlite(frame, query):
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("rows", base, index=False)
        return pd.read_sql_query(query, base)


def in_duckdb(frame, query):
    base = pytest.importorskip("duckdb").connect()
    base.register("rows", frame)
    return base.execute(query).df()


def table(**columns):
    codes = [str(k % 3 + 7) for k in range(N)]
    return pd.DataFrame({"age": AGE, "city": CITY, "code": codes, **columns})


@pytest.fixture(scope="module", params=["linear", "additive"])
def model(request):
    reading = ReadOptions(as_category=["code"], missing="auto")
    made = TableClassifier(
        "auc", model=request.param, strength=0.01, reading=reading, pos_label="yes"
    )
    rows = table(age=np.where(SOME, np.nan, AGE), city=np.where(SOME, None, CITY))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", auctor.DataWarning)
        return made.fit(rows, Y)


@pytest.mark.filterwarnings("ignore::auctor.DataWarning")
@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("name", TABLES)
def test_a_query_reads_text_as_predict_does(model, name, run):
    frame = table(**TABLES[name])
    found = run(frame, auctor.to_sql(model))
    np.testing.assert_allclose(found["score"].astype(float), model.decision_function(frame))
    assert found["predicted"].tolist() == model.predict(frame).tolist()


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_text_that_is_no_number_has_no_score(model, run):
    frame = table(age=texts(AGE, lambda word: "old"))
    with pytest.raises(auctor.AuctorError):
        model.predict(frame)
    found = run(frame, auctor.to_sql(model))
    assert found["score"].isna().tolist() == SOME.tolist()
    assert found["predicted"].isna().tolist() == SOME.tolist()


@pytest.mark.filterwarnings("ignore::auctor.DataWarning")
def test_a_graph_reads_one_space_around_words(model):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(auctor.to_onnx(model), providers=["CPUExecutionProvider"])
    frame = table(city=texts(CITY, lambda word: f" {word} "), age=np.where(SOME, np.nan, AGE))
    rows = {name: frame[[name]].to_numpy() for name in frame}
    rows["city"], rows["code"] = (rows[name].astype(object) for name in ("city", "code"))
    (scores,) = session.run(["scores"], rows)
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=1e-9)
