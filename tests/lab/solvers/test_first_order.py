"""Gradient descent, proximal gradient, FISTA and L-BFGS: steps, rates, agreement with scipy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from auctor.core.errors import ParameterError
from auctor.data import as_data
from auctor.lab.solvers import AcceleratedGradient, GradientDescent, ProximalGradient
from auctor.losses import Logistic, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, NonNegative
from auctor.problem import Problem
from auctor.solvers import Fista, Lbfgs
from auctor.testing.minimisers import smooth_minimiser
from auctor.testing.plain import PLAIN_LOGISTIC

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 5)) * [1.0, 2.0, 0.5, 1.0, 1.0]
Y = np.where(X[:, 0] - X[:, 2] + RNG.normal(size=80) > 0.3, 1.0, -1.0)
WEIGHT = RNG.uniform(0.5, 2.0, size=80)


# --- gradient descent ---------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_gradient_descent_takes_the_first_power_that_decreases_enough(beta, scale):
    """Algorithm 12 as printed accepts increases; the step must be the first true decrease."""
    problem = Problem(Squared(), L2(0.1), as_data(scale * X, Y), fit_intercept=False)
    solver = GradientDescent(beta=beta)
    state = solver.init(problem, np.full(5, 0.5), np.random.default_rng(0))
    for _ in range(3):
        gradient = problem.total_gradient(state.point)
        new = solver.step(problem, state)
        moved = state.point.w - new.point.w
        step = float(moved @ gradient / (gradient @ gradient))
        np.testing.assert_allclose(moved, step * gradient, rtol=1e-9, atol=1e-14)
        power = np.log(step) / np.log(beta)
        assert power == pytest.approx(round(power), abs=1e-6)
        square = float(gradient @ gradient)
        assert new.point.value <= state.point.value - 1e-4 * step * square
        if round(power) > 0:
            longer = problem.evaluate(state.point.w - step / beta * gradient)
            assert longer.value > state.point.value - 1e-4 * step / beta * square
        state = new


def test_gradient_descent_does_not_take_a_step_that_gains_nothing():
    """With curvature 2 a unit step lands on the mirror image: only the right sign refuses it."""
    data = as_data(np.array([[np.sqrt(2.0)], [-np.sqrt(2.0)]]), [3.0, -3.0])
    problem = Problem(Squared(), L2(0.0), data, fit_intercept=False)
    solver = GradientDescent()
    state = solver.init(problem, np.zeros(1), np.random.default_rng(0))
    mirror = problem.evaluate(-problem.total_gradient(state.point))
    assert mirror.value == pytest.approx(state.point.value, rel=1e-14)
    assert solver.step(problem, state).point.value == pytest.approx(0.0, abs=1e-14)


# --- rates --------------------------------------------------------------------------------------


def chain(d=60):
    """Squared loss whose Hessian is Nesterov's tridiagonal worst case, with an l1 penalty."""
    n = d + 1
    A = np.zeros((n, d))
    A[np.arange(d), np.arange(d)] = 1.0
    A[np.arange(1, n), np.arange(d)] = -1.0
    A *= np.sqrt(n)  # the loss is a mean over rows
    y = np.zeros(n)
    y[0] = np.sqrt(n)
    return Problem(Squared(), L1(1e-5), as_data(A, y), fit_intercept=False)


@pytest.fixture(scope="module")
def solved_chain():
    problem = chain()
    A, y = problem.data.to_dense(), problem.data.target.y
    hessian, pull = A.T @ A / y.size, A.T @ y / y.size
    w = np.linalg.solve(hessian, pull - 1e-5)  # right because it is positive, as checked here
    assert (w > 0).all()
    lipschitz = float(np.linalg.eigvalsh(hessian)[-1])
    return problem.evaluate(w).value, float(w @ w), lipschitz


def excess(solver, optimum, iterations):
    solution = minimise(chain(), solver, tol=0.0, max_iter=iterations, on_failure="ignore")
    return np.array(solution.trace.value)[1:] - optimum


def test_fista_keeps_its_bound(solved_chain):
    """``F(x_k) - F* <= 2 |x_0 - x*|^2 / (t (k + 1)^2)`` with steps t of at least shrink / L."""
    optimum, distance, lipschitz = solved_chain
    found = excess(Fista(shrink=0.5, growth=1.0, restart=False), optimum, 300)
    k = np.arange(1, found.size + 1)
    assert (found <= 2 * distance * lipschitz / 0.5 / (k + 1) ** 2 + 1e-12).all()


def test_proximal_gradient_keeps_its_bound(solved_chain):
    """``F(x_k) - F* <= |x_0 - x*|^2 / (2 t k)``."""
    optimum, distance, lipschitz = solved_chain
    found = excess(ProximalGradient(shrink=0.5, growth=1.0), optimum, 300)
    k = np.arange(1, found.size + 1)
    assert (found <= distance * lipschitz / 0.5 / (2 * k) + 1e-12).all()
    assert (np.diff(found) <= 1e-12).all()


