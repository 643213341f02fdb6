"""Tables in svmlight, npy, npz and Arrow files."""

import io
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.tables import ReadOptions, open_stream, read_table
from tests.tables.reading import TEXT, csv, dense, refusal


def test_svmlight():
    table = read_table(io.BytesIO(b"1 1:0.5 3:2\n0 2:1\n"))
    assert table.matrix.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert table.labels.tolist() == [1, 0]
    assert (table.schema.columns, table.schema.n_features, table.summary) == ((), 3, ())
    wider = read_table(io.BytesIO(b"1 1:1 9:9\n"), ReadOptions(schema=table.schema))
    assert wider.matrix.toarray().tolist() == [[1, 0, 0]]
    narrow = read_table(io.BytesIO(b"1 1:1\n"), ReadOptions(schema=table.schema))
    assert narrow.matrix.shape == (1, 3)
    (chunk,) = open_stream(io.BytesIO(b"1 1:1 9:9\n"), ReadOptions(schema=table.schema))
    assert chunk.matrix.toarray().tolist() == [[1, 0, 0]]


def test_svmlight_counts_as_the_training_file_did():
    schema = read_table(io.BytesIO(b"1 0:1 2:1\n")).schema
    assert read_table(
        io.BytesIO(b"1 1:7\n"), ReadOptions(schema=schema)
    ).matrix.toarray().tolist() == [[0, 7, 0]]
    (chunk,) = open_stream(io.BytesIO(b"1 1:7\n"), ReadOptions(schema=schema))
    assert chunk.matrix.toarray().tolist() == [[0, 7, 0]]


def test_svmlight_with_missing_values():
    text = b"1 1:nan 2:1\n0 1:nan 2:3\n"
    with pytest.raises(DataError, match="2 missing in '1'"):
        read_table(io.BytesIO(text))
    with pytest.raises(DataError, match="missing='zero'"):
        read_table(io.BytesIO(text), ReadOptions(missing="mean"))
    table = read_table(io.BytesIO(text), ReadOptions(missing="zero"))
    assert table.matrix.toarray().tolist() == [[0, 1], [0, 3]]


def test_rows_without_names_where_names_are_needed(tmp_path):
    schema = csv(TEXT, label="bought").schema
    with pytest.raises(DataError, match="named columns"):
        read_table(io.BytesIO(b"1 1:1\n"), ReadOptions(schema=schema))
    with pytest.raises(DataError, match="named columns"):
        list(open_stream(io.BytesIO(b"1 1:1\n"), ReadOptions(schema=schema)))
    path = tmp_path / "rows.npy"
    np.save(path, np.ones((2, 5)))
    with pytest.raises(DataError, match="age"):
        read_table(path, ReadOptions(schema=schema, label=4))
    with pytest.raises(ParameterError, match="columns"):
        read_table(io.BytesIO(b"1 1:1\n"), ReadOptions(columns=["a"]))


def test_columns_by_position_where_there_are_no_names(tmp_path):
    schema = read_table(io.BytesIO(b"1 1:0.5 2:2\n")).schema
    assert csv("y,a,b\n1,2,3\n", schema=schema).matrix.tolist() == [[2, 3]]
    assert "2 columns" in refusal("y,a\n1,2\n", schema=schema)
    named = csv("y,a,b\n1,2,3\n").schema
    assert read_table(
        io.BytesIO(b"1 2:5\n"), ReadOptions(schema=named)
    ).matrix.toarray().tolist() == [[0, 5]]
    np.save(tmp_path / "rows.npy", [[2.0, 3.0]])
    again = read_table(tmp_path / "rows.npy", ReadOptions(schema=named, labelled=False))
    assert again.matrix.tolist() == [[2, 3]]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("as_file", [False, True])
def test_npy(order, as_file, tmp_path):
    X = np.asarray(np.random.default_rng(0).normal(size=(20, 4)), order=order)
    X[:, 3] = X[:, 3] > 0
    path = tmp_path / "rows.npy"
    np.save(path, X)
    source = io.BytesIO(path.read_bytes()) if as_file else path
    table = read_table(source, ReadOptions(format="npy"))
    np.testing.assert_array_equal(table.matrix, X[:, :3])
    np.testing.assert_array_equal(table.labels, X[:, 3])
    first = read_table(path, ReadOptions(label=0))
    np.testing.assert_array_equal(first.matrix, X[:, 1:])
    assert first.schema.label == "column_1"
    chunks = list(open_stream(path, ReadOptions(chunk_rows=7)))
    np.testing.assert_array_equal(np.vstack([chunk.matrix for chunk in chunks]), X[:, :3])
    assert read_table(path, ReadOptions(labelled=False)).matrix.shape == (20, 4)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz(save, order, tmp_path):
    X = np.asarray(np.arange(12).reshape(4, 3), order=order)
    path = tmp_path / "rows.npz"
    save(path, X=X, y=np.array(["a", "b", "a", "b"]), columns=["u", "v", "w"])
    table = read_table(path)
    np.testing.assert_array_equal(table.matrix, X)
    assert table.labels.tolist() == ["a", "b", "a", "b"]
    assert table.schema.feature_names == ("u", "v", "w")
    chunks = list(open_stream(path, ReadOptions(chunk_rows=3)))
    np.testing.assert_array_equal(np.vstack([chunk.matrix for chunk in chunks]), X)
    shuffled = tmp_path / "other.npz"
    save(shuffled, X=X[:, ::-1], columns=["w", "v", "u"])
    again = read_table(shuffled, ReadOptions(schema=table.schema, labelled=False))
    np.testing.assert_array_equal(again.matrix, X)


