"""Streams of svmlight text."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from auctor.core.errors import DataError, MissingExtraError
from auctor.tables import ReadOptions, open_stream
from auctor.tables import source as base
from tests.tables.streams import gather, refusal, svm


@pytest.mark.parametrize("chunk_rows", [1, 7, 300, 1000])
@pytest.mark.parametrize("block", [16, 1000, base.READ_BYTES])
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_is_what_scikit_learn_reads(
    rows, chunk_rows, block, zero_based, tmp_path, monkeypatch
):
    monkeypatch.setattr(base, "READ_BYTES", block)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(*rows, str(path), zero_based=zero_based)
    expected, y = load_svmlight_file(str(path), zero_based=zero_based)
    X, labels = gather(path, chunk_rows=chunk_rows, zero_based=zero_based)
    np.testing.assert_array_equal(X, expected.toarray())
    np.testing.assert_array_equal(labels, y)


def test_chunks_have_the_rows_asked_for(rows, tmp_path):
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(*rows, path)
    sizes = [chunk.n_rows for chunk in open_stream(path, ReadOptions(chunk_rows=70))]
    assert sizes == [70, 70, 70, 70, 20]


def test_wide_rows_come_in_smaller_chunks(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("auctor.tables.svmlight.CHUNK_ENTRIES", 100)
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(*rows, path)
    chunks = list(open_stream(path))
    assert len(chunks) > 10
    assert all(100 <= chunk.matrix.nnz < 140 for chunk in chunks[:-1])


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_text(suffix, pack, tmp_path):
    path = tmp_path / f"rows.csv.{suffix}"
    path.write_bytes(pack(b"label,a\n1,2\n0,3\n"))
    X, y = gather(path)
    assert (X.tolist(), y.tolist()) == ([[2.0], [3.0]], [1.0, 0.0])
    path.write_bytes(pack(b"1 1:2\n" * 1000)[:-10])
    assert path.name in refusal(path)


def test_zstandard_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "rows.svm.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(MissingExtraError, match=r'zstandard.*pip install "auctor\[cli\]"'):
        list(open_stream(path))


def test_zstandard(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "rows.svm.zst"
    frames = zstandard.compress(b"1 1:2\n") + zstandard.compress(b"-1 2:1\n")
    path.write_bytes(frames)
    assert gather(path)[0].tolist() == [[2.0, 0.0], [0.0, 1.0]]
    for size in (5, 12, len(frames) - 1):
        path.write_bytes(frames[:size])
        assert "rows.svm.zst" in refusal(path)


def test_comments_queries_blanks_and_a_last_line_without_end():
    text = svm(
        "# head", "", "+1 qid:7 1:0.5 3:2 # 0:1 1:x", "  \t", "-1\t2:1e3\t \r", "1", "-1 1:-.5"
    )
    X, y = gather(text)
    assert X.tolist() == [[0.5, 0, 2], [0, 1e3, 0], [0, 0, 0], [-0.5, 0, 0]]
    assert y.tolist() == [1, -1, 1, -1]


def test_a_mark_at_the_start_is_not_a_label():
    assert gather(io.BytesIO(b"\xef\xbb\xbf1 1:2\n"))[1].tolist() == [1.0]


def test_indices_in_any_order_are_sorted():
    (chunk,) = open_stream(svm("1 3:3 1:nan 2:2", "-1 2:1 1:7"))
    assert chunk.matrix.indices.tolist() == [0, 1, 2, 0, 1]
    assert chunk.matrix.has_canonical_format
    np.testing.assert_array_equal(chunk.matrix.data, [np.nan, 2, 3, 7, 1])


def test_numbers_that_python_reads():
    X, y = gather(svm("nan 1:inf 2:1e400 3:-Infinity", "1 1:0.1234567890123456789012345"))
    assert np.isnan(y[0])
    assert X[0].tolist() == [np.inf, np.inf, -np.inf]
    assert X[1, 0] == 0.1234567890123456789012345


def test_index_zero_decides_where_counting_starts():
    assert gather(svm("1 0:5 2:1"))[0].tolist() == [[5, 0, 1]]
    assert gather(svm("1 1:5 2:1"))[0].tolist() == [[5, 1]]
    assert gather(svm("1 1:5 2:1"), zero_based=True)[0].tolist() == [[0, 5, 1]]
    said = refusal(svm("1 1:1", "1 0:5"), zero_based=False)
    assert "'0:5'" in said
    assert "zero_based=True" in said
    assert "line 2, column 3" in said


def test_large_indices():
    (chunk,) = open_stream(svm("1 3000000000:1"))
    assert chunk.matrix.shape == (1, 3_000_000_000)
    assert chunk.matrix.indices.dtype == np.int64
    assert "at most" in refusal(svm("1 123456789012345678901:1"))


def test_columns_grow_or_are_fixed():
    text = ("1 1:1", "-1 5:1")
    widths = [chunk.matrix.shape[1] for chunk in open_stream(svm(*text), ReadOptions(chunk_rows=1))]
    assert widths == [1, 5]
    widths = [
        c.matrix.shape[1] for c in open_stream(svm(*text), ReadOptions(chunk_rows=1, n_features=9))
    ]
    assert widths == [9, 9]
    assert "line 2, column 4" in refusal(svm(*text), n_features=3)


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [
        ("one 1:2", 1, "label"),
        ("1:2 3:4", 1, "label"),
        ("1,2 3:4", 1, "label"),
        ("1_0 3:4", 1, "label"),
        ("1 2", 3, "colon"),
        ("1 2:", 3, "number"),
        ("1 2:x", 5, "number"),
        ("1 2:3:4", 5, "number"),
        ("1 2: 3", 3, "number"),
        ("1 a:3", 3, "index"),
        ("1 1:3 :3", 7, "index"),
        ("1 -2:3", 3, "at least 1"),
        ("1 0:3", 3, "at least 1"),
        ("1 2305843009213693952:3", 3, "at most 999999999999999999"),
        ("1 2:3 2:4", 7, "once"),
        ("1 3:3 1:4 3:5", 11, "once"),
        ("1 qid:x 1:2", 3, "qid"),
        ("1 1.5:2", 3, "colon"),
        ("1 \x00", 3, "index"),
    ],
)
@pytest.mark.parametrize("block", [16, base.READ_BYTES])
def test_malformed_lines_name_file_line_and_column(
    line, column, word, block, tmp_path, monkeypatch
):
    monkeypatch.setattr(base, "READ_BYTES", block)
    path = tmp_path / "bad.svm"
    path.write_text(f"1 1:1\n# comment\n\n-1 2:2 4:1\n{line}\n1 1:1\n")
    said = refusal(path, zero_based=False)
    assert f"bad.svm, line 5, column {column}." in said
    assert word in said


def test_binary_rubbish_is_refused(monkeypatch):
    monkeypatch.setattr(base, "LONGEST_LINE", 1000)
    monkeypatch.setattr(base, "READ_BYTES", 256)
    assert "1000 bytes" in refusal(io.BytesIO(b"\x01" * 5000))
    rng = np.random.default_rng(0)
    for size in (1, 10, 500):
        for _ in range(20):
            with pytest.raises(DataError):
                list(
                    open_stream(io.BytesIO(b"x" + rng.bytes(size)), ReadOptions(format="svmlight"))
                )
