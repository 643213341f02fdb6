"""Targets and weights that make no sense."""

import numpy as np
import pytest
from scipy import sparse

from auctor import LinearRegressor, MetricClassifier
from auctor.core.errors import DataError, ParameterError
from tests.linear.makers import (
    CLASSES,
    REGRESSORS,
    T,
    X,
    Y,
    assert_finite,
    assert_same,
    every,
    one_of_each,
    refuse,
    targets,
)

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
    refuse("targets that are not negative", model.fit, X, T, kind=DataError)
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
