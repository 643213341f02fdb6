"""Writing tables, and from one format to another."""

import io
import os
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from auctor.core.errors import DataError, MissingExtraError, ParameterError
from auctor.tables import ReadOptions, open_stream, read_table, write_table
from auctor.tables.convert import convert

SUFFIXES = ("svm", "csv", "tsv", "parquet", "arrow", "feather", "npz", "npy", "svm.gz", "csv.bz2",
            "tsv.xz")  # fmt: skip


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = sparse.random(30, 6, density=0.5, random_state=1, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    return X, rng.integers(0, 2, 30)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("chunk_rows", [7, 8192])
def test_formats_by_name(rows, suffix, chunk_rows, tmp_path, monkeypatch):
    monkeypatch.setattr("auctor.tables.write.CHUNK_ROWS", chunk_rows)
    X, y = rows
    path = tmp_path / f"rows.{suffix}"
    for matrix in (X, X.toarray()):
        write_table(path, matrix, y)
        table = read_table(path)
        np.testing.assert_array_equal(dense(table.matrix), X.toarray())
        np.testing.assert_array_equal(table.labels, y)
    assert sorted(os.listdir(tmp_path)) == [path.name]


def test_zstandard(rows, tmp_path):
    pytest.importorskip("zstandard")
    write_table(tmp_path / "rows.svm.zst", *rows)
    np.testing.assert_array_equal(read_table(tmp_path / "rows.svm.zst").labels, rows[1])


def test_other_libraries_read_them(rows, tmp_path):
    X, y = rows
    write_table(tmp_path / "rows.svm", X, y)
    found, labels = load_svmlight_file(str(tmp_path / "rows.svm"))
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    np.testing.assert_array_equal(labels, y)
    write_table(tmp_path / "rows.npz", X, y)
    np.testing.assert_array_equal(sparse.load_npz(tmp_path / "rows.npz").toarray(), X.toarray())
    names = list("abcdef")
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet),
                         (".feather", pd.read_feather)):  # fmt: skip
        write_table(tmp_path / f"rows{suffix}", X, y, columns=names)
        frame = read(tmp_path / f"rows{suffix}")
        assert list(frame.columns) == ["label", *names]
        np.testing.assert_array_equal(frame[names].to_numpy(), X.toarray())
    write_table(tmp_path / "rows.npy", X, y)
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), np.column_stack([X.toarray(), y]))


def test_labels_of_any_kind(tmp_path):
    for suffix in ("csv", "parquet", "npz"):
        path = tmp_path / f"rows.{suffix}"
        write_table(path, [[1.0], [2.0]], ["no, never", 'so "so"'], columns=["label"])
        table = read_table(
            path, ReadOptions(label=0 if suffix == "csv" else None if suffix == "npz" else "target")
        )
        assert table.labels.tolist() == ["no, never", 'so "so"']
        write_table(path, [[1.0], [2.0]], columns=["a"])
        assert read_table(path, ReadOptions(labelled=False)).labels is None
    for suffix in ("svm", "npy"):
        with pytest.raises(DataError, match="numbers as labels"):
            write_table(tmp_path / f"other.{suffix}", [[1.0]], ["no"])
    with pytest.raises(DataError, match="labels"):
        write_table(tmp_path / "other.svm", [[1.0]])
    assert not list(tmp_path.glob("other*"))


