"""The best intercept for given coefficients, and the null model: all coefficients 0."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from auctor.core.protocols import Data, Loss
from auctor.core.rounding import ROUNDING
from auctor.core.shift import shifts_of
from auctor.core.types import FloatArray, absolute_sum
from auctor.problem.certificate import duality_gap
from auctor.problem.placement import constant_scores

if TYPE_CHECKING:
    from auctor.problem.objective import Objective, Point
    from auctor.problem.problem import Problem

#: Least gradient entry of the null model, as a share of the sum of the sizes of its terms.
LEAST_SLOPE = 1e-10


class NullModel:
    """The model whose coefficients are all 0: its best intercept and its loss.

    Problems that differ only in the penalty share it.
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
        """The best constant score; 0 without an intercept."""
        zero = constant_scores(self._data, 0.0)
        shift = self._objective.best_shift
        return shift(self._loss, zero, self._data.target, 0.0) if self._has_intercept else 0.0

    @cached_property
    def loss(self) -> float:
        """Loss of the null model."""
        scores = constant_scores(self._data, self.intercept)
        return self._loss.value(scores, self._data.target)

    @cached_property
    def excess(self) -> float:
        """Loss of the null model less the infimum, so that constants in a loss do not matter."""
        zero, target = self.loss, self._data.target
        if self._has_intercept:
            zero = self._loss.value(constant_scores(self._data, 0.0), target)
        floor = self._loss.infimum(target)
        # Smallest unit of tolerances, as a share of the loss at zero scores.
        return max(self.loss - floor, 1e-9 * (zero - floor))

    def learn(self, point: Point) -> None:
        """Keep the gradient of a point that is the null model, so that it is computed only once.

        Most solves start there and need the gradient anyway.
        """
        problem = point.problem
        if self._known is not None or not point.exact or problem.coef(point.w).any():
            return
        if (
            self.intercept == problem.intercept(point.w)
            and with_best_intercept(problem, point) is point
        ):
            self._known = point.w, point.gradient

    def gap(self, problem: Problem) -> float:
        """Duality gap of the null model, a bound on the gain of any model; `excess` if kinked.

        A kinked loss has many subgradients at the null model, and a given one may have a large gap.
        """
        if not problem.loss.smooth:
            return self.excess
        if self._known is None:
            null = problem.join(np.zeros(problem.n_columns), self.intercept)
            point = problem.with_best_intercept(problem.evaluate(null))
            self._known = point.w, point.gradient
        else:  # scores are computed again: that is cheaper than storing an array of n_rows
            w, gradient = self._known
            point = problem.evaluate(w).with_gradient(gradient)
        return duality_gap(problem, point, point)

    def slope(self, problem: Problem) -> float:
        """Largest gradient entry of the null model, at least the rounding error of such sums."""
        if self._slope is None:
            start = problem.evaluate(problem.start())
            if self._known is not None and np.array_equal(self._known[0], start.w):
                start = start.with_gradient(self._known[1])
            sizes = np.abs(start.dscores)
            squares = problem.columns.weighted_squares(sizes)
            steepest = float(np.abs(start.gradient).max(initial=0.0))
            size = math.sqrt(float(sizes.sum()) * float(squares.max(initial=0.0)))
            # Cauchy-Schwarz bounds the sum of the absolute terms of a gradient entry by ``size``.
            self._slope = max(steepest, LEAST_SLOPE * size)
        return self._slope


def with_best_intercept(problem: Problem, point: Point) -> Point:
    """The point with its intercept moved to the exact minimiser; no pass over the data."""
    if not problem.has_intercept or not math.isfinite(point.loss):
        return point
    slope = abs(float(point.dscores.sum()))
    if problem.loss.convex and slope <= ROUNDING * absolute_sum(point.dscores):
        return point  # optimal; for a loss that is not convex a zero slope would not prove that
    # A one-dimensional search on the scores, which takes no pass over the data.
    penalty, target = problem.penalty.value(problem.coef(point.w)), problem.data.target
    shift = problem.objective.best_shift(problem.loss, point.scores, target, penalty)
    w = point.w.copy()
    w[-1] += shift
    return problem.evaluate(w, scores=point.scores + shift)


def evaluate_at_best_intercept(problem: Problem, w: FloatArray, scores: FloatArray) -> Point:
    """The point at ``w`` with its intercept moved to the exact minimiser; overwrites both arrays.

    Equal to `with_best_intercept` of the point at ``w``, without the array of slopes there.
    """
    if problem.has_intercept:
        loss, target = problem.loss, problem.data.target
        here = shifts_of(loss, scores, target).at(0.0)
        exact = loss.convex and abs(here.slope) <= ROUNDING * here.size
        if math.isfinite(here.value) and not exact:
            penalty = problem.penalty.value(problem.coef(w))
            shift = problem.objective.best_shift(loss, scores, target, penalty)
            w[-1] += shift
            scores += shift
    return problem.evaluate(w, scores=scores)
