"""How loss and penalty become one objective: their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from auctor.core.needs import Need
from auctor.core.protocols import Loss, Penalty
from auctor.core.shift import best_shift
from auctor.core.types import FloatArray, Target
from auctor.problem.certificate import largest_violation
from auctor.problem.point import Point

if TYPE_CHECKING:
    from auctor.problem.problem import Problem

#: Gaps below this share of the null model's loss are the rounding of the values they are the
#: difference of (some fifty units in the last place of a float64).
ROUNDING = 1e-14


class Objective:
    """``J(w) = loss + penalty``."""

    #: What problems of this kind cannot offer, whatever their parts do.
    lacks = Need.NONE
    #: Whether constant columns without effect are held at 0.
    fixes_constants = True

    def check(self, loss: Loss, penalty: Penalty) -> None:
        """Refuse penalties that mean nothing here: none."""

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
        """What tolerances are fractions of: the null model's loss, gap or largest slope.

        The gap of the null model bounds what any model can gain. Where columns are tiny or the
        penalty is strong it is far below the loss, and a fraction of the loss would accept the null
        model itself, whatever the columns say.
        """
        null = problem.null
        if not problem.certifiable:
            return null.slope(problem) or 1.0
        if not null.excess > 0.0:
            return 1.0
        return min(null.excess, null.gap(problem))

    def tolerance(self, problem: Problem, tol: float) -> float:
        """``tol`` in this unit; where columns gain little, not below what rounding lets one see."""
        visible = min(ROUNDING * abs(problem.null.loss), tol * problem.null.excess)
        return max(tol * problem.unit, visible)

    def violation(self, problem: Problem, point: Point, source: Point) -> float:
        """Largest violation of the optimality conditions."""
        return largest_violation(problem, point, source)
