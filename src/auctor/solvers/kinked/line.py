"""The objective on a line between two points, with a cut at every trial."""

from __future__ import annotations

import math
from typing import NamedTuple

from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.solvers.kinked.cuts import Query, balanced

#: Points of an objective above this multiple of the null loss give no cut, which would be rounding.
HIGHEST_VALUE = 1e6


class CutTrial(NamedTuple):
    """A query on a line and the slope of the objective there."""

    step: float
    query: Query
    slope: float

    @property
    def value(self) -> float:
        """Objective at the trial; infinite if the trial has no finite cut."""
        return self.query.value if math.isfinite(self.query.offset) else math.inf


class CutLine:
    """Objective on the line from a query to ``aim``, minimised over the intercept.

    One pass over the data at the start, none per trial.
    """

    def __init__(self, problem: Problem, start: Query, aim: FloatArray, accuracy: float) -> None:
        self.problem, self.accuracy, self._origin = problem, accuracy, start.point
        self._direction = aim - start.point.w
        self._change = problem.score_change(self._direction)
        ridge = problem.ridge * self._direction
        self._pull = float(ridge @ start.point.w)
        self.curve = float(ridge @ self._direction)
        self.start = self._trial(0.0, start)

    def _trial(self, step: float, query: Query) -> CutTrial:
        slope = float(query.dscores @ self._change) + self._pull + step * self.curve
        return CutTrial(step, query, slope)

    def at(self, step: float) -> CutTrial:
        """Trial at ``start + step (aim - start)``."""
        origin, moved = self._origin, step * self._change
        moved += origin.scores
        point = self.problem.evaluate(origin.w + step * self._direction, scores=moved)
        scale = max(abs(self.start.query.value), abs(self.problem.null.loss))
        if point.value <= HIGHEST_VALUE**2 * scale:
            query = balanced(self.problem, point, self.accuracy)
            if query.value <= HIGHEST_VALUE * scale:
                return self._trial(step, query)
        return CutTrial(step, Query(point, origin.dscores, math.inf), math.inf)
