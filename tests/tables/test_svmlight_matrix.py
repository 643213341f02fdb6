"""Whole svmlight files, read by several threads."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from auctor.core.errors import DataError, ParameterError
from auctor.tables import ReadOptions, open_stream, read_svmlight, svmlight_matrix
from auctor.tables import source as base


def text(*lines):
    return io.BytesIO("\n".join(lines).encode())


def assert_same(one, other):
    assert one.shape == other.shape
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(500, 60, density=0.2, random_state=1, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, np.where(rng.random(500) < 0.4, 1.0, -1.0), str(path), zero_based=False)
    return path


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("block", [16, 1000, base.READ_BYTES])
def test_what_scikit_learn_and_a_stream_read(path, n_threads, block, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", block)
    X, y = read_svmlight(path, ReadOptions(n_threads=n_threads))
    expected, labels = load_svmlight_file(str(path))
    assert_same(X, expected)
    np.testing.assert_array_equal(y, labels)
    assert X.has_canonical_format
    assert X.indices.dtype == X.indptr.dtype == np.int32
    row = 0
    for chunk in open_stream(path, ReadOptions(n_features=X.shape[1], chunk_rows=70)):
        assert_same(chunk.matrix, X[row : row + chunk.n_rows])
        row += chunk.n_rows


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed(path, suffix, pack, tmp_path):
    packed = tmp_path / f"rows.{suffix}"
    packed.write_bytes(pack(path.read_bytes()))
    assert_same(read_svmlight(packed)[0], read_svmlight(path)[0])
    packed.write_bytes(pack(path.read_bytes())[:-20])
    with pytest.raises(DataError, match=f"read_svmlight needs .*rows.{suffix}"):
        read_svmlight(packed)


def test_zstandard(path, tmp_path):
    zstandard = pytest.importorskip("zstandard")
    packed = tmp_path / "rows.zst"
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    assert_same(read_svmlight(packed)[0], read_svmlight(path)[0])


def test_what_lines_may_hold():
    X, y = read_svmlight(
        text(
            "\ufeff# head",
            "",
            "+1 qid:7 1:0.5 3:2 # 0:1",
            "  \t",
            "-1\t2:1e3\t \r",
            "1",
            "2 3:1 1:-.5",
        )
    )
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1e3, 0], [0, 0, 0], [-0.5, 0, 1]]
    assert y.tolist() == [1, -1, 1, 2]
    X, y = read_svmlight(text("nan 1:inf 2:1e400 3:nan"))
    np.testing.assert_array_equal(X.data, [np.inf, np.inf, np.nan])
    assert np.isnan(y[0])


def test_where_counting_starts():
    assert read_svmlight(text("1 0:5 2:1"))[0].toarray().tolist() == [[5, 0, 1]]
    assert read_svmlight(text("1 1:5"))[0].toarray().tolist() == [[5]]
    assert read_svmlight(text("1 1:5", "1 0:2"))[0].toarray().tolist() == [[0, 5], [2, 0]]
    assert read_svmlight(text("1 1:5"), ReadOptions(zero_based=True))[0].toarray().tolist() == [
        [0, 5]
    ]
    with pytest.raises(DataError, match="line 1, column 3"):
        read_svmlight(text("1 0:5"), ReadOptions(zero_based=False))


def test_columns_and_types():
    assert read_svmlight(text("1 1:1", "1 2:1"), ReadOptions(n_features=9))[0].shape == (2, 9)
    assert read_svmlight(text("1"))[0].shape == (1, 1)
    with pytest.raises(DataError, match="line 2, column 3"):
        read_svmlight(text("1 1:1", "1 5:1"), ReadOptions(n_features=4))
    X, _ = read_svmlight(text("1 1:1e300 2:0.1"), dtype=np.float32)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.data, np.array([np.inf, 0.1], np.float32))
    with pytest.raises(ParameterError, match="dtype"):
        read_svmlight(text("1 1:1"), dtype=int)
    for options in ({"n_features": 0}, {"zero_based": 1}, {"n_threads": 0}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            read_svmlight(text("1 1:1"), ReadOptions(**options))


def test_large_indices_need_64_bits(monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", 16)
    X, _ = read_svmlight(
        text(*["1 1:1 7:2"] * 9, "1 3000000000:1", *["-1 2:5"] * 9), ReadOptions(n_threads=1)
    )
    assert X.shape == (19, 3_000_000_000)
    assert X.indices.dtype == X.indptr.dtype == np.int64
    assert X.indices.tolist() == [0, 6] * 9 + [2_999_999_999] + [1] * 9
    assert X.data.tolist() == [1, 2] * 9 + [1] + [5] * 9
    monkeypatch.setattr(svmlight_matrix, "INT32_MAX", 20)
    X, _ = read_svmlight(text(*["1 1:1 7:2"] * 12))
    assert X.indices.dtype == np.int64


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("block", [16, base.READ_BYTES])
@pytest.mark.parametrize(
    ("line", "column"), [("one 1:2", 1), ("1 2:x", 5), ("1 3:3 3:4", 7), ("1 1:1 -2:3", 7)]
)
def test_malformed_lines_name_file_line_and_column(
    line, column, block, n_threads, tmp_path, monkeypatch
):
    monkeypatch.setattr(base, "READ_BYTES", block)
    path = tmp_path / "bad.svm"
    path.write_text("1 1:1\n# comment\n\n-1 2:2 4:1\n" * 5 + f"{line}\n1 1:1\nalso bad\n")
    with pytest.raises(DataError, match=rf"read_svmlight .*bad.svm, line 21, column {column}\."):
        read_svmlight(path, ReadOptions(n_threads=n_threads))


def test_files_without_rows(tmp_path, monkeypatch):
    for content in ("", "\n\n", "# nothing\n"):
        with pytest.raises(DataError, match="some rows"):
            read_svmlight(io.BytesIO(content.encode()))
    with pytest.raises(DataError, match="folder"):
        read_svmlight(tmp_path)
    with pytest.raises(DataError, match=r"no\.svm"):
        read_svmlight(tmp_path / "no.svm")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:2\n")))
    assert read_svmlight("-")[1].tolist() == [1]


def test_room_grows_where_the_first_rows_mislead(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", 64)
    path = tmp_path / "rows.svm"
    lines = [f"{k}" for k in range(200)]
    lines += [" ".join(["1", *(f"{j}:{j}" for j in range(1, 40))])] * 100
    path.write_text("\n".join(lines))
    X, y = read_svmlight(path, ReadOptions(n_threads=2))
    expected, labels = load_svmlight_file(str(path))
    assert_same(X, expected)
    np.testing.assert_array_equal(y, labels)
