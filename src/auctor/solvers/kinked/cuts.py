"""A cut of the loss at a point that holds for every intercept."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from auctor.core.capabilities import Shifts
from auctor.core.rounding import ROUNDING
from auctor.core.shift import ShiftedScores, shifts_of
from auctor.core.types import FloatArray, absolute_sum
from auctor.problem import Point, Problem
from auctor.solvers.line_search import bracket


class Query(NamedTuple):
    """A point with a cut: ``loss >= dscores.scores + offset`` for every intercept."""

    point: Point
    dscores: FloatArray
    offset: float

    @property
    def value(self) -> float:
        """Objective at the point."""
        return self.point.value


def balanced(problem: Problem, point: Point, accuracy: float) -> Query:
    """The point with its best intercept, and a cut there that does not depend on the intercept.

    At a kink the cut is a combination of the tangents on both sides, which is below the loss by at
    most ``accuracy``. The offset is not finite if there is no such cut.
    """
    if problem.loss.smooth:
        point = problem.with_best_intercept(point)
    if not point.imbalance:
        return Query(point, point.dscores, _offset(point))
    loss, scores, target = problem.loss, point.scores, problem.data.target
    # First the loss's own formula for shifted scores. Its rounding may differ from that of the
    # evaluated points; if the slopes then have the same sign, shift the scores themselves.
    for shifts in (shifts_of(loss, scores, target), ShiftedScores(loss, scores, target)):
        ends = bracket(partial(_Shift.of, shifts), accuracy)
        low, high = (_shifted(problem, point, end.step) for end in ends)
        left, right = _intercept_slope(low), _intercept_slope(high)
        for end in (low, high):
            if not end.imbalance:
                return Query(end, end.dscores, _offset(end))
        if left < 0.0 < right:
            break
    # The combination whose slope in the intercept is 0: share left + (1 - share) right = 0.
    share = right / (right - left) if left < 0.0 < right else math.nan
    return Query(
        low if low.value <= high.value else high,
        share * low.dscores + (1.0 - share) * high.dscores,
        share * _offset(low) + (1.0 - share) * _offset(high),
    )


def first_query(problem: Problem, point: Point) -> Query:
    """The point with its best intercept and a cut there, before a gap is known."""
    # Slack of a cut for every intercept, as a share of the null loss, before a gap is known.
    return balanced(problem, point, 1e-7 * abs(problem.null.loss))


class _Shift(NamedTuple):
    """The loss and its slope in the intercept, after a change of the intercept by ``step``."""

    step: float
    value: float
    slope: float

    @classmethod
    def of(cls, shifts: Shifts, step: float) -> _Shift:
        """Evaluate the loss with the intercept changed by ``step``."""
        shifted = shifts.at(step)
        return cls(step, shifted.value, shifted.slope)


def _intercept_slope(point: Point) -> float:
    """Derivative of the loss in the intercept."""
    return float(point.dscores.sum())


def _offset(point: Point) -> float:
    """Value at zero scores of the tangent at a point, less a bound on its rounding error."""
    scores, dscores = point.scores, point.dscores
    along = float(dscores @ scores)
    rounding = ROUNDING * (abs(point.loss) + absolute_sum(dscores * scores))
    if point.problem.loss.shift_invariant:  # slopes sum to zero, up to rounding errors
        largest = max(float(scores.max()), -float(scores.min()))
        rounding += abs(_intercept_slope(point)) * largest
    return point.loss - along - rounding


def _shifted(problem: Problem, point: Point, by: float) -> Point:
    """The point with another intercept; no pass over the data."""
    w = point.w.copy()
    w[-1] += by
    return problem.evaluate(w, scores=point.scores + by)


def smoothed_cut(problem: Problem, dual: Point | None) -> tuple[tuple[FloatArray, float], ...]:
    """Cut of the loss from a point of its smoothed form: slope in the coefficients, and offset.

    Empty if the point gives none that holds for every intercept.
    """
    if dual is None or dual.imbalance or not dual.exact:
        return ()
    offset = dual.tangent
    if offset is None:
        offset = dual.loss - float(dual.dscores @ dual.scores)
    rounding = ROUNDING * (abs(dual.loss) + float(np.abs(dual.dscores) @ np.abs(dual.scores)))
    return ((problem.coef(dual.gradient), offset - rounding),)
