"""The network for Poisson's equation: the spec's values at the start, T-01, T-19 and T-20."""

from __future__ import annotations

import numpy as np
import pytest

from auctor.lab.least_squares import (
    GaussNewton,
    LevenbergMarquardt,
    PoissonNetwork,
    SteepestDescent,
    solve,
)
from auctor.lab.least_squares.poisson import exact

BOTH = pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
#: Half the sum of squares and length of the gradient at all-ones.
AT_ONES = {
    "tanh": (647.8819528226037, 432.55248450175486),
    "sigmoid": (539.884587350714, 364.1647428387436),
}
#: Value, gradient, largest error and 2-norm of the errors of 120 gradient steps, as printed.
PRINTED = {
    "tanh": ("0.17110610126100", "8.9608e-02", "4.205708e-03", "2.067841e-01"),
    "sigmoid": ("0.16857469843620", "7.7421e-02", "4.200602e-03", "2.059516e-01"),
}


#: The trust region of the notes: an absolute radius, and no scaling of columns.
RADIUS_OF_THE_NOTES = LevenbergMarquardt(10.0, 4.0, scale_columns=False)


def run(equation, start, method, max_iter=120):
    return solve(
        equation.residuals, start, equation.jacobian, method=method, slope=1e-4, max_iter=max_iter
    )


@BOTH
def test_values_at_the_start(activation):
    equation, ones = PoissonNetwork(activation=activation), np.ones(40)
    r, J = equation.residuals(ones), equation.jacobian(ones)
    value, slope = AT_ONES[activation]
    assert 0.5 * r @ r == pytest.approx(value, rel=1e-12)
    assert np.linalg.norm(J.T @ r) == pytest.approx(slope, rel=1e-12)
    assert np.linalg.matrix_rank(J) == 4
    assert J.shape == (25, 40)


@BOTH
def test_jacobian_is_the_derivative(activation):
    equation = PoissonNetwork(units=3, activation=activation)
    w, h = np.random.default_rng(0).normal(size=12), 1e-5
    steps = h * np.eye(12)
    numeric = np.stack(
        [(equation.residuals(w + s) - equation.residuals(w - s)) / (2 * h) for s in steps], axis=1
    )
    np.testing.assert_allclose(equation.jacobian(w), numeric, rtol=1e-6, atol=1e-7)


def test_boundary_values_hold_for_all_weights():
    equation = PoissonNetwork()
    w, t = np.random.default_rng(1).normal(size=40), np.linspace(0.0, 1.0, 23)
    for x, y in ((t, 0 * t), (t, 0 * t + 1), (0 * t, t), (0 * t + 1, t)):
        np.testing.assert_allclose(equation.solution(w, x, y), exact(x, y), atol=1e-14)


def test_residuals_are_the_equation():
    """The Laplacian of the trial solution by differences, less the right-hand side."""
    equation, h = PoissonNetwork(points=3), 1e-4
    w = np.random.default_rng(2).normal(size=40)
    x, y = equation.grid

    def u(dx, dy):
        return equation.solution(w, x + dx, y + dy)

    laplacian = (u(h, 0) + u(-h, 0) + u(0, h) + u(0, -h) - 4 * u(0, 0)) / h**2
    right = np.exp(-x) * (x - 2 + y**3 + 6 * y)
    np.testing.assert_allclose(equation.residuals(w), laplacian - right, atol=1e-5)


@BOTH
def test_gradient_descent_gives_every_printed_digit(activation):
    """X12 and X15."""
    equation = PoissonNetwork(activation=activation)
    found = run(equation, np.ones(40), SteepestDescent())
    errors = equation.errors(found.x)
    ours = (
        f"{found.value:.14f}",
        f"{found.slope:.4e}",
        f"{np.abs(errors).max():.6e}",
        f"{np.linalg.norm(errors):.6e}",
    )
    assert ours == PRINTED[activation]
    assert found.n_iter == 120


@pytest.mark.sample(2)
@BOTH
def test_random_starts(activation):
    """The last part of T-19, on three of the ten starts."""
    equation = PoissonNetwork(activation=activation)
    ratios, errors = [], []
    for seed in range(3):
        start = np.random.default_rng(seed).normal(size=40)
        lm, gn = run(equation, start, RADIUS_OF_THE_NOTES), run(equation, start, GaussNewton())
        gd = run(equation, start, SteepestDescent())
        assert lm.slope <= 1e-4
        assert gn.slope <= 1e-4
        assert gd.slope > 1e-4
        assert equation.largest_error(lm.x) <= 2.5e-5
        ratios.append(gd.evaluations / lm.evaluations)
        errors.append(equation.largest_error(gd.x) / equation.largest_error(lm.x))
    assert np.median(ratios) >= 50
    assert np.median(errors) >= 30


@pytest.mark.slow
@BOTH
def test_levenberg_marquardt_leaves_the_symmetric_start(activation):
    """T-19: near all-ones, 20 of 20, where Gauss-Newton by shortest steps has 0."""
    equation = PoissonNetwork(activation=activation)
    errors, lost = [], []
    for eps in (1e-12, 1e-8, 1e-4, 1e-2):
        for seed in range(5):
            start = 1.0 + eps * np.random.default_rng(seed).normal(size=40)
            found = run(equation, start, RADIUS_OF_THE_NOTES)
            errors.append(equation.largest_error(found.x))
            lost.append(equation.largest_error(run(equation, start, GaussNewton()).x))
    assert max(errors) <= 2.0e-5 < min(lost)
