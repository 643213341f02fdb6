"""Non-smooth losses against scikit-learn's specialised solvers."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVC, LinearSVC, LinearSVR

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.losses import Absolute, EpsilonInsensitive, Hinge, PairwiseHinge, Quantile
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import Continuation, Fista, Lbfgs, Newton
from auctor.testing.minimisers import quantile_minimiser

RNG = np.random.default_rng(8)
X = RNG.normal(size=(100, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=100) > 0.3, 1.0, -1.0)
REAL = X @ [1.0, -0.5, 0.0, 0.0] + RNG.standard_t(2, size=100)


def solve(problem, tol=1e-7, solver=None):
    return minimise(problem, solver or Continuation(), tol=tol, max_iter=5000)


def test_hinge_equals_linear_svc():
    strength = 0.01
    model = LinearSVC(
        loss="hinge", C=1 / (100 * strength), fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, Y)
    problem = Problem(Hinge(), L2(strength), as_data(X, Y), fit_intercept=False)
    found = solve(problem)
    wanted = problem.evaluate(model.coef_[0].copy())
    assert abs(found.value - wanted.value) <= 1e-7
    np.testing.assert_allclose(found.coef, model.coef_[0], atol=1e-3)


def test_hinge_with_intercept_equals_svc():
    """`SVC` leaves its intercept out of the penalty, as we do."""
    strength = 0.02
    model = SVC(kernel="linear", C=1 / (100 * strength), tol=1e-9).fit(X, Y)
    problem = Problem(Hinge(), L2(strength), as_data(X, Y))
    found = solve(problem)
    wanted = problem.evaluate(np.append(model.coef_[0], model.intercept_[0]))
    assert found.certified
    assert abs(found.value - wanted.value) <= 1e-7


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_quantile_equals_scikit_learn(tau):
    model = QuantileRegressor(quantile=tau, alpha=0.02, solver="highs").fit(X, REAL)
    problem = Problem(Quantile(tau), L1(0.02), as_data(X, REAL))
    found = solve(problem, tol=1e-6)
    wanted = problem.evaluate(np.append(model.coef_, model.intercept_))
    assert abs(found.value - wanted.value) <= 1e-6 * problem.null.loss
    assert found.value - wanted.value <= found.gap + 1e-12


def test_epsilon_insensitive_equals_linear_svr():
    strength, epsilon = 0.02, 0.3
    model = LinearSVR(
        epsilon=epsilon, C=1 / (100 * strength), fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, REAL)
    problem = Problem(
        EpsilonInsensitive(epsilon), L2(strength), as_data(X, REAL), fit_intercept=False
    )
    found = solve(problem)
    assert abs(found.value - problem.evaluate(model.coef_.copy()).value) <= 1e-6


def test_absolute_equals_the_linear_program():
    problem = Problem(Absolute(), L1(0.03), as_data(X, REAL))
    w = quantile_minimiser(X, problem.data.target, 0.5, 2.0, np.full(4, 0.03))
    found = solve(problem, tol=1e-6)
    assert found.value == pytest.approx(problem.evaluate(w).value, rel=2e-6)


@pytest.mark.parametrize("inner", [None, Newton(), Lbfgs(), Fista()], ids=repr)
def test_any_inner_solver_will_do(inner):
    problem = Problem(PairwiseHinge(), L2(0.05), as_data(X, Y))
    found = solve(problem, tol=1e-5, solver=Continuation(solver=inner))
    best = solve(Problem(PairwiseHinge(), L2(0.05), as_data(X, Y)), tol=1e-7)
    assert found.converged
    assert found.value - best.value <= found.gap + 1e-9


def test_an_inner_solver_that_cannot_is_refused_up_front():
    """Otherwise its smooth steps ignore the kink of the penalty, silently."""
    problem = Problem(Quantile(0.3), L1(0.05), as_data(X, REAL))
    with pytest.raises(IncompatibleError, match="differentiable penalty"):
        minimise(problem, Continuation(solver=Lbfgs()))
    assert problem.counts.passes == 0


def test_a_loss_that_is_smooth_already_is_refused():
    """Smoothing it further from below is impossible, so a gap would be no bound."""
    problem = Problem(PairwiseHinge(0.5), L2(0.05), as_data(X, Y))
    with pytest.raises(IncompatibleError, match="smoothed form"):
        minimise(problem, Continuation())


@pytest.mark.parametrize("options", [{"shrink": 1.0}, {"shrink": 0.0}, {"min_width": 0.0}])
def test_parameters_that_cannot_work_are_refused(options):
    with pytest.raises(ParameterError):
        Continuation(**options)
