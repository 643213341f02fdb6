"""Both solvers: optimal, monotone, positive definite, with an honest gap."""

import warnings

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso

from auctor.core.errors import ConvergenceWarning, ParameterError
from auctor.core.types import Target
from auctor.covariance import LhacMatrix, NewtonCd
from auctor.covariance.inputs import Penalties
from auctor.covariance.problem import GraphProblem, LogDet, PairPenalty, pack, unpack
from auctor.covariance.solve import Limits, solve_graph
from auctor.kernels.descent import log_det as kernels
from auctor.minimise import minimise

SOLVERS = [NewtonCd(), NewtonCd(passes=1, max_cg=0), LhacMatrix()]


def covariance(rows):
    return np.cov(rows, rowvar=False, bias=True)


def uniform(p, strength, diagonal=0.0):
    return Penalties(np.array([[strength]]), np.full(p, diagonal))


def spread_weights(p, seed=0):
    """Weights of all kinds: usual, zero and infinite."""
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0, np.inf], size=(p, p))
    weights = np.triu(weights, 1)
    with np.errstate(invalid="ignore"):
        return np.where(np.tri(p, k=-1, dtype=bool), weights.T, weights)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("n", [20, 200])
def test_every_accepted_iterate_is_positive_definite_and_lower(chain_rows, objective, solver, n):
    S, strength = covariance(chain_rows(40, n)), 0.15
    seen = []
    problem = GraphProblem(S, np.array([[strength]]))
    found = minimise(
        problem, solver, tol=1e-7, max_iter=500, on_step=lambda step: seen.append(step.w.copy())
    )
    strengths = np.full(S.shape, strength)
    np.fill_diagonal(strengths, 0.0)
    values = [objective(S, strengths, unpack(w, 40)) for w in seen]  # raises where indefinite
    assert len(seen) > 3
    assert (np.diff(values) <= 1e-12 * abs(values[0])).all()
    np.testing.assert_array_equal(unpack(seen[0], 40), np.diag(1.0 / S.diagonal()))
    assert found.certified
    assert found.gap <= 1e-7 * 40


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("kind", ["uniform", "diagonal", "weights"])
def test_the_optimality_conditions_hold(chain_rows, violation, solver, kind):
    p = 25
    S = covariance(chain_rows(p, 100))
    pairs, diagonal = np.array([[0.1]]), np.zeros(p)
    if kind == "diagonal":
        diagonal = np.full(p, 0.1)
    if kind == "weights":
        pairs = 0.1 * spread_weights(p)
    solution = solve_graph(S, Penalties(pairs, diagonal), solver=solver, budget=Limits(1e-11, 3000))
    strengths = np.array(np.broadcast_to(pairs, S.shape))
    np.fill_diagonal(strengths, diagonal)
    assert violation(S, strengths, solution.precision) < 1e-4
    assert (solution.precision[np.isinf(strengths)] == 0.0).all()
    np.testing.assert_allclose(solution.precision @ solution.covariance, np.eye(p), atol=1e-10)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("n", [15, 100])
def test_the_gap_is_honest(chain_rows, objective, tol, n):
    p = 30
    S = covariance(chain_rows(p, n))
    rough = solve_graph(S, uniform(p, 0.1, 0.1), budget=Limits(tol), screen=False)
    fine = solve_graph(S, uniform(p, 0.1, 0.1), budget=Limits(1e-10))
    assert rough.value == pytest.approx(objective(S, 0.1, rough.precision), rel=1e-12)
    assert rough.value - rough.gap <= fine.value
    assert fine.value <= rough.value + 1e-9
    assert rough.gap <= tol * p


@pytest.mark.parametrize("strength", [0.05, 0.2])
def test_the_same_answer_as_scikit_learn(chain_rows, strength):
    S = covariance(chain_rows(15, 60))
    theirs = graphical_lasso(S, strength, tol=1e-10, enet_tol=1e-12, max_iter=1000)[1]
    ours = solve_graph(S, uniform(15, strength), budget=Limits(1e-10))
    np.testing.assert_allclose(ours.precision, theirs, atol=1e-5)


def test_both_solvers_find_the_same_graph(chain_rows):
    S = covariance(chain_rows(120, 60))
    one, two = (
        solve_graph(S, uniform(120, 0.3), solver=name, budget=Limits(1e-9, 2000))
        for name in ("newton_cd", "lhac")
    )
    assert one.value == pytest.approx(two.value, rel=1e-7)
    assert np.mean((one.precision != 0) == (two.precision != 0)) > 0.999


@pytest.mark.parametrize("weighted", [False, True])
def test_components_change_nothing(chain_rows, weighted):
    p = 60
    S = covariance(chain_rows(p, 40))
    pairs = 0.35 * spread_weights(p, 1) + 0.3 if weighted else np.array([[0.45]])
    penalties = Penalties(pairs, np.zeros(p))
    apart = solve_graph(S, penalties, budget=Limits(1e-10))
    whole = solve_graph(S, penalties, budget=Limits(1e-10), screen=False)
    assert len(apart.component_sizes) > 1
    assert whole.component_sizes == (p,)
    np.testing.assert_allclose(apart.precision, whole.precision, atol=1e-5)
    assert apart.value == pytest.approx(whole.value, abs=1e-8)


def test_threads_change_nothing(chain_rows):
    S = covariance(chain_rows(80, 40))
    one, two = (
        solve_graph(S, uniform(80, 0.6), budget=Limits(1e-8, n_threads=threads))
        for threads in (1, 2)
    )
    assert len(one.component_sizes) > 3
    np.testing.assert_array_equal(one.precision, two.precision)
    assert one.gap == two.gap


