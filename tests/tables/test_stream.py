"""Streams of rows from files, pipes and generators."""

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from auctor.core.errors import DataError, MissingExtraError, ParameterError
from auctor.kernels.text import numbers as kernels
from auctor.tables import Chunk, Column, ReadOptions, Schema, open_stream, stream
from auctor.tables import source as base
from auctor.tables.delimited import DelimitedFile


def gather(source, format="auto", **options):
    """All rows of a stream as one matrix and its labels."""
    chunks = list(open_stream(source, format, **options))
    firsts = np.cumsum([0] + [chunk.n_rows for chunk in chunks])
    assert [chunk.first_row for chunk in chunks] == firsts[:-1].tolist()
    width = max(chunk.matrix.shape[1] for chunk in chunks)
    parts = []
    for chunk in chunks:
        dense = chunk.matrix.toarray() if sparse.issparse(chunk.matrix) else chunk.matrix
        parts.append(np.pad(dense, ((0, 0), (0, width - dense.shape[1]))))
    return np.vstack(parts), np.concatenate([chunk.labels for chunk in chunks])


def svm(*lines):
    return io.BytesIO("\n".join(lines).encode())


def refusal(source, **options):
    with pytest.raises(DataError) as caught:
        list(open_stream(source, **options))
    return str(caught.value)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 40, density=0.15, random_state=1, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    return X, np.where(rng.random(300) < 0.4, 1.0, -1.0)


# --- numbers ------------------------------------------------------------------------------------


def read(token):
    data = np.frombuffer(token.encode(), np.uint8)
    return kernels.read_number(data, 0, data.size, np.zeros(1, np.uint64))


def test_numbers_are_the_nearest_doubles():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 63, 20_000, dtype=np.uint64).view(np.float64)
    ordinary = rng.normal(size=20_000) * 10.0 ** rng.integers(-30, 30, 20_000)
    tokens = [repr(x) for x in bits[np.isfinite(bits)].tolist() + ordinary.tolist()]
    tokens += [
        f"{m}e{q}"
        for m, q in zip(
            rng.integers(0, 10**19, 20_000, dtype=np.uint64).tolist(),
            rng.integers(-330, 300, 20_000).tolist(),
            strict=True,
        )
    ]
    tokens += ["0", "-0", "+1", "1.", ".5", "1e5", "1E-5", "00012", "0.1", "9007199254740993",
               "9007199254740992.5", "1e22", "1e23", "4.5e15", "5e-324", "2.2250738585072011e-308",
               "1.7976931348623157e308", "0.000012345678901234567", "18446744073709551615",
               "9999999999999999999", "4503599627370497.5", "4503599627370496.5"]  # fmt: skip
    read_here = 0
    for token in tokens:
        value, after, known = read(token)
        assert after == len(token)
        if known:
            assert value == float(token), token
            read_here += 1
    assert read_here > 0.9 * len(tokens)


def test_halves_go_to_the_even_neighbour():
    for mantissa in (2**53 + 1, 2**53 + 3, 2**54 + 2, 2**54 + 6, 2**60 + 2**7):
        for token in (str(mantissa), f"{mantissa * 5}e-1", f"{mantissa}.0"):
            value, _, known = read(token)
            assert not known or value == float(token)


@pytest.mark.parametrize("token", ["", "-", ".", "e5", "1e", "1e+", "nan", "inf", "1" * 30])
def test_what_is_left_to_the_caller(token):
    assert not read(token)[2]


# --- svmlight -----------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [1, 7, 300, 1000])
@pytest.mark.parametrize("block", [16, 1000, base.BLOCK])
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_is_what_scikit_learn_reads(
    rows, chunk_rows, block, zero_based, tmp_path, monkeypatch
):
    monkeypatch.setattr(base, "BLOCK", block)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(*rows, str(path), zero_based=zero_based)
    expected, y = load_svmlight_file(str(path), zero_based=zero_based)
    X, labels = gather(path, chunk_rows=chunk_rows, zero_based=zero_based)
    np.testing.assert_array_equal(X, expected.toarray())
    np.testing.assert_array_equal(labels, y)


