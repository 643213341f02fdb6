"""Linear least squares against the pseudo-inverse, and the lasso against its conditions (T-21)."""

from __future__ import annotations

import numpy as np
import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.core.types import FloatArray
from auctor.data import as_data
from auctor.lab.least_squares import lasso, min_norm, solve_qr, solve_svd, tikhonov
from auctor.lab.solvers import CoordinateDescent
from auctor.losses import Squared
from auctor.minimise import minimise
from auctor.penalties import L1
from auctor.problem import Problem


def matrix(n: int, d: int, rank: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)), rng.normal(size=n)


@pytest.mark.parametrize(
    ("solver", "n", "d", "rank"),
    [
        (solve_qr, 30, 7, 7),
        (min_norm, 7, 30, 7),
        (solve_svd, 30, 7, 7),
        (solve_svd, 7, 30, 7),
        (solve_svd, 20, 15, 4),
    ],
)
def test_equals_the_pseudo_inverse(solver, n, d, rank):
    A, b = matrix(n, d, rank, seed=1)
    np.testing.assert_allclose(solver(A, b), np.linalg.pinv(A, rcond=1e-10) @ b, atol=1e-10)


def test_all_strengths_of_a_ridge_from_one_decomposition():
    A, b = matrix(20, 6, 6, seed=2)
    strengths = [0.0, 0.1, 1.0, 30.0]
    found = tikhonov(A, b, strengths)
    for x, strength in zip(found, strengths, strict=True):
        expected = np.linalg.solve(A.T @ A + strength * np.eye(6), A.T @ b)
        np.testing.assert_allclose(x, expected, atol=1e-10)
    lengths = np.linalg.norm(found, axis=1)
    assert (np.diff(lengths) < 0.0).all()
    np.testing.assert_allclose(tikhonov(A, b, 1.0), found[2], rtol=1e-12)


def test_a_ridge_of_strength_zero_is_the_shortest_solution():
    A, b = matrix(10, 8, 3, seed=3)
    np.testing.assert_allclose(tikhonov(A, b, 0.0), np.linalg.pinv(A, rcond=1e-10) @ b, atol=1e-10)


def test_shortest_point_has_no_zero_where_the_shortest_in_the_1_norm_has_one():
    """X18: the line of solutions x* + span(v2) with v2 = (2, -1) / sqrt(5)."""
    v1 = np.array([1.0, 2.0]) / np.sqrt(5.0)
    star = np.array([1.0, 1.5])
    A, b = v1[None, :], np.array([v1 @ star])
    two = min_norm(A, b)
    assert np.abs(two).min() > 0.1
    one = lasso(A, b, length=float(np.abs(star[0] / 2.0 + star[1])))
    np.testing.assert_allclose(A @ one, b, atol=1e-9)
    assert np.abs(one).min() < 1e-9
    assert np.abs(one).sum() < np.abs(two).sum()


def test_lasso_meets_its_conditions_of_optimality():
    A, b = matrix(25, 10, 10, seed=4)
    top = np.abs(A.T @ b).max()
    assert not lasso(A, b, strength=1.001 * top).any()
    nonzero = []
    for share in (0.9, 0.5, 0.2, 0.02):
        x = lasso(A, b, strength=share * top)
        slope, on = A.T @ (b - A @ x), np.abs(x) > 1e-9
        assert on.any()
        assert np.abs(slope).max() <= share * top + 1e-8
        np.testing.assert_allclose(slope[on], share * top * np.sign(x[on]), atol=1e-8)
        nonzero.append(int(on.sum()))
        # The constrained twin with the same length is the same point.
        twin = lasso(A, b, length=float(np.abs(x).sum()))
        np.testing.assert_allclose(twin, x, atol=1e-7)
    assert nonzero == sorted(nonzero)
    assert nonzero[0] < nonzero[-1]


def test_lasso_equals_coordinate_descent():
    A, b = matrix(40, 8, 8, seed=5)
    strength = 0.3 * np.abs(A.T @ b).max()
    problem = Problem(Squared(), L1(strength / 40), as_data(A, b), fit_intercept=False)
    found = minimise(problem, CoordinateDescent(), tol=1e-12)
    np.testing.assert_allclose(lasso(A, b, strength=strength), found.coef, atol=1e-7)


def test_bad_input_is_named():
    A, b = matrix(10, 5, 3, seed=6)
    with pytest.raises(DataError, match="rank 3 of 5 columns"):
        solve_qr(A, b)
    with pytest.raises(DataError, match="rank 3 of 5 rows"):
        min_norm(A.T, b[:5])
    with pytest.raises(DataError, match="finite"):
        solve_svd(np.full((2, 2), np.nan), [1.0, 2.0])
    with pytest.raises(DataError, match="rows and columns"):
        solve_svd(np.zeros((3, 0)), np.zeros(3))
    with pytest.raises(ParameterError, match="either strength or length"):
        lasso(A, b)
    with pytest.raises(ParameterError, match="strengths"):
        tikhonov(A, b, [-1.0])


@pytest.mark.parametrize(("tall", "high"), [(1e-6, 1e6), (1e7, 1.0), (1.0, 1e-9)])
def test_the_lasso_travels_with_its_units(tall, high):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(30, 5)), rng.normal(size=30)
    unit = tall * high
    wanted, x = lasso(A, b, strength=3.0), lasso(tall * A, high * b, strength=3.0 * unit)
    np.testing.assert_allclose(x * tall / high, wanted, atol=1e-9)
    limit = 0.5 * np.abs(wanted).sum()
    wanted, x = lasso(A, b, length=limit), lasso(tall * A, high * b, length=limit * high / tall)
    np.testing.assert_allclose(x * tall / high, wanted, atol=1e-9)
