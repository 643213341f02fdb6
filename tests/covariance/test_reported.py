"""Examples on which users of scikit-learn report failures of ``graphical_lasso``."""

import warnings

import numpy as np
import pytest
from sklearn.covariance import empirical_covariance, graphical_lasso
from sklearn.datasets import load_iris

from auctor.core.errors import ConvergenceWarning, DataError
from auctor.covariance import SparseInverseCovariance


def certified(S, strength, tol=1e-6):
    """A fit whose lower bound is below, and whose value is above, that of a finer fit."""
    model = SparseInverseCovariance(strength, tol=tol).fit_covariance(S)
    fine = SparseInverseCovariance(strength, tol=0.01 * tol).fit_covariance(S)
    assert 0.0 <= model.gap_ <= tol * len(S)
    value = model.solution_.value
    assert value - model.gap_ <= fine.solution_.value <= value + 1e-9
    assert np.linalg.eigvalsh(model.precision_)[0] > 0.0
    return model


def test_negative_gaps():
    """Their issue 26321: the gap of scikit-learn is below zero, since its dual is not feasible."""
    X = np.random.RandomState(0).randn(100, 50)
    S = empirical_covariance(X.T @ X / 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        costs = graphical_lasso(S, 0.01, tol=1e-20, max_iter=10, return_costs=True)[2]
    assert min(gap for _, gap in costs) < 0.0
    certified(S, 0.01)


def test_three_rows_of_the_identity():
    """Their issue 17621: negative gaps on a covariance of rank 2."""
    certified(empirical_covariance(np.eye(3)), 0.01)


def test_a_negative_variance():
    """Their issue 12228: scikit-learn returns a matrix for what is no covariance."""
    with pytest.raises(DataError, match="negative variance, number 1"):
        SparseInverseCovariance(0.1).fit_covariance(np.array([[96.0, 12.0], [12.0, -61.0]]))


@pytest.mark.parametrize("strength", [0.01, 0.001])
def test_iris(strength):
    """The example of their tests of singular covariances: few rows of iris, small strengths."""
    rows = load_iris().data[::15]
    certified(empirical_covariance(rows), strength)


@pytest.fixture
def nearly_equal_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1)) + 0.05 * rng.normal(size=(20, 40))
    return empirical_covariance(X)


@pytest.mark.parametrize("strength", [0.02, 0.1])
def test_an_ill_conditioned_covariance(nearly_equal_columns, strength):
    """Nearly equal columns: scikit-learn stops with "the system is too ill-conditioned"."""
    certified(nearly_equal_columns, strength)


def test_too_ill_conditioned_for_the_budget_is_said(nearly_equal_columns):
    """A strength below the noise of the columns: a warning says so, and the bound is honest."""
    S = nearly_equal_columns
    alike = r"columns 8 and 30 have a correlation of 0\.99.* max_iter=, tol= or strength="
    with pytest.warns(ConvergenceWarning, match=alike):
        model = SparseInverseCovariance(1e-3, max_iter=20).fit_covariance(S)
    assert np.linalg.eigvalsh(model.precision_)[0] > 0.0
    with pytest.warns(ConvergenceWarning):
        longer = SparseInverseCovariance(1e-3, max_iter=40).fit_covariance(S)
    assert model.solution_.value - model.gap_ <= longer.solution_.value < model.solution_.value


def test_nearly_equal_columns_without_a_penalty_have_their_inverse():
    rng = np.random.default_rng(0)
    S = empirical_covariance(rng.normal(size=(200, 1)) + 1e-3 * rng.normal(size=(200, 10)))
    model = SparseInverseCovariance(0.0).fit_covariance(S)
    assert model.gap_ <= 1e-6
    np.testing.assert_allclose(model.precision_ @ S, np.eye(10), atol=1e-6)
