"""Dual coordinate ascent is a function of the weighted rows: order and repetition do not matter."""

import numpy as np
import pytest
from scipy import sparse

from auctor.data import as_data
from auctor.kernels.linalg.rows import first_duplicates
from auctor.losses import Absolute, Hinge, Logistic, SquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L2, ElasticNet
from auctor.problem import Problem
from auctor.solvers import DualCoordinateAscent

LOSSES = [Hinge(), SquaredHinge(), Logistic(), Absolute()]
STORAGES = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


def sample(loss, n=120, d=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X[5] = X[6]
    X[7] = 0.0
    y = X[:, :9].sum(axis=1) + rng.normal(size=n) + 0.3
    if loss.targets == "binary":
        y = np.where(y > 0.0, 1.0, -1.0)
        y[5], y[6] = 1.0, -1.0
    return X, y, rng.integers(0, 4, size=n)


def solve(loss, X, y, weight=None, *, penalty=None, fit_intercept=True):
    data = as_data(X, y, weight=weight)
    problem = Problem(loss, penalty or L2(0.05), data, fit_intercept=fit_intercept)
    return minimise(problem, DualCoordinateAscent(), rng=0, max_iter=3000)


def assert_same(one, other):
    assert one.n_iter == other.n_iter
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-10)
    assert one.intercept == pytest.approx(other.intercept, abs=1e-10)
    assert one.gap == pytest.approx(other.gap, rel=1e-6, abs=1e-12)


@pytest.mark.sample(3)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("store", STORAGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_are_repetitions_in_any_order(loss, store, fit_intercept):
    X, y, times = sample(loss)
    again = np.repeat(np.arange(y.size), times)
    mixed = np.random.default_rng(1).permutation(again)
    one = solve(loss, store(X), y, times.astype(float), fit_intercept=fit_intercept)
    assert one.converged
    for rows in (again, mixed):
        assert_same(one, solve(loss, store(X[rows]), y[rows], fit_intercept=fit_intercept))


@pytest.mark.parametrize("penalty", [L2(0.05, weights=np.linspace(0.5, 2, 160)),
                                     ElasticNet(0.05, 0.3)], ids=["weights", "net"])  # fmt: skip
def test_other_penalties(penalty):
    X, y, times = sample(Hinge())
    again = np.repeat(np.arange(y.size), times)
    one = solve(Hinge(), X, y, times.astype(float), penalty=penalty)
    assert_same(one, solve(Hinge(), X[again], y[again], penalty=penalty))


def test_unsorted_rows_with_explicit_zeros():
    X, y, times = sample(Hinge())
    again = np.repeat(np.arange(y.size), times)
    rows = sparse.csr_array(X[again])
    parts = [np.arange(rows.indptr[i + 1] - 1, rows.indptr[i] - 1, -1) for i in range(again.size)]
    turned = np.concatenate(parts)
    messy = sparse.csr_array((rows.data[turned], rows.indices[turned], rows.indptr), rows.shape)
    messy.data[::17] = 0.0
    clean = messy.copy()
    clean.eliminate_zeros()
    assert_same(solve(Hinge(), messy, y[again]), solve(Hinge(), clean, y[again]))


def test_equal_rows_are_found_and_others_kept_apart():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, -0.0], [1.0, 0.0], [0.0, 0.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0, 1.0])
    lines = as_data(X, y).row_lines()
    for keys in (X @ [0.3, 0.7] + 0.1 * y, np.zeros(5)):  # with and without accidents
        order, twin = np.argsort(keys, kind="stable"), np.arange(5)
        assert first_duplicates(*lines, y, keys, order, twin) == 4
        assert sorted(order[:4].tolist()) == [0, 1, 3, 4]
        assert twin.tolist() == [0, 1, 0, 3, 4]