def test_chunks_have_the_rows_asked_for(rows, tmp_path):
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(*rows, path)
    sizes = [chunk.n_rows for chunk in open_stream(path, chunk_rows=70)]
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
    widths = [chunk.matrix.shape[1] for chunk in open_stream(svm(*text), chunk_rows=1)]
    assert widths == [1, 5]
    widths = [c.matrix.shape[1] for c in open_stream(svm(*text), chunk_rows=1, n_features=9)]
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
        ("1 2:3 2:4", 7, "once"),
        ("1 3:3 1:4 3:5", 11, "once"),
        ("1 qid:x 1:2", 3, "qid"),
        ("1 1.5:2", 3, "colon"),
        ("1 \x00", 3, "index"),
    ],
)
@pytest.mark.parametrize("block", [16, base.BLOCK])
def test_malformed_lines_name_file_line_and_column(
    line, column, word, block, tmp_path, monkeypatch
):
    monkeypatch.setattr(base, "BLOCK", block)
    path = tmp_path / "bad.svm"
    path.write_text(f"1 1:1\n# comment\n\n-1 2:2 4:1\n{line}\n1 1:1\n")
    said = refusal(path, zero_based=False)
    assert f"bad.svm, line 5, column {column}." in said
    assert word in said


def test_binary_rubbish_is_refused(monkeypatch):
    monkeypatch.setattr(base, "LONGEST_LINE", 1000)
    monkeypatch.setattr(base, "BLOCK", 256)
    assert "1000 bytes" in refusal(io.BytesIO(b"\x01" * 5000))
    rng = np.random.default_rng(0)
    for size in (1, 10, 500):
        for _ in range(20):
            with pytest.raises(DataError):
                list(open_stream(io.BytesIO(b"x" + rng.bytes(size)), "svmlight"))


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
@pytest.mark.parametrize("block", [16, base.BLOCK])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_is_what_pandas_reads(chunk_rows, block, end, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "BLOCK", block)
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    table.loc[rng.random(50) < 0.2, "b"] = np.nan
    table.insert(2, "label", rng.integers(0, 2, 50))
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False, lineterminator=end)
    X, y = gather(path, chunk_rows=chunk_rows)
    np.testing.assert_array_equal(X, table[list("abcd")].to_numpy())
    np.testing.assert_array_equal(y, table["label"].to_numpy())
    assert next(open_stream(path)).columns == tuple("abcd")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("2,1,3\n5,0,6\n", {"label": 1}),
        ("2,3,1\n5,6,0\n", {"label": -1}),
        ("a;y;b\n2;1;3\n5;0;6", {}),
        ("a\tb\twhat\n2\t3\t1\n5\t6\t0\n", {"label": "what"}),
        ('"a","y","b"\n"2","1","3"\n 5 , 0 , 6 \n\n', {}),
        ("7,8,9\n2,1,3\n5,0,6\n", {"label": 1, "header": True}),
        ("7,8,9\n2,1,3\n5,0,6\n", {"label": "8"}),
        ("0,label,2\n2,1,3\n5,0,6\n", {}),
        ("2|1|3\n5|0|6\n", {"label": 1, "delimiter": "|"}),
        ("\n\na,y,b\n\n2,true,3\n5,False,6\n", {}),
    ],
)
def test_tables_of_many_kinds(text, options):
    X, y = gather(io.BytesIO(text.encode()), "csv", **options)
    assert X.tolist() == [[2, 3], [5, 6]]
    assert y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b,2020,colour,fraud\n1,2,3,4,0\n5,6,7,8,1\n", True),
        ("2020,colour,0\n\n1,4,0\n", True),
        ("1,red,0\n2,blue,1\n", False),
        ("1,,0\n2,5,1\n", False),
        ("NA,1,0\n2,5,1\n", False),
        ("red,1,0\nNA,5,1\n", False),
        ("2020,colour,0", False),
    ],
)
@pytest.mark.parametrize("block", [1 << 20, 4])
def test_a_word_above_a_number_is_a_name(text, header, block, monkeypatch):
    monkeypatch.setattr(base, "BLOCK", block)
    source = base.Source(io.BytesIO(text.encode()))
    file = DelimitedFile(source, ReadOptions("test", chunk_rows=100, label=-1))
    assert file.named is header
    assert file.label == ("fraud" if "fraud" in text else "0" if header else "column_3")
    kinds = ["category"] * len(file.names)
    rows = sum(block.n_rows for block in file.blocks(kinds))
    assert rows == len(text.split()) - header
    assert sum(block.n_rows for block in file.blocks(kinds)) == rows


