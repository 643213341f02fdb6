"""Covariances of Gaussian classes: more columns than rows, shrinkage, structure."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.covariance import ledoit_wolf_shrinkage

from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import ExpectedAuc, ExpectedError, GaussianAuc
from auctor.metrics import auc, error_rate
from auctor.minimise import minimise
from auctor.penalties import L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Exact, GaussianDiscriminant
from auctor.solvers.gaussian import moments
from auctor.solvers.gaussian.shrinkage import shrinkage
from tests.solvers.gaussians import BOTH, cosine, covariances, generate, solve


@pytest.mark.parametrize("loss", BOTH, ids=repr)
@pytest.mark.parametrize("build", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_wide_data_in_a_basis_of_its_rows(loss, build, monkeypatch):
    X, y = generate(n=40, d=90)
    wanted = solve(loss, np.vstack((X, X, X)), np.tile(y, 3), L2(2.0))
    found = solve(loss, build(X), y, L2(2.0))
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-6, atol=1e-9)
    assert found.intercept == pytest.approx(wanted.intercept, rel=1e-6)
    monkeypatch.setattr(moments, "DENSE_ENTRIES", 0)
    by_products = solve(loss, build(X), y, L2(2.0))
    np.testing.assert_allclose(by_products.coef, wanted.coef, rtol=1e-6, atol=1e-9)


def test_uneven_ridges_on_wide_data():
    X, y = generate(n=40, d=60)
    found = solve(ExpectedAuc(), X, y, L2(1.0, weights=np.linspace(1, 2, 60)))
    total = sum(covariances(X, y)) + np.diag(np.linspace(1, 2, 60))
    best = np.linalg.solve(total, X[y > 0].mean(0) - X[y < 0].mean(0))
    assert cosine(found.coef, best) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_separated_rows_warn_and_are_separated(loss):
    X, y = generate(n=30, d=60)
    with pytest.warns(UserWarning, match="larger strength"):
        found = solve(loss, X, y)
    assert found.value == 0.0
    assert auc(y, X @ found.coef) == 1.0
    with pytest.warns(UserWarning, match="within both classes"):
        leak = solve(loss, np.column_stack((generate()[0], generate()[1])), generate()[1])
    assert leak.value == 0.0


def test_a_class_with_few_rows_warns():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(600) < 25, 1.0, -1.0)
    X = rng.normal(size=(600, 100)) + 0.5 * (y[:, None] > 0)
    problem = Problem(ExpectedError(), NoPenalty(), as_data(X, y))
    with pytest.warns(UserWarning, match="within a class"):
        minimise(problem, GaussianDiscriminant(), on_failure="ignore")
    assert solve(ExpectedError(), X, y, L2(0.1)).converged


def test_shrinkage_is_that_of_ledoit_and_wolf():
    for n, d in ((60, 100), (200, 8)):
        X, y = generate(n=n, d=d)
        found = shrinkage(as_data(X, y))
        assert found.positive == pytest.approx(ledoit_wolf_shrinkage(X[y > 0]), rel=1e-9)
        assert found.negative == pytest.approx(ledoit_wolf_shrinkage(X[y < 0]), rel=1e-9)
        scaled = as_data(X, y).with_target(Target(y, np.full(n, 1e-3)))
        assert shrinkage(scaled) == pytest.approx(found, rel=1e-9)


def test_shrinkage_helps_where_columns_outnumber_rows():
    rng = np.random.default_rng(0)
    d, n = 150, 80
    apart = rng.normal(size=d) * 0.25
    y = np.where(np.arange(2 * n + 2000) % 2, 1.0, -1.0)
    X = rng.normal(size=(y.size, d)) + 0.5 * y[:, None] * apart
    train, test = slice(0, 2 * n), slice(2 * n, None)
    auto = solve(ExpectedAuc(), X[train], y[train], solver=GaussianDiscriminant(shrinkage="auto"))
    little = solve(ExpectedAuc(), X[train], y[train], L2(1e-4))
    strength = shrinkage(as_data(X[train], y[train])).strength
    convex = minimise(
        Problem(GaussianAuc(), L2(strength), as_data(X[train], y[train])), Exact(), tol=1e-8
    )
    found = [auc(y[test], X[test] @ w.coef) for w in (auto, little, convex)]
    assert auto.converged
    assert found[0] > found[1] + 0.02
    assert found[2] == pytest.approx(found[0], abs=0.01)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_structured_covariances(loss):
    X, y = generate()
    full = solve(loss, X, y)
    assert cosine(
        solve(loss, X, y, solver=GaussianDiscriminant(covariance=5)).coef, full.coef
    ) == pytest.approx(1.0, abs=1e-6)
    whole = GaussianDiscriminant(covariance=(tuple(range(6)),))
    assert cosine(solve(loss, X, y, solver=whole).coef, full.coef) == pytest.approx(1.0, abs=1e-6)
    alone = solve(loss, X, y, solver=GaussianDiscriminant(covariance="diagonal"))
    single = tuple((j,) for j in range(6))
    for same in (0, single):
        other = solve(loss, X, y, solver=GaussianDiscriminant(covariance=same))
        np.testing.assert_allclose(other.coef, alone.coef, rtol=1e-5)
    assert alone.converged
    assert alone.value > full.value
    one = solve(loss, X, y, solver=GaussianDiscriminant(shrinkage=1.0))
    assert one.converged


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_a_band_that_would_be_indefinite_still_ranks(loss):
    rng = np.random.default_rng(0)
    d, n = 30, 400
    y = np.where(rng.random(n + 4000) < 0.4, 1.0, -1.0)
    blocks = np.kron(np.eye(6), 0.85 + 0.15 * np.eye(5))  # a band of 2 cuts through blocks of 5
    X = rng.normal(size=(y.size, d)) @ np.linalg.cholesky(blocks).T
    X += 0.12 * y[:, None] * rng.normal(size=d)
    found = {}
    for kind in ("full", "diagonal", 2):
        model = solve(loss, X[:n], y[:n], solver=GaussianDiscriminant(covariance=kind))
        found[kind] = auc(y[n:], X[n:] @ model.coef)
    assert found[2] > found["diagonal"] + 0.1
    assert found[2] > found["full"] - 0.04
    for matrix in moments.class_moments(as_data(X[:n], y[:n]), 2).covariance:
        assert np.linalg.eigvalsh(matrix)[0] > 0.0
        assert not matrix[0, 3:].any()


def test_diagonal_covariances_win_when_columns_are_independent():
    rng = np.random.default_rng(1)
    d, n = 60, 80
    apart, spread = 0.4 * rng.normal(size=d), rng.uniform(0.5, 2.0, size=d)
    y = np.where(np.arange(n + 4000) % 2, 1.0, -1.0)
    X = rng.exponential(size=(y.size, d)) * spread + 0.5 * y[:, None] * apart
    found = {}
    for kind in ("full", "diagonal"):
        model = solve(ExpectedError(), X[:n], y[:n], solver=GaussianDiscriminant(covariance=kind))
        found[kind] = error_rate(y[n:], X[n:] @ model.coef + model.intercept, threshold=0.0)
    assert found["diagonal"] < found["full"] - 0.03
