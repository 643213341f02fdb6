"""`Point`: parameters with the scores, loss, penalty and derivatives there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from auctor.core.types import FloatArray, absolute_sum
from auctor.problem.certificate import duality_gap

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