def test_a_start_that_is_not_usable_is_left(chain_rows):
    S = covariance(chain_rows(10, 50))
    for start in (-np.eye(10), np.eye(10), np.linalg.inv(S)):
        found = solve_graph(S, uniform(10, 0.1), start=start, budget=Limits(1e-10))
        assert found.converged


def test_stopping_early_warns_and_keeps_the_gap_honest(chain_rows):
    S = covariance(chain_rows(30, 20))
    with pytest.warns(ConvergenceWarning, match="gap of 3e-11.*max_iter"):
        early = solve_graph(S, uniform(30, 0.05), budget=Limits(1e-12, max_iter=4))
    fine = solve_graph(S, uniform(30, 0.05), budget=Limits(1e-10))
    assert not early.converged
    assert early.value - early.gap <= fine.value <= early.value


@pytest.mark.parametrize("solver", ["nothing", NewtonCd, 3])
def test_unknown_solvers_are_refused(solver):
    with pytest.raises(ParameterError, match="solver"):
        solve_graph(np.eye(2), uniform(2, 0.1), solver=solver)


def test_the_gradient_of_the_log_determinant():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 6))
    S, X = np.eye(4), A @ A.T
    loss, target, w = LogDet(S), Target(np.zeros(10)), pack(X)
    value, gradient = loss.value_grad(w, target)
    assert value == pytest.approx(np.trace(X) - np.linalg.slogdet(X)[1])
    for j in range(10):
        change = 1e-6 * np.eye(10)[j]
        ahead, behind = loss.value(w + change, target), loss.value(w - change, target)
        assert (ahead - behind) / 2e-6 == pytest.approx(gradient[j], rel=1e-6, abs=1e-8)
    assert loss.value(-w, target) == np.inf


def test_the_penalty_of_pairs():
    strengths = np.array([[9.0, 1.0, np.inf], [1.0, 9.0, 0.0], [np.inf, 0.0, 9.0]])
    penalty = PairPenalty(strengths, 3)
    X = np.array([[2.0, -3.0, 0.0], [-3.0, 1.0, 5.0], [0.0, 5.0, 1.0]])
    assert penalty.value(pack(X)) == 6.0
    np.testing.assert_array_equal(penalty.prox(pack(X), 1.0), [2.0, -1.0, 0.0, 1.0, 5.0, 1.0])
    assert penalty.value(np.ones(6)) == np.inf
    assert (penalty.violation(pack(X), np.zeros(6)) == [0.0, 2.0, 0.0, 0.0, 0.0, 0.0]).all()


@pytest.mark.parametrize("p", [3, 40])
def test_the_product_with_the_curvature(p):
    rng = np.random.default_rng(p)
    A = rng.normal(size=(p, p))
    W = A @ A.T
    row, column = (index.astype(np.uint64) for index in np.triu_indices(p))
    keep = (rng.random(row.size) < 0.4) | (row == column)
    row, column = row[keep], column[keep]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=p)))).astype(np.uint64)
    step = rng.normal(size=row.size)
    D = np.zeros((p, p))
    D[row, column] = D[column, row] = step
    out = np.empty(row.size)
    kernels.sandwich(W, indptr, row, column, step, np.empty((p, p)), out)
    np.testing.assert_allclose(out, (W @ D @ W)[row, column], rtol=1e-10)


def test_a_pass_of_coordinate_descent_minimises_along_every_pair():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 8))
    W = np.linalg.inv(A @ A.T / 8)
    row, column = (index.astype(np.uint64) for index in np.triu_indices(4))
    indptr = np.array([0, 4, 7, 9, 10], dtype=np.uint64)
    value, slope = rng.normal(size=10), rng.normal(size=10)
    times = np.where(row == column, 1.0, 2.0)
    l1 = np.where(row == column, 0.0, 0.3)

    def model(step):
        D = np.zeros((4, 4))
        D[row, column] = D[column, row] = step
        curved = 0.5 * np.trace(W @ D @ W @ D)
        return times @ (slope * step + l1 * np.abs(value + step)) + curved

    step = np.zeros(10)
    kernels.descend_rows(W, value, slope, l1, indptr, column, step, np.zeros((4, 4)), 500, 1, 1e-14)
    for j in range(10):
        for change in (-1e-4, 1e-4):
            assert model(step) < model(step + change * np.eye(10)[j])


def test_one_strength_and_a_matrix_of_it_are_the_same(chain_rows):
    S = covariance(chain_rows(20, 60))
    one = solve_graph(S, uniform(20, 0.2), budget=Limits(1e-9))
    full = solve_graph(S, Penalties(np.full((20, 20), 0.2), np.zeros(20)), budget=Limits(1e-9))
    np.testing.assert_array_equal(one.precision, full.precision)


def test_memory_is_a_few_matrices(chain_rows):
    import tracemalloc

    S = covariance(chain_rows(400, 200))
    solve_graph(S[:20, :20].copy(), uniform(20, 0.3))  # compile
    tracemalloc.start()
    solve_graph(S, uniform(400, 0.25, 0.25), budget=Limits(1e-5, n_threads=1), screen=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5.0 * S.nbytes  # six with S itself


def test_no_warning_escapes(chain_rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        S = covariance(chain_rows(30, 10))
        assert solve_graph(S, uniform(30, 0.02)).converged
