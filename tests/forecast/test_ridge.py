"""The tuned kernel: its gradient, its strengths, and known special cases."""

import numpy as np
import pytest

from auctor.forecast import ridge
from auctor.forecast.estimators import day_models


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = np.column_stack((np.sin(X[:, 0]) + X[:, 3], X[:, 1] ** 2)) + 0.1 * rng.normal(size=(60, 2))
    return X, Y, [slice(0, 2), slice(2, 5)]


def test_gradient(rows):
    X, Y, groups = rows
    folds = [ridge._Fold.of(X, Y, a, b) for a, b in ridge.forward_blocks(len(X))]
    error = ridge._HeldOutError(folds, np.array([0, 0, 1, 1, 1]), len(groups))
    p = error.start + np.array([3.0, 2.0, -1.0, 0.5])
    _, grad = error.value_grad(p)
    for k, direction in enumerate(1e-6 * np.eye(4)):
        up, down = error.value_grad(p + direction)[0], error.value_grad(p - direction)[0]
        assert grad[k] == pytest.approx((up - down) / 2e-6, rel=1e-5)


def test_ridge_is_that_of_the_kernel_matrix(rows):
    X, Y, groups = rows
    kernel = ridge.choose_kernel(X, Y, groups)
    model = ridge.train_ridge(kernel, X, Y)
    Z = kernel.rows(X)
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2)) + kernel.linear * Z @ Z.T
    coef = np.linalg.solve(K + kernel.strength * np.eye(60), Y - Y.mean(axis=0))
    np.testing.assert_allclose(model.predict(X), K @ coef + Y.mean(axis=0), rtol=1e-8)


def test_one_decomposition_gives_the_errors_of_all_strengths(rows):
    X, Y, groups = rows
    kernel = ridge.choose_kernel(X, Y, groups)
    folds = ridge.forward_blocks(len(X))
    tried = []
    for strength in kernel.strength * ridge.STRENGTHS:
        one, error = kernel._replace(strength=strength), 0.0
        for a, b in folds:
            error += ((ridge.train_ridge(one, X[a], Y[a]).predict(X[b]) - Y[b]) ** 2).sum()
        away = np.log(strength) - np.log(ridge.START[-1])
        tried.append((np.log(error) + ridge.PRIOR / 40 * away**2, strength))
    assert ridge.best_strength(kernel, X, Y, folds) == min(tried)[1]


def test_a_group_without_effect_gets_a_small_width():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    kernel = ridge.choose_kernel(X, np.sin(2 * X[:, :1]), [slice(0, 2), slice(2, 4)])
    assert kernel.scale[0] > 5 * kernel.scale[2]


def test_landmarks_approach_the_whole_kernel(rows, monkeypatch):
    X, Y, groups = rows
    kernel = ridge.choose_kernel(X, Y, groups)
    rows = day_models.EmbeddedRows(X, Y, {}, np.arange(60))
    monkeypatch.setattr(day_models, "LANDMARKS", 60)  # all days: the same function
    few = day_models.LandmarkDays.train(kernel, rows)
    X_new = X + 0.1
    # The intercept is the only difference: it is not penalised here.
    np.testing.assert_allclose(
        few.predict(X_new), ridge.train_ridge(kernel, X, Y).predict(X_new), atol=0.03
    )
