"""The best constant to add to all scores: the intercept for given weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from auctor.core.capabilities import CURVED, SHIFTABLE, Shifted, Shifts
from auctor.core.protocols import Coupling, Loss, Splits
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray, Target, absolute_sum

#: Rounding error of a score, relative to its size: machine epsilon. Closer shifts are equal.
ULP = 2.3e-16
#: Most steps of the search for the best constant.
MOST_STEPS = 200
#: Distance, in score units, up to which an end of a flat interval of constants is searched.
FARTHEST_END = 2.0**40
#: Bisections for an end of a flat interval, each of which halves its error.
END_BISECTIONS = 30


class ShiftedScores:
    """A loss as a function of the constant, computed from the loss at the shifted scores."""

    def __init__(self, loss: Loss, scores: FloatArray, target: Target) -> None:
        self._loss, self._scores, self._target = loss, scores, target

    def at(self, t: float) -> Shifted:
        """Value and slope with t added."""
        value = slope = size = 0.0
        for scores, target in self._parts():
            part, dscores = self._loss.value_grad(scores + t, target)
            value += part
            slope += float(dscores.sum())
            size += absolute_sum(dscores)
        return Shifted(value, slope, size)

    def _parts(self) -> Iterator[tuple[FloatArray, Target]]:
        """Scores and targets of parts of the rows over which the loss is a sum."""
        if self._loss.splits is not Splits.ROWS:
            yield self._scores, self._target
            return
        for rows, part in self._target.parts():
            yield self._scores[rows], part

    def curve(self, t: float) -> float:
        """Second derivative with t added; 0 where the loss has none."""
        loss = CURVED.find(self._loss)
        if loss is None:
            return 0.0
        total = 0.0
        for scores, target in self._parts():
            bend = loss.curvature(scores + t, target)
            if loss.coupling is Coupling.ROW:
                total += float(bend.diagonal.sum())
            else:
                total += float(bend.matvec(np.ones_like(scores)).sum())
        return total

    def root(self) -> float | None:
        """``None``: there is no closed form."""
        return None

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """``None``: the slope of a row is not known to be a step."""
        return None


def shifts_of(loss: Loss, scores: FloatArray, target: Target) -> Shifts:
    """The loss as a function of a constant added to all scores, by its own formula if any."""
    loss_with_shifts = SHIFTABLE.find(loss)
    return (
        ShiftedScores(loss, scores, target)
        if loss_with_shifts is None
        else loss_with_shifts.shifts(scores, target)
    )


def best_shift(loss: Loss, scores: FloatArray, target: Target) -> float:
    """Root of the monotone slope of a convex loss in a constant, by safeguarded Newton steps."""
    shifts = shifts_of(loss, scores, target)
    root = shifts.root()
    # Some losses with kinks have a closed form; where no row has a slope, take the middle.
    if root is not None and not loss.smooth:
        return root if shifts.at(root).size > 0.0 else _middle(shifts, root)
    # [low, high] brackets the root once both are finite; `best` has the smallest |slope| so far.
    t, low, high, stride = root or 0.0, -math.inf, math.inf, 1.0
    best, least, largest = 0.0, math.inf, float(np.abs(scores).max(initial=0.0))
    ends = {-1.0: math.nan, 1.0: math.nan}  # slopes at low and high
    side = 0.0
    for _ in range(MOST_STEPS):
        _, slope, size = shifts.at(t)
        if size == 0.0:
            return _middle(shifts, t)
        if abs(slope) <= ROUNDING * size < math.inf:
            return t
        # NaN: an overflow on the side to which the last step went.
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
            # Too far, perhaps into overflow: continue from the best point with growing strides.
            ahead = t - best
        new = t - slope / curve if curve > 0.0 else best + math.copysign(stride, ahead)
        if curve <= 0.0:
            stride *= 2.0
        elif abs(new - t) <= ULP * (largest + abs(t)):
            return t  # below the rounding error of the scores
        # Outside the bracket: bisection, or the chord (regula falsi) for smooth losses without
        # curvature.
        if not low < new < high:
            new = 0.5 * (low + high)
            if loss.smooth and loss.order < 2:
                chord = low - ends[-1.0] * (high - low) / (ends[1.0] - ends[-1.0])
                new = chord if low < chord < high else new
        if new in (t, low, high):
            break
        t = new
    # At a kink the slope changes sign without a zero: compare the values.
    return min((best, t), key=lambda t: shifts.at(t).value)


def _middle(shifts: Shifts, t: float) -> float:
    """Middle of the interval of shifts around t at which all slopes are 0; t if it is unbounded.

    At an end of the interval, a small change of the scores in the wrong direction would leave it.
    """
    ends = []
    for side in (-1.0, 1.0):
        low, high = 0.0, 1.0
        # Double the distance until some row has a slope, then bisect for the end of the flat part.
        while shifts.at(t + side * high).size == 0.0:
            low, high = high, 2.0 * high
            if high > FARTHEST_END:
                return t
        for _ in range(END_BISECTIONS):
            half = 0.5 * (low + high)
            flat = shifts.at(t + side * half).size == 0.0
            low, high = (half, high) if flat else (low, half)
        ends.append(side * low)
    return t + 0.5 * (ends[0] + ends[1])
