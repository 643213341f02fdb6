"""A metric from the pairwise square loss, and L-BFGS in it."""

import numpy as np
import pytest

from auctor.core.errors import ParameterError
from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.losses import FBeta, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.solvers import Continuation, Lbfgs
from auctor.solvers.smooth import preconditioner as module
from auctor.solvers.smooth.preconditioner import SHARE, pair_metric

RNG = np.random.default_rng(3)
#: Columns that are alike and of different scales.
X = RNG.normal(size=(300, 6)) @ RNG.normal(size=(6, 6)) * np.geomspace(0.01, 10.0, 6)
Y = np.where(X @ np.geomspace(10.0, 0.01, 6) + RNG.normal(size=300) > 0.5, 1.0, -1.0)


def problem_of(X=X, y=Y, loss=None, strength=1e-3):
    return Problem(loss or PairwiseHinge(), L2(strength), as_data(X, y))


def of_all_pairs(X, y, strength):
    apart = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, X.shape[1])
    # The square loss is (1 - s)^2, without a half.
    return SHARE * 2.0 * apart.T @ apart / len(apart) + strength * np.eye(X.shape[1])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "SMALL_WORK", 0)


def test_it_is_a_share_of_the_curvature_of_all_pairs_and_the_penalty():
    factor = pair_metric(problem_of())
    assert not np.tril(factor, -1).any()
    np.testing.assert_allclose(factor.T @ factor, of_all_pairs(X, Y, 1e-3), rtol=1e-6)


def test_a_sample_is_close_and_no_column_counts_for_less(monkeypatch):
    monkeypatch.setattr(module, "LEAST_ROWS", 120)
    monkeypatch.setattr(module, "PER_COLUMN", 1)
    rare = np.column_stack([X, np.zeros(len(X))])
    rare[np.flatnonzero(Y > 0)[0], -1] = 100.0  # hardly in any sample
    exact = of_all_pairs(rare, Y, 1e-3)
    factor = pair_metric(problem_of(rare))
    found = factor.T @ factor
    assert np.abs(found - exact).max() > 0.01  # it is a sample
    assert np.all(np.diag(found) >= (1.0 - 1e-6) * np.diag(exact))
    size = np.sqrt(np.diag(exact)[:-1])
    assert np.abs((found - exact)[:-1, :-1] / np.outer(size, size)).max() < 0.2


def test_its_passes_are_counted(monkeypatch):
    whole, sampled = problem_of(), problem_of()
    pair_metric(whole)
    monkeypatch.setattr(module, "LEAST_ROWS", 120)
    pair_metric(sampled)
    assert whole.counts.passes == 4.0
    assert sampled.counts.passes == pytest.approx(4.6)


def test_where_there_is_none(monkeypatch):
    half = np.resize([1.0, -1.0], 30)
    assert pair_metric(problem_of(RNG.normal(size=(30, FACTOR_PARAMS + 1)), half)) is None
    assert pair_metric(problem_of(loss=FBeta())) is None
    grouped = Dense(X, Target(Y, groups=np.arange(300) % 3))
    assert pair_metric(Problem(PairwiseHinge(), L2(1e-3), grouped)) is None
    assert pair_metric(problem_of(RNG.normal(size=(300, 6)), Y)) is None  # round
    assert pair_metric(problem_of(np.zeros((30, 6)), half)) is None
    monkeypatch.setattr(module, "SMALL_WORK", 1801)
    assert pair_metric(problem_of()) is None


def test_a_sample_of_repeated_rows_is_that_of_weighted_ones(monkeypatch):
    monkeypatch.setattr(module, "LEAST_ROWS", 120)
    weight = RNG.integers(0, 4, 300)
    again = np.repeat(np.arange(300), weight)
    weighted = Problem(PairwiseHinge(), L2(1e-3), as_data(X, Y, weight=weight))
    one, other = pair_metric(weighted), pair_metric(problem_of(X[again], Y[again]))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_columns_far_from_zero_have_none():
    moved = X + np.array([1e3, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert pair_metric(problem_of(moved)) is None
    y = np.where(X @ np.ones(6) > 0.0, 1.0, -1.0)
    for shift in (0.0, 1e6, 1e9):
        found = minimise(problem_of(X / X.std(axis=0) + shift, y, strength=0.1), Continuation())
        assert found.converged


def test_columns_without_entries_do_no_harm():
    factor = pair_metric(problem_of(np.column_stack([X, np.zeros(300)]), strength=0.0))
    assert np.isfinite(factor).all()
    assert np.all(np.diag(factor) > 0.0)


def test_a_metric_of_another_size_is_refused():
    with pytest.raises(ParameterError, match=r"shape \(6, 6\); got \(2, 2\)"):
        minimise(problem_of(loss=PairwiseHinge(width=0.5)), Lbfgs(metric=np.eye(2)))


def test_lbfgs_ends_sooner_in_it_at_the_same_point():
    problem = problem_of(loss=PairwiseHinge(width=0.5), strength=1e-4)
    best = minimise(problem, Lbfgs(), tol=1e-10, on_failure="ignore")
    steps = []
    for metric in (None, pair_metric(problem)):
        solver = Lbfgs(metric=metric)
        state, taken = solver.init(problem, np.zeros(6), RNG), 0
        while state.point.value > best.value * (1.0 + 1e-4) and taken < 200:
            state, taken = solver.step(problem, state), taken + 1
        steps.append(taken)
    assert steps[1] <= 10
    assert steps[0] >= 3 * steps[1]


@pytest.mark.parametrize("strength", [1e-2, 1e-4, 1e-6])
def test_continuation_starts_with_it(strength, monkeypatch):
    problem = problem_of(strength=strength)
    solver = Continuation()
    state = solver.init(problem, problem.start(), RNG)
    assert state.inner.solver.metric is not None
    found = minimise(problem, solver, tol=1e-6)
    assert found.converged
    monkeypatch.setattr("auctor.solvers.smooth.presets.pair_metric", lambda problem: None)
    assert solver.init(problem, problem.start(), RNG).inner.solver.metric is None
    other = minimise(problem, solver, tol=1e-6)
    assert found.value == pytest.approx(other.value, abs=2e-6)
