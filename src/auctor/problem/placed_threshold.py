"""Thresholds of scores that are stored on the workers, found by sums over the workers."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.capabilities import Shifted
from auctor.core.protocols import Loss
from auctor.core.types import Array, FloatArray
from auctor.data.spread import Leaf, Spread, ordered_sum
from auctor.kernels.losses.thresholds import Threshold, threshold

#: Thresholds per round of calls; a round takes as long as a few passes over the scores. Set by
#: hand; no case of constants.md reads it.
CUTS = 8
#: Number of rows near the threshold below which their scores come to this process for the exact
#: threshold. Set by hand; no case of constants.md reads it.
NEAR = 64
#: Most rounds of bisection; each divides the range by nine, so that 20 reach the last digit. Set by
#: hand; no case of constants.md reads it.
ROUNDS = 20


class PlacedShifts:
    """A loss over rows as a function of a constant added to all scores, by sums over workers."""

    def __init__(self, loss: Loss, parts: Leaf, scores: Spread) -> None:
        self._loss, self._parts, self._scores = loss, parts, scores.persist()
        self._holder = scores.holder
        self._last: tuple[float, Shifted, float] | None = None

    def _evaluated(self, t: float) -> tuple[float, Shifted, float]:
        """The constant, value and slope there, and curvature; the last answer is cached."""
        if self._last is None or self._last[0] != t:
            curved = self._loss.order >= 2
            answers = self._holder.ask(
                "row_shifted", self._loss, self._parts, self._scores, t, curved
            )
            value, slope, size, curve = np.sum(answers, axis=0)
            found = Shifted(float(value), float(slope), float(size))
            self._last = t, found, float(curve)
        return self._last

    def at(self, t: float) -> Shifted:
        """Value and slope with t added to all scores."""
        return self._evaluated(t)[1]

    def curve(self, t: float) -> float:
        """Second derivative with t added to all scores; 0 if the loss has none."""
        return self._evaluated(t)[2]

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """None: the steps of the rows stay on the workers."""
        return None

    def root(self) -> float | None:
        """The best constant: a quantile of the rows' kinks, if every row has exactly one."""
        loss, parts, holder = self._loss, self._parts, self._holder
        if loss.smooth:
            return None  # a root search needs fewer numbers from the workers
        kept = holder.keep("row_steps", loss, parts, self._scores)
        answers = holder.ask("steps_summary", kept)
        if any(one is None for one in answers):
            return None
        goal, mass, _ = np.sum(answers, axis=0)
        if not (0.0 < goal < mass and all(finite for _, _, finite in answers)):
            return None
        steps = Spread(holder, Leaf(kept.references, "values"))
        found = placed_threshold(steps, parts, float(goal), 0.0)
        if found is None or found.mix != 1.0:
            return None if found is None else found.low
        above = min(holder.ask("next_above", steps, parts, found.low))
        return 0.5 * (found.low + (above if math.isfinite(above) else found.low))


def placed_threshold(values: Spread, parts: Leaf, goal: float, width: float) -> Threshold | None:
    """The threshold t with ``sum share ramp(t - values) = goal``; ``None`` if a value is NaN.

    Sums at a few thresholds per round bracket it, until few rows are inside the bracket. Those rows
    come to this process; all others enter as three sums, which give the same threshold.
    """
    holder = values.holder
    low, high = values.min(), values.max()
    if math.isnan(low) or math.isnan(high):
        return None
    high = max(high + width, float(np.nextafter(high, math.inf)))
    low = min(low, float(np.nextafter(low, -math.inf)))
    near: float = 2 * len(values)
    for _ in range(ROUNDS):
        # Sums at CUTS thresholds; the bracket becomes the interval whose sums enclose the goal.
        cuts = np.linspace(low, high, CUTS + 2)[1:-1]
        if near <= NEAR or not low < cuts[0] < cuts[-1] < high:
            break
        answers = holder.ask("ramped", values, parts, cuts, width)
        sums = ordered_sum([one for one, _ in answers])
        kinks = ordered_sum([one for _, one in answers])
        under, over = np.flatnonzero(sums < goal), np.flatnonzero(sums > goal)
        below = kinks[under[-1]] if under.size else 0.0
        above = kinks[over[0]] if over.size else math.inf
        low, high = (
            float(cuts[under[-1]]) if under.size else low,
            float(cuts[over[0]]) if over.size else high,
        )
        near = above - below
    # Rows inside the bracket, and the sums of all others as three artificial rows.
    inside = holder.ask("between", values, parts, low, high, width)
    below, ramp, along, above = ordered_sum([sums for *_, sums in inside])
    mean = along / ramp if ramp else low
    around: Array = np.array([low - 2.0 * width - 1.0, mean, high + width + 1.0])
    where = np.concatenate([around, *[one for one, *_ in inside]])
    share = np.concatenate([[below, ramp, above], *[one for _, one, _ in inside]])
    return threshold(where, share, goal, width)
