"""Proximal points: same optimum as continuation in fewer steps, weights, starts, refusals."""

import numpy as np
import pytest

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.losses import Absolute, EpsilonInsensitive, Hinge, Logistic, Prbep, Quantile
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet, GroupL2
from auctor.problem import Problem
from auctor.solvers import Continuation, ProximalPoint, choose

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 12))
REAL = X[:, 0] - 0.5 * X[:, 1] + 5.0 + RNG.standard_t(2, size=300)
LOSSES = [Hinge(), Quantile(0.2), Absolute(), EpsilonInsensitive(0.3)]


def problem_of(loss, strength=0.01, *, rows=slice(None), weight=None, fit_intercept=True):
    y = np.where(REAL > 5.7, 1.0, -1.0) if loss.targets == "binary" else REAL
    data = as_data(X[rows], y[rows], weight=weight)
    return Problem(loss, L2(strength), data, fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_same_optimum_as_continuation(loss, fit_intercept):
    problem = problem_of(loss, fit_intercept=fit_intercept)
    assert isinstance(choose(problem_of(loss, 1e-4)), ProximalPoint)
    found = minimise(problem, ProximalPoint(), tol=1e-7)
    other = minimise(problem, Continuation(), tol=1e-5)
    assert found.converged
    assert found.certified
    assert found.value <= other.value + found.gap + 1e-12
    assert other.value <= found.value + other.gap + 1e-12


def test_weights_are_repetitions():
    times = RNG.integers(0, 4, size=300)
    again = np.repeat(np.arange(300), times)
    for loss in (Hinge(), Absolute()):
        one = minimise(problem_of(loss, weight=times.astype(float)), ProximalPoint())
        other = minimise(problem_of(loss, rows=again), ProximalPoint())
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-8)


def test_a_start_at_the_optimum_is_used():
    problem = problem_of(Hinge())
    cold = minimise(problem, ProximalPoint(), tol=1e-7)
    warm = minimise(problem, ProximalPoint(), tol=1e-4, w0=problem.join(cold.coef, cold.intercept))
    assert warm.converged
    assert warm.n_iter < cold.n_iter


def test_refusals():
    for options in ({"shrink": 1.0}, {"min_width": 0.0}):
        with pytest.raises(ParameterError, match="ProximalPoint needs"):
            ProximalPoint(**options)
    data = as_data(X, np.where(REAL > 5.0, 1.0, -1.0))
    with pytest.raises(IncompatibleError, match="ProximalPoint needs"):
        minimise(Problem(Logistic(), L2(0.1), data), ProximalPoint())


@pytest.mark.parametrize("penalty", [L1(0.02), ElasticNet(0.02, 0.5), GroupL2(0.02, 3)], ids=repr)
@pytest.mark.parametrize("loss", [*LOSSES, Prbep()], ids=repr)
def test_penalties_with_kinks(loss, penalty):
    y = np.where(REAL > 5.7, 1.0, -1.0) if loss.targets == "binary" else REAL
    problem = Problem(loss, penalty, as_data(X, y))
    assert isinstance(choose(problem), ProximalPoint)
    found = minimise(problem, ProximalPoint())
    other = minimise(problem, Continuation(), tol=1e-3)
    assert found.converged
    assert found.certified
    assert found.value <= other.value + found.gap + 1e-12
    assert other.value <= found.value + other.gap + 1e-12


def test_rare_columns_of_a_linear_part_are_no_trap():
    """Columns whose rows are all on the linear part once took steps fit for the heaviest column."""
    rng = np.random.default_rng(0)
    heavy = rng.random((2000, 1)) < 0.6
    rare = rng.random((2000, 40)) < 0.004
    B = np.hstack([heavy, rare]).astype(float)
    y = np.where(rare[:, :20].any(axis=1), 1.0, -1.0)
    found = minimise(Problem(Hinge(), L1(1e-3), as_data(B, y)), ProximalPoint(), max_iter=100)
    assert found.converged


def test_neither_smoothing_can_be_made_the_other():
    assert (Continuation.centred, ProximalPoint.centred) == (False, True)
    for solver in (Continuation, ProximalPoint):
        with pytest.raises(TypeError, match="centred"):
            solver(centred=not solver.centred)
