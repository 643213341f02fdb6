"""The usual objective: loss plus penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from auctor.core.protocols import Loss, Penalty
from auctor.core.rounding import ROUNDING
from auctor.core.shift import best_shift
from auctor.core.types import FloatArray, Target
from auctor.problem.certificate import largest_violation
from auctor.problem.needs import NOTHING
from auctor.problem.point import Point

if TYPE_CHECKING:
    from auctor.problem.problem import Problem


class Objective:
    """``J(w) = loss + penalty``."""

    #: Needs that problems with this objective never provide.
    lacks = NOTHING
    #: Whether the ridge is added to the variance of the scores in each class, not to the loss.
    ridge_is_variance = False

    def check(self, loss: Loss, penalty: Penalty) -> None:
        """Raise `IncompatibleError` for penalties that do not fit the loss; here all fit."""

    def start(self, problem: Problem) -> FloatArray:
        """Zeros with the null model's intercept."""
        return problem.join(np.zeros(problem.n_columns), problem.null.intercept)

    def evaluate(self, problem: Problem, w: FloatArray, scores: FloatArray) -> Point:
        """Value and gradient of the loss, and the penalty."""
        loss, dscores = problem.loss_at(scores).value_grad()
        return Point(problem, w, scores, loss, problem.penalty.value(problem.coef(w)), dscores)

    def best_shift(self, loss: Loss, scores: FloatArray, target: Target, penalty: float) -> float:
        """The best constant to add to all scores."""
        return best_shift(loss, scores, target)

    def unit(self, problem: Problem) -> float:
        """Unit of relative tolerances: the null model's loss, gap or largest gradient entry.

        The gap of the null model bounds the gain of any model. If columns are tiny or the penalty
        is strong, it is far below the loss, and a tolerance relative to the loss would accept the
        null model itself.
        """
        null = problem.null
        if not problem.certifiable:
            return null.slope(problem) or 1.0
        if not null.excess > 0.0:
            return 1.0
        return min(null.excess, null.gap(problem))

    def tolerance(self, problem: Problem, tol: float) -> float:
        """``tol`` times the unit, but not below the rounding error of the objective."""
        rounding = min(ROUNDING * abs(problem.null.loss), tol * problem.null.excess)
        return max(tol * problem.unit, rounding)

    def violation(self, problem: Problem, point: Point, source: Point) -> float:
        """Largest violation of the optimality conditions."""
        return largest_violation(problem, point, source)
