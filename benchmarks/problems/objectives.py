"""Objectives written from the formulas in plain numpy; the judge of every solver.

Convention: ``J = mean loss + strength * penalty``, the intercept never penalised. Nothing here
imports the library under test.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems.generated import Matrix


def logistic(margin: np.ndarray) -> np.ndarray:
    """log(1 + exp(-m))."""
    return np.logaddexp(0.0, -margin)


def hinge(margin: np.ndarray) -> np.ndarray:
    """max(0, 1 - m)."""
    return np.maximum(0.0, 1.0 - margin)


def squared_hinge(margin: np.ndarray) -> np.ndarray:
    """1/2 max(0, 1 - m)^2."""
    return 0.5 * np.maximum(0.0, 1.0 - margin) ** 2


def half_square(residual: np.ndarray) -> np.ndarray:
    """1/2 r^2."""
    return 0.5 * residual**2


def group_norms(w: np.ndarray, size: int) -> np.ndarray:
    """|w_g| / sqrt(size of g) of contiguous groups of ``size`` columns, the last may be less."""
    starts = np.arange(0, len(w), size)
    sizes = np.diff(np.append(starts, len(w)))
    return np.sqrt(np.add.reduceat(w**2, starts) / sizes)


def group_l2(w: np.ndarray, size: int) -> float:
    """Sum over contiguous groups of sqrt(size of g) |w_g|."""
    starts = np.arange(0, len(w), size)
    sizes = np.diff(np.append(starts, len(w)))
    return float((sizes * group_norms(w, size)).sum())


def l2(w: np.ndarray) -> float:
    """1/2 |w|^2."""
    return 0.5 * float(w @ w)


def l1(w: np.ndarray) -> float:
    """|w|_1."""
    return float(np.abs(w).sum())


def elastic_net(w: np.ndarray, l1_ratio: float) -> float:
    """l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2."""
    return l1_ratio * l1(w) + (1.0 - l1_ratio) * l2(w)


def scores_of(X: Matrix, w: np.ndarray, intercept: float = 0.0) -> np.ndarray:
    """X w + intercept in float64."""
    return np.asarray(X @ np.asarray(w, dtype=np.float64)) + intercept


def pairwise_square(scores: np.ndarray, y: np.ndarray) -> float:
    """Mean over (positive i, negative j) of (1 - (s_i - s_j))^2, by class moments."""
    positive, negative = scores[y > 0], scores[y < 0]
    shift = 1.0 - (positive.mean() - negative.mean())
    return float(shift**2 + positive.var() + negative.var())


def l2_pairwise_square(X: Matrix, y: np.ndarray, w: np.ndarray, strength: float) -> float:
    """Pairwise square loss + strength/2 |w|^2."""
    return pairwise_square(scores_of(X, w), y) + strength * l2(w)