@pytest.mark.parametrize(
    ("label", "header", "found"),
    [
        ("2", "7,2,5", "2"),  # a name before a position
        ("1", "7,2,5", "2"),
        ("-1", "7,2,5", "5"),
        ("5", "7,2,5", "5"),
        (1, "7,1,5", "1"),
        ("0", None, "column_1"),
        ("-1", None, "column_3"),
        ("column_2", None, "column_2"),
    ],
)
def test_labels_by_name_or_position(label, header, found):
    text = "" if header is None else f"{header}\n"
    source = base.Source(io.BytesIO(f"{text}1,0,4\n2,1,5\n".encode()))
    settings = ReadOptions("test", chunk_rows=100, label=label, header=header is not None)
    assert DelimitedFile(source, settings).label == found


def test_a_schema_names_its_label():
    """A label that the schema calls 1 is no position in a file without it."""
    schema = Schema.of([Column("a", "number"), Column("b", "number")], "1")
    chunk = next(open_stream(io.BytesIO(b"b,a\n1,2\n"), "csv", schema=schema, labelled=False))
    assert chunk.matrix.tolist() == [[2, 1]]
    assert chunk.label is None
    chunk = next(open_stream(io.BytesIO(b"b,1,a\n1,7,2\n"), "csv", schema=schema))
    assert (chunk.labels.tolist(), chunk.label) == ([7], "1")


def test_chunks_say_label_and_first_index():
    chunk = next(open_stream(io.BytesIO(b"a,y\n1,0\n2,1\n"), "csv"))
    assert (chunk.label, chunk.first_index) == ("y", None)
    assert chunk.part(1, 2).label == "y"
    for text, first in ((b"1 0:1\n", 0), (b"1 1:1\n", 1)):
        chunk = next(open_stream(io.BytesIO(text)))
        assert (chunk.label, chunk.first_index) == (None, first)


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
@pytest.mark.parametrize("labels", ["?,?,?,yes", "yes,?,no,no", "no,yes,?,?"])
def test_missing_text_labels_name_the_first_line(labels, chunk_rows):
    text = "a,y\n" + "".join(f"{k},{label}\n" for k, label in enumerate(labels.split(",")))
    said = refusal(io.BytesIO(text.encode()), format="csv", chunk_rows=chunk_rows)
    line = labels.split(",").index("?") + 2
    assert f"a label in every row; got '?' in BytesIO, line {line} (read as missing)" in said


