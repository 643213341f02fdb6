"""Covariances for sparse graphs: generated ones, and that of the estrogen receptor data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.problems.datasets import MissingDataSet, data_dir

#: Variables of the estrogen receptor covariance.
ESTROGEN = 692
#: Variables that share a hub.
HUB = 20


@dataclass(frozen=True)
class GraphData:
    """Rows from a Gaussian whose precision matrix is known."""

    rows: np.ndarray
    precision: np.ndarray

    @property
    def S(self) -> np.ndarray:
        return np.cov(self.rows, rowvar=False, bias=True)


def estrogen() -> np.ndarray:
    """The covariance of 692 genes of breast cancer patients by estrogen receptor state."""
    base = data_dir()
    path = None if base is None else base / "estrogen-692" / "ER_692_triu.npz"
    if path is None or not path.exists():
        raise MissingDataSet("estrogen-692 is missing; set AUCTOR_DATA.")
    S = np.zeros((ESTROGEN, ESTROGEN))
    S[np.triu_indices(ESTROGEN)] = np.load(path)["triu"]
    return S + np.triu(S, 1).T


def chain(p: int) -> np.ndarray:
    """1.25 on the diagonal, -0.5 beside it."""
    beside = np.full(p - 1, -0.5)
    return np.diag(np.full(p, 1.25)) + np.diag(beside, 1) + np.diag(beside, -1)


def random(p: int, degree: int = 5, seed: int = 0) -> np.ndarray:
    """Random edges of weight .5 to 1 and either sign; scaled to unit variances."""
    rng = np.random.default_rng(seed)
    edges = np.zeros((p, p))
    count = p * degree // 2
    i, j = rng.integers(0, p, (2, count))
    edges[i, j] = rng.choice([-1.0, 1.0], count) * rng.uniform(0.5, 1.0, count)
    return _definite(edges + edges.T)


def hub(p: int) -> np.ndarray:
    """Every twentieth variable is tied to the nineteen after it."""
    edges = np.zeros((p, p))
    for first in range(0, p, HUB):
        edges[first, first + 1 : first + HUB] = 1.0
    return _definite(edges + edges.T)


def _definite(edges: np.ndarray) -> np.ndarray:
    np.fill_diagonal(edges, 0.0)
    X = edges + np.eye(len(edges)) * (0.2 - np.linalg.eigvalsh(edges)[0])
    root = np.sqrt(np.linalg.inv(X).diagonal())
    return X * root * root[:, None]


def sample(precision: np.ndarray, n: int, seed: int = 0) -> GraphData:
    """Rows from the Gaussian with this precision."""
    noise = np.random.default_rng(seed).normal(size=(len(precision), n))
    rows = np.linalg.solve(np.linalg.cholesky(precision).T, noise).T
    return GraphData(rows, precision)


GRAPHS = {"chain": chain, "random": random, "hub": hub}


def objective(S: np.ndarray, strength: float, X: np.ndarray) -> float:
    """``-log det X + tr(S X) + strength |X|_1``, infinite unless X is positive definite."""
    X = 0.5 * (X + X.T)
    try:
        root = np.linalg.cholesky(X)
    except np.linalg.LinAlgError:
        return np.inf
    log_det = 2.0 * np.log(root.diagonal()).sum()
    return float(np.vdot(S, X) - log_det + strength * np.abs(X).sum())


def gap(S: np.ndarray, strength: float, X: np.ndarray) -> float:
    """The certified gap of X, computed again in numpy; that its dual point is feasible is checked.

    The dual is ``max log det Z + p`` over positive definite Z with ``|Z_ij - S_ij| <= strength``.
    The point: entries that are not zero in X are at their bound, ``S_ij + strength sign(X_ij)``;
    the others are those of the inverse of X, scaled from both sides to the diagonal of
    ``S + strength I``, and clipped.
    """
    W = np.linalg.inv(X)
    diagonal = S.diagonal() + strength
    root = np.sqrt(diagonal / W.diagonal())
    near = np.clip(W * root * root[:, None] - S, -strength, strength)
    Z = S + np.where(X != 0.0, strength * np.sign(X), near)
    feasible = np.abs(Z - S).max() <= strength * (1.0 + 1e-12) and np.linalg.eigvalsh(Z)[0] > 0.0
    if not feasible:
        return np.inf
    return float(objective(S, strength, X) - np.linalg.slogdet(Z)[1] - len(S))
