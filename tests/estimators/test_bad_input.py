"""Bad input gives an error of the family, in its grammar, or a correct finite model."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from auctor import AuctorError, ConvergenceWarning, LinearRegressor, MetricClassifier
from auctor.core.errors import DataError, IncompatibleError, ParameterError
from auctor.losses import Exponential, Logistic
from auctor.penalties import L1
from auctor.solvers import Newton

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=40) > 0).astype(int)
T = X @ [1.0, 2.0, 3.0] + RNG.normal(size=40)

CLASSIFIERS = {
    "auc": lambda **p: MetricClassifier("auc", **p),
    "auc square": lambda **p: MetricClassifier("auc", surrogate="square", **p),
    "error": lambda **p: MetricClassifier("error", **p),
    "log_loss": lambda **p: MetricClassifier("log_loss", **p),
}
REGRESSORS = {
    "squared": lambda **p: LinearRegressor("squared", **p),
    "absolute": lambda **p: LinearRegressor("absolute", **p),
    "huber": lambda **p: LinearRegressor("huber", **p),
}
MAKERS = CLASSIFIERS | REGRESSORS
#: What is refused before a loss is looked at: one maker of each class stands for all of its losses
#: (`test_every_loss_goes_through_the_same_checks` shows that they share them).
CLASSES = {"classifier": CLASSIFIERS["auc"], "regressor": REGRESSORS["squared"]}


STORES = (np.asarray, sparse.csr_array)


def every(makers):
    return pytest.mark.parametrize("make", makers.values(), ids=makers.keys())


def one_of_each():
    return [(MetricClassifier(), Y), (LinearRegressor(), T)]


def targets(model):
    return Y if isinstance(model, MetricClassifier) else T


def refuse(match, call, *args, kind=AuctorError, **kwargs):
    """The call raises the family's error: "<who> needs <what>; got <value>. <Advice>."""
    with pytest.raises(kind, match=match) as caught:
        call(*args, **kwargs)
    message = str(caught.value)
    assert re.search(r"\. [A-Z]", message), message
    assert message.rstrip().endswith("."), message
    assert ".." not in message.replace("...", ""), message
    return message


def assert_finite(model):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.gap_)


def assert_same(a, b, tol=1e-7):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=tol, atol=tol)


def spoiled(value):
    matrix = X.copy()
    matrix[3, 1] = value
    return matrix


# --- values of X --------------------------------------------------------------------------------


@every(MAKERS)
def test_every_loss_goes_through_the_same_checks(make):
    model = make()
    y = targets(model)
    refuse("contains NaN", model.fit, spoiled(np.nan), y, kind=DataError)
    refuse("contains infinity", model.fit, sparse.csr_array(spoiled(np.inf)), y, kind=DataError)
    refuse("equal length", model.fit, X, y[:-1], kind=DataError)
    refuse(">= 0", model.fit, X, y, sample_weight=-np.ones(40), kind=DataError)
    model.fit(X, y)
    refuse("contains NaN", model.predict, spoiled(np.nan), kind=DataError)


@every(CLASSES)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "contains NaN"),
        (np.inf, "contains infinity"),
        (-np.inf, "contains infinity"),
        (1e200, "below 1e.100"),
        (-1e200, "below 1e.100"),
    ],
)
def test_values_that_no_model_can_take(make, store, value, message):
    model = make()
    refuse(message, model.fit, store(spoiled(value)), targets(model), kind=DataError)
    model.fit(X, targets(model))
    refuse(message, model.predict, store(spoiled(value)), kind=DataError)


@every(MAKERS)
@pytest.mark.parametrize(
    ("store", "scale"), [(np.asarray, 1e99), (sparse.csr_array, 1e60), (np.asarray, 1e20)]
)
def test_huge_columns_are_solved_or_warned_about(make, store, scale):
    for matrix in (spoiled(scale), X * [1.0, scale, 1.0], X * scale):
        model = make(max_iter=200)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(store(matrix), targets(model))
        assert_finite(model)
        assert {w.category.__mro__[1] for w in caught} <= {ConvergenceWarning}
        assert model.solution_.converged == (not caught)
        if model.solution_.converged:
            assert model.gap_ <= model.solution_.tol


