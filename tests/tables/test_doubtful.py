"""Tables that may not be meant as they were read."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from auctor.core.errors import DataError, DataWarning
from auctor.tables import ReadOptions, open_stream, read_table
from auctor.tables.convert import convert
from tests.tables.reading import TEXT, csv, dense, refusal, written


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("wrong", [1, 2, 3])
def test_text_that_is_mostly_numbers(wrong, suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    price = [str(k) for k in range(20)]
    price[-wrong:] = ["1,700"] * wrong
    table = pd.DataFrame({"price": price, "label": [0, 1] * 10})
    path = written(table, tmp_path / f"rows{suffix}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_table(path).schema.columns[0].kind == "category"
    assert len(caught) == (wrong <= 2)
    if caught:
        said = str(caught[0].message)
        assert f"column 'price' of {path}" in said
        assert f"{20 - wrong} of 20 values are numbers, '1,700'" in said
        assert (f"in line {22 - wrong}" in said) == (suffix == ".csv")


def test_categories_of_arrow_are_meant(tmp_path):
    pytest.importorskip("pyarrow")
    plan = pd.Categorical([str(k) for k in range(19)] + ["none of these"])
    table = pd.DataFrame({"plan": plan, "label": [0, 1] * 10})
    assert read_table(written(table, tmp_path / "rows.parquet")).schema.n_features == 20


def test_integers_beyond_what_a_float_holds():
    for number in (2**53 + 1, -(2**53) - 1, 2**64):
        text = f"a,id,y\n1e300,1,0\n2,{number},1\n"
        with pytest.warns(DataWarning, match=f"{number} in 'id' of BytesIO"):
            table = csv(text)
        assert table.matrix[1].tolist() == [2, float(number)]
    csv(f"a,y\n{2**53},0\n1e400,1\n-inf,1\n{-(2**53)},1\n")


CSV = ReadOptions(format="csv")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**60) - 1])
def test_labels_that_floats_would_merge_are_refused(number, tmp_path):
    other = number - 1
    text = f"a,y\n1,7\n2,{number}\n3,{other}\n".encode()
    for read in (read_table, lambda *source: list(open_stream(*source))):
        with pytest.raises(DataError, match=f"labels below 2.53, .*{number} in BytesIO, line 3"):
            read(io.BytesIO(text), CSV)
        with pytest.raises(DataError, match=f"labels below 2.53, .*'{number}' in BytesIO, line 2"):
            read(
                io.BytesIO(f"1 1:1\n{number} 1:2\n{other} 1:3\n".encode()),
                ReadOptions(format="svmlight"),
            )
        words = text.replace(b"1,7", b"1,id").replace(str(number).encode(), b"a")
        with pytest.raises(DataError):
            read(io.BytesIO(words), CSV)
    text = text.replace(b"1,7\n", b"")
    spelt = text.replace(str(number).encode(), b"n%d" % number).replace(
        str(other).encode(), b"n%d" % other
    )
    assert read_table(io.BytesIO(spelt), ReadOptions(format="csv")).labels.tolist() == [
        f"n{number}",
        f"n{other}",
    ]
    # Labels that nobody needs are not looked at.
    assert read_table(io.BytesIO(text), ReadOptions(format="csv", labelled=False)).matrix.shape == (
        2,
        1,
    )
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [number, other, 0]})
    frame.to_parquet(tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").labels.tolist() == [number, other, 0]
    frame.astype({"y": "Int64"}).replace({"y": {0: None}}).to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(DataError, match=r"labels below 2\^53, .*beside null"):
        read_table(tmp_path / "gap.parquet")


@pytest.mark.parametrize("text", ["a,y\n1,0\n2,1e400\n3,1e401\n", "0 1:1\n1e400 1:2\n1e401 1:3\n"])
def test_labels_beyond_every_float_are_refused(text):
    # Both would be infinity, one class.
    with pytest.raises(DataError, match=r"labels below 2\^53"):
        read_table(
            io.BytesIO(text.encode()), ReadOptions(format="csv" if "," in text else "svmlight")
        )


@pytest.mark.parametrize("number", [2**53 + 1, -(2**60) - 1])
def test_integers_of_arrays_beyond_what_a_float_holds(number, tmp_path):
    rows = np.array([[1, number, 0], [2, 5, 1]])
    np.save(tmp_path / "rows.npy", rows)
    with pytest.warns(DataWarning, match=f"{number} in 'column_2' of .*rows.npy"):
        read_table(tmp_path / "rows.npy")
    np.savez(tmp_path / "rows.npz", X=rows[:, :2], y=rows[:, 2], columns=["a", "id"])
    with pytest.warns(DataWarning, match=f"{number} in 'id' of .*rows.npz"):
        read_table(tmp_path / "rows.npz")
    for name in ("rows.npy", "rows.npz"):
        with pytest.raises(DataError, match=str(number)):
            convert(tmp_path / name, tmp_path / "rows.csv")
    np.save(tmp_path / "labels.npy", rows[:, [0, 2, 1]])  # labels keep every digit
    assert read_table(tmp_path / "labels.npy").labels.tolist() == [number, 5]
    np.save(tmp_path / "fine.npy", np.array([[2**53, 0], [-(2**53), 1]]))
    read_table(tmp_path / "fine.npy")
    X = sparse.csr_array(rows[:, :2])
    parts = {"indices": X.indices, "indptr": X.indptr, "data": X.data, "shape": X.shape}
    np.savez(tmp_path / "sparse.npz", format=b"csr", **parts, y=rows[:, 2])
    with pytest.raises(DataError, match=f"{number} in column 1"):
        read_table(tmp_path / "sparse.npz")


def test_line_ends_between_quotes_are_kept():
    table = csv('note,a,y\n"first\nsecond",1,0\nplain,2,1\n"first\nsecond",3,1\n')
    assert table.schema.columns[0].levels == ("first\nsecond", "plain")
    assert dense(table.matrix).tolist() == [[1, 0, 1], [0, 1, 2], [1, 0, 3]]


def test_warnings_point_to_the_caller(tmp_path):
    with pytest.warns(DataWarning, match="leaves out") as caught:
        read_table(io.BytesIO(b"a,b,y\n1,,0\n2,NA,1\n"), ReadOptions(format="csv"))
    assert caught[0].filename == __file__
    (tmp_path / "rows.csv").write_text("a,b,y\n1,,0\n2,NA,1\n")
    with pytest.warns(DataWarning, match="leaves out") as caught:
        convert(tmp_path / "rows.csv", tmp_path / "rows.svm")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.XLS", "rows.ods", "rows.json.gz"])
def test_files_of_other_programs_are_named(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04 and so on")
    for read in (read_table, lambda path: list(open_stream(path))):
        with pytest.raises(DataError, match="Save the table as CSV"):
            read(path)
    path.write_bytes(TEXT)
    assert read_table(path, ReadOptions(format="csv", label="bought")).matrix.shape == (3, 4)


def test_carriage_returns_end_lines():
    rows = b"n,class,w\n1,u,3\n2,v,4\n"
    wanted = read_table(io.BytesIO(rows), ReadOptions(format="csv"))
    for ends in (b"\r", b"\r\n"):
        found = read_table(io.BytesIO(rows.replace(b"\n", ends)), ReadOptions(format="csv"))
        assert np.array_equal(found.matrix, wanted.matrix)
        assert found.labels.tolist() == ["u", "v"]
    with pytest.raises(DataError, match=r"needs 3 fields in each line; got 1 in .*line 3"):
        read_table(io.BytesIO(b"n,class,w\r\n1,u,3\rx\r\n"), ReadOptions(format="csv"))


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "\ufeffSEP=; \n\n"])
def test_the_line_of_excel_names_the_delimiter(first):
    rows = "a;b,c,d,e;y\n1;2;0\n3;4;1\n"  # commas are more frequent in the line of names
    found = csv(first + rows)
    assert [column.name for column in found.schema.columns] == ["a", "b,c,d,e"]
    assert np.array_equal(dense(found.matrix), [[1, 2], [3, 4]])
    assert f"line {first.count(chr(10)) + 4}" in refusal(f"{first}{rows}1;2\n")


def test_a_given_delimiter_overrides_the_line_of_excel():
    found = csv("sep=;\na|b;c|y\n1|2|0\n3|4|1\n", delimiter="|")
    assert [column.name for column in found.schema.columns] == ["a", "b;c"]
    # A name that only begins like it is a name.
    assert csv("sep=;x,y\n1,0\n2,1\n", delimiter=",").schema.columns[0].name == "sep=;x"


def test_text_of_windows_is_refused_with_the_command_that_converts_it():
    said = refusal("a,y\n5 €,1\n".encode("cp1252"))
    assert "iconv -f cp1252 -t utf-8" in said  # in latin1 the sign of the euro does not exist
