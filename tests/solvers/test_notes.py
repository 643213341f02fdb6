"""Worked examples of the lecture notes on unconstrained minimisation: T-10, T-15, T-22, T-23."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import IncompatibleError
from auctor.data import as_data
from auctor.lab.least_squares import lasso
from auctor.lab.maps import CallableMap, MapProblem
from auctor.lab.solvers import (
    Bfgs,
    CoordinateDescent,
    GradientDescent,
    ProximalGradient,
    StochasticCoordinateDescent,
)
from auctor.lab.solvers.bfgs import updated
from auctor.losses import Logistic, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Exact, Lbfgs, Newton, conjugate_gradient
from auctor.solvers.lbfgs import Memory
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
    """``(1 - x)^2 + 5 (y - x^2)^2`` as the mean of two halved squares."""
    root = 2.0 * np.sqrt(5.0)
    curve = CallableMap(
        lambda x: np.array([2.0 - 2.0 * x[0], root * (x[1] - x[0] ** 2)]),
        lambda x: np.array([[-2.0, 0.0], [-2.0 * root * x[0], root]]),
        y=[0.0, 0.0],
        start=[-1.3, 1.5],
    )
    return MapProblem(Squared(), NoPenalty(), curve, fit_intercept=False)


def steps_to(limit, solver):
    """Steps until the gradient of Rosenbrock's function is below a limit."""

    def flat(step):
        a, c = 1.0 - step.w[0], step.w[1] - step.w[0] ** 2
        return bool(np.hypot(-2.0 * a - 20.0 * step.w[0] * c, 10.0 * c) < limit)

    found = minimise(
        rosenbrock(), solver, tol=0.0, max_iter=5000, on_step=flat, on_failure="ignore"
    )
    np.testing.assert_allclose(found.coef, [1.0, 1.0], atol=1e-8)
    return found.n_iter


def test_order_of_methods_on_rosenbrock():
    """T-15, X10, X11: the notes count 10, 18, 20 and 270 steps, their listings one more each.

    Ours search for Wolfe's conditions, or in a trust region, but for the last, whose search is that
    of the listing.
    """
    newton, bfgs, lbfgs = (steps_to(1e-10, one) for one in (Newton(), Bfgs(), Lbfgs()))
    descent = steps_to(1e-10, GradientDescent(beta=0.9, armijo=0.5))
    assert abs(newton - 11) <= 1
    assert newton <= bfgs <= 25
    assert newton <= lbfgs <= 25
    assert abs(descent - 271) <= 1
    assert descent >= 10 * bfgs


def test_newton_does_not_see_a_change_of_variables_and_gradients_do():
    """T-15: in the variables z = C x the steps of Newton are C times those in x."""
    C = np.array([[2.0, 1.0], [0.0, 0.1]])
    back = np.linalg.inv(C)
    right = back.T @ RIGHT
    other = back.T @ A2 @ back
    root = np.sqrt(2.0) * np.linalg.cholesky(other).T
    data = as_data(root, -2.0 * np.linalg.solve(root.T, right))
    changed = Problem(Squared(), NoPenalty(), data, fit_intercept=False)
    for solver, invariant in ((Newton(), True), (GradientDescent(exact=True), False)):
        one = minimise(quadratic(A2), solver, w0=START, tol=0.0, max_iter=1, on_failure="ignore")
        two = minimise(changed, solver, w0=C @ START, tol=0.0, max_iter=1, on_failure="ignore")
        assert np.allclose(two.coef, C @ one.coef, rtol=1e-8, atol=1e-8) is invariant


def test_compact_lbfgs_is_the_dense_recursion():
    """T-15, (126): the product from stored pairs against updates of the whole matrix."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    memory = Memory(4, 6)
    pairs = [(s, A @ s) for s in rng.normal(size=(7, 6))]
    for s, y in pairs:
        memory.add(s, y)
    s, y = pairs[-1]
    H = (s @ y) / (y @ y) * np.eye(6)
    for s, y in pairs[-4:]:
        V = np.eye(6) - np.outer(y, s) / (y @ s)
        H = V.T @ H @ V + np.outer(s, s) / (y @ s)
    v = rng.normal(size=6)
    np.testing.assert_allclose(memory.solve(v), H @ v, rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def sparse_lasso():
    """T-22: 2,000 rows, 500 columns, 2 % of the entries."""
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 500, 0.02, format="csc", random_state=1)
    X.data = rng.normal(size=X.nnz)
    y = X[:, :30] @ rng.normal(size=30) + 0.1 * rng.normal(size=2000)
    return X, y


def epochs(problem, solver, reach):
    """Passes over the columns until the value is reached."""
    found = minimise(
        problem, solver, rng=0, tol=0.0, max_iter=500, on_failure="ignore",
        on_step=lambda step: bool(step.value <= reach),
    )  # fmt: skip
    assert found.value <= reach
    return found.n_iter


def test_coordinate_descent_on_a_sparse_lasso(sparse_lasso):
    """T-22: fewer passes than proximal gradients, exact zeros, and the program R4 agrees."""
    X, y = sparse_lasso
    strength = 0.05 * np.abs(X.T @ y).max() / 2000
    problem = Problem(Squared(), L1(strength), as_data(X, y), fit_intercept=False)
    best = minimise(problem, CoordinateDescent(), tol=1e-12)
    assert 0 < np.count_nonzero(best.coef) < 400
    slope = X.T @ (y - X @ best.coef) / 2000
    np.testing.assert_array_less(np.abs(slope), strength * (1 + 1e-6))
    first = problem.evaluate(np.zeros(500)).value
    reach = best.value + 1e-6 * (first - best.value)
    plain = epochs(problem, ProximalGradient(), reach)
    assert epochs(problem, CoordinateDescent(), reach) <= 0.7 * plain
    few = X[:, :40].toarray()
    small = Problem(Squared(), L1(strength), as_data(few, y), fit_intercept=False)
    program = lasso(few, y, strength=2000 * strength)
    np.testing.assert_allclose(
        program, minimise(small, CoordinateDescent(), tol=1e-12).coef, atol=1e-6
    )


def test_random_coordinates_keep_their_bound():
    """T-23, theorem 11: the mean of 50 runs is below ``(1 - c / (d L))^k`` of the first gap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) * np.linspace(0.5, 2.0, 8)
    y = rng.normal(size=60)
    problem = Problem(Squared(), L2(0.1), as_data(X, y), fit_intercept=False)
    best = minimise(problem, Exact(), tol=1e-12).value
    H = X.T @ X / 60 + 0.1 * np.eye(8)
    rate = 1.0 - np.linalg.eigvalsh(H)[0] / (8 * H.diagonal().max())
    solver = StochasticCoordinateDescent(single_bound=True)
    traces = [
        minimise(problem, solver, rng=k, tol=0.0, max_iter=12, on_failure="ignore").trace.value
        for k in range(50)
    ]
    gaps = np.mean([np.array(trace[:12]) - best for trace in traces], axis=0)
    assert (gaps <= gaps[0] * rate ** (8 * np.arange(12)) * (1 + 1e-9)).all()


@pytest.mark.slow  # thousands of iterations
def test_a_larger_armijo_constant_helps_gradient_descent():
    """E-19: 271 against 1639 steps."""
    assert abs(steps_to(1e-10, GradientDescent(beta=0.9, armijo=0.1)) - 1639) <= 2


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
