"""Streams of chunks: Parquet, other sources, reading ahead."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from auctor.core.errors import DataError, MissingExtraError, ParameterError
from auctor.tables import Chunk, ReadOptions, open_stream, stream
from tests.tables.streams import gather, refusal, svm

# --- Parquet ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [3, 100])
def test_parquet(chunk_rows, tmp_path):
    table = pd.DataFrame({"a": [1.5, None, 3], "label": ["x", "y", "x"], "b": [1, 2, 3]})
    table = pd.concat([table] * 9, ignore_index=True)
    path = tmp_path / "rows.parquet"
    table.to_parquet(path, row_group_size=10)
    X, y = gather(path, chunk_rows=chunk_rows)
    np.testing.assert_array_equal(X, table[["a", "b"]].to_numpy(dtype=float))
    assert y.tolist() == table["label"].tolist()
    with open(path, "rb") as file:
        np.testing.assert_array_equal(gather(file)[0], X)


@pytest.mark.parametrize(
    ("column", "word"),
    [(["u", "v"], "string"), ([[1], [2]], "list"), (pd.to_datetime(["2020", "2021"]), "timestamp")],
)
def test_parquet_names_a_column_of_another_type(column, word, tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"bad": column, "label": [0, 1]}).to_parquet(path)
    said = refusal(path)
    assert "'bad'" in said
    assert word in said


def test_bad_parquet(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 is how it starts")
    assert "rows.parquet" in refusal(path)
    pd.DataFrame({"a": [1, 2], "label": ["x", None]}).to_parquet(path)
    assert "null" in refusal(path)
    assert "standard input" in refusal("-", format="parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'pyarrow.*pip install "auctor\[cli\]"'):
        list(open_stream(path))


# --- sources ------------------------------------------------------------------------------------


def test_pairs():
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    got, labels = gather((X[k : k + 1], y[k : k + 1]) for k in range(3))
    np.testing.assert_array_equal(got, X)
    assert labels.tolist() == y.tolist()
    np.testing.assert_array_equal(gather((X, y))[0], X)
    table = pd.DataFrame(X, columns=["u", "v"])
    assert next(open_stream([(table, y)])).columns == ("u", "v")
    assert "one label per row" in refusal([(X, y[:2])])
    assert "pairs" in refusal([X])
    assert "empty stream" in refusal([])
    assert "empty stream" in refusal([(X[:0], y[:0])])
    with pytest.raises(DataError, match="int"):
        open_stream(3)


def test_chunks_pass_through():
    inner = open_stream([(np.ones((2, 1)), [0, 1])] * 2)
    assert [chunk.first_row for chunk in open_stream(inner)] == [0, 2]


@pytest.mark.parametrize("fake", [True, False])
def test_standard_input(fake, monkeypatch, tmp_path):
    text = b"1 1:2\n-1 2:1\n"
    path = tmp_path / "rows"
    path.write_bytes(text)
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)) if fake else file)
        assert gather("-", chunk_rows=1)[0].tolist() == [[2, 0], [0, 1]]


def test_text_files(tmp_path):
    assert gather(io.StringIO("1 1:2"))[1].tolist() == [1]
    (tmp_path / "rows").write_text("1 1:2")
    with open(tmp_path / "rows") as file:
        assert gather(file)[1].tolist() == [1]


def test_files_that_cannot_be_read(tmp_path):
    assert "no.svm" in refusal(tmp_path / "no.svm")
    assert "folder" in refusal(tmp_path)
    (tmp_path / "empty.svm").touch()
    assert "empty stream" in refusal(tmp_path / "empty.svm")
    (tmp_path / "one.svm").write_text("1 1:2")
    assert gather([tmp_path / "empty.svm", tmp_path / "one.svm"])[1].tolist() == [1]


@pytest.mark.parametrize(
    "options",
    [
        {"format": "poem"},
        {"chunk_rows": 0},
        {"n_features": 0},
        {"zero_based": 1},
        {"header": "maybe"},
        {"delimiter": "::"},
    ],
)
def test_bad_options(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        open_stream(svm("1 1:1"), ReadOptions(**options))


def test_the_reader_is_a_few_chunks_ahead_and_stops(monkeypatch):
    made = []

    def slow(source, options, indices):
        for k in range(100):
            made.append(k)
            yield Chunk(np.ones((1, 1)), np.array([k]))

    monkeypatch.setitem(stream.READERS, "svmlight", slow)
    chunks = open_stream(io.BytesIO(b"x"))
    assert [int(next(chunks).labels[0]) for _ in range(5)] == list(range(5))
    chunks.close()
    assert 5 <= len(made) <= 5 + stream.CHUNKS_AHEAD + 2


def test_an_error_comes_after_the_rows_before_it():
    chunks = open_stream(svm("1 1:1", "-1 1:1", "oops"), ReadOptions(chunk_rows=1))
    assert [next(chunks).labels[0], next(chunks).labels[0]] == [1, -1]
    with pytest.raises(DataError, match="line 3"):
        next(chunks)
