"""A problem form: loss, penalty and strength, with its own objective, top strength and certificate.

``J(w) = mean loss(y, X w) + strength * Omega(w)``, no intercept. Omega is ``|w|_1``, ``|w|^2 / 2``,
``l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2`` or ``sum over groups of sqrt(size) |w_g|`` with
contiguous groups of ``group`` columns. Plain numpy; nothing here imports the library under test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.problems import objectives
from benchmarks.problems.generated import Matrix

LOSSES = ("logistic", "squared_hinge", "hinge", "squared")
PENALTIES = ("l1", "l2", "elastic_net", "group")


@dataclass(frozen=True)
class Form:
    """What is minimised."""

    loss: str
    penalty: str
    strength: float = 1.0
    l1_ratio: float = 1.0
    group: int = 1

    @property
    def kind(self) -> tuple[str, str]:
        """Loss and penalty."""
        return self.loss, self.penalty

    def at(self, strength: float) -> Form:
        """The same at another strength."""
        return replace(self, strength=float(strength))

    def penalty_value(self, w: np.ndarray) -> float:
        """Strength * Omega(w)."""
        if self.penalty == "l1":
            return self.strength * objectives.l1(w)
        if self.penalty == "l2":
            return self.strength * objectives.l2(w)
        if self.penalty == "elastic_net":
            return self.strength * objectives.elastic_net(w, self.l1_ratio)
        return self.strength * objectives.group_l2(w, self.group)

    def value(self, X: Matrix, y: np.ndarray, w: np.ndarray) -> float:
        """The objective; infinite where ``w`` is not finite."""
        return float(self.values(X, y, np.atleast_2d(w), [self.strength])[0])

    def values(self, X: Matrix, y: np.ndarray, path: np.ndarray, strengths: list) -> np.ndarray:
        """Objective of every row of ``path`` at its strength."""
        path = np.asarray(path, dtype=np.float64)
        scores = np.asarray(X @ path.T)
        loss = getattr(objectives, "half_square" if self.loss == "squared" else self.loss)
        out = np.full(len(path), np.inf)
        for k, strength in enumerate(strengths):
            if np.isfinite(path[k]).all():
                s = scores[:, k]
                mean = loss(s - y if self.loss == "squared" else y * s).mean()
                out[k] = float(mean) + self.at(strength).penalty_value(path[k])
        return out

    def slope(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """A derivative of the loss in the scores, row by row."""
        margin = y * scores
        if self.loss == "logistic":
            return -y * np.exp(-np.logaddexp(0.0, margin))
        if self.loss == "squared_hinge":
            return -y * np.maximum(0.0, 1.0 - margin)
        if self.loss == "hinge":
            return -y * (margin < 1.0)
        return scores - y

    def conjugate(self, y: np.ndarray, slope: np.ndarray) -> float:
        """Mean over rows of the conjugate of the loss at ``slope``."""
        if self.loss == "squared":
            return float((0.5 * slope**2 + slope * y).mean())
        a = np.clip(-y * slope, 0.0, None if self.loss == "squared_hinge" else 1.0)
        if self.loss == "squared_hinge":
            return float((0.5 * a**2 - a).mean())
        if self.loss == "hinge":
            return float(-a.mean())
        return float((_xlogx(a) + _xlogx(1.0 - a)).mean())

    def gap(self, X: Matrix, y: np.ndarray, w: np.ndarray) -> float:
        """Upper bound of J(w) - min J: the duality gap at the loss's own slope, made feasible."""
        slope = self.slope(y, objectives.scores_of(X, w))
        pull = np.asarray(X.T @ slope) / len(y)
        if self.penalty in ("l1", "group"):
            top = self._dual_norm(pull)
            scale = min(1.0, self.strength / top) if top > 0 else 1.0
            return self.value(X, y, w) + self.conjugate(y, scale * slope)
        l1 = self.strength * (self.l1_ratio if self.penalty == "elastic_net" else 0.0)
        l2 = self.strength - l1
        other = float((np.maximum(0.0, np.abs(pull) - l1) ** 2).sum()) / (2.0 * l2)
        return self.value(X, y, w) + self.conjugate(y, slope) + other

    def _dual_norm(self, pull: np.ndarray) -> float:
        if self.penalty == "group":
            return float(objectives.group_norms(pull, self.group).max())
        return float(np.abs(pull).max())

    def strength_max(self, X: Matrix, y: np.ndarray) -> float:
        """The least strength whose solution is zero (an l1 part is needed)."""
        pull = np.asarray(X.T @ self.slope(y, np.zeros(len(y)))) / len(y)
        return self._dual_norm(pull) / (self.l1_ratio if self.penalty == "elastic_net" else 1.0)


def _xlogx(a: np.ndarray) -> np.ndarray:
    return a * np.log(np.where(a > 0, a, 1.0))