@pytest.mark.parametrize(
    ("make", "store", "scale"),
    [
        *((CLASSES[k], s, v) for k in CLASSES for s in STORES for v in (1e-30, 1e-310, 0.0)),
        *((make, np.asarray, 1e-200) for make in MAKERS.values()),
    ],
)
def test_tiny_and_zero_columns_count_as_absent(make, store, scale):
    model = make(standardise=False)
    model.fit(store(X * [1.0, scale, 1.0]), targets(model))
    without = make(standardise=False).fit(X[:, [0, 2]], targets(model))
    np.testing.assert_allclose(np.ravel(model.coef_)[[0, 2]], np.ravel(without.coef_), atol=1e-7)
    assert abs(np.ravel(model.coef_)[1]) <= 1e5 * scale
    everything = make(standardise=False).fit(store(X * scale), targets(model))
    assert_finite(everything)
    assert np.abs(everything.coef_).max() <= 1e5 * scale


@every(MAKERS)
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_all_rows_equal(make, penalty):
    """Scores are constant whatever the weights."""
    model = make(penalty=penalty)
    model.fit(np.full((40, 3), 2.0), targets(model))
    assert_finite(model)
    assert np.ptp(model.predict(np.full((5, 3), 2.0)).astype(float)) == 0.0
    assert model.solution_.converged


@pytest.mark.parametrize("maker", ["auc square", "log_loss", "squared", "huber"])
def test_twin_columns_without_penalty(maker):
    model = MAKERS[maker](penalty="none", tol=1e-9)
    model.fit(np.c_[X, X], targets(model))
    single = MAKERS[maker](penalty="none", tol=1e-9).fit(X, targets(model))
    coef = np.ravel(model.coef_)
    np.testing.assert_allclose(coef[:3] + coef[3:], np.ravel(single.coef_), atol=1e-4)


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


# --- targets ------------------------------------------------------------------------------------


@every(CLASSES)
def test_targets_that_do_not_fit_the_rows(make):
    model = make()
    y = targets(model)
    refuse("requires y", model.fit, X, None, kind=DataError)
    refuse("equal length", model.fit, X, y[:-1], kind=DataError)
    refuse("equal length", model.fit, sparse.csr_array(X), y[:-1], kind=DataError)
    refuse("one target per row", model.fit, X, np.c_[y, y], kind=DataError)
    refuse("one target per row", model.fit, X, 1.0, kind=DataError)
    refuse("one target per row", model.fit, X, sparse.csr_array(y[:, None]), kind=DataError)
    refuse("one target per row", model.fit, X, y + 1j, kind=DataError)
    refuse("masked", model.fit, X, np.ma.masked_array(y, np.arange(40) < 2), kind=DataError)
    refuse("NaN", model.fit, X, np.where(y > 0, np.nan, 1.0), kind=DataError)
    refuse("NaN", model.fit, X, np.where(y > 0, np.inf, 1.0), kind=DataError)


def test_missing_targets_in_tables():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for model, y in one_of_each():
        missing = "NaN|nan|labels"
        refuse(missing, model.fit, X, pd.Series(y, dtype="Float64").mask(y > 0), kind=DataError)
        refuse(missing, model.fit, X, [None, *y[1:]], kind=DataError)
        refuse(missing, model.fit, X, pl.Series([None, *y[1:].tolist()]), kind=DataError)
    text = pd.Series(np.where(Y > 0, "a", "b")).mask(np.arange(40) == 3)
    for y in (text, text.astype("string"), text.astype("category")):
        refuse("labels", MetricClassifier().fit, X, y, kind=DataError)


