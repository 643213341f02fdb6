"""Constructed problems that solver tests share."""

from dataclasses import dataclass

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.losses import Logistic, Squared
from auctor.penalties import L1
from auctor.problem import Problem
from auctor.testing.minimisers import smooth_minimiser
from auctor.testing.plain import PLAIN_SQUARED


@dataclass(frozen=True)
class Quadratic:
    """``1/2 w'Aw - b'w + l1 |w|_1`` as least squares, with its minimiser to rounding."""

    problem: Problem
    A: np.ndarray
    w: np.ndarray
    low: float
    high: float

    @property
    def optimum(self):
        return self.problem.evaluate(self.w).value

    def excess(self, point):
        return max(point.value - self.optimum, 0.0)


def polish(problem, A, w):
    """The minimiser on the support of ``w`` with its signs; A is not singular there."""
    on = np.flatnonzero(np.abs(w) > 1e-7)
    spec = problem.penalty.separable(w.size)
    pull = -problem.evaluate(np.zeros_like(w)).gradient
    out = np.zeros_like(w)
    right = pull[on] - spec.l1[on] * np.sign(w[on])
    out[on] = np.linalg.solve(A[np.ix_(on, on)], right)
    return out


@pytest.fixture
def quadratic():
    """Build one from the eigenvalues of A."""

    def build(eigenvalues, *, l1=0.1, rng=0):
        rng = np.random.default_rng(rng)
        n = len(eigenvalues)
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        root = np.sqrt(n) * np.diag(np.sqrt(eigenvalues)) @ Q.T
        target = Target(rng.normal(size=n))
        data = Dense(np.ascontiguousarray(root), target, n_threads=1)
        problem = Problem(Squared(), L1(l1), data, fit_intercept=False)
        A = root.T @ root / n
        spec = problem.penalty.separable(n)
        w = polish(problem, A, smooth_minimiser(PLAIN_SQUARED, spec, root, target, False))
        point = problem.evaluate(w)
        assert problem.penalty.violation(w, point.gradient).max() < 1e-12
        return Quadratic(problem, A, w, min(eigenvalues), max(eigenvalues))

    return build


@pytest.fixture
def classification():
    """Build (data, strength of the empty model) of three kinds of columns."""

    def build(kind, n=150, p=60, rng=0):
        rng = np.random.default_rng(rng)
        X = rng.normal(size=(n, p))
        if kind == "factors":
            X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, p)) / 2 + X
        elif kind == "chain":
            for j in range(1, p):
                X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
        elif kind == "binary":
            X = (rng.uniform(size=(n, p)) < rng.uniform(0.05, 0.5, size=p)).astype(float)
        w = np.zeros(p)
        w[rng.choice(p, 8, replace=False)] = 2.0 * rng.normal(size=8)
        scores = X @ w
        y = np.where(scores - np.median(scores) + rng.normal(size=n) > 0, 1.0, -1.0)
        data = as_data(X, y)
        empty = Problem(Logistic(), L1(0.0), data)
        start = empty.evaluate(empty.start())
        return data, float(np.abs(empty.coef(start.gradient)).max())

    return build
