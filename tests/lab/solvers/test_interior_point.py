"""Interior point: agreement of all l1 solvers, both linear systems, exact zeros, cost."""

import numpy as np
import pytest
from scipy import sparse

import auctor.lab.solvers.interior_point as module
from auctor.core.errors import ConvergenceWarning, IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.lab.solvers import InteriorPoint, StochasticCoordinateDescent
from auctor.losses import Hinge, Huber, Logistic, Poisson, Squared, SquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L1, Box, ElasticNet, GroupL2, NonNegative
from auctor.problem import Problem
from auctor.solvers import BlockCoordinateDescent, Fista, ProximalNewton


def sample(n, d, seed=0, rho=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X = X * np.exp(0.4 * rng.normal(size=d)) + 0.2
    w = np.zeros(d)
    w[rng.choice(d, 5, replace=False)] = rng.normal(size=5)
    s = (X - 0.2) @ w
    return X, s / s.std() + 0.5 * rng.normal(size=n) + 0.3


def problem_of(loss, penalty, n=120, d=40, seed=0, fit_intercept=True):
    X, y = sample(n, d, seed)
    if isinstance(loss, Poisson):
        y = np.round(np.abs(y))
    elif loss.targets == "binary":
        y = np.where(y > 0, 1.0, -1.0)
    return Problem(loss, penalty, as_data(X, y), fit_intercept=fit_intercept)


def strength_max(n, d, seed):
    problem = problem_of(Logistic(), L1(1.0), n, d, seed)
    return np.abs(problem.coef(problem.evaluate(problem.start()).gradient)).max()


@pytest.mark.sample(3)
@pytest.mark.parametrize(("n", "d"), [(200, 50), (100, 100), (60, 200)])
@pytest.mark.parametrize("fraction", [0.1, 0.02])
def test_all_l1_solvers_agree(n, d, fraction):
    """Objectives to 1e-7 relative, supports exactly; certified gaps never lie."""
    strength = fraction * strength_max(n, d, seed=n)
    solvers = {
        "interior": InteriorPoint(),
        "scd": StochasticCoordinateDescent(),
        "fista": Fista(),
        "newton": ProximalNewton(),
        "block": BlockCoordinateDescent(),
    }
    found, steps = {}, []
    for name, solver in solvers.items():
        penalty = GroupL2(strength, 1) if name == "block" else L1(strength)
        found[name] = minimise(
            problem_of(Logistic(), penalty, n, d, n),
            solver,
            tol=1e-8,
            max_iter=20000,
            rng=0,
            on_step=steps.append,
        )
    best = min(solution.value for solution in found.values())
    for name, solution in found.items():
        assert solution.value - best <= 1e-7 * best, name
        np.testing.assert_array_equal(solution.coef != 0, found["newton"].coef != 0, err_msg=name)
    assert 0 < (found["newton"].coef != 0).sum() < d
    for step in steps:
        if step.certified:
            assert step.value - best <= step.gap + 1e-12


@pytest.mark.parametrize("loss", [Squared(), SquaredHinge(), Huber(0.5), Poisson()], ids=repr)
@pytest.mark.parametrize("penalty", [L1(0.05), ElasticNet(0.1, 0.5)], ids=repr)
def test_other_losses_and_the_elastic_net(loss, penalty):
    wanted = minimise(problem_of(loss, penalty), ProximalNewton(), tol=1e-9)
    found = minimise(problem_of(loss, penalty), InteriorPoint(), tol=1e-7)
    assert abs(found.value - wanted.value) <= 2e-7 * abs(wanted.value)
    np.testing.assert_array_equal(found.coef != 0, wanted.coef != 0)


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
@pytest.mark.parametrize("penalty", [L1(0.02), ElasticNet(0.03, 0.4)], ids=repr)
def test_the_system_of_the_rows_equals_that_of_the_columns(penalty, fit_intercept):
    runs = [
        minimise(
            problem_of(Logistic(), penalty, 30, 80, fit_intercept=fit_intercept),
            InteriorPoint(direct=direct),
            tol=1e-6,
        )
        for direct in (True, False)
    ]
    assert runs[0].n_iter == runs[1].n_iter
    np.testing.assert_allclose(runs[0].trace.value, runs[1].trace.value, rtol=1e-8)
    np.testing.assert_allclose(runs[0].coef, runs[1].coef, atol=1e-7)


def test_unpenalised_columns_in_the_system_of_the_rows():
    weights = np.ones(80)
    weights[:2] = 0.0
    penalty = L1(0.05, weights=weights)
    wanted = minimise(problem_of(Logistic(), penalty, 40, 80), ProximalNewton(), tol=1e-8)
    found = minimise(problem_of(Logistic(), penalty, 40, 80), InteriorPoint(), tol=1e-6)
    assert found.value == pytest.approx(wanted.value, rel=1e-6)
    assert found.coef[:2].all()


def test_many_columns_never_make_a_square_of_them():
    """The square of 100,000 columns would take 75 GiB; the rows' system is 20 by 20."""
    d = 100_000
    X = sparse.random(20, d, density=0.02, random_state=0, format="csr")
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    problem = Problem(Logistic(), L1(0.02), as_data(X, y))
    found = minimise(problem, InteriorPoint(), tol=1e-3, max_iter=90)
    assert found.converged
    assert 0 < (found.coef != 0).sum() < 200


def test_newton_steps_hardly_depend_on_size_while_their_cost_does():
    """Counts behind the trade-off: few steps of O(n^2 p), against many cheap epochs."""
    steps, cost, epochs = [], [], []
    for n in (25, 50, 100):
        options = (Logistic(), L1(0.02), n, 200)
        interior = minimise(problem_of(*options), InteriorPoint(), tol=1e-6)
        steps.append(interior.n_iter)
        cost.append(interior.passes / interior.n_iter * n)  # a pass reads n p entries
        scd = minimise(
            problem_of(*options), StochasticCoordinateDescent(), tol=1e-6, max_iter=9999, rng=0
        )
        epochs.append(scd.n_iter)
        assert scd.passes / scd.n_iter < 4.0
    assert max(steps) <= 2.5 * min(steps)
    assert max(steps) < 80 < max(epochs)
    assert 2.0 < cost[1] / cost[0] < 4.5
    assert 2.0 < cost[2] / cost[1] < 4.5


def test_barrier_derivatives():
    rng = np.random.default_rng(0)
    w, l1 = rng.normal(size=6) * 10.0 ** rng.integers(-4, 2, size=6), rng.uniform(0.1, 2, size=6)
    l1[2] = 0.0
    for mu in (1e-3, 0.1, 3.0):
        at = module.barrier(w, l1, mu)
        assert at.slope[2] == 0.0 == at.curve[2]
        for j in range(6):
            step = np.zeros(6)
            step[j] = 1e-4 * (abs(w[j]) + mu)
            high, low = (module.barrier(w + s * step, l1, mu) for s in (1, -1))
            slope = (high.value - low.value) / (2 * step[j])
            assert slope == pytest.approx(at.slope[j], rel=1e-4, abs=1e-7)
            curve = (high.slope[j] - low.slope[j]) / (2 * step[j])
            # The Schur complement of the joint barrier is the curvature with u eliminated.
            assert curve == pytest.approx(at.curve[j], rel=1e-4, abs=1e-9)


def test_a_good_start_saves_steps():
    options = (Logistic(), L1(0.02))
    cold = minimise(problem_of(*options), InteriorPoint(), tol=1e-6)
    start = np.append(cold.coef, cold.intercept)
    warm = minimise(problem_of(Logistic(), L1(0.019)), InteriorPoint(), tol=1e-6, w0=start)
    again = minimise(problem_of(Logistic(), L1(0.019)), InteriorPoint(), tol=1e-6)
    assert warm.n_iter < again.n_iter


def test_no_penalty_on_separable_data_ends_with_a_warning():
    X = np.vstack((np.ones((6, 2)), -np.ones((6, 2)))) + 0.01 * np.arange(24).reshape(12, 2)
    data = as_data(X, [1.0] * 6 + [-1.0] * 6)
    for solver in (InteriorPoint(), StochasticCoordinateDescent()):
        problem = Problem(Logistic(), L1(0.0), data)
        with pytest.warns(ConvergenceWarning):
            found = minimise(problem, solver, tol=0.0, max_iter=15, rng=0)
        assert np.isfinite(found.coef).all()
        assert found.value < 0.6


def test_refusals():
    for loss, penalty, words in (
        (Hinge(), L1(0.1), "differentiable"),
        (Logistic(), Box(-1.0, 1.0), "unbounded"),
        (Logistic(), NonNegative(), "unbounded"),
        (Logistic(), GroupL2(0.1, 5), "separates"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            minimise(problem_of(loss, penalty), InteriorPoint())
    with pytest.raises(ParameterError, match="growth"):
        InteriorPoint(growth=1.0)
