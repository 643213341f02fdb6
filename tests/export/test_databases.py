"""Queries run alike in SQLite, DuckDB and PostgreSQL, whatever names and labels contain."""

import math

import numpy as np
import pandas as pd
import pytest
from benchmarks.problems.databases import Absent, Duckdb, Postgres, Sqlite, named

import auctor
from auctor import TableClassifier
from auctor.core.errors import ParameterError

#: Every character that some program takes for the end of a line, and two that act on terminals.
HOSTILE = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\x1b\x07"
#: Text that drops a table wherever one of these characters ends a comment.
ATTACK = "".join(f"{one}DROP TABLE victim; --" for one in HOSTILE)
KINDS = {"f": "double precision", "i": "integer", "O": "text"}


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def statements(frame):
    """SQL that makes a table of a frame, and one that nobody may drop."""
    columns = ", ".join(f"{named(c)} {KINDS[frame[c].dtype.kind]}" for c in frame)
    lines = (
        ", ".join("NULL" if value is None or value != value else quoted(value) for value in row)
        for row in frame.astype(object).itertuples(index=False)
    )
    yield "CREATE TABLE victim (a integer)"
    yield f"CREATE TABLE rows ({columns})"
    yield f"INSERT INTO rows VALUES {', '.join(f'({line})' for line in lines)}"


@pytest.fixture(scope="module", params=[Sqlite, Duckdb, Postgres])
def base(request):
    try:
        opened = request.param()
    except Absent as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def hostile():
    """Rows whose label, category, and columns of numbers and dates have hostile names."""
    rng = np.random.default_rng(0)
    age, city = rng.normal(40, 10, 200), rng.choice(["Oslo", f"L'Aquila{ATTACK}"], 200)
    age[::9] = math.nan
    day = np.array("2024-01-01", "M8[D]") + rng.integers(0, 500, 200)
    # PostgreSQL cuts names at 63 bytes.
    frame = pd.DataFrame({f"age {HOSTILE}": age, f"city{ATTACK[:40]}": city, f"d\r{HOSTILE}": day})
    score = 0.1 * np.nan_to_num(age - 40) + 1.5 * (city == "Oslo")
    return frame, np.where(score + rng.normal(size=200) > 0.8, f"yes'{ATTACK}", "no")


@pytest.mark.parametrize("kind", ["linear", "additive"])
def test_hostile_names_are_only_names(base, hostile, kind):
    frame, y = hostile
    model = TableClassifier("f1", model=kind, strength=0.01, calibrate="sigmoid", pos_label=max(y))
    model.fit(frame, y)
    positive = model.classes_.tolist().index(model.pos_label_)
    query = auctor.to_sql(model)
    stored = frame.assign(
        **{frame.columns[2]: frame.iloc[:, 2].astype("M8[s]").astype(int) // 86400}
    )
    for statement in ("DROP TABLE IF EXISTS rows", "DROP TABLE IF EXISTS victim"):
        base.run(statement)
    for statement in statements(stored):
        base.run(statement)
    found = base.run(f"SELECT score, predicted, probability FROM (\n{query}\n) answer")
    assert base.run("SELECT count(*) FROM victim")[0][0] in (0, "0")
    scores, labels, chances = zip(*found, strict=True)
    wanted = (1.0 if positive else -1.0) * model.decision_function(frame)
    np.testing.assert_allclose(np.array(scores, float), wanted, rtol=1e-9)
    chance = model.predict_proba(frame)[:, positive]
    np.testing.assert_allclose(np.array(chances, float), chance, rtol=1e-9)
    assert list(labels) == model.predict(frame).tolist()


def test_comments_are_lines_of_printable_characters(hostile):
    frame, y = hostile
    query = auctor.to_sql(TableClassifier("auc", strength=0.1, pos_label=max(y)).fit(frame, y))
    comments = query.split("\n", 2)[:2]
    assert [line[:3] for line in comments] == ["-- "] * 2
    assert all(line.isprintable() for line in comments)
    assert r"yes'\nDROP TABLE victim; --\rDROP" in comments[0]


def test_names_that_no_database_has_are_refused(hostile):
    frame, y = hostile
    named = frame.rename(columns={frame.columns[0]: "a\0b"})
    with pytest.raises(ParameterError, match="without NUL"):
        auctor.to_sql(TableClassifier("auc", strength=0.1).fit(named, y))
    halves = np.where(y == "no", "no", "yes\ud800")
    model = auctor.MetricClassifier("auc", strength=0.1).fit(frame.iloc[:, :1].fillna(0.0), halves)
    with pytest.raises(ParameterError, match="surrogate"):
        auctor.to_sql(model)
