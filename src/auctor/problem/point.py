"""Parameters with everything evaluated there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from auctor.core.types import FloatArray
from auctor.problem.certificate import duality_gap

if TYPE_CHECKING:
    from auctor.problem.problem import Problem

#: How far the score gradient may sum away from zero, as a share of the sum of its absolute values,
#: and still count as intercept-optimal.
BALANCE = 1e-11


@dataclass(frozen=True)
class Point:
    """Parameters with everything evaluated there.

    ``w`` holds the column weights, followed by the intercept where the problem has one.
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
        """The same point, whose gradient in w is known and costs no pass."""
        return replace(self, known_gradient=gradient)

    def seen_by(self, problem: Problem, w: FloatArray, gradient: FloatArray | None = None) -> Point:
        """The same scores as a point of another problem, where the parameters are ``w``."""
        return replace(self, problem=problem, w=w, known_gradient=gradient)

    @property
    def value(self) -> float:
        """Objective: loss plus penalty."""
        return self.loss + self.penalty

    @cached_property
    def gradient(self) -> FloatArray:
        """Gradient of the loss in w, by one pass over the data when first asked for."""
        if self.known_gradient is not None:
            return self.known_gradient
        gradient = self.problem.pull_back(self.dscores, self.w)
        if self.problem.has_intercept and not self.imbalance:
            gradient[-1] = 0.0  # the rounding of an exact intercept is no direction
        return gradient

    @cached_property
    def tangent(self) -> float | None:
        """Offset of a plane below the loss that was smoothed, where the loss knows one."""
        return self.problem.loss.tangent(self.scores, self.problem.data.target)

    @cached_property
    def duality_gap(self) -> float:
        """Gap with the point's own dual variables, where the problem is certifiable."""
        return duality_gap(self.problem, self, self)

    @cached_property
    def imbalance(self) -> float:
        """Slope in the intercept, 0 where it is optimal (to rounding) or there is none."""
        if not self.problem.has_intercept or not math.isfinite(self.loss):
            return 0.0
        slope = abs(float(self.dscores.sum()))
        return slope if slope > BALANCE * float(np.abs(self.dscores).sum()) else 0.0