def test_acceleration_and_restart_pay(solved_chain):
    optimum, _, _ = solved_chain
    plain = excess(ProximalGradient(growth=1.0), optimum, 300)[-1]
    fast = excess(Fista(growth=1.0, restart=False), optimum, 300)[-1]
    assert fast < plain / 20
    adaptive = excess(Fista(growth=1.0), optimum, 1500)[-1]
    assert adaptive < 1e-3 * excess(Fista(growth=1.0, restart=False), optimum, 1500)[-1] + 1e-13


@pytest.mark.parametrize("solver", [Fista(), ProximalGradient()], ids=lambda s: type(s).__name__)
def test_lasso_gives_exact_zeros(solver):
    problem = Problem(Logistic(), L1(0.08), as_data(X, Y, weight=WEIGHT))
    solution = minimise(problem, solver, tol=1e-9, max_iter=5000)
    spec = problem.penalty.separable(5)
    w = smooth_minimiser(PLAIN_LOGISTIC, spec, X, problem.data.target, True)
    np.testing.assert_allclose(solution.coef, w[:5], atol=1e-5)
    assert (solution.coef[np.abs(w[:5]) < 1e-9] == 0.0).all()
    assert np.count_nonzero(solution.coef) < 5


@pytest.mark.parametrize("solver", [Fista(), ProximalGradient()], ids=lambda s: type(s).__name__)
def test_a_start_outside_the_box_is_projected(solver):
    problem = Problem(Logistic(), Box(-0.2, 0.3), as_data(X, Y))
    solution = minimise(problem, solver, w0=np.full(6, 5.0), tol=1e-6, max_iter=5000)
    assert solution.converged
    assert (solution.coef >= -0.2).all()
    assert (solution.coef <= 0.3).all()


def test_more_strength_than_the_gradient_gives_nothing_but_the_intercept():
    problem = Problem(Logistic(), L1(10.0), as_data(X, Y))
    solution = minimise(problem, Fista())
    assert solution.converged
    assert not solution.coef.any()
    assert solution.intercept == pytest.approx(problem.null.intercept, rel=1e-9)


@pytest.mark.parametrize("solver", [Fista(), ProximalGradient(), AcceleratedGradient()], ids=repr)
@pytest.mark.parametrize("scale", [1e78, 1e98, 1e-78])
def test_units_of_the_columns_do_not_matter(solver, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ np.array([1.0, -0.5, 0.0]) + 0.1 * rng.normal(size=40)
    one, other = (
        minimise(
            Problem(Squared(), L1(0.1 * size), as_data(size * X, y), fit_intercept=False),
            solver,
            tol=1e-8,
        )
        for size in (1.0, scale)
    )
    assert other.converged
    np.testing.assert_allclose(scale * other.coef, one.coef, atol=1e-4)


def test_non_negative_least_squares_equals_scipy():
    from scipy.optimize import nnls

    problem = Problem(Squared(), NonNegative(), as_data(X, Y), fit_intercept=False)
    solution = minimise(problem, Fista(), tol=1e-12, max_iter=5000)
    np.testing.assert_allclose(solution.coef, nnls(X, Y)[0], atol=1e-8)


# --- L-BFGS -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("memory", [2, 10])
def test_lbfgs_equals_scipy(fit_intercept, memory):
    problem = Problem(
        Logistic(), L2(0.02), as_data(X, Y, weight=WEIGHT), fit_intercept=fit_intercept
    )

    def objective(w):
        point = problem.evaluate(w)
        return point.value, problem.total_gradient(point)

    options = {"gtol": 1e-12, "ftol": 0.0, "maxiter": 2000}
    wanted = minimize(
        objective, np.zeros(problem.n_params), jac=True, method="L-BFGS-B", options=options
    )
    solution = minimise(problem, Lbfgs(memory), tol=1e-14, max_iter=500, on_failure="ignore")
    w = problem.join(solution.coef, solution.intercept)
    np.testing.assert_allclose(w, wanted.x, atol=1e-7)
    assert solution.value <= wanted.fun + 1e-14


def test_lbfgs_reads_the_data_twice_per_iteration():
    problem = Problem(Logistic(), L2(1e-3), as_data(X, Y))
    solution = minimise(problem, Lbfgs(), tol=1e-10)
    assert solution.passes <= 2 * solution.n_iter + 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: GradientDescent(beta=1.0),
        lambda: GradientDescent(beta=0.0),
        lambda: ProximalGradient(shrink=1.5),
        lambda: ProximalGradient(growth=0.5),
        lambda: Fista(shrink=0.0),
        lambda: Fista(growth=0.9),
        lambda: Lbfgs(memory=0),
        lambda: Lbfgs(memory=1.5),
    ],
)
def test_parameters_that_cannot_work_are_refused(make):
    with pytest.raises(ParameterError, match=r"needs .*; got"):
        make()
