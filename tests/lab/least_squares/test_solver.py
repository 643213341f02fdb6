"""Gauss-Newton and Levenberg-Marquardt on problems with known answers, T-18 and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares as scipy_least_squares

from auctor.core.errors import DataError, ParameterError
from auctor.lab.least_squares import (
    FitStatus,
    GaussNewton,
    LevenbergMarquardt,
    SteepestDescent,
    solve,
    trust_step,
)


def rosenbrock(x):
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def rosenbrock_jacobian(x):
    return np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])


METHODS = [GaussNewton(), LevenbergMarquardt(), LevenbergMarquardt(scale_columns=False)]


@pytest.mark.parametrize("method", METHODS, ids=["GN", "LM", "LM unscaled"])
def test_rosenbrock(method):
    found = solve(rosenbrock, [-1.2, 1.0], rosenbrock_jacobian, method=method)
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-7)
    assert found.status is FitStatus.CONVERGED
    assert (np.diff(found.values) <= 0.0).all()
    assert found.n_iter == len(found.values) - 1


@pytest.mark.parametrize("method", [GaussNewton(), LevenbergMarquardt(scale_columns=False)])
def test_one_step_solves_linear_equations_of_any_shape(method):
    rng = np.random.default_rng(0)
    for n, d in ((20, 5), (5, 20)):
        A, b = rng.normal(size=(n, d)), rng.normal(size=n)
        found = solve(lambda x, A=A, b=b: A @ x - b, np.zeros(d), lambda x, A=A: A, method=method)
        np.testing.assert_allclose(found.x, np.linalg.pinv(A) @ b, atol=1e-10)
        assert found.n_iter == 1


def test_bounds_are_kept_and_agree_with_scipy():
    lower, upper = np.array([-2.0, -1.0]), np.array([0.5, 0.2])
    found = solve(rosenbrock, [-1.2, 0.0], rosenbrock_jacobian, lower=lower, upper=upper)
    known = scipy_least_squares(
        rosenbrock, [-1.2, 0.0], rosenbrock_jacobian, bounds=(lower, upper), xtol=1e-14, ftol=1e-14
    )
    assert (found.x >= lower).all()
    assert (found.x <= upper).all()
    np.testing.assert_allclose(found.x, known.x, atol=1e-5)
    assert found.value <= known.cost + 1e-10


def test_units_of_the_unknowns_do_not_matter_with_scaled_columns():
    unit = np.array([1e4, 1e-3])
    method = LevenbergMarquardt()
    plain = solve(rosenbrock, [-1.2, 1.0], rosenbrock_jacobian, method=method, tol=0, max_iter=8)
    scaled = solve(
        lambda z: rosenbrock(unit * z),
        np.array([-1.2, 1.0]) / unit,
        lambda z: rosenbrock_jacobian(unit * z) * unit,
        method=method,
        tol=0,
        max_iter=8,
    )
    np.testing.assert_allclose(unit * scaled.x, plain.x, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_trust_region_step_is_exact(seed):
    """T-18, full and deficient ranks."""
    rng = np.random.default_rng(seed)
    n, d, rank = [(12, 5, 5), (5, 12, 5), (9, 9, 3)][seed % 3]
    J = rng.normal(size=(n, rank)) @ (10.0 ** rng.uniform(-3, 3, rank)[:, None] * np.eye(rank, d))
    r = rng.normal(size=n)
    g, whole = J.T @ r, np.linalg.norm(np.linalg.pinv(J, rcond=1e-12) @ r)
    for share in (1e-6, 1e-2, 0.5, 0.99, 1.5):
        radius = share * whole
        p, multiplier, steps = trust_step(J, r, radius)
        assert multiplier >= 0.0
        assert steps <= 15
        if share > 1.0:
            assert multiplier == 0.0
            assert np.linalg.norm(p) <= radius
        else:
            assert abs(np.linalg.norm(p) - radius) <= 1e-3 * radius
            # The same step from the stacked system and from the normal equations.
            stacked = np.vstack((J, np.sqrt(multiplier) * np.eye(d)))
            by_qr = np.linalg.lstsq(stacked, -np.append(r, np.zeros(d)), rcond=None)[0]
            np.testing.assert_allclose(p, by_qr, rtol=1e-6, atol=1e-8 * radius)
        along = radius / np.linalg.norm(g) * g
        cauchy = min(1.0, (g @ along) / (np.linalg.norm(J @ along) ** 2)) * along
        assert np.sum((J @ p + r) ** 2) <= np.sum((r - J @ cauchy) ** 2) * (1.0 + 1e-9)


def test_large_residual_stationary_point_is_found():
    """E-27: the gradient can vanish where residuals do not."""
    found = solve(lambda x: np.array([x[0] - 1.0, x[0] + 1.0]), [5.0], lambda x: np.ones((2, 1)))
    assert found.value == pytest.approx(1.0)
    assert abs(found.x[0]) < 1e-8


def test_a_step_into_nan_is_refused_not_returned():
    found = solve(
        lambda x: np.array([np.log(x[0])]),
        [5.0],
        lambda x: np.array([[1.0 / x[0]]]),
        method=LevenbergMarquardt(first_radius=10.0),
    )
    assert found.x[0] == pytest.approx(1.0)


def test_a_column_without_effect_stays_where_it_was():
    found = solve(
        lambda x: np.array([x[0] - 3.0]),
        [0.0, 7.0],
        lambda x: np.array([[1.0, 0.0]]),
        method=LevenbergMarquardt(),
    )
    np.testing.assert_allclose(found.x, [3.0, 7.0])


def test_running_out_of_steps_is_said():
    found = solve(
        rosenbrock, [-1.2, 1.0], rosenbrock_jacobian, method=SteepestDescent(), max_iter=3
    )
    assert found.status is FitStatus.MAX_ITER
    assert not found.converged


def test_bad_input_is_named():
    with pytest.raises(DataError, match="finite residuals at x0"):
        solve(lambda x: np.array([np.nan]), [1.0], lambda x: np.ones((1, 1)))
    lengths = iter([2, 3])
    with pytest.raises(DataError, match="2 residuals as at the start"):
        solve(lambda x: np.ones(next(lengths)), [1.0], lambda x: np.ones((2, 1)))
    with pytest.raises(DataError, match="Jacobian of shape"):
        solve(rosenbrock, [0.0, 0.0], lambda x: np.ones((2, 3)))
    with pytest.raises(DataError, match="finite Jacobian"):
        solve(rosenbrock, [0.0, 0.0], lambda x: np.full((2, 2), np.inf))
    with pytest.raises(DataError, match="lower <= upper"):
        solve(rosenbrock, [0.0, 0.0], rosenbrock_jacobian, lower=1.0, upper=0.0)
    with pytest.raises(DataError, match="inside the bounds"):
        solve(rosenbrock, [0.0, 0.0], rosenbrock_jacobian, lower=1.0)
    with pytest.raises(ParameterError, match="without bounds"):
        solve(rosenbrock, [0.0, 0.0], rosenbrock_jacobian, lower=-1.0, method=GaussNewton())
    with pytest.raises(ParameterError, match="armijo"):
        GaussNewton(armijo=0.0)
    with pytest.raises(ParameterError, match="accept"):
        LevenbergMarquardt(accept=0.3)
