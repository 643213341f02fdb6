"""Streams of CSV and TSV: columns, labels, quotes, line ends."""

import io
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from auctor.core.errors import DataError, MissingExtraError, ParameterError
from auctor.tables import Column, ReadOptions, Schema, open_stream, read_table
from auctor.tables import source as base
from auctor.tables.delimited import DelimitedFile
from tests.tables.streams import gather, refusal

# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
@pytest.mark.parametrize("block", [16, base.READ_BYTES])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_is_what_pandas_reads(chunk_rows, block, end, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", block)
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
    monkeypatch.setattr(base, "READ_BYTES", block)
    source = base.Source(io.BytesIO(text.encode()))
    file = DelimitedFile(source, ReadOptions(chunk_rows=100, label=-1))
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
    settings = ReadOptions(chunk_rows=100, label=label, header=header is not None)
    assert DelimitedFile(source, settings).label == found


def test_a_schema_names_its_label():
    """A label that the schema calls 1 is no position in a file without it."""
    schema = Schema.of([Column("a", "number"), Column("b", "number")], "1")
    chunk = next(
        open_stream(
            io.BytesIO(b"b,a\n1,2\n"), ReadOptions(format="csv", schema=schema, labelled=False)
        )
    )
    assert chunk.matrix.tolist() == [[2, 1]]
    assert chunk.label is None
    chunk = next(
        open_stream(io.BytesIO(b"b,1,a\n1,7,2\n"), ReadOptions(format="csv", schema=schema))
    )
    assert (chunk.labels.tolist(), chunk.label) == ([7], "1")


def test_chunks_say_label_and_first_index():
    chunk = next(open_stream(io.BytesIO(b"a,y\n1,0\n2,1\n"), ReadOptions(format="csv")))
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
        ("a,y\n1,0\n", {"n_features": 3}, ["3 columns", "as n_features says"]),
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


# --- CSV: quotes, line ends, places ---------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [4, 16, base.READ_BYTES])
@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_line_ends_between_quotes_are_text(end, block, chunk_rows, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", block)
    text = f'a,"two{end}lines",y{end}1,2,"no{end}no"{end}3,4,"say ""hi"", you{end}"{end}'
    chunks = list(
        open_stream(
            io.BytesIO(text.encode()), ReadOptions(format="csv", label="y", chunk_rows=chunk_rows)
        )
    )
    assert chunks[0].columns == ("a", f"two{end}lines")
    assert np.vstack([chunk.matrix for chunk in chunks]).tolist() == [[1, 2], [3, 4]]
    labels = [label for chunk in chunks for label in chunk.labels.tolist()]
    assert labels == [f"no{end}no", 'say "hi", you']


@pytest.mark.parametrize("block", [4, base.READ_BYTES])
def test_carriage_returns_between_quotes_are_text_and_end_lines_elsewhere(block, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", block)
    text = b'w,y\r"one\rtwo",0\r"one\ntwo",1\r\n"a\r\nb",1\n'
    table = read_table(io.BytesIO(text), ReadOptions(format="csv"))
    assert table.schema.columns[0].levels == ("a\r\nb", "one\ntwo", "one\rtwo")
    assert table.labels.tolist() == [0, 1, 1]
    with pytest.raises(DataError, match="got 1 in BytesIO, line 8"):
        read_table(io.BytesIO(text + b"bad\n"), ReadOptions(format="csv"))


@pytest.mark.parametrize("block", [4, base.READ_BYTES])
def test_lines_are_counted_past_those_between_quotes(block, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", block)
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


@pytest.mark.parametrize("block", [4, base.READ_BYTES])
def test_a_quote_that_is_never_closed_names_its_line(block, monkeypatch):
    monkeypatch.setattr(base, "READ_BYTES", block)
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
        open_stream(io.BytesIO(b""), ReadOptions(format="csv", decimal="'"))


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
        list(open_stream(io.BytesIO(b"a,y\n1,0\n"), ReadOptions(format="csv")))


def test_a_stream_does_not_hold_the_file(tmp_path):
    """Peak memory while streaming is a small part of the file's size."""
    path = tmp_path / "long.csv"
    with open(path, "w") as file:
        file.write("a,b,y\n")
        for _ in range(60):
            file.write("1.25,word and word and word,1\n" * 10_000)
    schema = Schema.of([Column("a", "number")], "y")
    tracemalloc.start()
    rows = sum(chunk.n_rows for chunk in open_stream(path, ReadOptions(schema=schema)))
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
    monkeypatch.setattr(base, "READ_BYTES", 64)
    rows = b"a,b,y\n" + b"1,2,0\n" * 50 + b"1,2,0,5\n" + b"1,2,0\n" * 5
    said = refusal(io.BytesIO(rows), format="csv")
    assert "got 4 in BytesIO, line 52" in said
