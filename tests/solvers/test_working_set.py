"""Working sets, starts and supports of ProximalNewton; columns that say nothing."""

import numpy as np
import pytest
from scipy import sparse

from auctor.data import as_data
from auctor.losses import Logistic, PairwiseSquare, SmoothedHinge, Squared, SquaredHinge
from auctor.penalties import L1
from auctor.problem import Problem
from tests.solvers.newton import FEW, MANY, assert_close, other, problem_of, solve, thin, with_share

# --- working sets, starts, supports ----------------------------------------------------------


@pytest.mark.parametrize("d", [FEW, MANY])
def test_strength_from_which_on_nothing_is_left(d):
    for loss in (Logistic(), Squared(), SquaredHinge(), PairwiseSquare()):
        for share in (1.0 + 1e-9, 3.0):
            problem = with_share(loss, share, d=d)
            found = solve(problem)
            assert found.n_iter == 0
            assert not found.coef.any()
        assert solve(with_share(loss, 0.99, d=d)).coef.any()


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_the_working_set_grows_from_nothing(kind):
    problem = with_share(Logistic(), 0.05, n=200, d=3000, stored=lambda X: kind(thin(X)))
    sizes = []
    found = solve(problem, on_step=lambda s: sizes.append(np.count_nonzero(problem.coef(s.w))))
    assert sizes[0] == 0
    assert sizes[-1] > 20
    assert_close(found, other(problem))


@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_start_with_the_wrong_support(d, kind):
    problem = with_share(Logistic(), 0.2, d=d, stored=lambda X: kind(thin(X)))
    cold = solve(problem)
    wrong = np.where(cold.coef == 0.0, 0.3, 0.0)
    assert_close(solve(problem, w0=problem.join(wrong, -2.0)), cold)
    warm = solve(problem, w0=problem.join(cold.coef, cold.intercept))
    assert warm.n_iter == 0


@pytest.mark.parametrize("d", [FEW, MANY])
def test_the_support_is_exact(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, d))
    true = np.zeros(d)
    true[[2, 7, 11, 19]] = [2.0, -1.5, 1.0, -1.0]
    problem = Problem(Squared(), L1(0.2), as_data(X, X @ true + 0.05 * rng.normal(size=400)))
    found = solve(problem)
    np.testing.assert_array_equal(np.flatnonzero(found.coef), [2, 7, 11, 19])
    logistic = with_share(Logistic(), 0.2, d=d)
    found, wanted = solve(logistic, tol=1e-10), solve(logistic, tol=1e-11)
    np.testing.assert_array_equal(found.coef != 0.0, wanted.coef != 0.0)
    assert ((np.abs(found.coef) > 1e-10) | (found.coef == 0.0)).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize("d", [FEW, MANY])
def test_a_flat_start(d):
    """The Huberised hinge of width 0.5 has no curvature at weights of zero."""
    for width in (0.5, 0.01):
        problem = with_share(SmoothedHinge(width), 0.3, d=d, fit_intercept=False)
        start = problem.evaluate(problem.start())
        assert not problem.loss.curvature(start.scores, problem.data.target).diagonal.any()
        assert_close(solve(problem, tol=1e-7), other(problem, 1e-7), rel=1e-6)


@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("loss", [Logistic(), Squared(), SquaredHinge()], ids=repr)
def test_gaps_are_honest(loss, d):
    problem = with_share(loss, 0.1, d=d)
    best = solve(problem, tol=1e-10).value
    steps = []
    solve(problem, on_step=steps.append)
    assert all(s.value - best <= s.gap * (1 + 1e-9) + 1e-12 for s in steps if s.certified)
    for tol in (0.3, 1e-2, 1e-4):
        loose = solve(problem, tol=tol)
        assert loose.certified
        assert loose.value - best <= loose.gap <= loose.tol


def test_every_step_descends():
    for d in (FEW, MANY):
        values = solve(with_share(Logistic(), 0.05, d=d)).trace.value
        assert (np.diff(values) <= 1e-15).all()


def test_few_steps():
    for d in (FEW, MANY):
        found = solve(with_share(Logistic(), 0.1, d=d), tol=1e-6)
        assert found.n_iter <= 20


def test_seeds():
    problem = with_share(Logistic(), 0.1, d=MANY)
    one, two, three = (solve(problem, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.coef, two.coef)
    assert_close(three, one)


# --- columns that say nothing ----------------------------------------------------------------


@pytest.mark.parametrize("d", [FEW, MANY])
def test_empty_and_repeated_columns(d):
    def spoil(X):
        X = X.copy()
        X[:, 6] = 0.0
        X[:, 8] = X[:, 0]
        return X

    problem = with_share(Logistic(), 0.1, d=d, stored=spoil)
    found = solve(problem)
    assert_close(found, other(problem))
    assert found.coef[6] == 0.0
    free = problem_of(Logistic(), L1(0.0), d=FEW, stored=spoil)
    assert solve(free).coef[6] == 0.0


def test_columns_of_very_different_scale():
    for d in (FEW, MANY):
        scale = np.logspace(-3, 3, d)
        penalty = L1(0.05, weights=scale)
        wide = problem_of(Logistic(), penalty, d=d, stored=lambda X, scale=scale: X * scale)
        even = problem_of(Logistic(), L1(0.05), d=d)
        found, wanted = solve(wide), solve(even)
        assert_close(found, wanted)
        np.testing.assert_allclose(found.coef * scale, wanted.coef, atol=1e-4)
