"""What the acceptance checks share: lines of their table, generated rows, minimisers, errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.data import as_data
from auctor.losses import PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Exact
from benchmarks.problems import datasets

Rows = tuple[np.ndarray, np.ndarray]


class Line(NamedTuple):
    """What was checked, our number, what was expected of it, and whether it is so.

    None says that nothing was expected, or that it is shown elsewhere.
    """

    what: str
    ours: str
    expected: str
    good: bool | None


def rows(n: int = 2000, d: int = 10, p: float = 0.1, seed: int = 0, shift: float = 1.5) -> Rows:
    """Two Gaussians with one covariance, rows on the unit sphere: the thesis's G."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    root = np.linalg.cholesky(A @ A.T + 0.3 * np.eye(d))
    y = np.where(rng.random(n) < p, 1.0, -1.0)
    mean = rng.normal(size=d) * shift / np.sqrt(d)
    X = rng.normal(size=(n, d)) @ root.T + np.outer(y > 0, mean)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def drawn(X: np.ndarray, y: np.ndarray, count: int, seed: int = 0) -> Rows:
    """Rows with replacement."""
    pick = np.random.default_rng(seed).integers(0, y.size, count)
    return X[pick], y[pick]


def problem_of(X: object, y: np.ndarray, penalty: object) -> Problem:
    """Pairwise square loss."""
    return Problem(PairwiseSquare(), penalty, as_data(X, y, n_threads=1))


def exact(X: object, y: np.ndarray, strength: float) -> np.ndarray:
    """The closed form."""
    return minimise(problem_of(X, y, L2(strength)), Exact(), tol=1e-14).coef


def error(w: np.ndarray, wanted: np.ndarray) -> float:
    """Relative distance."""
    return float(np.linalg.norm(w - wanted) / np.linalg.norm(wanted))


def known_means(X: np.ndarray, y: np.ndarray) -> tuple:
    """Share of positives and class means."""
    return (y > 0).mean(), X[y < 0].mean(axis=0), X[y > 0].mean(axis=0)


def slope(x: list[float], values: list[float]) -> float:
    """Of a line through logarithms."""
    return float(np.polyfit(np.log(x), np.log(values), 1)[0])


def solver_path(problem: Problem, solver: object, rounds: int) -> list[np.ndarray]:
    """Weights after every iteration, whatever the gap."""
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    path = [state.point.w]
    for _ in range(rounds):
        state = solver.step(problem, state)
        path.append(state.point.w)
    return path


def few(values: list[float]) -> str:
    """Numbers in a row."""
    return ", ".join(f"{v:.2g}" for v in values)


def worked_example() -> Rows:
    """Labels and predictions of the thesis's confusion table."""
    counts = [1, 11, 9, 979]
    return np.repeat([1, 0, 1, 0], counts), np.repeat([1, 1, 0, 0], counts)


def held_out(stem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Unit rows in random order, four fifths and one fifth."""
    data = datasets.load(stem)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    length = np.linalg.norm(X, axis=1, keepdims=True)
    X, y = X / np.where(length > 0, length, 1.0), data.y
    order, cut = np.random.default_rng(0).permutation(y.size), int(0.8 * y.size)
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]
