"""The best intercept of given column weights, and the model without columns."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from auctor.core.protocols import Data, Loss
from auctor.core.shift import EXACT
from auctor.core.types import FloatArray
from auctor.problem.certificate import duality_gap

if TYPE_CHECKING:
    from auctor.problem.objective import Objective
    from auctor.problem.point import Point
    from auctor.problem.problem import Problem

#: Share of the loss at zero that a null model has at least as a unit: the null loss of a constant
#: target is zero, up to the rounding of its own size.
SMALLEST_NULL = 1e-9


class NullModel:
    """The model without columns: its best intercept and its loss.

    Problems that differ in nothing but the penalty share it.
    """

    def __init__(
        self, loss: Loss, data: Data, objective: Objective, *, has_intercept: bool
    ) -> None:
        self._loss, self._data, self._objective = loss, data, objective
        self._has_intercept = has_intercept
        self._slope: float | None = None
        self._known: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def intercept(self) -> float:
        """The best constant score, 0 where there is no intercept."""
        zero = np.zeros(self._data.n_rows)
        shift = self._objective.best_shift
        return shift(self._loss, zero, self._data.target, 0.0) if self._has_intercept else 0.0

    @cached_property
    def loss(self) -> float:
        """Its loss."""
        scores = np.zeros(self._data.n_rows) + self.intercept
        return self._loss.value(scores, self._data.target)

    @cached_property
    def excess(self) -> float:
        """Its loss above the infimum, so that constants in a loss do not matter."""
        zero, target = self.loss, self._data.target
        if self._has_intercept:
            zero = self._loss.value(np.zeros(self._data.n_rows), target)
        floor = self._loss.infimum(target)
        return max(self.loss - floor, SMALLEST_NULL * (zero - floor))

    def gap(self, problem: Problem) -> float:
        """Certified bound on what columns can gain; for kinked losses the loss itself.

        A kinked loss has no slope at the null model that would prove a smaller one.
        """
        if not problem.loss.smooth:
            return self.excess
        if self._known is None:
            null = problem.join(np.zeros(problem.n_columns), self.intercept)
            point = problem.with_best_intercept(problem.evaluate(null))
            self._known = point.w, point.gradient
        else:  # its scores and slopes, which may be of many rows, are cheaper to find than to keep
            w, gradient = self._known
            point = problem.evaluate(w).with_gradient(gradient)
        return duality_gap(problem, point, point)

    def slope(self, problem: Problem) -> float:
        """Its largest slope in a column, or the rounding of the sums that slopes are."""
        if self._slope is None:
            start = problem.evaluate(problem.start())
            sizes = np.abs(start.dscores)
            squares = problem.columns.weighted_squares(sizes)
            squares[problem.fixed] = 0.0
            steepest = float(np.abs(start.gradient).max(initial=0.0))
            size = math.sqrt(float(sizes.sum()) * float(squares.max(initial=0.0)))
            self._slope = max(steepest, 1e-10 * size)
        return self._slope


def with_best_intercept(problem: Problem, point: Point) -> Point:
    """The point with its intercept moved to the exact minimiser; no pass over the data."""
    if not problem.has_intercept or not math.isfinite(point.loss):
        return point
    slope = abs(float(point.dscores.sum()))
    if problem.loss.convex and slope <= EXACT * float(np.abs(point.dscores).sum()):
        return point  # without curvature of one sign a slope of zero would say nothing
    penalty, target = problem.penalty.value(problem.coef(point.w)), problem.data.target
    shift = problem.objective.best_shift(problem.loss, point.scores, target, penalty)
    w = point.w.copy()
    w[-1] += shift
    return problem.evaluate(w, scores=point.scores + shift)
