"""Columns of tables, missing values, and any table in any format."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from auctor.core.errors import DataWarning
from auctor.tables import ReadOptions, read_table, write_table
from auctor.tables import source as base
from auctor.tables.encode import bucket
from tests.tables.reading import TEXT, csv, dense, people, refusal, written

# --- columns ------------------------------------------------------------------------------------


def test_kinds_of_columns():
    table = csv(TEXT, label="bought")
    assert table.matrix.tolist() == [[31, 1, 0, 1], [45, 0, 1, 0], [28, 1, 0, 1]]
    assert table.labels.tolist() == [1, 0, 1]
    assert table.labels.dtype == np.int64
    assert table.schema.feature_names == ("age", "city=Oslo", "city=Rome", "member")
    assert table.schema.label == "bought"
    age, city, member = table.summary
    assert (age.kind, age.missing, age.low, age.high) == ("number", 0, 28.0, 45.0)
    assert age.mean == pytest.approx(104 / 3)
    assert (city.kind, city.distinct, city.mean) == ("category", 2, None)
    assert member.kind == "number"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("chunk_rows", [7, 8192])
def test_formats_agree(suffix, chunk_rows, tmp_path, monkeypatch):
    frame = people()
    reading = ReadOptions(chunk_rows=chunk_rows)
    table = read_table(written(frame, tmp_path / f"people{suffix}"), reading)
    expected = pd.get_dummies(
        frame.drop(columns="label"), columns=["city", "plan"], prefix_sep="=", dtype=float
    )
    wanted = list(table.schema.feature_names)
    np.testing.assert_array_equal(dense(table.matrix), expected[wanted].to_numpy(dtype=float))
    assert table.labels.tolist() == frame["label"].tolist()
    assert sorted(wanted) == sorted(expected.columns)


def test_numbers_as_text_are_numbers_only_if_all_are(tmp_path):
    frame = pd.DataFrame({"zip": ["007", "12", "K1A"], "n": ["1", "2.5", "1e3"], "y": [0, 1, 0]})
    for suffix in (".csv", ".parquet", ".feather"):
        schema = read_table(written(frame, tmp_path / f"rows{suffix}")).schema
        assert [column.kind for column in schema.columns] == ["category", "number"]
        assert schema.columns[0].levels == ("007", "12", "K1A")


@pytest.mark.parametrize("chunk_rows", [1, 5, 8192])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_late_word_makes_the_whole_column_words(chunk_rows, pipe, monkeypatch):
    text = b"a,b,c,y\n" + b"01,2,x,1\n" * 20 + b"1,z,x,0\n" + b"7,3,4,0\n"
    source = io.BytesIO(text)
    if pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        source = "-"
    with pytest.warns(DataWarning, match=r"'b' of .* 21 of 22 values .* 'z' in line 22 is not"):
        table = read_table(source, ReadOptions(format="csv", chunk_rows=chunk_rows))
    assert [c.levels for c in table.schema.columns] == [None, ("2", "3", "z"), ("4", "x")]
    assert dense(table.matrix)[:, 0].tolist() == [1.0] * 21 + [7.0]


def test_columns_by_choice():
    table = csv(TEXT, label="bought", columns=["member", "age"])
    assert table.schema.feature_names == ("age", "member")
    said = refusal(TEXT, label="bought", columns=["age", "height", "width"])
    assert "height, width" in said


def test_tables_without_header():
    table = csv("1,red,5\n0,blue,6\n", label=0)
    assert table.schema.label == "column_1"
    assert table.schema.feature_names == ("column_2=blue", "column_2=red", "column_3")
    again = csv("1,blue,7\n", schema=table.schema)
    assert again.matrix.tolist() == [[1, 0, 7]]
    assert again.labels.tolist() == [1]
    assert csv("blue,7\n", schema=table.schema, labelled=False).matrix.tolist() == [[1, 0, 7]]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_compressed_rows_where_they_are_smaller(kind):
    rows = "".join(f"{k % 3},{k},u{k % 50},{k % 2}\n" for k in range(100))
    table = csv("n,zero,user,y\n" + rows, columns=["n", "user"], dtype=kind)
    assert sparse.issparse(table.matrix)
    assert table.matrix.dtype == kind
    assert table.matrix.shape == (100, 51)
    assert table.matrix.nnz == 100 + 66
    assert table.matrix.has_canonical_format
    assert not sparse.issparse(csv(TEXT, label="bought").matrix)


def test_hashed_categories():
    table = csv(TEXT, label="bought", categorical="hash", buckets=8, columns=["age", "city"])
    assert table.schema.n_features == 9
    assert table.schema.feature_names[1] == "city#0"
    expected = np.zeros((3, 9))
    expected[:, 0] = [31, 45, 28]
    for row, city in enumerate(["Oslo", "Rome", "Oslo"]):
        expected[row, 1 + bucket(city, 8)] = 1
    np.testing.assert_array_equal(dense(table.matrix), expected)
    unseen = csv("age,city\n1,Lima\n", schema=table.schema, labelled=False)
    assert dense(unseen.matrix).sum() == 2


def test_the_hash_is_the_documented_one_in_every_process():
    def plain(word):
        value = 14695981039346656037
        for byte in word.encode():
            value = (value ^ byte) * 1099511628211 % 2**64
        return value ^ value >> 32

    words = ["", "a", "Oslo", "São Paulo", "x" * 1000]
    assert [bucket(word, 10**6) for word in words] == [plain(word) % 10**6 for word in words]
    code = f"from auctor.tables.encode import bucket; print([bucket(w, 997) for w in {words!r}])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == [bucket(word, 997) for word in words]


def test_text_may_be_refused():
    assert "city" in refusal(TEXT, label="bought", categorical="refuse")


# --- missing values -----------------------------------------------------------------------------

GAPS = "a,b,y\n1,u,1\n,v,0\n4,?,0\nNA,v,1\n4,v,1\n"


def test_missing_values_are_refused_by_name_and_count():
    said = refusal(GAPS)
    assert "2 missing in 'a', 1 missing in 'b'" in said
    assert "missing=" in said


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [("mean", 3.0, "v"), ("median", 4.0, "v"), ("most_frequent", 4.0, "v"), ("zero", 0.0, None)],
)
def test_missing_values_become_what_the_rule_says(rule, a, b, tmp_path):
    frame = pd.read_csv(io.StringIO(GAPS), na_values="?")
    for suffix in (".csv", ".parquet", ".feather"):
        table = read_table(written(frame, tmp_path / f"rows{suffix}"), ReadOptions(missing=rule))
        assert table.matrix[:, 0].tolist() == [1, a, 4, a, 4]
        assert table.matrix[2, 1:].tolist() == [0.0, float(b == "v")]
        assert [facts.missing for facts in table.summary] == [2, 1]
        new = csv("b,a\n,\n", schema=table.schema, labelled=False)
        assert new.matrix.tolist() == [[a, 0.0, float(b == "v")]]


def test_a_schema_that_refused_missing_values_still_does():
    schema = csv(TEXT, label="bought").schema
    said = refusal(b"age,city,member\n,Oslo,true\n1,,true\n", schema=schema, labelled=False)
    assert "1 missing in 'age', 1 missing in 'city'" in said


def test_columns_that_hold_nothing():
    for missing in ("refuse", "mean", "median"):
        with pytest.warns(DataWarning, match="leaves out 'b' of BytesIO"):
            table = csv("a,b,y\n1,,0\n2,NA,1\n", missing=missing)
        assert table.matrix.tolist() == [[1], [2]]
        assert table.schema.feature_names == ("a",)
    with pytest.warns(DataWarning, match="'column_2'"):  # a comma at the end of every line
        table = csv("y,,b,\n1,,red,\n0,,blue,\n")
    assert table.schema.feature_names == ("b=blue", "b=red")
    assert dense(table.matrix).tolist() == [[0, 1], [1, 0]]
    assert "2 missing in 'a'" in refusal("a,y\n,0\nNA,1\n", missing="mean")
    table = csv("a,b,y\n1,,0\n2,NA,1\n", missing="zero")
    assert table.matrix.tolist() == [[1, 0], [2, 0]]
    assert (table.summary[1].missing, table.summary[1].low) == (2, None)


# --- any table ----------------------------------------------------------------------------------


def random_table(rng):
    """Columns of any kind, and what they should become."""
    n, columns = int(rng.integers(1, 40)), {}
    alphabet = [
        "red",
        "green",
        'q"uote',
        "com,ma",
        "semi;colon",
        "tab\tbed",
        "é",
        "0x1",
        "x y",
        "#",
    ]
    for k in range(int(rng.integers(1, 6))):
        if rng.random() < 0.5:
            values = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
            columns[f"n{k}"] = np.where(rng.random(n) < 0.3, np.round(rng.normal(size=n)), values)
        else:
            columns[f"c{k} é"] = rng.choice(alphabet, n)
    frame = pd.DataFrame(columns)
    kind = rng.integers(3)
    labels = [rng.integers(-1, 2, n), rng.normal(size=n), rng.choice(["no", "yes, sir"], n)][kind]
    return frame, labels


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(25))
def test_any_table_in_any_format(seed, tmp_path, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(base, "READ_BYTES", int(rng.choice([16, 200, 1 << 20])))
    reading = ReadOptions(chunk_rows=int(rng.choice([1, 5, 8192])))
    frame, labels = random_table(rng)
    frame.insert(int(rng.integers(len(frame.columns) + 1)), "target", labels)
    results = []
    for suffix in (".csv", ".parquet", ".feather"):
        path = written(frame, tmp_path / f"rows{suffix}")
        table = read_table(path, reading)
        results.append(table)
        assert table.labels.tolist() == labels.tolist()
        at = 0
        for column in table.schema.columns:
            part = dense(table.matrix)[:, at : at + column.width]
            at += column.width
            if column.kind == "number":
                assert part[:, 0].tolist() == frame[column.name].tolist()
            else:
                named = np.array(column.levels)[part.argmax(axis=1)]
                assert named.tolist() == frame[column.name].tolist()
        mixed = frame[rng.permutation(frame.columns)].assign(further=1)
        again = read_table(
            written(mixed, tmp_path / f"mixed{suffix}"), ReadOptions(schema=table.schema)
        )
        np.testing.assert_array_equal(dense(again.matrix), dense(table.matrix))
    assert results[0].schema == results[1].schema == results[2].schema


@pytest.mark.parametrize("format", ["svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_read(format, seed, tmp_path):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 50)), int(rng.integers(1, 20))
    X = sparse.random(n, d, density=0.4, random_state=seed, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-300, 300, X.nnz)
    X = X if seed % 2 else X.toarray()
    y = rng.integers(-1, 2, n) if seed < 2 else rng.normal(size=n)
    path = tmp_path / "rows"
    write_table(path, X, y, format=format)
    table = read_table(path, ReadOptions(format=format, n_features=d))
    np.testing.assert_array_equal(dense(table.matrix), dense(X))
    np.testing.assert_array_equal(table.labels, y)
