"""Kinds of X: arrays, compressed matrices and tables, good and bad."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import DataError
from tests.linear.makers import X, assert_finite, assert_same, one_of_each, refuse

# --- kinds of X ---------------------------------------------------------------------------------


def masked():
    return np.ma.masked_greater(X, 1.0)


BAD_KINDS = {
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], r"0 feature\(s\)"),
    "sparse, no rows": (sparse.csr_array((0, 3)), "0 sample"),
    "sparse, no columns": (sparse.csr_array((40, 0)), r"0 feature\(s\)"),
    "a number": (np.float64(3.0), "two dimensions"),
    "one dimension": (X[:, 0], "Reshape"),
    "three dimensions": (X[None], "two dimensions"),
    "nothing": (None, "two dimensions"),
    "a string": ("abc", "numeric"),
    "strings": ([["a", "b"]] * 40, "numeric"),
    "numbers as strings": ([["1", "2"]] * 40, "numeric"),
    "bytes": (np.full((40, 2), b"1"), "numeric"),
    "a dictionary": ({"a": 1}, "numeric"),
    "ragged": ([[1, 2]] * 39 + [[1]], "equal length"),
    "complex": (X + 1j, "Complex data not supported"),
    "sparse complex": (sparse.csr_array(X + 1j), "Complex data not supported"),
    "objects with text": (np.where(X > 0, "x", X.astype(object)), "numeric"),
    "objects with None": (np.where(X > 1, None, X.astype(object)), "NaN"),
    "dates": (np.full((40, 2), np.datetime64("2020-01-01")), "numeric"),
    "durations": (np.full((40, 2), np.timedelta64(1, "s")), "numeric"),
    "records": (np.zeros(40, dtype=[("a", float), ("b", float)]), "numeric"),
    "masked entries": (masked(), "masked array with"),
}


@pytest.mark.parametrize("name", BAD_KINDS)
def test_kinds_that_are_no_matrix_of_numbers(name):
    matrix, message = BAD_KINDS[name]
    for model, y in one_of_each():
        refuse(message, model.fit, matrix, y)
        assert not hasattr(model, "coef_")
        model.fit(X, y)
        refuse(message, model.predict, matrix)


def read_only(matrix):
    matrix = matrix.copy()
    matrix.flags.writeable = False
    return matrix


def with_long_indices(matrix):
    out = sparse.csr_matrix(matrix)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


GOOD_KINDS = {
    "lists": (lambda: X.tolist(), X),
    "objects": (lambda: X.astype(object), X),
    "float16": (lambda: X.astype(np.float16), X.astype(np.float16).astype(float)),
    "float32": (lambda: X.astype(np.float32), X.astype(np.float32).astype(float)),
    "long double": (lambda: X.astype(np.longdouble), X),
    "int8": (lambda: (10 * X).astype(np.int8), (10 * X).astype(np.int8).astype(float)),
    "uint64": (lambda: (9 + X).astype(np.uint64), (9 + X).astype(np.uint64).astype(float)),
    "bool": (lambda: X > 0, (X > 0).astype(float)),
    "big endian": (lambda: X.astype(">f8"), X),
    "reversed strides": (lambda: X[::-1, ::-1][::-1, ::-1], X),
    "strided": (lambda: np.repeat(X, 2, axis=1)[:, ::2], X),
    "read-only": (lambda: read_only(X), X),
    "masked array, no mask": (lambda: np.ma.masked_array(X), X),
    "coo": (lambda: sparse.coo_array(X), X),
    "dok": (lambda: sparse.dok_array(X), X),
    "lil": (lambda: sparse.lil_matrix(X), X),
    "bsr": (lambda: sparse.bsr_array(X), X),
    "csr of bool": (lambda: sparse.csr_array(X > 0), (X > 0).astype(float)),
    "csr of int": (lambda: sparse.csr_array(np.ones((40, 3), int)), np.ones((40, 3))),
    "csr, long indices": (lambda: with_long_indices(X), X),
    "csr of zeros": (lambda: sparse.csr_array((40, 3)), np.zeros((40, 3))),
    "duplicates": (
        lambda: sparse.coo_array((np.ones(3), ([0, 0, 1], [0, 0, 1])), shape=(40, 3)),
        np.array([[2.0, 0, 0], [0, 1, 0]] + [[0, 0, 0]] * 38),
    ),
}


@pytest.mark.parametrize("name", GOOD_KINDS)
def test_kinds_that_are_read_as_numbers(name):
    make, plain = GOOD_KINDS[name]
    before = np.array(plain)
    for model, y in one_of_each():
        model.fit(make(), y)
        expected = type(model)().fit(plain, y)
        assert_same(model, expected, tol=1e-6)
        assert_finite(model)
        np.testing.assert_allclose(model.predict(make()), model.predict(plain), rtol=1e-6)
    assert np.array_equal(before, plain)


def test_matrix_subclass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix(X)
    for model, y in one_of_each():
        assert_same(model.fit(matrix, y), type(model)().fit(X, y), tol=0.0)
        assert model.predict(matrix).shape == (40,)


# --- tables -------------------------------------------------------------------------------------


def test_pandas_columns_that_are_no_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    bad = {
        "text": "x",
        "numbers as text": "1",
        "dates": pd.Timestamp("2020-01-01"),
        "durations": pd.Timedelta("1s"),
        "categories": pd.Categorical(["u", "v"] * 20),
        "lists": [[1, 2]] * 40,
        "intervals": pd.cut(frame.b, 3),
    }
    for model, y in one_of_each():
        for column in bad.values():
            refuse("'b'", model.fit, frame.assign(b=column), y, kind=DataError)
        only = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=40)})
        refuse("'when'", model.fit, only, y, kind=DataError)
        refuse("'b', 'c'", model.fit, frame.assign(b="x", c="y"), y, kind=DataError)


def test_pandas_names():
    pd = pytest.importorskip("pandas")
    for model, y in one_of_each():
        for kind in (float, object):
            twice = pd.DataFrame(X.astype(kind), columns=["a", "a", "b"])
            refuse("distinct column names; got a more", model.fit, twice, y, kind=DataError)
        mixed = pd.DataFrame(X, columns=["a", 1, "b"])
        refuse("string names", model.fit, mixed, y)
        model.fit(pd.DataFrame(X, columns=list("abc")), y)
        swapped = pd.DataFrame(X[:, [1, 0, 2]], columns=list("bac"))
        refuse("same order", model.predict, swapped, kind=DataError)
        refuse("unseen", model.predict, pd.DataFrame(X, columns=list("abd")), kind=DataError)
        refuse("missing", model.predict, pd.DataFrame(X[:, :2], columns=list("ab")))
        plain = pd.DataFrame(X)  # integers are no names
        assert not hasattr(model.fit(plain, y), "feature_names_in_")


def test_pandas_kinds():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    whole = (10 * frame).round()
    good = [
        (frame.astype("Float64"), frame),
        (whole.astype("Int64"), whole),
        ((frame > 0).astype("boolean"), (frame > 0).astype(float)),
        (pd.concat([frame[["a"]], whole[["b"]].astype("Int64")], axis=1), frame.assign(b=whole.b)),
        (frame.astype(object), frame),
        (frame.astype(pd.SparseDtype(float, 0.0)), frame),
        (frame.assign(b=frame.b.astype(pd.SparseDtype(float, 0.0))), frame),
        (frame.assign(a=frame.a > 0, b=whole.b.astype("int8")), None),
        (frame.assign(b=pd.Categorical(whole.b)), frame.assign(b=whole.b)),
    ]
    for model, y in one_of_each():
        for table, plain in good:
            plain = table.astype(float) if plain is None else plain[list(table.columns)]
            assert_same(model.fit(table, y), type(model)().fit(plain.to_numpy(float), y))
        for table in (
            frame.mask(frame > 1),
            frame.astype("Float64").mask(frame > 1),
            whole.astype("Int64").mask(frame > 1),
            (frame > 0).astype("boolean").mask(frame > 1),
            frame.astype(object).mask(frame > 1, None),
            frame.astype(pd.SparseDtype(float, 0.0)).mask(frame > 1),
        ):
            refuse("NaN|non-numeric", model.fit, table, y, kind=DataError)
        refuse("0 sample", model.fit, frame[:0], y[:0])
        refuse(r"0 feature\(s\)", model.fit, frame[[]], y)
        refuse("two dimensions", model.fit, frame.a, y)


def test_polars():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(dict(zip("abc", X.T, strict=True)))
    column = pl.col("b")
    bad = {
        "text": table.with_columns(b=pl.lit("x")),
        "categories": table.with_columns(b=pl.lit("x").cast(pl.Categorical)),
        "dates": table.with_columns(b=pl.date(2020, 1, 1)),
        "durations": table.with_columns(b=pl.duration(days=1)),
        "times": table.with_columns(b=pl.time(1, 2, 3)),
        "lists": table.with_columns(b=pl.concat_list("a", "c")),
        "records": table.with_columns(b=pl.struct("a", "c")),
    }
    for model, y in one_of_each():
        expected = type(model)().fit(X, y)
        for kind in bad.values():
            refuse("'b'", model.fit, kind, y, kind=DataError)
        null = table.with_columns(b=pl.when(column > 1).then(None).otherwise(column))
        refuse("NaN", model.fit, null, y, kind=DataError)
        refuse("collect", model.fit, table.lazy(), y)
        refuse("0 sample", model.fit, table[:0], y[:0])
        assert_same(model.fit(table.cast(pl.Decimal(30, 12)), y), expected, tol=1e-5)
        mixed = table.with_columns(b=column > 0)
        plain = np.c_[X[:, 0], X[:, 1] > 0, X[:, 2]]
        assert_same(model.fit(mixed, y), type(model)().fit(plain, y))


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict(zip("abc", X.T, strict=True)))
    for model, y in one_of_each():
        expected = type(model)().fit(X, y)
        for column in (
            pa.array(["x"] * 40),
            pa.array(["u", "v"] * 20).dictionary_encode(),
            pa.array(np.arange(40), pa.timestamp("s")),
            pa.array([[1.0]] * 40),
        ):
            refuse("'z'", model.fit, table.append_column("z", column), y, kind=DataError)
        null = table.append_column("z", pa.array([None] + [1] * 39))
        refuse("NaN", model.fit, null, y, kind=DataError)
        twice = pa.Table.from_arrays([table["a"], table["a"]], names=["a", "a"])
        refuse("distinct column names; got a more", model.fit, twice, y, kind=DataError)
        assert_same(model.fit(pa.concat_tables([table[:9], table[9:]]), y), expected)
        assert_same(model.fit(table.to_batches()[0], y), expected)
