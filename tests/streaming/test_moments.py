"""Running class moments, and the learner that solves for the best Gaussian AUC."""

import numpy as np
import pytest
from scipy import sparse

from auctor import metrics
from auctor.data import as_data
from auctor.lab.learners import OnlineGaussianAuc, Opauc
from auctor.solvers.gaussian.moments import class_moments as batch_moments
from auctor.streaming.moments import add_rows, class_moments, fresh_moments


def rows_of(X):
    return as_data(X, np.ones(X.shape[0])).row_lines()


def stream(n=700, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 0.3 * y[:, None]
    return X, y, rng.integers(0, 4, size=n).astype(float)


def brute(X, y, weight):
    out = []
    for label in (1.0, -1.0):
        own = y == label
        mean = np.average(X[own], axis=0, weights=weight[own])
        out.append((weight[own].sum(), mean, np.cov(X[own].T, aweights=weight[own], bias=True)))
    return out


def close(found, expected):
    for side, (mass, mean, covariance) in enumerate(expected):
        np.testing.assert_allclose(found.mass[side], mass, rtol=1e-10)
        np.testing.assert_allclose(found.mean[side], mean, rtol=1e-10, atol=1e-10)
        size = np.abs(covariance).max()
        np.testing.assert_allclose(found.covariance[side], covariance, atol=1e-10 * size)


@pytest.mark.parametrize("kind", ["dense", "sparse", "mixed"])
def test_moments_equal_those_of_all_rows(kind):
    X, y, weight = stream(d=9)
    rng = np.random.default_rng(1)
    if kind != "dense":
        X = X * (rng.random(X.shape) < (0.15 if kind == "sparse" else 0.35))
    state = fresh_moments(9)
    add_rows(state, rows_of(X if kind == "dense" else sparse.csr_array(X)), y, weight)
    close(class_moments(state), brute(X, y, weight))
    if kind == "mixed":
        assert state["mass"].min() > 0.0


def test_moments_of_columns_far_from_zero():
    X, y, weight = stream()
    X[:, 2] += 1e6
    state = fresh_moments(6)
    add_rows(state, rows_of(X), y, weight)
    expected = brute(X - [0, 0, 1e6, 0, 0, 0], y, weight)
    for side in range(2):
        np.testing.assert_allclose(
            class_moments(state).covariance[side], expected[side][2], rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("forget", [2.0, 30.0, 400.0])
@pytest.mark.parametrize("density", [1.0, 0.2])
def test_forgetting_weighs_every_row_by_its_age(forget, density):
    X, y, _ = stream(n=900)
    X = X * (np.random.default_rng(1).random(X.shape) < density)
    state = fresh_moments(6)
    weight = np.ones(y.size)
    add_rows(state, rows_of(sparse.csr_array(X)), y, weight, forget=forget)
    age = (1.0 - 1.0 / forget) ** np.arange(y.size - 1, -1, -1)
    found, expected = class_moments(state), brute(X, y, age)
    np.testing.assert_allclose(
        found.mass[0] / found.mass[1], expected[0][0] / expected[1][0], rtol=1e-9
    )
    close(found._replace(mass=np.array([e[0] for e in expected])), expected)


def test_a_class_that_stays_away_for_long_is_not_lost():
    X, y, _ = stream(n=5000)
    y[:] = -1.0
    y[:10] = 1.0
    state = fresh_moments(6)
    add_rows(state, rows_of(X), y, np.ones(5000), forget=5.0)
    found = class_moments(state)
    assert found.known
    age = 0.8 ** np.arange(9, -1, -1)
    np.testing.assert_allclose(found.mean[0], age @ X[:10] / age.sum(), rtol=1e-10)


def test_opauc_recursion_equals_covariance():
    X, y, weight = stream()
    state = Opauc().fit(X, y, weight).state_
    for side, (mass, mean, covariance) in enumerate(brute(X, y, weight)):
        np.testing.assert_allclose(state["mass"][side], mass)
        np.testing.assert_allclose(state["mean"][side], mean, atol=1e-10)
        found = state["scatter"][side] / mass
        np.testing.assert_allclose(found, covariance, atol=1e-10 * np.abs(covariance).max())


def test_online_gaussian_auc_equals_the_closed_form_offline():
    X, y, weight = stream()
    model = OnlineGaussianAuc(strength=0.1)
    for low in range(0, 700, 60):
        part = slice(low, low + 60)
        model.partial_fit(X[part], y[part], sample_weight=weight[part])
    batch = batch_moments(as_data(X, y, weight=weight))
    expected = np.linalg.solve(batch.covariance.sum(axis=0) + 0.1 * np.eye(6), batch.contrast)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-10)
    assert model.score(X, y) == metrics.auc(y, X @ expected)
    size = sum(array.nbytes for array in model.state_.values())
    before = model.coef_.copy()
    model.partial_fit(X[:5] + 1.0, y[:5])
    assert not np.array_equal(model.coef_, before)
    assert sum(array.nbytes for array in model.state_.values()) == size


def test_regret_of_online_gaussian_auc_decreases():
    X, y, _ = stream(n=4000, d=5, seed=3)
    model, regret = OnlineGaussianAuc(), []
    best = OnlineGaussianAuc().fit(X, y).score(X, y)
    done = 0
    for rows in (40, 400, 4000):
        model.partial_fit(X[done:rows], y[done:rows])
        regret.append(best - model.score(X, y))
        done = rows
    assert regret[0] > regret[1] > regret[2] == pytest.approx(0.0, abs=1e-12)
