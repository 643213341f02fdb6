"""Generated data of the one-pass learners' tests."""

import numpy as np
import pytest


def two_gaussians(n=2000, d=10, p=0.1, seed=0, shift=1.5):
    """Two Gaussians with one covariance, rows on the unit sphere, labels -1 and +1."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    root = np.linalg.cholesky(A @ A.T + 0.3 * np.eye(d))
    y = np.where(rng.random(n) < p, 1, -1)
    mean = rng.normal(size=d) * shift / np.sqrt(d)
    X = rng.normal(size=(n, d)) @ root.T + np.outer(y == 1, mean)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def thin(n=300, d=40, seed=0, share=0.2):
    """Sparse rows of different lengths, with row weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share) * rng.uniform(0.3, 2.0, (n, 1))
    y = np.where(X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=n) > 0.8, 1, -1)
    X[5] = 0.0
    weight = rng.uniform(0.2, 3.0, size=n)
    weight[::17] = 0.0
    return X, y, weight


@pytest.fixture(name="two_gaussians")
def _two_gaussians():
    return two_gaussians


@pytest.fixture(name="thin")
def _thin():
    return thin
