"""Stochastic coordinate descent: agreement, descent, randomness, cost, refusals."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import IncompatibleError
from auctor.data import as_data
from auctor.kernels.losses.pointwise import curve_bound
from auctor.lab.solvers import StochasticCoordinateDescent
from auctor.losses import (
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PairwiseSquare,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, Box, ElasticNet, GroupL2
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers import BlockCoordinateDescent, Fista

SCD = StochasticCoordinateDescent


def sample(n=100, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(0.7 * rng.normal(size=d)) + 0.1
    s = X[:, :5] @ rng.normal(size=5)
    return X, s / s.std() + 0.5 * rng.normal(size=n), rng.uniform(0.2, 2.0, size=n)


def problem_of(loss, penalty, X=None, fit_intercept=True, **options):
    made, y, weight = sample(**options)
    y = y if loss.targets == "real" else np.where(y > 0, 1.0, -1.0)
    stored = made if X is None else X(made)
    return Problem(loss, penalty, as_data(stored, y, weight=weight), fit_intercept=fit_intercept)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Logistic(), L1(0.02)),
        (Squared(), ElasticNet(0.05, 0.7)),
        (SquaredHinge(), L1(0.02)),
        (SmoothedHinge(0.5), ElasticNet(0.02, 0.5)),
        (Huber(0.5), L1(0.02)),
        (Quantile(0.3, width=0.2), ElasticNet(0.02, 0.5)),
        (Logistic(), Box(-0.1, 0.2)),
    ],
    ids=repr,
)
def test_the_same_optimum_as_fista(loss, penalty):
    wanted = minimise(problem_of(loss, penalty), Fista(), tol=1e-8, max_iter=20000)
    found = minimise(problem_of(loss, penalty), SCD(), tol=1e-7, max_iter=5000, rng=0)
    assert abs(found.value - wanted.value) <= 2e-7 * abs(wanted.value)


def test_bounds_hold_along_every_score():
    """`curve_bound` is at least the second derivative anywhere."""
    rng = np.random.default_rng(0)
    losses = [Logistic(), SquaredHinge(), SmoothedHinge(0.3), Squared(), Huber(0.7)]
    for loss in (*losses, Quantile(0.2, width=0.4)):
        problem = problem_of(loss, L1(0.1))
        target = problem.data.target
        for spread in (0.1, 1.0, 10.0):
            h = loss.curvature(spread * rng.normal(size=target.n_rows), target).diagonal
            bound = curve_bound(loss.kind, loss.width)
            assert (h <= bound * target.share * (1 + 1e-12)).all()
    for loss in (Poisson(), Exponential(), Hinge()):
        assert curve_bound(loss.kind, loss.width) == np.inf
    assert Need.BOUNDED_CURVATURE not in problem_of(PairwiseSquare(), L1(0.1)).provides


@pytest.mark.parametrize("single", [False, True])
def test_every_epoch_descends(single):
    problem = problem_of(Logistic(), L1(0.01))
    values = minimise(
        problem, SCD(single_bound=single), max_iter=40, tol=0.0, rng=1, on_failure="ignore"
    ).trace.value
    assert all(np.diff(values) <= 1e-14)


def test_the_seed_decides_the_path_not_the_end():
    runs = [
        minimise(problem_of(Logistic(), L1(0.01)), SCD(), tol=1e-8, max_iter=2000, rng=seed)
        for seed in (0, 0, 1)
    ]
    assert runs[0].trace.value == runs[1].trace.value
    assert runs[0].trace.value[1] != runs[2].trace.value[1]
    np.testing.assert_allclose(runs[0].coef, runs[2].coef, atol=1e-4)


def test_storages_take_the_same_path():
    def thin(X):
        return np.where(np.abs(X) > 0.8, X, 0.0)

    kinds = [thin, lambda X: sparse.csr_array(thin(X)), lambda X: sparse.csc_array(thin(X))]
    runs = [
        minimise(problem_of(Logistic(), L1(0.01), X=kind), SCD(), tol=1e-6, max_iter=999, rng=0)
        for kind in kinds
    ]
    for other in runs[1:]:
        np.testing.assert_allclose(other.coef, runs[0].coef, atol=1e-8)
        assert other.n_iter == runs[0].n_iter


def test_an_epoch_costs_a_few_passes():
    problem = problem_of(Logistic(), L1(0.01))
    trace = minimise(problem, SCD(), max_iter=20, tol=0.0, on_failure="ignore", rng=0).trace
    assert max(np.diff(trace.passes)) <= 3.5  # at most two for the steps, one for the gradient


@pytest.mark.slow  # thousands of sweeps
def test_column_touches_against_second_order_descent():
    """First-order steps need more, and many more with one bound for all columns."""
    ratios, single = [], []
    for seed in range(4):

        def work(solver, penalty, tol, seed=seed):
            problem = problem_of(Logistic(), penalty, n=150, d=60, seed=seed)
            return minimise(problem, solver, tol=tol, max_iter=5000, rng=0).passes

        second = work(BlockCoordinateDescent(), GroupL2(0.01, 1), 1e-8)
        ratios.append(work(SCD(), L1(0.01), 1e-8) / second)
        loose = work(SCD(), L1(0.01), 1e-3)
        single.append(work(SCD(single_bound=True), L1(0.01), 1e-3) / loose)
    assert sum(r >= 1.2 for r in ratios) >= 3
    assert min(single) > 1.5


def test_empty_columns_and_a_start_outside_the_box():
    X, y, _ = sample()
    X[:, 3] = 0.0
    data = as_data(X, np.where(y > 0, 1.0, -1.0))
    start = np.full(31, 0.5)
    found = minimise(Problem(Logistic(), L1(0.01), data), SCD(), tol=1e-6, w0=start, rng=0)
    assert found.coef[3] == 0.0
    boxed = minimise(
        Problem(Logistic(), Box(-0.1, 0.1), data), SCD(), tol=1e-6, max_iter=3000, w0=start, rng=0
    )
    assert np.abs(boxed.coef).max() <= 0.1


def test_refusals():
    for loss, penalty, words in (
        (Hinge(), L1(0.1), "differentiable"),
        (Exponential(), L1(0.1), "bound on its curvature"),
        (PairwiseSquare(), L1(0.1), "sum over rows"),
        (Logistic(), GroupL2(0.1, 5), "separates"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            minimise(problem_of(loss, penalty), SCD())
