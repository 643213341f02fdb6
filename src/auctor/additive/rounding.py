"""Rounding of the points of a scorecard: shifts of the columns that keep the metric high."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray

#: Fractions of a point that may be added to all values of a column before its points are rounded.
SHIFTS = np.arange(0.0, 1.0, 0.1)
#: Passes over the columns, at most, in which shifts are tried on the metric.
PASSES = 3
#: Further searches from random shifts.
RESTARTS = 3
#: Rows, evenly spaced, on which shifts are tried, at most.
JUDGED_ROWS = 20_000


class RoundingJudge(NamedTuple):
    """Rows and a metric by which a rounding is chosen.

    Parameters
    ----------
    codes : (parts, n) array
        Codes of the rows in columns and pairs.
    measure : callable
        From decision values of the rows to the metric, greater is better.
    """

    codes: Array
    measure: Callable[[FloatArray], float]


def judged_shifts(
    exact: Sequence[FloatArray],
    shifts: FloatArray,
    start: float,
    judge: RoundingJudge,
    base: float,
    factor: float,
) -> FloatArray:
    """Shifts of the columns for which the rounded points have the best metric.

    A shift is the same for all values of a column, so that monotone curves stay monotone and
    rounding changes no points by more than half a point. The best of several searches.
    """
    rng = np.random.default_rng(0)
    starts = [shifts, *(rng.choice(SHIFTS, shifts.size) for _ in range(RESTARTS))]
    ends = [_search_shifts(exact, first, start, judge, base, factor) for first in starts]
    return max(ends, key=lambda entry: entry[0])[1]


def _search_shifts(
    exact: Sequence[FloatArray],
    first: FloatArray,
    start: float,
    judge: RoundingJudge,
    base: float,
    factor: float,
) -> tuple[float, FloatArray]:
    """Coordinate search over the shifts of the columns: the metric and the shifts it ends at.

    Each trial costs one measurement of the metric: passes x columns x shifts in all.
    """
    shifts = first.copy()
    whole = [np.round(points + shift) for points, shift in zip(exact, shifts, strict=True)]
    total = np.zeros(judge.codes.shape[1])
    for points, line in zip(whole, judge.codes, strict=True):
        total += points[line]

    def measure(points: FloatArray, off: float) -> float:
        return judge.measure((points + round(start - off) - base) / factor)

    best = measure(total, shifts.sum())
    for _ in range(PASSES):
        before = best
        for k, line in enumerate(judge.codes):
            if not np.ptp(exact[k]):
                continue
            # Points and shifts of the other columns, to which those of this one are added.
            rest, others = total - whole[k][line], shifts.sum() - shifts[k]
            for shift in SHIFTS:
                tried = np.round(exact[k] + shift)
                moved = rest + tried[line]
                value = measure(moved, others + shift)
                if value > best:
                    best, shifts[k], whole[k], total = value, shift, tried, moved
        if best == before:
            break
    return best, shifts


def best_shift(points: FloatArray, share: FloatArray) -> float:
    """The shift before rounding with the least variance of the rounding error over the rows.

    The mean error is subtracted: an error common to all rows does not change the ranking.
    """

    def error(shift: float) -> float:
        off = np.round(points + shift) - points
        return float(share @ (off - share @ off) ** 2)

    return float(min(SHIFTS, key=error))
