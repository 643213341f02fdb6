"""Bins of one column: from values to codes, of which one byte per value is kept.

Numbers get up to 254 codes, so that a straight line is represented almost exactly. A value that
alone holds the weight of a code has one of its own; the others are cut by equal weight. The curve
may jump at some of the boundaries between codes, the edges of the bins, which are made in the same
way. A category has a code for each of its levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.codebook import MOST_CODES, BasisBook, Codebook
from auctor.kernels.linalg.binned import search_codes

#: Largest number of codes for values, and so the largest ``n_bins``: a byte has 256 codes, of which
#: code 0 means missing; one more is left free so that the number is even and the median is a
#: boundary.
MAX_VALUE_CODES = MOST_CODES - 2
#: Code of a missing value.
MISSING = 0
#: Training rows per bin, at least, by weight.
ROWS_PER_BIN = 10
#: Number of bins of a column with fewer than `MANY_ROWS` rows, and with more.
FEW_BINS, MANY_BINS = 64, 128
MANY_ROWS = 5000
#: Training rows of a level of a category, at least; rarer levels are pooled.
ROWS_PER_LEVEL = 5


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """The bins of one column.

    Parameters
    ----------
    cuts : array
        Increasing. A value has code 1 plus the number of cuts below it, so that values outside
        the range of the training rows are in the end bins.
    line : array
        Standardised mean value of each code; 0 for the code of missing values.
    share : array
        Weight of the training rows by code, the sum being 1.
    steps : array
        Codes at which the curve may jump: the bins begin there.
    middle, scale : float
        Mean and standard deviation of the values, by which the line is standardised.
    low, high : float
        Range of the training values.
    ramps : int
        0 for a curve of a line and jumps. 1 for a continuous curve of a line and ramps, which begin
        where a jump would be and go on to the right; -1 for ramps that go on to the left.
    convex : bool
        Whether ramps bend the curve upwards.
    flat : (float, float), optional
        A range of values in which the curve is 0.

    Examples
    --------
    >>> bins = bin_column(np.array([3.0, 1.0, np.nan, 2.0]), None, 32)
    >>> bins.cuts
    array([1.5, 2.5])
    >>> bins.codes(np.array([-9.0, 2.0, np.nan, 99.0]))
    array([1, 2, 0, 3], dtype=uint8)
    """

    cuts: FloatArray
    line: FloatArray
    share: FloatArray
    steps: IntArray
    middle: float
    scale: float
    low: float
    high: float
    ramps: int = 0
    convex: bool = False
    flat: tuple[float, float] | None = None

    @property
    def decides(self) -> tuple[FloatArray, ...]:
        """What decides which code a value gets."""
        return (self.cuts,)

    @property
    def size(self) -> int:
        """Number of codes, the one of missing values included."""
        return int(self.cuts.size + 2)

    @property
    def constant(self) -> bool:
        """Whether the training rows have at most one distinct value."""
        return not self.cuts.size

    @property
    def simple(self) -> bool:
        """Whether the column may be part of a pair: its curve has no shape to keep."""
        return not self.constant and not self.ramps and self.flat is None

    @property
    def has_missing(self) -> bool:
        """Whether training rows had missing values."""
        return bool(self.share[MISSING] > 0.0)

    @cached_property
    def book(self) -> Codebook | BasisBook:
        """The parameters: a line, a jump or ramp at every step, a weight for missing values."""
        own = (MISSING,) if self.has_missing and self.share[MISSING] < 1.0 else ()
        line = None if self.constant else self.line
        if line is not None and self.flat is not None:  # a line outside of the range
            values = self.middle + self.scale * line
            line = (values - values.clip(*self.flat)) / self.scale
            line[MISSING] = 0.0
        if not self.ramps or line is None:
            return Codebook(self.size, line, tuple(self.steps.tolist()), own)
        # Ramps: 0 up to the last code before the jump, or from its code on, then linear.
        knots = line[self.steps - 1] if self.ramps > 0 else line[self.steps]
        ramps = np.maximum(self.ramps * (line[:, None] - knots), 0.0)
        ramps[MISSING] = 0.0
        alone = [(np.arange(self.size) == code).astype(np.float64) for code in own]
        return BasisBook(np.column_stack([line, ramps, *alone]))

    @property
    def flat_code(self) -> int | None:
        """A code of the range in which the curve is 0, if there is one."""
        if self.flat is None:
            return None
        middle = np.array([0.5 * (self.flat[0] + self.flat[1])])
        return int(self.codes(middle)[0])

    @cached_property
    def edges(self) -> FloatArray:
        """Boundaries between the bins: the values at which the curve may jump."""
        edges: FloatArray = self.cuts[self.steps - 2]
        return edges

    def codes(self, values: Array) -> Array:
        """The code of every value."""
        out = np.empty(values.shape[0], dtype=np.uint8)
        search_codes(np.ascontiguousarray(values), self.cuts, 1, MISSING, out)
        return out


class Wish(NamedTuple):
    """What a user asks of the bins of a column.

    Parameters
    ----------
    cuts : array, optional
        The boundaries between bins, increasing; a value on one belongs to the bin below it.
    ramps, convex, flat
        As in `ColumnBins`.
    """

    cuts: FloatArray | None = None
    ramps: int = 0
    convex: bool = False
    flat: tuple[float, float] | None = None


def bin_column(
    values: Array, weight: FloatArray | None, n_bins: int, wish: Wish | None = None
) -> ColumnBins:
    """Bins of a column of numbers; few distinct values, and heavy ones, have a code each."""
    wish = wish or Wish()
    values = np.asarray(values, dtype=np.float64)
    mass = np.ones(values.size) if weight is None else weight
    total = float(mass.sum())
    there = ~np.isnan(values) & (mass > 0.0)
    if not there.any():  # only missing values: one code, no parameters
        none, nothing = np.empty(0), np.zeros(0, dtype=np.int64)
        return ColumnBins(none, np.zeros(2), np.array([1.0, 0.0]), nothing, 0.0, 1.0, 0.0, 0.0)
    distinct, slot = np.unique(values[there], return_inverse=True)
    amount = np.bincount(slot, mass[there], minlength=distinct.size).astype(np.float64)
    # Codes: the user's bins, or fine ones by weight that end at the ends of a flat range.
    if wish.cuts is not None:
        code = np.unique(np.searchsorted(wish.cuts, distinct), return_inverse=True)[1]
        fixed = wish.cuts
    else:
        fixed = np.array([] if wish.flat is None else wish.flat)
        code = groups_of(amount, MAX_VALUE_CODES - fixed.size)
        starts = np.append(False, np.diff(code) > 0)
        starts[1:] |= np.diff(np.searchsorted(fixed, distinct)) > 0
        code = np.cumsum(starts)
    size = int(code[-1]) + 1
    share: FloatArray = np.bincount(code, amount, minlength=size).astype(np.float64)
    centre = np.bincount(code, amount * distinct, minlength=size) / share
    # A cut lies half-way between the last value of a code and the first of the next, or where the
    # user wants it.
    ends = np.flatnonzero(np.diff(code))
    cuts = 0.5 * distinct[ends] + 0.5 * distinct[ends + 1]
    for at in fixed:
        here = (distinct[ends] <= at) & (at < distinct[ends + 1])
        cuts[here] = at
    middle = float(share @ centre / share.sum())
    most = float(np.abs(centre - middle).max()) if size > 1 else 1.0  # squares may underflow
    scale = most * float(np.sqrt(share @ ((centre - middle) / most) ** 2 / share.sum())) or 1.0
    line = (centre - middle) / scale
    # Bins group the fine codes; with two values a line says all there is, and no jump is needed.
    bin_of: Array = np.zeros(size)
    if size > 2:
        bin_of = np.arange(size) if wish.cuts is not None else groups_of(share, n_bins)
    jumps = np.diff(bin_of) != 0
    if wish.flat is not None:
        low, high = wish.flat
        inside = (centre >= low) & (centre <= high)
        jumps |= np.diff(inside) != 0  # the curve may jump at the ends of the flat range
        jumps &= ~(inside[1:] & inside[:-1])
    return ColumnBins(
        cuts=cuts,
        line=np.append(0.0, line),
        share=np.append(total - share.sum() if not there.all() else 0.0, share) / total,
        steps=np.flatnonzero(jumps) + 2,
        middle=middle,
        scale=scale,
        low=float(distinct[0]),
        high=float(distinct[-1]),
        ramps=wish.ramps,
        convex=wish.convex,
        flat=wish.flat,
    )


def row_count(n: int, weight: FloatArray | None) -> float:
    """Sum of the weights over the smallest weight: a row of weight 2 counts as two rows."""
    if weight is None:
        return float(n)
    return float(weight.sum() / weight[weight > 0.0].min())


def groups_of(amount: FloatArray, most: int) -> IntArray:
    """Group number of each of the ordered values: about ``most`` groups, at most 254.

    A value that alone has ``1 / most`` of the weight is a group; the values between such heavy
    ones form groups of about equal weight.

    Examples
    --------
    >>> groups_of(np.array([1.0, 1.0, 9.0, 1.0, 1.0, 1.0]), 3).tolist()
    [0, 0, 1, 2, 2, 2]
    """
    if amount.size <= most:
        return np.arange(amount.size)
    least = amount.sum() / most
    while True:
        heavy = amount >= least
        light = np.where(heavy, 0.0, amount)
        # Groups left for the light values, each with about the same weight.
        left = max(1, most - int(heavy.sum()))
        middle = np.cumsum(light) - 0.5 * light
        slot = np.minimum((middle * (left / max(light.sum(), 1e-300))).astype(np.int64), left - 1)
        # A group begins where the slot changes, and before and after every heavy value.
        starts = np.append(True, (slot[1:] != slot[:-1]) | heavy[1:] | heavy[:-1])
        group: IntArray = np.cumsum(starts) - 1
        if group[-1] < MAX_VALUE_CODES:
            return group
        least *= 2.0


@dataclass(frozen=True, eq=False)
class LevelBins:
    """The bins of a column of categories: a code for every level.

    Parameters
    ----------
    values : array
        Increasing: the numbers that stand for the levels with a code of their own, from code 1.
    share : array
        Weight of the training rows by code, the sum being 1: missing, the levels, all others.
    labels : tuple, optional
        What the numbers stand for, if not for themselves.

    Examples
    --------
    >>> bins = bin_levels(np.array([7.0] * 6 + [9.0] * 5 + [8.0]), None)
    >>> bins.values, bins.codes(np.array([9.0, 8.0, 1.0, np.nan]))
    (array([7., 9.]), array([2, 3, 3, 0], dtype=uint8))
    """

    values: FloatArray
    share: FloatArray
    labels: tuple[Any, ...] | None = None

    @property
    def decides(self) -> tuple[FloatArray, ...]:
        """What decides which code a value gets."""
        return (self.values,)

    @property
    def size(self) -> int:
        """Number of codes: missing, the levels, and all others."""
        return int(self.values.size + 2)

    @property
    def other(self) -> int:
        """Code of rare levels, and of those that training rows did not have."""
        return self.size - 1

    @property
    def constant(self) -> bool:
        """Whether the training rows have one code only."""
        return bool(np.count_nonzero(self.share) < 2)

    @property
    def simple(self) -> bool:
        """Whether the column may be part of a pair."""
        return not self.constant

    @property
    def has_missing(self) -> bool:
        """Whether training rows had missing values."""
        return bool(self.share[MISSING] > 0.0)

    @cached_property
    def book(self) -> Codebook:
        """The parameters: one for each code of the training rows."""
        own = () if self.constant else tuple(np.flatnonzero(self.share).tolist())
        return Codebook(self.size, own=own)

    def codes(self, values: Array) -> Array:
        """The code of every value."""
        values = np.asarray(values, dtype=np.float64)
        place = np.searchsorted(self.values, values).clip(max=max(0, self.values.size - 1))
        known = self.values[place] == values if self.values.size else np.zeros(values.size, bool)
        out: Array = np.where(known, place + 1, self.other).astype(np.uint8)
        out[np.isnan(values)] = MISSING
        return out

    def names(self) -> list[str]:
        """Text of every code."""
        labels = self.labels or tuple(f"{value:g}" for value in self.values)
        return ["missing", *map(str, labels), "other"]


def bin_levels(
    values: Array,
    weight: FloatArray | None,
    labels: Sequence[Any] | None = None,
    rows: FloatArray | None = None,
) -> LevelBins:
    """Codes of a category: of its most frequent levels with at least `ROWS_PER_LEVEL` rows.

    ``rows`` are the numbers of rows that the values stand for, by default one each.
    """
    values = np.asarray(values, dtype=np.float64)
    mass = np.ones(values.size) if weight is None else weight
    there = ~np.isnan(values) & (mass > 0.0)
    distinct, slot = np.unique(values[there], return_inverse=True)
    count = np.bincount(slot, None if rows is None else rows[there], minlength=distinct.size)
    kept = np.flatnonzero(count >= ROWS_PER_LEVEL)
    if kept.size > MAX_VALUE_CODES:
        kept = np.sort(kept[np.argsort(-count[kept], kind="stable")[:MAX_VALUE_CODES]])
    code = np.full(distinct.size, kept.size + 1)
    code[kept] = 1 + np.arange(kept.size)
    share = np.bincount(code[slot], mass[there], minlength=kept.size + 2).astype(np.float64)
    share[MISSING] = mass.sum() - share.sum() if not there.all() else 0.0
    texts = None if labels is None else tuple(labels[int(v)] for v in distinct[kept])
    return LevelBins(distinct[kept], share / mass.sum(), texts)