@pytest.mark.parametrize("make", [CLASSES["classifier"]], ids=["classifier"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_labels_that_make_no_two_classes(make, store):
    matrix = store(X)
    message = refuse("two classes", make().fit, matrix, np.full(40, "spam"), kind=DataError)
    assert "spam" in message
    refuse("two classes", make().fit, matrix, Y, sample_weight=Y * 1.0, kind=DataError)
    refuse("at least two rows", make().fit, matrix[:1], [1], kind=DataError)
    refuse("class labels", make().fit, matrix, T, kind=DataError)
    refuse("LinearRegressor", make().fit, matrix, T, kind=DataError)
    for labels in ([1, "a"], [None, "a"], [np.nan, "a"], [(1,), "a"]):
        y = np.empty(40, dtype=object)
        y[:] = [labels[k] for k in Y]
        refuse("labels", make().fit, matrix, y, kind=DataError)


@every(REGRESSORS)
def test_targets_that_are_no_numbers(make):
    for y in (
        np.where(Y > 0, "a", "b"),
        np.where(Y > 0, "1", "2"),
        np.array([1 if k else "a" for k in Y], dtype=object),
        np.full(40, np.datetime64("2020-01-01")),
    ):
        refuse("numeric targets", make().fit, X, y, kind=DataError)
    refuse("below 1e.100", make().fit, X, 1e200 * T, kind=DataError)
    same = make().fit(X, Y.astype(bool))
    assert_same(same, make().fit(X, Y.astype(float)), tol=0.0)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_squared_loss_at_any_scale(scale):
    plain = LinearRegressor().fit(X, T)
    scaled = LinearRegressor().fit(X, scale * T)
    np.testing.assert_allclose(scaled.coef_, scale * plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(scaled.intercept_, scale * plain.intercept_, rtol=1e-9)


def test_poisson_counts():
    model = LinearRegressor("poisson")
    refuse("targets >= 0", model.fit, X, T, kind=DataError)
    for scale in (1e3, 1e9, 1e30):
        counts = scale * np.exp(0.3 * X[:, 0])
        fit = LinearRegressor("poisson", strength=1e-6 * scale, tol=1e-8).fit(X, counts)
        np.testing.assert_allclose(fit.coef_, [0.3, 0.0, 0.0], atol=1e-3)
        np.testing.assert_allclose(fit.intercept_, np.log(scale), atol=1e-3)
    model.fit(X, np.zeros(40))
    assert_finite(model)
    assert (model.predict(X) < 1e-3).all()


# --- weights ------------------------------------------------------------------------------------


@every(CLASSES)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-1.0, np.ones(39)], ">= 0"),
        (np.zeros(40), "zeros only"),
        (np.r_[np.nan, np.ones(39)], "finite"),
        (np.r_[np.inf, np.ones(39)], "finite"),
        (np.ones(39), "shape"),
        (np.ones((40, 1)), "shape"),
        (["a"] * 40, "numbers"),
        ("a", "numbers"),
        (np.ones(40) + 1j, "real"),
        (np.nan, "finite"),
        (-1.0, ">= 0"),
        (np.full(40, 1e308), "mean"),
        (np.full(40, 1e200), "mean"),
        (np.full(40, 1e-300), "mean"),
        (np.ma.masked_array(np.ones(40), np.arange(40) < 2), "masked"),
    ],
)
def test_weights_that_are_no_weights(make, weight, message):
    model = make()
    refuse(message, model.fit, X, targets(model), sample_weight=weight, kind=DataError)


@pytest.mark.parametrize(
    "weight", [{0: "x"}, {0: None}, {0: -1.0}, {0: 0.0}, {1: np.nan}, {0: np.inf}, 3, "most", [1]]
)
def test_class_weights_that_are_no_weights(weight):
    model = MetricClassifier("log_loss", class_weight=weight)
    refuse("class_weight", model.fit, X, Y, kind=ParameterError)


