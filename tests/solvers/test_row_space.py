"""Coordinates along the rows: same optimum on all columns, repeated rows, weights, refusals."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.core.errors import IncompatibleError
from auctor.data import as_data
from auctor.losses import (
    Absolute,
    FBeta,
    Hinge,
    Huber,
    Logistic,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquaredHinge,
    Prbep,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Lbfgs, RowSpace, choose, regularisation_path
from auctor.solvers.choose import Role

RNG = np.random.default_rng(8)
ROWS, COLUMNS = 40, 250
X = RNG.normal(size=(ROWS, COLUMNS)) * RNG.uniform(0.1, 3.0, size=COLUMNS)
Y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=ROWS) > 0.0, 1.0, -1.0)
SMOOTH = [Logistic(), SquaredHinge(), PairwiseSquaredHinge(), PairwiseLogistic()]
KINKED = [Hinge(), PairwiseHinge(), Prbep(), FBeta()]


def problem_of(loss, strength=0.5, *, matrix=X, y=Y, fit_intercept=True, **options):
    penalty = L2(strength, weights=options.pop("per_column", None))
    return Problem(loss, penalty, as_data(matrix, y, **options), fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_same_optimum_as_on_all_columns(loss, fit_intercept):
    problem = problem_of(loss, fit_intercept=fit_intercept)
    assert isinstance(choose(problem), RowSpace)
    found = minimise(problem, RowSpace(), tol=1e-7)
    assert found.converged
    assert found.certified
    # The gap is one on all columns: the value is theirs too.
    w = problem.join(found.coef, found.intercept)
    assert found.value == pytest.approx(problem.evaluate(w).value, rel=1e-13)
    narrow = X[:, :30]  # few columns are left to the others
    assert not isinstance(choose(problem_of(loss, matrix=narrow)), RowSpace)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_against_a_solver_in_all_columns(fit_intercept):
    per_column = RNG.uniform(0.2, 5.0, size=COLUMNS)
    for per in (None, per_column):
        problem = problem_of(Logistic(), 0.05, fit_intercept=fit_intercept, per_column=per)
        one = minimise(problem, RowSpace(), tol=1e-12)
        other = minimise(problem, Lbfgs(), tol=1e-12)
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-5)
        assert one.value == pytest.approx(other.value, rel=1e-10)


def test_sparse_and_single_precision_and_column_order():
    dense = minimise(problem_of(Logistic(), 0.05), RowSpace(), tol=1e-10)
    for matrix in (csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
        rtol = 1e-5 if matrix.dtype == np.float32 else 1e-7
        other = minimise(problem_of(Logistic(), 0.05, matrix=matrix), RowSpace(), tol=1e-10)
        np.testing.assert_allclose(other.value, dense.value, rtol=rtol)


def test_repeated_and_dependent_rows():
    rows = np.repeat(np.arange(ROWS), 2)
    again, labels = X[rows].copy(), Y[rows]
    again[1] = 0.5 * again[2] + 0.5 * again[4]
    for loss in (Logistic(), SquaredHinge(), PairwiseSquaredHinge()):
        found = minimise(problem_of(loss, matrix=again, y=labels), RowSpace(), tol=1e-7)
        assert found.converged
        assert found.certified


def test_weights_are_repetitions():
    times = RNG.integers(0, 3, size=ROWS)
    again = np.repeat(np.arange(ROWS), times)
    for loss in (Logistic(), SquaredHinge(), PairwiseSquaredHinge()):
        one = minimise(problem_of(loss, weight=times.astype(float)), RowSpace(), rng=0)
        other = minimise(problem_of(loss, matrix=X[again], y=Y[again]), RowSpace(), rng=0)
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-8)


def test_a_start_at_the_optimum_is_used():
    problem = problem_of(Logistic(), 0.01)
    cold = minimise(problem, RowSpace(), tol=1e-9)
    start = problem.join(cold.coef, cold.intercept)
    off = problem.join(RNG.normal(size=COLUMNS), 0.0)  # not in the span of the rows
    warm = minimise(problem, RowSpace(), tol=1e-4, w0=start)
    assert warm.n_iter == 0
    assert minimise(problem, RowSpace(), tol=1e-9, w0=off).value == pytest.approx(cold.value)


def test_a_path_makes_the_products_once(monkeypatch):
    made = []
    data = as_data(X, Y)
    original = type(data).row_gram
    monkeypatch.setattr(
        type(data), "row_gram", lambda self, *given: made.append(1) or original(self, *given)
    )
    problem = Problem(Logistic(), L2(1.0), data)
    path = regularisation_path(problem, strengths=[1.0, 0.1, 0.01], solver=RowSpace())
    assert len(made) == 1
    alone = minimise(problem.with_penalty(L2(0.01)), RowSpace())
    assert path.solutions[-1].value == pytest.approx(alone.value, abs=2e-4)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), PairwiseSquaredHinge()], ids=repr)
def test_rows_that_are_zero_or_equal(loss):
    for matrix in (np.zeros((ROWS, COLUMNS)), np.ones((ROWS, COLUMNS))):
        found = minimise(problem_of(loss, matrix=matrix), RowSpace(), tol=1e-8)
        assert found.converged
        assert np.abs(found.coef).max() < 1e-3


@pytest.mark.sample(3)
@pytest.mark.parametrize("strength", [1.0, 1e-2])
@pytest.mark.parametrize("loss", [*SMOOTH[:2], Hinge(), Huber(), Absolute()], ids=repr)
def test_columns_that_are_far_from_centred_or_alike(loss, strength):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(100, 250))
    alike = rng.normal(size=(100, 5)) @ rng.normal(size=(5, 250)) + 0.01 * wide
    stamp = wide.copy()
    stamp[:, 7] = 1.7e9
    y = np.where(wide[:, 0] + rng.normal(size=100) > 0.0, 1.0, -1.0)
    if loss.targets != "binary":
        y = np.exp(0.3 * y)
    for matrix in (wide + 100.0, alike, stamp):
        problem = problem_of(loss, strength, matrix=matrix, y=y)
        found = minimise(problem, choose(problem))
        other = minimise(problem, choose(problem, role=Role.DIRECT), on_failure="ignore")
        assert found.converged
        assert found.value <= other.value + found.gap + 1e-9


def test_pairs_beside_a_huge_column():
    stamp = X.copy()
    stamp[:, 7] = 1.7e9
    for loss in (PairwiseSquaredHinge(), PairwiseLogistic()):
        found = minimise(problem_of(loss, matrix=stamp), RowSpace())
        assert found.converged


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_kinked_losses_gain_nothing_and_are_refused(loss):
    problem = problem_of(loss)
    assert not isinstance(choose(problem), RowSpace)
    with pytest.raises(IncompatibleError, match="RowSpace needs a differentiable loss"):
        minimise(problem, RowSpace())


def test_refusals():
    for penalty in (NoPenalty(), L1(0.1)):
        with pytest.raises(IncompatibleError, match="RowSpace needs"):
            minimise(Problem(Logistic(), penalty, as_data(X, Y)), RowSpace())
