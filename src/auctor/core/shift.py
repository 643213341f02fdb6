"""The constant that is best added to all scores: what an intercept is for given columns."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.needs import Coupling
from auctor.core.protocols import Loss, Shifted, Shifts
from auctor.core.types import FloatArray, Target

#: A slope counts as zero below this share of the absolute slopes that it is the sum of: some ten
#: times their rounding.
EXACT = 1e-14
#: Rounding of a score, relative to its size: shifts closer together than this are the same.
ULP = 2.3e-16


class ShiftedScores:
    """The function of the constant that needs nothing but the loss of the shifted scores."""

    def __init__(self, loss: Loss, scores: FloatArray, target: Target) -> None:
        self._loss, self._scores, self._target = loss, scores, target

    def at(self, t: float) -> Shifted:
        """Value and slope with t added."""
        value, dscores = self._loss.value_grad(self._scores + t, self._target)
        return Shifted(value, float(dscores.sum()), float(np.abs(dscores).sum()))

    def curve(self, t: float) -> float:
        """Second derivative with t added; 0 where the loss has none."""
        if self._loss.order < 2:
            return 0.0
        bend = self._loss.curvature(self._scores + t, self._target)
        if self._loss.coupling is Coupling.ROW:
            return float(bend.diagonal.sum())
        return float(bend.matvec(np.ones_like(self._scores)).sum())

    def root(self) -> float | None:
        """Left to a search."""
        return None

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """No row is known to have one step."""
        return None


def best_shift(loss: Loss, scores: FloatArray, target: Target) -> float:
    """Root of the monotone slope of a convex loss in a constant, by guarded Newton steps."""
    shifts = loss.shifts(scores, target)
    root = shifts.root()
    if root is not None and not loss.smooth:
        return root if shifts.at(root).size > 0.0 else _middle(shifts, root)
    t, low, high, stride = root or 0.0, -math.inf, math.inf, 1.0
    best, least, largest = 0.0, math.inf, float(np.abs(scores).max(initial=0.0))
    ends = {-1.0: math.nan, 1.0: math.nan}  # slopes at low and high
    side = 0.0
    for _ in range(200):
        _, slope, size = shifts.at(t)
        if size == 0.0:
            return _middle(shifts, t)
        if abs(slope) <= EXACT * size < math.inf:
            return t
        if math.isnan(slope):
            slope = math.copysign(math.inf, t - best)
        low, high = (low, t) if slope > 0 else (t, high)
        if math.copysign(1.0, slope) == side:
            ends[-side] *= 0.5  # the Illinois rule: an end that stays counts for less
        side = math.copysign(1.0, slope)
        ends[side] = slope
        curve = 0.0
        if abs(slope) < least:
            best, least = t, abs(slope)
            curve = shifts.curve(t)
            ahead = -slope
        else:
            # A step too far, perhaps into overflow: strides from the best point instead.
            ahead = t - best
        new = t - slope / curve if curve > 0.0 else best + math.copysign(stride, ahead)
        if curve <= 0.0:
            stride *= 2.0
        elif abs(new - t) <= ULP * (largest + abs(t)):
            return t  # the scores themselves are no finer
        if not low < new < high:
            new = 0.5 * (low + high)
            if loss.smooth and loss.order < 2:
                chord = low - ends[-1.0] * (high - low) / (ends[1.0] - ends[-1.0])
                new = chord if low < chord < high else new
        if new in (t, low, high):
            break
        t = new
    # At a kink the slope jumps over zero; then the value decides.
    return min((best, t), key=lambda t: shifts.at(t).value)


def _middle(shifts: Shifts, t: float) -> float:
    """Middle of the shifts around t at which no row has a slope; t if there is no end of them.

    At an end, a step that moves the scores the wrong way would leave them again.
    """
    ends = []
    for side in (-1.0, 1.0):
        low, high = 0.0, 1.0
        while shifts.at(t + side * high).size == 0.0:
            low, high = high, 2.0 * high
            if high > 2.0**40:
                return t
        for _ in range(30):
            half = 0.5 * (low + high)
            flat = shifts.at(t + side * half).size == 0.0
            low, high = (half, high) if flat else (low, half)
        ends.append(side * low)
    return t + 0.5 * (ends[0] + ends[1])