def test_missing_fields_are_nan():
    X, y = gather(io.BytesIO(b"y,a,b\n1,,NA\n0,nan,?\n,1,NULL\n"), "csv")
    np.testing.assert_array_equal(X, [[np.nan] * 2, [np.nan] * 2, [1, np.nan]])
    np.testing.assert_array_equal(y, [1, 0, np.nan])


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_text_labels(chunk_rows):
    text = b'a,y\n1,no\n2,"yes, sir"\n3,no\n'
    _, y = gather(io.BytesIO(text), "csv", chunk_rows=chunk_rows)
    assert y.tolist() == ["no", "yes, sir", "no"]


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
@pytest.mark.parametrize(
    ("labels", "wrong"), [("no yes no 1", "1"), ("0 1 1 yes", "yes"), ("no yes no NA", "NA")]
)
def test_labels_that_change_type_name_the_line(labels, wrong, chunk_rows):
    text = "a,y\n" + "".join(f"{k},{label}\n" for k, label in enumerate(labels.split()))
    said = refusal(io.BytesIO(text.encode()), format="csv", chunk_rows=chunk_rows)
    assert f"{wrong!r} in BytesIO, line 5" in said


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,y\n1,0\nred,1\n", {}, ["column 1 (a)", "'red'", "line 3"]),
        ("1,0\n2,1\n3,blue\n1,0", {"label": 0}, ["column 2", "'blue'", "line 3"]),
        ('a,y\n"1\n2",1\n', {}, ["column 1 (a)", "line 2"]),
        ("a,y\n1,0\n1,2,3\n", {}, ["2 fields", "got 3", "line 3"]),
        ("a,y\n1,0\n1\n", {}, ["2 fields", "got 1", "line 3"]),
        ("a,b\n1,0\n", {}, ["label column", "a, b"]),
        ("1,2\n1,0\n", {}, ["label column", "without names"]),
        ("a,b\n1,0\n", {"label": "c"}, ["'c'", "a, b"]),
        ("a,b\n1,0\n", {"label": 2}, ["label in [-2, 2)"]),
        ("a\n1\n", {"label": 0}, ["at least one more column"]),
        ("a,y\n1,0\n", {"n_features": 3}, ["n_features=3"]),
        ("a,y\n", {}, ["empty stream"]),
        ("\n\n", {}, ["empty stream"]),
    ],
)
def test_bad_tables(text, options, words):
    said = refusal(io.BytesIO(text.encode()), format="csv", **options)
    assert all(word in said for word in words), said


def test_several_files_have_the_same_columns(tmp_path):
    for name, head in (("one", "y,a,b"), ("two", "y,a,b"), ("three", "y,a,c"), ("four", "y,b,a")):
        (tmp_path / f"{name}.csv").write_text(f"{head}\n1,2,3\n0,5,6\n")
    paths = {path.stem: path for path in tmp_path.iterdir()}
    X, _ = gather([paths["one"], paths["two"]])
    assert X.shape == (4, 2)
    assert "b, c" in refusal([paths["one"], paths["three"]])
    assert "another order" in refusal([paths["one"], paths["four"]])


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
        open_stream(svm("1 1:1"), **options)


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
    chunks = open_stream(svm("1 1:1", "-1 1:1", "oops"), chunk_rows=1)
    assert [next(chunks).labels[0], next(chunks).labels[0]] == [1, -1]
    with pytest.raises(DataError, match="line 3"):
        next(chunks)


# --- CSV: quotes, line ends, places ---------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [4, 16, base.BLOCK])
@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_line_ends_between_quotes_are_text(end, block, chunk_rows, monkeypatch):
    monkeypatch.setattr(base, "BLOCK", block)
    text = f'a,"two{end}lines",y{end}1,2,"no{end}no"{end}3,4,"say ""hi"", you{end}"{end}'
    chunks = list(open_stream(io.BytesIO(text.encode()), "csv", label="y", chunk_rows=chunk_rows))
    assert chunks[0].columns == ("a", f"two{end}lines")
    assert np.vstack([chunk.matrix for chunk in chunks]).tolist() == [[1, 2], [3, 4]]
    labels = [label for chunk in chunks for label in chunk.labels.tolist()]
    assert labels == [f"no{end}no", 'say "hi", you']


@pytest.mark.parametrize("block", [4, base.BLOCK])
def test_lines_are_counted_past_those_between_quotes(block, monkeypatch):
    monkeypatch.setattr(base, "BLOCK", block)
    text = b'w,a,y\n"one\ntwo\n",1,0\n\n   \n"x",oops,1\n'
    schema = Schema.of([Column("a", "number")], "y")
    assert "'oops' in BytesIO, line 7" in refusal(io.BytesIO(text), format="csv", schema=schema)
    said = refusal(io.BytesIO(text.replace(b"oops,1", b"1")), format="csv", schema=schema)
    assert "3 fields" in said
    assert "got 2 in BytesIO, line 7" in said


def test_quotes_within_a_field_are_text():
    schema = Schema.of([Column("size", "category", levels=('5" pipe',))], "y")
    text = b'size,y\n5" pipe,1\n4" pipe,0\n5" pipe,0\n'
    X, y = gather(io.BytesIO(text), "csv", schema=schema)
    assert X[:, 0].tolist() == [1, 0, 1]
    assert y.tolist() == [1, 0, 0]


