"""A loss around a threshold of scores on the workers, which is found by sums over the workers."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.types import Array, Target
from auctor.data.on_rows import PARTED
from auctor.data.spread import Leaf, Spread, ordered_sum
from auctor.kernels.losses.thresholds import Flips, Threshold, threshold
from auctor.problem.placed_loss import PlacedLoss, value_and_slopes

#: Thresholds per round of calls; a round takes as long as a few passes over the scores.
CUTS = 8
#: Rows near the threshold below which their scores come to this process.
NEAR = 64
#: Most rounds of bisection; each divides the range by nine, so that 20 reach the last digit.
ROUNDS = 20


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


class PlacedThreshold(PlacedLoss):
    """A loss around a threshold of the scores, which is found by sums over the workers."""

    @cached_property
    def _margins(self) -> Any:
        return PARTED.of(self.inner).margins(self.rows.target)

    @cached_property
    def _largest_share(self) -> float:
        return float(self.rows.target.share.max())

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        """Value and slopes around the threshold; NaN if a score is NaN."""
        inner, margins = PARTED.of(self.inner), self._margins
        # Scores plus margins, the threshold by sums over workers, then a sum over rows.
        raised = Spread(self.holder, self.holder.keep("raised", inner, self.parts, scores, margins))
        at = placed_threshold(raised, self.parts, 1.0 - margins.top, inner.width)
        if at is None:
            nowhere: Spread = scores * math.nan
            return math.nan, nowhere
        kept = self.holder.keep("threshold_loss", inner, self.parts, raised, at, margins)
        value, slopes = value_and_slopes(self, kept)
        return margins.floor + value, slopes

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        """The conjugate from sums of label flips over the workers; None if smoothed."""
        inner = PARTED.of(self.inner)
        if inner.smooth:
            return None
        sums = self.holder.ask(
            "threshold_flips", inner, self.parts, slopes, self._margins, self._largest_share
        )
        positive, negative, slope, size, outside = np.sum(sums, axis=0)
        flips = Flips(positive, negative, slope, size, int(outside))
        return inner.conjugate_of_flips(flips, self._margins)

    def _centre(self, slopes: Spread, target: Target) -> Leaf:
        return self.holder.keep("threshold_centre", self.inner, self.parts, slopes, self._margins)
