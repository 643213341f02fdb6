"""Objectives at a point: loss plus penalty, or a loss that does not depend on the scale of scores.

A penalty added to a loss that does not change when the scores are scaled would only shrink w. A
ridge is added to the variance of the scores in each class instead, as noise in the columns would
be; other penalties are an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from auctor.core.capabilities import SCALE_INVARIANT
from auctor.core.errors import IncompatibleError
from auctor.core.protocols import Loss, Penalty
from auctor.core.rounding import ROUNDING
from auctor.core.shift import best_shift
from auctor.core.types import FloatArray, Target, absolute_sum
from auctor.problem.certificate import duality_gap, largest_violation
from auctor.problem.needs import NOTHING, Need

if TYPE_CHECKING:
    from auctor.problem.problem import Problem


#: Absolute sum of the slopes, as a share of the sum of their sizes, that counts as balanced.
BALANCE = 1e-11


@dataclass(frozen=True)
class Point:
    """Parameters with the scores, loss, penalty and derivatives there.

    ``w`` holds the coefficients, followed by the intercept if the problem has one.
    """

    problem: Problem = field(repr=False)
    w: FloatArray
    scores: FloatArray = field(repr=False)
    loss: float
    penalty: float
    dscores: FloatArray = field(repr=False)
    exact: bool = True  # whether dscores is the gradient of the loss at the scores
    ridge_rate: float = 1.0  # change of the value per change of a smooth penalty
    known_gradient: FloatArray | None = field(default=None, repr=False)

    def with_gradient(self, gradient: FloatArray) -> Point:
        """The same point with its gradient in w given, which then costs no pass."""
        return replace(self, known_gradient=gradient)

    def in_problem(
        self, problem: Problem, w: FloatArray, gradient: FloatArray | None = None
    ) -> Point:
        """The point of another problem that has the same scores, with the parameters ``w``."""
        return replace(self, problem=problem, w=w, known_gradient=gradient)

    @property
    def value(self) -> float:
        """Objective: loss plus penalty."""
        return self.loss + self.penalty

    @cached_property
    def gradient(self) -> FloatArray:
        """Gradient of the loss in w; one pass over the data on first use."""
        if self.known_gradient is not None:
            return self.known_gradient
        gradient = self.problem.pull_back(self.dscores, self.w)
        if self.problem.has_intercept and not self.imbalance:
            gradient[-1] = 0.0  # the intercept is optimal: what is left is rounding error
        return gradient

    @cached_property
    def tangent(self) -> float | None:
        """C such that ``dscores.s + C`` is below the unsmoothed loss; ``None`` if unknown."""
        return self.problem.loss.tangent(self.scores, self.problem.data.target)

    @cached_property
    def duality_gap(self) -> float:
        """Duality gap with the point's own dual variables, for certifiable problems."""
        return duality_gap(self.problem, self, self)

    @cached_property
    def imbalance(self) -> float:
        """Absolute derivative in the intercept; 0 if optimal up to rounding, or no intercept."""
        if not self.problem.has_intercept or not math.isfinite(self.loss):
            return 0.0
        slope = abs(float(self.dscores.sum()))
        return slope if slope > BALANCE * absolute_sum(self.dscores) else 0.0


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


class RatioObjective(Objective):
    """A loss of the class means and variances of the scores, with the ridge as variance."""

    lacks = Need.SEPARABLE_PENALTY | Need.PROX
    ridge_is_variance = True

    def check(self, loss: Loss, penalty: Penalty) -> None:
        """Raise `IncompatibleError` unless the penalty is a ridge or none."""
        if not penalty.smooth:
            raise IncompatibleError(
                "L2 or no penalty, because the scale of its scores does not matter; got "
                f"{type(penalty).__name__}. Use L2, or a loss with a scale: GaussianAuc, or for "
                "the error a pointwise loss such as Logistic.",
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
