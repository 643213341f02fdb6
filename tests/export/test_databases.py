"""Queries run alike in SQLite, DuckDB and PostgreSQL, whatever names and labels contain."""

import csv
import io
import math
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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


def named(text):
    return '"' + text.replace('"', '""') + '"'


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


class Sqlite:
    """A database in memory."""

    def __init__(self):
        self.base = sqlite3.connect(":memory:")

    def run(self, query):
        return self.base.execute(query).fetchall()

    def close(self):
        self.base.close()


class Duckdb(Sqlite):
    """Another one."""

    def __init__(self):
        self.base = pytest.importorskip("duckdb").connect()


class Postgres:
    """A cluster of its own on a Unix socket, run as another user where the tests run as root."""

    def __init__(self):
        places = [os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
        names = ("initdb", "postgres", "psql")
        self.tools = {name: shutil.which(name, path=os.pathsep.join(places)) for name in names}
        if None in self.tools.values():
            pytest.skip("PostgreSQL is not installed (initdb, postgres, psql)")
        self.user = {}
        if os.geteuid() == 0:
            try:
                pwd.getpwnam("postgres")
            except KeyError:
                pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres")
            self.user = {"user": "postgres", "group": "postgres"}
        self.home = tempfile.mkdtemp(prefix="pg")  # a socket's path is at most 107 characters
        if self.user:
            shutil.chown(self.home, **self.user)
        data = f"{self.home}/data"
        make = [self.tools["initdb"], "-D", data, "-A", "trust", "-U", "tests", "--no-sync"]
        self.tool([*make, "-E", "UTF8", "--locale=C"])
        serve = [self.tools["postgres"], "-D", data, "-k", self.home]
        options = ("listen_addresses=", "fsync=off", "shared_buffers=1MB", "max_connections=5")
        self.server = subprocess.Popen(
            [*serve, *(word for option in options for word in ("-c", option))],
            cwd=self.home,
            stderr=subprocess.DEVNULL,
            **self.user,
        )
        deadline = time.monotonic() + 30.0
        while not Path(f"{self.home}/.s.PGSQL.5432").exists():
            assert time.monotonic() < deadline
            assert self.server.poll() is None
            time.sleep(0.02)

    def tool(self, words, **more):
        return subprocess.run(
            words, cwd=self.home, check=True, capture_output=True, **self.user, **more
        )

    def run(self, query):
        words = [self.tools["psql"], "-h", self.home, "-U", "tests", "-d", "postgres", "-X", "-q"]
        words += ["-t", "--csv", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        done = self.tool(words, input=f"{query};".encode())
        return list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))

    def close(self):
        self.server.terminate()
        self.server.wait(30)
        shutil.rmtree(self.home)


@pytest.fixture(scope="module", params=[Sqlite, Duckdb, Postgres])
def base(request):
    found = request.param()
    yield found
    found.close()


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