def test_bad_arguments(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    with pytest.raises(DataError, match="one label per row"):
        write_table(path, [[1.0]], [1, 2])
    with pytest.raises(DataError, match="one name per column"):
        write_table(path, [[1.0]], [1], columns=["a", "b"])
    with pytest.raises(DataError, match="distinct"):
        write_table(path, [[1.0, 2.0]], [1], columns=["a", "a"])
    with pytest.raises(DataError, match="line ends"):
        write_table(path, [[1.0]], ["two\nlines"])
    with pytest.raises(ParameterError, match="format"):
        write_table(path, [[1.0]], [1], format="poem")
    with pytest.raises(ParameterError, match=r"without \.gz"):
        write_table(tmp_path / "rows.parquet.gz", [[1.0]], [1])
    with pytest.raises(ParameterError, match="folder"):
        write_table(tmp_path / "no" / "rows.csv", [[1.0]], [1])
    wide = sparse.csr_array(([1.0], ([0], [50_000])), shape=(1, 60_000))
    for name in ("wide.csv", "wide.npy", "wide.parquet"):
        with pytest.raises(ParameterError, match="columns"):
            write_table(tmp_path / name, wide, [1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'pip install "auctor\[cli\]"'):
        write_table(tmp_path / "rows.parquet", [[1.0]], [1])
    assert os.listdir(tmp_path) == []


# --- convert ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SUFFIXES)
@pytest.mark.parametrize("destination", ["svm", "csv", "parquet", "feather", "npz", "npy"])
def test_any_format_to_any_other(rows, source, destination, tmp_path):
    X, y = rows
    first, second = tmp_path / f"first.{source}", tmp_path / f"second.{destination}"
    write_table(first, X, y)
    done = convert(first, second, ReadOptions(chunk_rows=7))
    assert (done.rows, done.columns) == (30, 6)
    table = read_table(second)
    np.testing.assert_array_equal(dense(table.matrix), X.toarray())
    np.testing.assert_array_equal(table.labels, y)


GAPS = "a,color,clicked\n1,red,yes\n,blue,no\n2.5,,no\nx,red,yes\n"


@pytest.mark.parametrize("middle", ["parquet", "feather", "tsv"])
def test_tables_keep_words_and_gaps(middle, tmp_path):
    path, back = tmp_path / f"rows.{middle}", tmp_path / "back.csv"
    done = convert(io.BytesIO(GAPS.encode()), path, ReadOptions(format="csv", label="clicked"))
    assert done == (4, 2, "csv", {"feather": "arrow"}.get(middle, middle))
    convert(path, back, ReadOptions(label="clicked"))
    assert back.read_text() == "clicked,a,color\nyes,1,red\nno,,blue\nno,2.5,\nyes,x,red\n"


@pytest.mark.parametrize("missing", ["mean", "median", "most_frequent", "zero"])
@pytest.mark.parametrize("categorical", ["one_hot", "hash"])
def test_categories_become_numbers_elsewhere(missing, categorical, tmp_path):
    text = "a,color,y\n1,red,1\n,blue,0\n2.5,,0\n4,red,1\n,blue,0\n"
    options = {"missing": missing, "categorical": categorical, "buckets": 9}
    expected = read_table(io.BytesIO(text.encode()), ReadOptions(format="csv", **options))
    for suffix in ("svm", "npz", "npy"):
        path = tmp_path / f"rows.{suffix}"
        reading = ReadOptions(format="csv", chunk_rows=2, **options)
        convert(io.BytesIO(text.encode()), path, reading)
        table = read_table(path, ReadOptions(n_features=expected.schema.n_features))
        np.testing.assert_allclose(dense(table.matrix), dense(expected.matrix), rtol=1e-15)
        np.testing.assert_array_equal(table.labels, expected.labels)


def test_conversions_that_fail_leave_nothing(tmp_path, monkeypatch):
    source = tmp_path / "rows.csv"
    source.write_text(GAPS)
    out = tmp_path / "out.npz"
    for options, word in (
        ({}, "label column"),
        ({"label": "clicked"}, "missing in 'a', 1 missing in 'color'"),
        ({"label": "clicked", "categorical": "refuse", "missing": "zero"}, "text in a, color"),
        ({"label": "clicked", "columns": ["b"]}, "b"),
    ):
        with pytest.raises(DataError, match=word):
            convert(source, out, ReadOptions(**options))
    with pytest.raises(DataError, match="numbers as labels"):
        convert(source, tmp_path / "out.svm", ReadOptions(label="clicked", missing="zero"))
    source.write_text("y,a\n1,2\n0,3\n1\n")
    with pytest.raises(DataError, match="line 4"):
        convert(source, tmp_path / "out.parquet")
    with pytest.raises(DataError, match=r"no\.csv"):
        convert(tmp_path / "no.csv", out)
    with pytest.raises(DataError, match="int"):
        convert(3, out)
    with pytest.raises(ParameterError, match="to"):
        convert(source, out, to="poem")
    (tmp_path / "empty.svm").touch()
    with pytest.raises(DataError, match="some rows"):
        convert(tmp_path / "empty.svm", out)
    assert sorted(os.listdir(tmp_path)) == ["empty.svm", "rows.csv"]


def test_a_full_disk_leaves_nothing(rows, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for suffix in SUFFIXES:
        with pytest.raises(ParameterError, match="No space left"):
            write_table(tmp_path / f"rows.{suffix}", *rows)
    assert os.listdir(tmp_path) == []


def test_columns_and_positions(tmp_path):
    text = b"2,red,1\n3,blue,0\n"
    convert(
        io.BytesIO(text),
        tmp_path / "rows.csv",
        ReadOptions(format="csv", label=2, columns=["column_2"]),
    )
    assert (tmp_path / "rows.csv").read_text() == "label,column_2\n1,red\n0,blue\n"
    (chunk,) = open_stream(io.BytesIO(b"1 4:1\n"), ReadOptions(n_features=5))
    assert chunk.matrix.shape == (1, 5)
    convert(io.BytesIO(b"1 4:1\n0 1:2\n"), tmp_path / "wide.csv", ReadOptions(n_features=5))
    assert read_table(tmp_path / "wide.csv").matrix.shape == (2, 5)
