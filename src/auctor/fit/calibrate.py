"""Calibration: probabilities from scores, fitted on the scores of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray
from auctor.data import as_data
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Newton

#: Ridge on the slope of Platt scaling, for scores of at most 1 in size.
SLOPE_STRENGTH = 1e-8
#: Scores at which Venn-Abers probabilities are computed, two isotonic regressions each.
VENN_POINTS = 200
#: Tolerance of Platt scaling, relative to the log-loss of a constant.
SLOPE_TOL = 1e-8


class Calibrator(Protocol):
    """Turns the scores of one class into its probability."""

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""

    def moved(self, log_odds: float) -> Calibrator:
        """The calibrator with a constant added to the log-odds of its probabilities."""


@dataclass(frozen=True)
class Sigmoid:
    """Platt scaling: ``1 / (1 + exp(-(a s + b)))`` with a, b by maximum likelihood."""

    slope: float
    offset: float

    @classmethod
    def fit(cls, scores: FloatArray, positive: Array, weight: FloatArray | None) -> Sigmoid:
        """Maximum-likelihood slope and offset, given which scores are ``positive``."""
        # Scores are scaled to at most 1 in size, for which the ridge is meant.
        unit = float(np.abs(scores).max()) or 1.0
        data = as_data(scores[:, None] / unit, np.where(positive, 1.0, -1.0), weight=weight)
        problem = Problem(Logistic(), L2(SLOPE_STRENGTH), data)
        fit = minimise(problem, Newton(), tol=SLOPE_TOL, on_failure="ignore")
        return cls(float(fit.coef[0]) / unit, fit.intercept)

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""
        margin = self.slope * scores + self.offset
        return np.exp(-np.logaddexp(0.0, -margin))

    def moved(self, log_odds: float) -> Sigmoid:
        """The calibrator with a constant added to the log-odds of its probabilities."""
        return Sigmoid(self.slope, self.offset + log_odds)


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Isotonic regression (pool adjacent violators), linear between increasing ``points``."""

    points: FloatArray
    levels: FloatArray

    @classmethod
    def fit(cls, scores: FloatArray, positive: Array, weight: FloatArray | None) -> Isotonic:
        """The non-decreasing least-squares fit to 0 and 1, given which scores are ``positive``."""
        weight = np.ones(scores.size) if weight is None else weight
        points, place = np.unique(scores, return_inverse=True)
        total = np.bincount(place, weights=weight)
        share = np.bincount(place, weights=weight * positive) / total
        levels = np.clip(isotonic_regression(share, weights=total).x, 0.0, 1.0)
        # Interpolation needs only the two ends of a flat piece.
        changes = np.diff(levels) != 0.0
        ends = np.concatenate(([True], changes)) | np.concatenate((changes, [True]))
        return cls(points[ends], levels[ends])

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""
        return np.asarray(np.interp(scores, self.points, self.levels))

    def moved(self, log_odds: float) -> Isotonic:
        """The calibrator with a constant added to the log-odds of its probabilities."""
        return Isotonic(self.points, expit(logit(self.levels) + log_odds))


class VennAbers(Isotonic):
    """Venn-Abers prediction: isotonic regression with the new row as a positive and as a negative.

    With p1 and p0 the two probabilities of the new row, it states ``p1 / (1 - p0 + p1)``, which is
    neither 0 nor 1 and less extreme where there are few rows. A function of the score alone: linear
    between `VENN_POINTS` scores of the rows it is fitted to.

    References
    ----------
    Vovk, Petej, Venn-Abers predictors, UAI 2014.
    """

    @classmethod
    def fit(cls, scores: FloatArray, positive: Array, weight: FloatArray | None) -> Isotonic:
        """The probabilities at some scores, given which scores are ``positive``."""
        weight = np.ones(scores.size) if weight is None else weight
        distinct, place = np.unique(scores, return_inverse=True)
        total = np.bincount(place, weights=weight)
        hits = np.bincount(place, weights=weight * positive)
        own = weight.sum() / weight.size
        last = distinct.size - 1
        at = np.unique(np.linspace(0, last, min(VENN_POINTS, distinct.size)).astype(np.int64))
        both = np.empty((2, at.size))
        for label in (0, 1):
            for k, j in enumerate(at.tolist()):
                size, right = total.copy(), hits.copy()
                size[j] += own
                right[j] += own * label
                both[label, k] = isotonic_regression(right / size, weights=size).x[j]
        levels = both[1] / (1.0 - both[0] + both[1])
        return Isotonic(distinct[at], np.maximum.accumulate(levels))  # they rise, up to rounding


#: Calibration methods by name.
KINDS: dict[str, type[Sigmoid] | type[Isotonic]] = {
    "sigmoid": Sigmoid,
    "isotonic": Isotonic,
    "venn_abers": VennAbers,
}

#: The calibrator of scores that are log-odds already.
LOG_ODDS = Sigmoid(1.0, 0.0)


def log_odds(metric: object, calibrate: str | None) -> bool:
    """Whether the scores themselves are log-odds: the metric is log-loss, without calibration."""
    return calibrate is None and isinstance(metric, str) and metric.strip() == "log_loss"


def fit_calibrators(
    kind: str, scores: FloatArray, hits: Sequence[Array], weight: FloatArray | None
) -> list[Calibrator]:
    """One calibrator per column of scores, on the rows that have weight."""
    kept = slice(None) if weight is None else weight > 0.0
    kept_weight = None if weight is None else weight[kept]
    return [
        KINDS[kind].fit(column[kept], hit[kept], kept_weight)
        for column, hit in zip(scores.T, hits, strict=True)
    ]


def joint_probabilities(calibrators: Sequence[Calibrator], scores: FloatArray) -> FloatArray:
    """Probabilities (n, classes) from scores (n, classes), or (n, 1) for two classes.

    With several classes each is calibrated against the rest, and the sum is then scaled to 1.
    """
    positive = np.column_stack(
        [c.probability(s) for c, s in zip(calibrators, scores.T, strict=True)]
    )
    if positive.shape[1] == 1:
        return np.hstack([1.0 - positive, positive])
    positive += SMALLEST_DIVISOR
    shares: FloatArray = positive / positive.sum(axis=1, keepdims=True)
    return shares
