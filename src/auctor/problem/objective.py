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
        """What tolerances are fractions of: the null model's loss, or its largest slope."""
        null = problem.null
        unit = null.excess if problem.certifiable else null.slope(problem)
        return unit if unit > 0.0 else 1.0

    def violation(self, problem: Problem, point: Point, source: Point) -> float:
        """Largest violation of the optimality conditions."""
        return largest_violation(problem, point, source)
