"""The adaptive accelerated gradient method: its optimum, its guarantee, its cost."""

import numpy as np
import pytest

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.lab.solvers import AcceleratedGradient
from auctor.losses import Logistic, PairwiseHinge, RankOpt, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet
from auctor.problem import Problem
from auctor.solvers import Fista, Lbfgs

RNG = np.random.default_rng(11)
X = RNG.normal(size=(400, 10))
X /= np.linalg.norm(X, axis=1, keepdims=True)
SCORES = X @ RNG.normal(size=10) + 0.2 * RNG.normal(size=400)
Y = np.where(np.quantile(SCORES, 0.7) < SCORES, 1.0, -1.0)
WIDTH = 0.02


def pair_constant():
    """Largest eigenvalue of the mean of ``u u'`` over pairs: times 1/width, the constant L."""
    pairs = (X[Y > 0][:, None] - X[Y < 0]).reshape(-1, X.shape[1])
    return float(np.linalg.eigvalsh(pairs.T @ pairs / len(pairs))[-1])


@pytest.mark.parametrize("strength", [1e-1, 1e-2, 1e-3])
def test_same_minimum_as_lbfgs(strength):
    problem = Problem(PairwiseHinge(WIDTH), L2(strength), as_data(X, Y))
    best = minimise(problem, Lbfgs(), tol=1e-10)
    found = minimise(problem, AcceleratedGradient(), tol=1e-9, max_iter=5000)
    assert found.converged
    assert found.value == pytest.approx(best.value, abs=1e-8)


@pytest.mark.parametrize("penalty", [L1(0.01), ElasticNet(0.02, 0.5), L2(0.01)], ids=repr)
def test_any_penalty_with_a_prox(penalty):
    problem = Problem(Logistic(), penalty, as_data(X, Y))
    best = minimise(problem, Fista(), tol=1e-9, max_iter=20000)
    found = minimise(problem, AcceleratedGradient(), tol=1e-8, max_iter=5000)
    assert found.converged
    assert found.value == pytest.approx(best.value, abs=1e-7)


@pytest.mark.parametrize("strength", [1e-1, 1e-3, 1e-5])
def test_the_error_is_within_its_guarantee(strength):
    """``2 L |w*|^2 / k^2`` from zero, at every step."""
    problem = Problem(PairwiseHinge(WIDTH), L2(strength), as_data(X, Y))
    best = minimise(problem, Lbfgs(), tol=1e-12, max_iter=3000, on_failure="ignore")
    trace = minimise(
        problem, AcceleratedGradient(), tol=0.0, max_iter=300, on_failure="ignore"
    ).trace
    constant = pair_constant() / WIDTH
    k = np.arange(1, len(trace))
    excess = np.array(trace.value[1:]) - best.value
    bound = 2.0 * constant * float(best.coef @ best.coef) / k**2
    assert (excess <= bound + best.gap).all()


def test_strong_convexity_gives_a_geometric_rate():
    """On a quadratic with curvatures in [m, L]: about ``sqrt(L / m)`` steps per constant factor."""
    data = as_data(X * np.logspace(0, 1.5, 10), X @ np.ones(10))
    problem = Problem(Squared(), L2(0.05), data, fit_intercept=False)
    best = minimise(problem, Lbfgs(), tol=1e-14, on_failure="ignore")
    trace = minimise(problem, AcceleratedGradient(), tol=0.0, max_iter=400, on_failure="ignore")
    excess = np.maximum(np.array(trace.trace.value) - best.value, 1e-18)
    assert excess[min(300, len(excess) - 1)] <= 1e-10 * excess[0]


@pytest.mark.parametrize("strength", [1e-4, 1e-6])
def test_lbfgs_needs_fewer_evaluations(strength):
    """To one percent above the minimum, two gradients per trial counted."""
    problem = Problem(PairwiseHinge(WIDTH), L2(strength), as_data(X, Y))
    best = minimise(problem, Lbfgs(), tol=1e-8, max_iter=3000, on_failure="ignore").value
    counts = []
    for solver in (AcceleratedGradient(), Lbfgs()):
        trace = minimise(problem, solver, tol=1e-5, max_iter=3000, on_failure="ignore").trace
        near = int(np.argmax(np.array(trace.value) <= 1.01 * best))
        assert trace.value[near] <= 1.01 * best
        counts.append(trace.evaluations[near])
    assert counts[0] >= 2 * counts[1]


@pytest.mark.parametrize("strength", [1e-2, 1e-4, 1e-6])
def test_the_exact_objective_falls_along_lbfgs(strength):
    """It may rise by the smoothing error, half the width; it did only once within that."""
    exact = Problem(PairwiseHinge(), L2(strength), as_data(X, Y))
    values = []
    minimise(
        exact.with_loss(PairwiseHinge(WIDTH)), Lbfgs(), tol=1e-6, on_failure="ignore",
        on_step=lambda step: values.append(exact.evaluate(step.w).value),
    )  # fmt: skip
    rises = np.diff(values)
    far = np.array(values[:-1]) > min(values) + 0.5 * WIDTH
    assert far.any()
    assert (rises <= 0.5 * WIDTH).all()
    assert (rises[far] < 0.0).all()


def test_two_gradients_per_trial():
    problem = Problem(Squared(), L2(0.1), as_data(X, SCORES), fit_intercept=False)
    solver = AcceleratedGradient(relax=1.0)
    state = solver.init(problem, problem.start(), RNG)
    state = solver.step(problem, state)
    before, constant = problem.counts.evaluations, state.lipschitz
    state = solver.step(problem, state)
    trials = 1 + round(np.log2(state.lipschitz / constant))
    assert problem.counts.evaluations - before == 2 * trials


def test_what_cannot_work_is_refused():
    with pytest.raises(IncompatibleError, match="differentiable loss"):
        minimise(Problem(PairwiseHinge(), L2(0.1), as_data(X, Y)), AcceleratedGradient())
    with pytest.raises(IncompatibleError, match="convex loss"):
        minimise(Problem(RankOpt(), L2(0.1), as_data(X, Y)), AcceleratedGradient())
    for options in ({"growth": 1.0}, {"relax": 0.5}):
        with pytest.raises(ParameterError):
            AcceleratedGradient(**options)