def test_class_weights_that_overflow():
    model = MetricClassifier("log_loss", class_weight={0: 1e308, 1: 1e308})
    refuse("mean", model.fit, X, Y)


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        *[({"strength": v}, "strength") for v in (-1.0, np.nan, np.inf, "x", None, True)],
        *[({"tol": v}, "tol") for v in (-1.0, np.nan, np.inf, "x", None)],
        *[({"max_iter": v}, "max_iter") for v in (0, -1, 1.5, None, "x")],
        *[({"max_seconds": v}, "max_seconds") for v in (-1.0, np.nan, "x")],
        *[({"n_threads": v}, "n_threads") for v in (0, -1, 1.5, "x")],
        *[({"verbose": v}, "verbose") for v in (-1, "x", None)],
        *[({"random_state": v}, "random_state") for v in (-1, 1.5, "x")],
        *[({"fit_intercept": v}, "fit_intercept") for v in (None, "yes", 1.5)],
        *[({"warm_start": v}, "warm_start") for v in (None, "yes")],
        *[({"penalty": v}, "'none', 'l2', 'l1', 'elastic_net'") for v in ("L2", "ridge")],
        *[({"penalty": v}, "none, l2, l1, elastic_net") for v in (3, L1)],
        ({"l1_ratio": 0.5}, "elastic_net"),
        ({"penalty": "elastic_net", "l1_ratio": 2.0}, "l1_ratio"),
        ({"penalty": "elastic_net", "l1_ratio": "x"}, "l1_ratio"),
        ({"solver": "no_such_solver"}, "'newton', 'lbfgs_then_newton', 'lbfgs'"),
    ],
)
def test_parameters_out_of_range(params, message):
    for model, y in one_of_each():
        refuse(message, model.set_params(**params).fit, X, y, kind=ParameterError)
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("solver", [None, 3, Newton])
def test_solvers_that_are_no_solvers(solver):
    for model, y in one_of_each():
        refuse("solver", model.set_params(solver=solver).fit, X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        *[({"metric": v}, "'auc', 'partial_auc'") for v in ("AUC", "gini")],
        *[({"metric": v}, "loss object") for v in (None, 3, Logistic, ["auc"])],
        *[({"surrogate": v}, "'hinge', 'squared_hinge'") for v in ("log", None, 3, ["hinge"])],
        ({"metric": Logistic(), "surrogate": "hinge"}, "surrogate"),
        *[({"threshold": v}, "threshold") for v in ("best", None, np.nan, np.inf, True, [1])],
        *[({"calibrate": v}, "'sigmoid', 'isotonic'") for v in ("platt", True, 3)],
        *[({"threshold_cv": v}, "threshold_cv") for v in (1, 2.5, "x")],
        *[({"average": v}, "'macro', 'micro', 'weighted'") for v in ("mean", None)],
        ({"strength": "auto"}, "MetricClassifierCV"),
    ],
)
def test_classifier_parameters_out_of_range(params, message):
    model = MetricClassifier().set_params(**params)
    refuse(message, model.fit, X, Y, kind=ParameterError)


def test_regressor_losses_out_of_range():
    listed = ", ".join(map(repr, ("squared", "huber", "absolute", "quantile")))
    refuse(listed, LinearRegressor("l2").fit, X, T, kind=ParameterError)
    for loss in (None, 3, Logistic, ["squared"]):
        refuse("loss object", LinearRegressor(loss).fit, X, T, kind=ParameterError)
    refuse("-1 and .1", LinearRegressor(Logistic()).fit, X, T, kind=DataError)


@pytest.mark.parametrize(
    ("model", "able"),
    [
        (MetricClassifier("log_loss", penalty="l1", solver="newton"), "fista, proximal_gradient"),
        (MetricClassifier("log_loss", penalty="l1", solver=Newton()), "fista, proximal_gradient"),
        (MetricClassifier("auc", surrogate="hinge", solver="newton"), "continuation"),
        (
            MetricClassifier("auc", surrogate="hinge", penalty="l1", solver="lbfgs"),
            "continuation",
        ),
        (MetricClassifier("log_loss", solver="exact"), "newton, lbfgs"),
        (LinearRegressor(penalty="l1", solver="newton"), "fista, proximal_gradient"),
        (LinearRegressor("absolute", solver="exact"), "continuation"),
        (LinearRegressor(solver="continuation"), "exact, newton"),
    ],
)
def test_a_solver_that_cannot_names_those_that_can(model, able):
    refuse(able, model.fit, X, targets(model), kind=IncompatibleError)


