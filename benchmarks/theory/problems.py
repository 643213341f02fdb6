"""The problems of the theory reports: a9a and three generated ones, no intercept, one thread."""

from __future__ import annotations

import numpy as np

from auctor.data import as_data
from auctor.losses import Logistic
from auctor.penalties import L1
from auctor.problem import Problem
from benchmarks.problems import datasets

#: Share of the strength that leaves the model empty, for the generated problems.
SHARE = 0.02


def a9a(strength: float) -> Problem:
    """l1 logistic on a9a, mean loss."""
    data = datasets.load("a9a")
    return _problem(data.X, data.y, strength)


def strength_of_sum(strength: float) -> float:
    """The mean loss's strength for a strength of the sum over a9a's rows."""
    return strength / datasets.load("a9a").n_rows


def generated(quick: bool = False) -> dict[str, Problem]:
    """Like a9a, gisette and epsilon: one-hot groups, twenty factors, neighbours alike."""
    shrink = 4 if quick else 1
    made = {
        "one-hot": _one_hot(4000 // shrink, 30),
        "factors": _factors(1000 // shrink, 1500 // shrink),
        "chain": _chain(3000 // shrink, 600 // shrink),
    }
    out = {}
    for name, (X, y) in made.items():
        top = float(np.abs(X.T @ y).max()) / (2 * len(y))
        out[name] = _problem(X, y, SHARE * top)
    return out


def _problem(X: object, y: np.ndarray, strength: float) -> Problem:
    return Problem(Logistic(), L1(strength), as_data(X, y, n_threads=1), fit_intercept=False)


def _labels(rng: np.random.Generator, X: np.ndarray, used: int = 40) -> np.ndarray:
    w = np.zeros(X.shape[1])
    w[rng.choice(X.shape[1], min(used, X.shape[1]), replace=False)] = rng.normal(
        size=min(used, X.shape[1])
    )
    scores = X @ w
    scores = (scores - scores.mean()) / scores.std()
    return np.where(scores + 0.5 * rng.normal(size=len(scores)) > 0, 1.0, -1.0)


def _one_hot(n: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    parts = []
    for _ in range(groups):
        levels = int(rng.integers(2, 12))
        chances = rng.dirichlet(np.full(levels, 0.6))
        parts.append(np.eye(levels)[rng.choice(levels, size=n, p=chances)])
    X = np.hstack(parts)
    return X, _labels(rng, X)


def _factors(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 20)) @ rng.normal(size=(20, d)) / np.sqrt(20) + rng.normal(size=(n, d))
    return X, _labels(rng, X)


def _chain(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X, _labels(rng, X)
