"""Problems whose loss does not change when the scores are scaled.

A penalty added to such a loss would only shrink w. A ridge is added to the variance of the scores
in each class instead, as noise in the columns would be; other penalties are an error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from auctor.core.capabilities import SCALE_INVARIANT
from auctor.core.errors import IncompatibleError
from auctor.core.protocols import Loss, Penalty
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray, Target
from auctor.problem.needs import Need
from auctor.problem.objective import Objective
from auctor.problem.point import Point

if TYPE_CHECKING:
    from auctor.problem.problem import Problem


class RatioObjective(Objective):
    """A loss of the class means and variances of the scores, with the ridge as variance."""

    lacks = Need.SEPARABLE_PENALTY | Need.PROX
    ridge_is_variance = True

    def check(self, loss: Loss, penalty: Penalty) -> None:
        """Raise `IncompatibleError` unless the penalty is a ridge or none."""
        if not penalty.smooth:
            raise IncompatibleError(
                "L2 or no penalty, because the scale of its scores does not matter",
                got=type(penalty).__name__,
                todo="Use L2, or a loss with a scale: GaussianAuc, or for the error a "
                "pointwise loss such as Logistic.",
                part=type(loss).__name__,
            )

    def start(self, problem: Problem) -> FloatArray:
        """The difference of the class means; at w = 0 the loss would have no direction."""
        return problem.with_best_intercept(
            problem.evaluate(problem.join(_contrast(problem), 0.0))
        ).w

    def evaluate(self, problem: Problem, w: FloatArray, scores: FloatArray) -> Point:
        """The loss with the ridge added to the variances; no penalty is added to the value."""
        ridge = problem.penalty.value(problem.coef(w))
        if not ridge:
            return super().evaluate(problem, w, scores)
        moments = SCALE_INVARIANT.of(problem.loss)
        loss, dscores, rate = moments.value_grad_rate(scores, problem.data.target, ridge)
        return Point(problem, w, scores, loss, 0.0, dscores, ridge_rate=rate)

    def best_shift(self, loss: Loss, scores: FloatArray, target: Target, penalty: float) -> float:
        """The best constant to add to all scores, in closed form."""
        return SCALE_INVARIANT.of(loss).best_shift(scores, target, penalty)

    def unit(self, problem: Problem) -> float:
        """1: the loss is a probability, and the violation has no unit."""
        return 1.0

    def tolerance(self, problem: Problem, tol: float) -> float:
        """``tol`` itself."""
        return tol

    def violation(self, problem: Problem, point: Point, source: Point) -> float:
        """Largest derivative in w and the intercept, for centred columns of unit variance."""
        share = problem.data.target.share
        mean, square, variance = problem.columns.own
        spread = np.sqrt(np.where(variance > ROUNDING * square, variance, 0.0))
        # Derivatives by columns (x - mean) / spread, times the length of w in these units.
        slopes, total = problem.coef(problem.total_gradient(point)), float(point.dscores.sum())
        size = float(np.linalg.norm(problem.coef(point.w) * spread))
        if size == 0.0:  # w = 0 is optimal only if the class means do not differ
            return math.inf if (_contrast(problem) * spread).any() else 0.0
        varies = spread > 0.0
        worst = float(np.abs((slopes - total * mean)[varies] / spread[varies]).max()) * size
        if problem.has_intercept:
            centred = point.scores - float(share @ point.scores)
            worst = max(worst, abs(total) * math.sqrt(float(share @ centred**2)))
        return worst


def objective_of(loss: Loss) -> Objective:
    """The objective of problems with a loss: a ratio if the scale of the scores does not matter."""
    return RatioObjective() if SCALE_INVARIANT.has(loss) else Objective()


def _contrast(problem: Problem) -> FloatArray:
    """Difference of the class means, of unit length."""
    change = np.zeros(problem.data.n_rows)
    for rows, sign in zip(problem.data.target.classes, (1.0, -1.0), strict=True):
        change[rows.rows] = sign * rows.share
    problem.counts.passes += 1
    coef = problem.data.gradient(change)
    coef /= float(np.linalg.norm(coef)) or 1.0
    return coef
