"""Worked examples of the lecture notes on unconstrained minimisation: T-10 and parts of T-15."""

from __future__ import annotations

import numpy as np
import pytest

from auctor.core.errors import IncompatibleError
from auctor.data import as_data
from auctor.losses import Logistic, Squared
from auctor.maps import CallableMap, MapProblem
from auctor.minimise import minimise
from auctor.penalties import L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Bfgs, Exact, GradientDescent, Lbfgs, Newton, conjugate_gradient
from auctor.solvers.smooth.bfgs import updated
from auctor.solvers.smooth.conjugate import CgStatus

A1 = np.array([[1.0, 0.1], [0.1, 2.0]])
A2 = np.array([[1.0, 1.0], [1.0, 10.0]])
A9 = np.array([[1.0, 4.0], [4.0, 40.0]])
RIGHT = np.array([0.1, 0.2])
START = np.array([-10.0, 2.0])


def quadratic(A):
    """``x'Ax/2 + b'x`` as least squares."""
    root = np.sqrt(2.0) * np.linalg.cholesky(A).T
    y = -2.0 * np.linalg.solve(root.T, RIGHT)
    return Problem(Squared(), NoPenalty(), as_data(root, y), fit_intercept=False)


def path(A, solver, most=1000):
    """Points until the gradient is below 1e-10."""
    points = []

    def stop(step):
        points.append(step.w.copy())
        return bool(np.linalg.norm(A @ step.w + RIGHT) < 1e-10)

    minimise(quadratic(A), solver, w0=START, tol=0.0, max_iter=most, on_step=stop,
             on_failure="ignore")  # fmt: skip
    return np.array(points)


@pytest.mark.parametrize(("A", "counts"), [(A1, {14}), (A2, {144, 145}), (A9, {94, 95, 96})])
def test_exact_line_search_zigzags(A, counts):
    """X8 and X9: the counts, and the rate of Kantorovich in the norm of the matrix."""
    points = path(A, GradientDescent(exact=True))
    assert len(points) - 1 in counts
    best = -np.linalg.solve(A, RIGHT)
    sizes = np.sqrt(np.einsum("ij,jk,ik->i", points - best, A, points - best))
    kappa = np.linalg.cond(A)
    sizes = sizes[sizes > 1e-8]
    assert (sizes[1:] <= (kappa - 1) / (kappa + 1) * sizes[:-1] * (1 + 1e-6)).all()
    steps = np.diff(points[:6], axis=0)
    assert np.abs(np.einsum("ij,ij->i", steps[1:], steps[:-1])).max() < 1e-8


@pytest.mark.parametrize("A", [A1, A2, A9])
def test_second_order_methods_do_not(A):
    """Newton one step; conjugate gradients two."""
    assert len(path(A, Newton())) - 1 == 1
    assert len(path(A, Exact())) - 1 == 1
    found = conjugate_gradient(lambda v: A @ v, -RIGHT, x0=START, rtol=1e-10)
    assert found.n_iter == 2
    assert found.status is CgStatus.CONVERGED
    np.testing.assert_allclose(A @ found.x, -RIGHT, atol=1e-12)


def test_conjugate_gradients_leave_at_negative_curvature():
    A = np.diag([1.0, -1.0, 2.0])
    found = conjugate_gradient(lambda v: A @ v, np.array([1.0, 3.0, 1.0]))
    assert found.status is CgStatus.NEGATIVE_CURVATURE
    assert found.direction @ A @ found.direction <= 0.0
    empty = conjugate_gradient(lambda v: A @ v, np.zeros(3))
    assert empty.status is CgStatus.CONVERGED
    assert not empty.x.any()
    cut = conjugate_gradient(lambda v: A2 @ v, RIGHT, max_iter=1)
    assert cut.status is CgStatus.MAX_ITER


def test_an_exact_search_needs_a_quadratic():
    problem = Problem(Logistic(), L2(0.1), as_data(np.eye(2), [1, -1]))
    with pytest.raises(IncompatibleError, match="quadratic"):
        minimise(problem, GradientDescent(exact=True))


def rosenbrock():
    root = np.sqrt(5.0)
    curve = CallableMap(
        lambda x: np.array([1.0 - x[0], root * (x[1] - x[0] ** 2)]),
        lambda x: np.array([[-1.0, 0.0], [-2.0 * root * x[0], root]]),
        y=[0.0, 0.0],
        start=[-1.3, 1.5],
    )
    return MapProblem(Squared(), NoPenalty(), curve, fit_intercept=False)


def test_order_of_methods_on_rosenbrock():
    """T-15: quasi-Newton methods are near Newton's, and ten times ahead of gradient descent."""
    counts = {}
    for solver in (Newton(), Bfgs(), Lbfgs(), GradientDescent(beta=0.9, armijo=0.5)):
        found = minimise(rosenbrock(), solver, tol=1e-9, max_iter=5000)
        np.testing.assert_allclose(found.coef, [1.0, 1.0], atol=1e-6)
        counts[type(solver).__name__] = found.n_iter
    assert counts["Newton"] <= counts["Bfgs"]
    assert counts["Bfgs"] <= 25
    assert counts["Lbfgs"] <= 25
    assert counts["GradientDescent"] >= 10 * counts["Bfgs"]


def test_a_larger_armijo_constant_helps_gradient_descent():
    """E-19: 271 against 1639 steps in the notes."""
    near, far = (
        minimise(rosenbrock(), GradientDescent(beta=0.9, armijo=a), tol=1e-8, max_iter=9000).n_iter
        for a in (0.5, 0.01)
    )
    assert near < far


def test_bfgs_inverse_is_that_of_the_direct_formula():
    """(118) to (123): H = B^-1, symmetric positive definite, secant equation."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    A = A @ A.T + np.eye(5)
    H, B = np.eye(5), np.eye(5)
    for _ in range(8):
        s = rng.normal(size=5)
        y = A @ s
        H = updated(H, s, y)
        B = B - np.outer(B @ s, B @ s) / (s @ B @ s) + np.outer(y, y) / (y @ s)
        np.testing.assert_allclose(H @ B, np.eye(5), atol=1e-8)
        np.testing.assert_allclose(H @ y, s, atol=1e-10)
        assert np.linalg.eigvalsh(H).min() > 0.0
    assert updated(H, s, -y) is H