# --- after fit ----------------------------------------------------------------------------------


@every(MAKERS)
def test_before_and_after_fit(make):
    model = make()
    with pytest.raises(NotFittedError):
        model.predict(X)
    if isinstance(model, MetricClassifier):
        with pytest.raises(NotFittedError):
            model.decision_function(X)
    model.fit(X, targets(model))
    refuse("2 features.*expecting 3", model.predict, X[:, :2], kind=DataError)
    refuse("4 features.*expecting 3", model.predict, sparse.csr_array(np.c_[X, X[:, :1]]))
    refuse("two dimensions", model.predict, X[0], kind=DataError)
    refuse("0 sample", model.predict, X[:0], kind=DataError)


def test_score_with_wrong_labels():
    for metric in ("auc", "log_loss"):
        model = MetricClassifier(metric).fit(X, Y)
        refuse("equal length", model.score, X, Y[:-1])
    refuse("labels among", MetricClassifier().fit(X, Y).score, X, Y + 5)
    refuse("negative row", MetricClassifier().fit(X, Y).score, X, np.ones(40))


def test_calibration_needs_two_rows_of_a_class():
    model = MetricClassifier(calibrate="sigmoid")
    refuse("two rows of every class", model.fit, X, np.arange(40) == 3, kind=DataError)


# --- extremes of a problem ----------------------------------------------------------------------


@every(CLASSIFIERS)
def test_two_rows(make):
    model = make().fit([[0.0], [1.0]], ["no", "yes"])
    assert_finite(model)
    assert model.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]


@every(CLASSIFIERS)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_one_positive_in_five_thousand(make, store):
    rng = np.random.default_rng(1)
    matrix, y = rng.normal(size=(5000, 4)), np.zeros(5000, int)
    y[7] = 1
    model = make().fit(store(matrix), y)
    assert_finite(model)
    assert model.solution_.converged
    assert model.predict(matrix).sum() <= 2
    if model.metric == "auc":
        assert model.predict(matrix).sum() == 1
        assert model.score(matrix, y) > 0.9


@every(CLASSIFIERS)
@pytest.mark.parametrize("strength", [1e-4, 1e3])
def test_a_column_that_is_the_label(make, strength):
    model = make(strength=strength).fit(np.c_[X, Y], Y)
    assert_finite(model)
    if strength < 1.0:
        assert np.array_equal(model.predict(np.c_[X, Y]), Y)
        assert np.abs(model.coef_).argmax() == 3


@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("params", [{"strength": 0.0}, {"penalty": "none"}])
@pytest.mark.parametrize(
    ("metric", "surrogate"),
    [
        ("auc", "hinge"),
        ("auc", "square"),
        ("error", "hinge"),
        ("error", "squared_hinge"),
        ("log_loss", "logistic"),
        (Exponential(), "auto"),
    ],
)
def test_separable_data_without_penalty(metric, surrogate, params):
    """No finite minimiser exists for log-loss; the fit stays bounded and says it is no bound."""
    y = (X[:, 0] > 0).astype(int)
    model = MetricClassifier(metric, surrogate=surrogate, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    endless = metric == "log_loss" or isinstance(metric, Exponential)
    assert ["nothing bounds" in str(w.message) for w in caught] == [True] * endless
    assert_finite(model)
    assert np.abs(model.coef_).max() < 1e4
    assert np.array_equal(model.predict(X), y)
    assert not model.solution_.certified


@pytest.mark.parametrize("strength", [1e-14, 1e-30, 1e-300])
@every(MAKERS)
def test_hardly_any_penalty(make, strength):
    """Tiny strengths give the unpenalised answer, or a warning."""
    model, free = make(strength=strength, max_iter=200), make(strength=0.0)
    y = targets(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert_finite(model)
    assert model.solution_.converged == (not caught)
    found = model.solution_
    if found.converged:
        proved = found.gap if found.certified else 0.0
        least = free.fit(X, y).solution_.value
        assert found.value <= least + max(2e-4 * least, proved)
