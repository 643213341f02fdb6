"""The exact solver against closed forms, pair by pair, and on singular data."""

import numpy as np
import pytest
from scipy import sparse

from auctor.data import as_data
from auctor.losses import PairwiseSquare, Squared
from auctor.minimise import minimise
from auctor.penalties import L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Exact

RNG = np.random.default_rng(11)
N, D = 90, 6
X = RNG.normal(size=(N, D)) * [1.0, 5.0, 0.2, 1.0, 2.0, 1.0] + 3.0
Y = np.where(X[:, 0] - 0.3 * X[:, 1] + RNG.normal(size=N) > 2.5, 1.0, -1.0)
WEIGHT = RNG.uniform(0.2, 2.0, size=N)
SOLVERS = [Exact(), Exact(direct=True), Exact(direct=False)]


def solve(loss, strength, solver, *, data=X, weight=None, fit_intercept=True, **options):
    problem = Problem(
        loss, L2(strength), as_data(data, Y, weight=weight), fit_intercept=fit_intercept
    )
    return minimise(problem, solver, **{"tol": 1e-12, "max_iter": 5, **options})


def moments(X, y):
    up, down = X[y > 0], X[y < 0]
    delta = up.mean(axis=0) - down.mean(axis=0)
    A = np.cov(up.T, bias=True) + np.cov(down.T, bias=True) + np.outer(delta, delta)
    return A, delta


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("strength", [1e-3, 0.1, 10.0])
def test_pairwise_square_is_the_oracle(solver, strength):
    """``argmin L + strength/2 |w|^2 = (A + strength/2 I)^-1 delta``."""
    A, delta = moments(X, Y)
    wanted = np.linalg.solve(A + 0.5 * strength * np.eye(D), delta)
    found = solve(PairwiseSquare(), strength, solver)
    np.testing.assert_allclose(found.coef, wanted, rtol=1e-8, atol=1e-10)
    assert found.converged
    assert found.intercept == 0.0


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
def test_pairwise_square_solves_the_normal_equations_pair_by_pair(solver, weight):
    w = np.ones(N) if weight is None else weight
    left, right = 0.2 * np.eye(D), np.zeros(D)
    p, q = w / w[Y > 0].sum(), w / w[Y < 0].sum()
    for i in np.flatnonzero(Y > 0):
        for j in np.flatnonzero(Y < 0):
            difference = X[i] - X[j]
            left += 2 * p[i] * q[j] * np.outer(difference, difference)
            right += 2 * p[i] * q[j] * difference
    found = solve(PairwiseSquare(), 0.2, solver, weight=weight)
    np.testing.assert_allclose(found.coef, np.linalg.solve(left, right), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_in_closed_form(solver, fit_intercept):
    share = WEIGHT / WEIGHT.sum()
    centre, mean = (share @ X, share @ Y) if fit_intercept else (np.zeros(D), 0.0)
    Z, r = X - centre, Y - mean
    wanted = np.linalg.solve((Z.T * share) @ Z + 0.05 * np.eye(D), Z.T @ (share * r))
    found = solve(Squared(), 0.05, solver, weight=WEIGHT, fit_intercept=fit_intercept)
    np.testing.assert_allclose(found.coef, wanted, rtol=1e-8, atol=1e-10)
    assert found.intercept == pytest.approx(mean - centre @ wanted, abs=1e-9)


def test_sparse_data_with_many_columns_by_conjugate_gradients():
    wide = sparse.random_array((N, 400), density=0.05, rng=np.random.default_rng(0), format="csr")
    A, delta = moments(wide.toarray(), Y)
    wanted = np.linalg.solve(A + 0.05 * np.eye(400), delta)
    for solver in SOLVERS:
        found = solve(PairwiseSquare(), 0.1, solver, data=wide)
        np.testing.assert_allclose(found.coef, wanted, atol=1e-7)


SINGULAR = {
    "duplicate columns": np.column_stack((X, X[:, 0], X[:, 0])),
    "zero columns": np.column_stack((X, np.zeros(N), np.zeros(N))),
    "constant column": np.column_stack((X, np.full(N, 7.0))),
    "dependent columns": np.column_stack((X, X[:, 0] + X[:, 1] - 2 * X[:, 3])),
    "more columns than rows": RNG.normal(size=(N, 2 * N)),
    "one column": X[:, :1],
}


@pytest.mark.parametrize("data", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("loss", [PairwiseSquare(), Squared()], ids=["pairs", "rows"])
def test_singular_data_without_a_penalty(data, solver, loss):
    """Finite, of moderate size, and at the least-squares value."""
    problem = Problem(loss, NoPenalty(), as_data(data, Y))
    found = minimise(problem, solver, tol=1e-8, max_iter=5)
    assert np.isfinite(found.coef).all()
    assert found.converged
    if isinstance(loss, Squared):
        system = np.column_stack((data, np.ones(N)))
        best = np.linalg.lstsq(system, Y, rcond=None)[0]
        wanted = 0.5 * np.mean((system @ best - Y) ** 2)
    else:
        A, delta = moments(data, Y)
        best = np.linalg.pinv(np.atleast_2d(A)) @ delta
        wanted = float(1 - 2 * best @ delta + best @ A @ best)
    assert found.value == pytest.approx(wanted, rel=1e-8, abs=1e-12)
    assert np.linalg.norm(found.coef) <= 10 * np.linalg.norm(best) + 1e-9


def test_duplicate_columns_share_their_weight_and_empty_ones_have_none():
    data = np.column_stack((X, X[:, 0], np.zeros(N)))
    for solver in SOLVERS:
        for strength in (0.0, 1e-9):
            found = solve(PairwiseSquare(), strength, solver, data=data, tol=1e-8)
            assert found.coef[D] == pytest.approx(found.coef[0], rel=1e-5)
            assert found.coef[D + 1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_columns_of_any_scale(scale):
    A, delta = moments(X, Y)
    found = solve(PairwiseSquare(), 0.0, Exact(direct=True), data=scale * X, tol=1e-6)
    np.testing.assert_allclose(found.coef * scale, np.linalg.solve(A, delta), rtol=1e-6)


def test_one_pass_for_the_moments():
    problem = Problem(PairwiseSquare(), L2(0.1), as_data(X, Y))
    solution = minimise(problem, Exact())
    assert solution.n_iter == 1
    assert solution.passes <= problem.data.gram_passes() + 6