@pytest.mark.parametrize("chunk_rows", [3, 8192])
def test_compressed_rows_of_scipy(chunk_rows, tmp_path):
    X = sparse.random(40, 9, density=0.3, random_state=0, format="csr")
    path = tmp_path / "rows.npz"
    parts = {"indices": X.indices, "indptr": X.indptr, "data": X.data, "shape": X.shape}
    np.savez(path, format=b"csr", **parts, y=np.arange(40) % 2)
    table = read_table(path)
    np.testing.assert_array_equal(table.matrix.toarray(), X.toarray())
    assert table.labels.tolist() == [0, 1] * 20
    chunks = list(open_stream(path, ReadOptions(chunk_rows=chunk_rows)))
    np.testing.assert_array_equal(
        np.vstack([chunk.matrix.toarray() for chunk in chunks]), X.toarray()
    )
    sparse.save_npz(path, X)
    assert read_table(path, ReadOptions(labelled=False)).labels is None
    with pytest.raises(DataError, match="array y"):
        read_table(path)
    sparse.save_npz(path, X.tocsc())
    with pytest.raises(DataError, match="CSR"):
        read_table(path, ReadOptions(labelled=False))


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.full(3, 9)},
        {"indices": np.full(3, -1)},
        {"indices": np.zeros(2, int)},
        {"indptr": np.array([0, 3, 2])},
        {"indptr": np.array([1, 2, 3])},
        {"indptr": np.array([0, 2, 4])},
        {"indptr": np.array([0.0, 2.0, 3.0])},
        {"shape": np.array([2])},
        {"shape": np.array([3, 4])},
        {"data": np.array(["a", "b", "c"])},
        {"data": np.array([1, 2, 3], object)},
        {"y": np.array([1])},
    ],
)
def test_arrays_that_make_no_matrix(change, tmp_path):
    parts = {"data": np.ones(3), "indices": np.array([0, 1, 0]), "indptr": np.array([0, 2, 3])}
    parts |= {"shape": np.array([2, 4]), "format": b"csr", "y": np.array([0, 1])}
    path = tmp_path / "rows.npz"
    np.savez(path, **{**parts, **change})
    with pytest.raises(DataError, match=r"rows\.npz"):
        read_table(path)
    with pytest.raises(DataError, match=r"rows\.npz"):
        list(open_stream(path))


def test_arrays_that_are_no_tables(tmp_path):
    path = tmp_path / "rows.npy"
    for array in (np.ones(3), np.ones((2, 2, 2)), np.array([["a", "b"]]), np.ones((2, 1))):
        np.save(path, array)
        with pytest.raises(DataError, match=r"rows\.npy"):
            read_table(path)
    np.save(path, np.array([[1, None]]), allow_pickle=True)
    with pytest.raises(DataError, match=r"rows\.npy"):
        read_table(path)
    path.write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(DataError, match=r"rows\.npy"):
        read_table(path)
    np.savez(tmp_path / "rows.npz", Z=np.ones(3))
    with pytest.raises(DataError, match="array X"):
        read_table(tmp_path / "rows.npz")
    with pytest.raises(DataError, match="standard input"):
        list(open_stream("-", ReadOptions(format="npz")))


def test_arrow_streams(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"w": ["a", "b", "a"], "label": [1, 0, 1], "x": [1.5, 2.5, None]})
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    found = read_table(path, ReadOptions(missing="zero"))
    assert found.matrix.tolist() == [[1, 0, 1.5], [0, 1, 2.5], [1, 0, 0]]
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(DataError, match=r"rows\.arrow"):
        read_table(path, ReadOptions(missing="zero"))


def test_types_of_arrow_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")

    table = pa.table(
        {
            "y": [True, False],
            "d": pa.array([Decimal("1.5"), Decimal("2")]),
            "u": pa.array([1, 2**63], pa.uint64()),
            "h": pa.array(np.array([1, 2], np.float16)),
            "n": pa.nulls(2),
            "b": [True, None],
            "s": pa.array(["a", "b"], pa.large_string()),
            "i": pa.array([5, 7]).dictionary_encode(),
        }
    )
    path = tmp_path / "rows.feather"
    feather.write_feather(table, str(path))
    with pytest.warns(DataWarning, match="9223372036854775808 in 'u'"):
        found = read_table(path, ReadOptions(missing="zero"))
    assert found.labels.tolist() == [1, 0]
    assert dense(found.matrix)[0].tolist() == [1.5, 1, 1, 0, 1, 1, 0, 1, 0]
    assert dense(found.matrix)[1].tolist() == [2, 2.0**63, 2, 0, 0, 0, 1, 0, 1]
    assert found.schema.columns[-1].levels == ("5", "7")
