"""What users pass in: arrays, sparse matrices and tables, copied only where they must be."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from auctor.core.errors import AuctorError, DataError, speaking
from auctor.data import Dense, Sparse, as_data
from auctor.data import coerce as convert
from auctor.data.coerce import feature_names

X = np.arange(12.0).reshape(4, 3) / 4 - 1
Y = np.array([1.0, -1.0, 1.0, -1.0])
W = np.array([0.5, -2.0, 1.0])


def scores(table, y=Y):
    return as_data(table, y).scores(W)


# --- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contiguous_floats_are_not_copied(order, dtype):
    array = np.array(X, dtype=dtype, order=order)
    data = as_data(array, Y)
    assert isinstance(data, Dense)
    assert np.shares_memory(data._lines, array)
    assert data._lines.dtype == dtype
    np.testing.assert_allclose(data.scores(W), X @ W, rtol=1e-14)


def test_read_only_and_mapped_arrays_are_not_copied(tmp_path):
    frozen = X.copy()
    frozen.setflags(write=False)
    assert np.shares_memory(as_data(frozen, Y)._lines, frozen)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    data = as_data(mapped, Y)
    assert np.shares_memory(data._lines, mapped)
    np.testing.assert_array_equal(data.scores(W), X @ W)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(">f8"),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1][::-1],
        lambda X: np.asfortranarray(X)[:, ::-1][:, ::-1],
        lambda X: np.ma.MaskedArray(X),
    ],
    ids=["list", "object", "longdouble", "big-endian", "strided", "C", "F", "unmasked"],
)
def test_other_forms_give_the_same_scores(convert):
    np.testing.assert_array_equal(scores(convert(X)), X @ W)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16, np.float16])
def test_other_numbers_become_float64(dtype):
    whole = (X > 0).astype(dtype)
    data = as_data(whole, Y)
    assert data._lines.dtype == np.float64
    np.testing.assert_array_equal(data.scores(W), whole.astype(float) @ W)


def with_entry(value):
    """X with one entry replaced."""
    out = X.copy()
    out[1, 1] = value
    return out


BAD = {
    "nan": (with_entry(np.nan), "NaN"),
    "inf": (with_entry(np.inf), "infinity"),
    "minus inf": (with_entry(-np.inf), "infinity"),
    "float32 inf": (with_entry(np.inf).astype(np.float32), "infinity"),
    "1e200": (with_entry(1e200), "1e\\+200"),
    "-1e200": (with_entry(-1e200), "1e\\+200"),
    "complex": (X + 1j, "[Cc]omplex"),
    "one dimension": (X[:, 0], "two dimensions; got 1"),
    "three dimensions": (X[None], "two dimensions; got 3"),
    "scalar": (3.0, "two dimensions; got 0"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "text": (np.array([["a", "b"]] * 4), "numeric"),
    "numbers as text": (X.astype(str), "numeric"),
    "text among objects": (np.array([[1.0, "b"]] * 4, dtype=object), "number"),
    "objects": (np.array([[{}, 1.0]] * 4, dtype=object), "number"),
    "dates": (np.array([["2020-01-01"]] * 4, dtype="M8[D]"), "numeric"),
    "ragged": ([[1.0], [1.0, 2.0], [1.0], [1.0]], "equal length"),
    "masked": (np.ma.masked_greater(X, 1.0), "masked"),
    "sparse nan": (sparse.csr_array(with_entry(np.nan)), "NaN"),
    "sparse 1e200": (sparse.csc_array(with_entry(1e200)), "1e\\+200"),
    "sparse complex": (sparse.csr_array(X + 1j), "[Cc]omplex"),
    "sparse empty": (sparse.csr_array((0, 3)), "0 sample"),
    "sparse vector": (sparse.coo_array(X[0]), "two dimensions; got 1"),
}


@pytest.mark.parametrize(("bad", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_refused_with_a_reason(bad, words):
    with speaking("Model"), pytest.raises(AuctorError, match=words) as caught:
        as_data(bad, Y)
    message = str(caught.value)
    assert message.startswith("Model needs")
    assert "; got" in message
    assert isinstance(caught.value, ValueError | TypeError)


@pytest.mark.parametrize("value", [1e60, -9.9e99, np.nan, np.inf, -1.1e100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_entries_are_looked_at_one_by_one(value, dtype):
    """Their squares may overflow in a sum, though no entry is beyond what is allowed."""
    large = np.ones((400, 300), dtype)
    with np.errstate(over="ignore"):
        large[-1, -1] = value
    if abs(float(large[-1, -1])) <= convert.LARGEST:
        assert as_data(large, np.ones(400)).n_columns == 300
    else:
        with pytest.raises(DataError):
            as_data(large, np.ones(400))


# --- sparse matrices ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_canonical_sparse_matrices_are_not_copied(kind, dtype):
    matrix = kind(X.astype(dtype))
    data = as_data(matrix, Y)
    assert isinstance(data, Sparse)
    for ours, theirs in zip(data._parts, (matrix.indptr, matrix.indices, matrix.data), strict=True):
        assert np.shares_memory(ours, theirs)
    np.testing.assert_allclose(data.scores(W), X @ W, rtol=1e-14)


@pytest.mark.parametrize("form", ["coo", "lil", "dok", "bsr", "dia"])
def test_other_sparse_formats_are_converted(form):
    np.testing.assert_allclose(scores(sparse.csr_array(X).asformat(form)), X @ W, rtol=1e-14)


@pytest.mark.parametrize("dtype", [bool, np.int32])
def test_sparse_whole_numbers_become_float64(dtype):
    whole = sparse.csr_array((X > 0).astype(dtype))
    np.testing.assert_array_equal(scores(whole), (X > 0) @ W)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_repeated_entries_are_summed_in_a_copy(kind):
    line, across = np.array([0, 2, 5, 5, 6]), np.array([1, 1, 2, 0, 2, 1])
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    shape = (4, 3) if kind is sparse.csr_array else (3, 4)
    matrix = kind((values.copy(), across.copy(), line.copy()), shape=shape)
    dense = matrix.toarray()
    y, w = np.ones(shape[0]), np.arange(1.0, shape[1] + 1)
    data = as_data(matrix, y)
    np.testing.assert_array_equal(data.scores(w), dense @ w)
    np.testing.assert_array_equal(data.gram(y), dense.T @ dense)
    np.testing.assert_array_equal(matrix.data, values)
    np.testing.assert_array_equal(matrix.indices, across)
    np.testing.assert_array_equal(matrix.indptr, line)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("spoil", ["nothing", "order", "twice", "last"])
def test_large_matrices_are_seen_to_be_canonical_or_not(spoil, dtype):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 300)) * (rng.random((3000, 300)) < 0.1)
    values[20:25] = 0.0
    matrix = sparse.csr_array(values)
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    assert matrix.indices.size > convert.CHECKED_ENTRIES
    at = matrix.indptr[-3] if spoil == "last" else matrix.indptr[7]
    pair = matrix.indices[at : at + 2].copy()
    if spoil == "twice":
        matrix.indices[at + 1] = pair[0]
    elif spoil != "nothing":
        matrix.indices[at : at + 2] = pair[::-1]
    again = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert convert._canonical(matrix) == again.has_canonical_format == (spoil == "nothing")
    w = rng.normal(size=300)
    scores = as_data(again, np.ones(3000)).scores(w)
    np.testing.assert_allclose(scores, again.toarray() @ w, rtol=0, atol=1e-12)


def test_an_all_zero_sparse_matrix_works():
    data = as_data(sparse.csr_array((4, 3)), Y)
    assert data.n_entries == 0
    np.testing.assert_array_equal(data.scores(W, 0.5), np.full(4, 0.5))
    np.testing.assert_array_equal(data.gradient(Y), np.zeros(3))
    np.testing.assert_array_equal(data.gram(np.ones(4)), np.zeros((3, 3)))


# --- tables -------------------------------------------------------------------------------------

NAMES = ["a", "b", "c"]


def pandas_table(columns):
    return pd.DataFrame(columns)


def polars_table(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def pyarrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


TABLES = pytest.mark.parametrize(
    "table", [pandas_table, polars_table, pyarrow_table], ids=["pandas", "polars", "pyarrow"]
)


@TABLES
def test_tables_give_scores_and_names(table):
    given = table({name: X[:, j] for j, name in enumerate(NAMES)})
    np.testing.assert_allclose(scores(given), X @ W, rtol=1e-14)
    assert feature_names(given) == NAMES


@TABLES
def test_mixed_numbers_and_booleans_are_taken(table):
    given = table(
        {"a": X[:, 0].astype(np.float32), "b": np.array([1, 0, 3, 4]), "c": [True, False] * 2}
    )
    wanted = np.column_stack((X[:, 0], [1, 0, 3, 4], [1, 0, 1, 0])) @ W
    np.testing.assert_allclose(scores(given), wanted, rtol=1e-14)


@TABLES
def test_columns_that_are_no_numbers_are_named(table):
    given = table({"a": X[:, 0], "town": ["x", "y", "z", "x"], "c": X[:, 2]})
    with pytest.raises(DataError, match=r"numeric.*'town'") as caught:
        as_data(given, Y)
    assert "'a'" not in str(caught.value)


@TABLES
def test_dates_are_not_numbers(table):
    given = table({"a": X[:, 0], "day": np.array(["2020-01-01"] * 4, dtype="M8[us]")})
    with pytest.raises(DataError, match="'day'"):
        as_data(given, Y)


@TABLES
def test_missing_values_are_refused_as_such(table):
    given = table({"a": [1.0, None, 2.0, 3.0], "b": X[:, 1]})
    with pytest.raises(DataError, match="NaN"):
        as_data(given, Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pandas_table_of_one_type_is_not_copied(dtype):
    frame = pd.DataFrame(X.astype(dtype), columns=NAMES)
    data = as_data(frame, Y)
    assert np.shares_memory(data._lines, frame.to_numpy())
    assert data._lines.dtype == dtype


def test_pandas_nullable_and_object_columns():
    full = pd.DataFrame({"a": pd.array([1, 2, 3, 4], dtype="Int64"), "b": [0.5, 1, 2, 3]})
    np.testing.assert_array_equal(as_data(full, Y).scores(np.ones(2)), [1.5, 3, 5, 7])
    holes = full.assign(a=pd.array([1, None, 3, 4], dtype="Int64"))
    with pytest.raises(DataError, match="NaN"):
        as_data(holes, Y)
    numbers = pd.DataFrame({"a": np.array([1, 2.5, True, 4], dtype=object), "b": X[:, 0]})
    np.testing.assert_array_equal(as_data(numbers, Y).scores(np.array([1.0, 0])), [1, 2.5, 1, 4])


def test_pandas_categories_of_text_are_named():
    given = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(["u", "v", "u", "v"])})
    with pytest.raises(DataError, match="'kind'"):
        as_data(given, Y)


def test_pandas_sparse_columns_are_taken():
    frame = pd.DataFrame({n: pd.arrays.SparseArray(X[:, j]) for j, n in enumerate(NAMES)})
    np.testing.assert_allclose(scores(frame), X @ W, rtol=1e-14)


def test_repeated_names_are_refused():
    with pytest.raises(DataError, match="distinct column names; got a more than once"):
        feature_names(pd.DataFrame(X, columns=["a", "b", "a"]))
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match="distinct"):
        feature_names(pa.table([X[:, 0], X[:, 1]], names=["a", "a"]))
    assert feature_names(X) is None


def test_pyarrow_in_chunks_and_record_batches():
    pa = pytest.importorskip("pyarrow")
    columns = [pa.chunked_array([X[:1, j], X[1:, j]]) for j in range(3)]
    np.testing.assert_allclose(scores(pa.table(columns, names=NAMES)), X @ W, rtol=1e-14)
    batch = pa.record_batch([pa.array(X[:, j]) for j in range(3)], names=NAMES)
    np.testing.assert_allclose(scores(batch), X @ W, rtol=1e-14)
    assert feature_names(batch) == NAMES


def test_a_lazy_polars_table_is_refused():
    pl = pytest.importorskip("polars")
    with pytest.raises(AuctorError, match="collect"):
        as_data(pl.DataFrame({"a": [1.0] * 4}).lazy(), Y)


# --- targets and weights ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (Y[:3], r"y with shape \(4,\)"),
        (Y[:, None], r"y with shape \(4,\)"),
        (np.array([1.0, np.nan, 1.0, 1.0]), "finite"),
        (np.array([1.0, np.inf, 1.0, 1.0]), "finite"),
        (["a", "b", "c", "d"], "numbers"),
    ],
)
def test_bad_targets_are_refused(y, words):
    with pytest.raises(DataError, match=words):
        as_data(X, y)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(3), r"shape \(4,\)"),
        (np.array([1.0, -1.0, 1.0, 1.0]), ">= 0; got -1"),
        (np.zeros(4), "positive"),
        (np.array([1.0, np.nan, 1.0, 1.0]), "finite"),
        (np.array([1.0, np.inf, 1.0, 1.0]), "finite"),
        (np.full(4, 1e300), "sum"),
        (np.full(4, 1e-300), "sum"),
    ],
)
def test_bad_weights_are_refused(weight, words):
    with pytest.raises(DataError, match=words):
        as_data(X, Y, weight=weight)


def test_bad_thread_counts_are_refused():
    with pytest.raises(AuctorError, match="n_threads"):
        as_data(X, Y, n_threads=0)
