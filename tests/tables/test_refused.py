"""Tables and options that are refused."""

import io

import pandas as pd
import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.tables import ReadOptions, read_table
from tests.tables.reading import TEXT, refusal


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize(
    ("column", "word"),
    [([[1], [2]], "list"), ([{"a": 1}, {"a": 2}], "struct"), ([b"x", b"y"], "binary"),
     (pd.to_timedelta(["1 day", "2 days"]), "duration")],
)  # fmt: skip
def test_columns_that_are_neither_numbers_nor_text(column, word, suffix, tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "bad": column, "label": [0, 1]})
    path = tmp_path / f"rows.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_feather(path)
    with pytest.raises(DataError, match=f"'bad' of type {word}"):
        read_table(path)
    assert read_table(path, ReadOptions(columns=["a"])).matrix.tolist() == [[1], [2]]
    with pytest.raises(DataError, match="'bad'"):
        read_table(path, ReadOptions(label="bad"))


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,b,y\n1,2,0\n1,2\n", {}, ["3 fields", "got 2", "line 3"]),
        ("a,b,y\n1,2,0\n1,2,3,4\n", {}, ["3 fields", "got 4", "line 3"]),
        ("a,b\n1,2\n", {}, ["label column", "a, b"]),
        ("a,b\n1,2\n", {"label": "c"}, ["'c'", "a, b"]),
        ("a,a,y\n1,2,0\n", {}, ["distinct", "a"]),
        ("a,y\n1,0\n2,\n3,NA\n", {}, ["label", "2 missing"]),
        ("a,y\n1,no\n2,1\n", {}, ["one type", "line 3"]),
        ("a,y\n", {}, ["0 rows"]),
        ("", {}, ["some rows"]),
        ("\n \n", {}, ["some rows"]),
        ("a,y\n1,0\n", {"n_features": 4}, ["4 columns", "as n_features says"]),
    ],
)
def test_bad_tables(text, options, words):
    said = refusal(text, **options)
    assert said.startswith("read_table needs")
    assert all(word in said for word in words), said


def test_text_that_is_not_utf8():
    assert "UTF-8" in refusal(b"a,y\nS\xe3o,1\n")
    assert "UTF-8" in refusal(b"\xe3,y\n1,1\n")
    assert "UTF-8" in refusal(b"a,y\n1,no\n2,n\0\n")


def test_files_that_cannot_be_read(tmp_path):
    for name in ("a.csv", "b.parquet", "c.arrow", "d.npz", "e.npy", "f.svm"):
        path = tmp_path / name
        with pytest.raises(DataError, match=name):
            read_table(path)
        path.touch()
        with pytest.raises(DataError, match=name):
            read_table(path)
        path.unlink()
        path.mkdir()
        with pytest.raises(DataError, match="folder"):
            read_table(path)


@pytest.mark.parametrize(
    "options",
    [
        {"format": "poem"},
        {"categorical": "maybe"},
        {"missing": "guess"},
        {"buckets": 0},
        {"n_features": 0},
        {"header": 1},
        {"delimiter": ""},
        {"delimiter": '"'},
    ],
)
def test_bad_options(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        read_table(io.BytesIO(TEXT), ReadOptions(**{"format": "csv", **options}))
    with pytest.raises(ParameterError, match="dtype"):
        read_table(io.BytesIO(TEXT), dtype=int)
    with pytest.raises(DataError, match="int"):
        read_table(3)


def test_duplicate_names_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table([[1, 2], [3, 4], [0, 1]], names=["a", "a", "label"])
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="distinct"):
        read_table(tmp_path / "rows.parquet")
