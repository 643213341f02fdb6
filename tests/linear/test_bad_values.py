"""Values of X that are missing, infinite, huge or tiny."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from auctor import ConvergenceWarning
from auctor.core.errors import DataError
from tests.linear.makers import CLASSES, MAKERS, X, assert_finite, every, refuse, targets

STORES = (np.asarray, sparse.csr_array)


def spoiled(value):
    matrix = X.copy()
    matrix[3, 1] = value
    return matrix


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
