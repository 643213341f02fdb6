"""Rows with known graphs, and the optimality conditions written out."""

import numpy as np
import pytest


@pytest.fixture
def chain_rows():
    """Rows of a Gaussian whose graph is a chain."""

    def make(p, n, seed=0):
        beside = np.full(p - 1, -0.5)
        precision = np.diag(np.full(p, 1.25)) + np.diag(beside, 1) + np.diag(beside, -1)
        noise = np.random.default_rng(seed).normal(size=(p, n))
        return np.linalg.solve(np.linalg.cholesky(precision).T, noise).T

    return make


@pytest.fixture
def objective():
    """F of a precision matrix, for penalties of all entries, the diagonal's included."""

    def value(S, strengths, X):
        np.linalg.cholesky(X)  # raises unless positive definite
        used = X != 0.0
        penalty = np.sum(np.broadcast_to(strengths, X.shape)[used] * np.abs(X[used]))
        return float(np.sum(S * X) - np.linalg.slogdet(X)[1] + penalty)

    return value


@pytest.fixture
def violation():
    """Largest violation of the optimality conditions, entry by entry."""

    def largest(S, strengths, X):
        slope = S - np.linalg.inv(X)
        worst = 0.0
        for i in range(len(X)):
            for j in range(len(X)):
                lam = np.broadcast_to(strengths, X.shape)[i, j]
                if X[i, j] != 0.0:
                    worst = max(worst, abs(slope[i, j] + lam * np.sign(X[i, j])))
                else:
                    worst = max(worst, abs(slope[i, j]) - lam)
        return worst

    return largest