@pytest.mark.parametrize("block", [4, base.BLOCK])
def test_a_quote_that_is_never_closed_names_its_line(block, monkeypatch):
    monkeypatch.setattr(base, "BLOCK", block)
    text = b'a,y\n1,0\n2,"1\n3,0\n'
    said = refusal(io.BytesIO(text), format="csv")
    assert "quotes that are closed" in said
    assert "line 3" in said
    monkeypatch.setattr("auctor.tables.delimited.LONGEST_RECORD", 50)
    assert "line 3" in refusal(io.BytesIO(text + b"4,1\n" * 100), format="csv")


def test_decimal_commas():
    text = "a;b;y\n1,5;2;1\n-3,25e2;;0\n"
    X, y = gather(io.BytesIO(text.encode()), "csv", decimal=",")
    np.testing.assert_array_equal(X, [[1.5, 2], [-325, np.nan]])
    assert y.tolist() == [1, 0]
    assert "'1.700'" in refusal(io.BytesIO(b"a;y\n1,5;1\n1.700;0\n"), format="csv", decimal=",")
    quoted = b'a,b,y\n"1,5",2,1\n"-3,5",,0\n'  # commas between the fields as well
    np.testing.assert_array_equal(
        gather(io.BytesIO(quoted), "csv", decimal=",")[0], [[1.5, 2], [-3.5, np.nan]]
    )
    with pytest.raises(ParameterError, match="decimal"):
        open_stream(io.BytesIO(b""), "csv", decimal="'")


def test_text_of_another_encoding_names_its_line():
    said = refusal(io.BytesIO("a,y\n1,0\nSão,1\n".encode("latin-1")), format="csv")
    assert "needs UTF-8 text" in said
    assert "line 3" in said
    wide = refusal(io.BytesIO("a,y\n1,0\n2,1\n".encode("utf-16")), format="csv")
    assert "needs UTF-8 text" in wide
    assert "which is UTF-16 text" in wide


def test_csv_needs_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'pyarrow.*pip install "auctor\[cli\]"'):
        list(open_stream(io.BytesIO(b"a,y\n1,0\n"), "csv"))


def test_a_stream_does_not_hold_the_file(tmp_path):
    """Peak memory while streaming is a small part of the file's size."""
    path = tmp_path / "long.csv"
    with open(path, "w") as file:
        file.write("a,b,y\n")
        for _ in range(60):
            file.write("1.25,word and word and word,1\n" * 10_000)
    schema = Schema.of([Column("a", "number")], "y")
    tracemalloc.start()
    rows = sum(chunk.n_rows for chunk in open_stream(path, schema=schema))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 600_000
    assert peak < path.stat().st_size / 2


def test_rows_of_tabs_are_rows():
    """In a TSV file a line of tabs has empty fields; with too few of them it is refused."""
    rows = b"a\tb\ty\n1\t2\t0\n\t\t\n  \n3\t4\t1\n"
    X, y = gather(io.BytesIO(rows), "tsv")
    np.testing.assert_array_equal(X, [[1, 2], [np.nan, np.nan], [3, 4]])
    np.testing.assert_array_equal(y, [0, np.nan, 1])
    said = refusal(io.BytesIO(rows.replace(b"\t\t\n", b"\t\n")), format="tsv")
    assert "3 fields" in said
    assert "got 2 in BytesIO, line 3" in said
    X, _ = gather(io.BytesIO(b"a\n1\n \n\n2\n"), "csv", labelled=False)
    np.testing.assert_array_equal(X, [[1], [np.nan], [2]])


def test_a_ragged_row_far_into_the_file_is_named_by_its_line(monkeypatch):
    monkeypatch.setattr(base, "BLOCK", 64)
    rows = b"a,b,y\n" + b"1,2,0\n" * 50 + b"1,2,0,5\n" + b"1,2,0\n" * 5
    said = refusal(io.BytesIO(rows), format="csv")
    assert "got 4 in BytesIO, line 52" in said
