"""The lines of a scorecard: points of ranges of values, of levels, and of cells of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.bins import Bins, PairBins
from auctor.additive.columns import MISSING, ColumnBins, LevelBins
from auctor.additive.cross import CrossTable
from auctor.additive.means import MeanBins
from auctor.additive.ranges import MISSING_VALUES, Interval, LevelSet
from auctor.core.types import Array, FloatArray

#: Levels that a line of a category with many levels names.
SHOWN_LEVELS = 3


class CardRow(NamedTuple):
    """A line of a scorecard: the points for values of one column, or of two, in given ranges."""

    columns: tuple[str, ...]
    ranges: tuple[Interval | LevelSet, ...]
    points: float

    @property
    def column(self) -> str:
        """Name of the column, or of the pair."""
        return " x ".join(self.columns)

    def text(self) -> str:
        """The ranges as text."""
        return "; ".join(interval.text() for interval in self.ranges)


def part_rows(bins: Bins, k: int, points: FloatArray, names: Sequence[str]) -> list[CardRow]:
    """The lines of a column or pair."""
    part = bins.parts[k]
    if isinstance(part, PairBins):
        return _pair_rows(part, points, bins.columns, names)
    return _column_rows(part, points, names[k])


def _column_rows(bins: ColumnBins | LevelBins, points: FloatArray, name: str) -> list[CardRow]:
    """The lines of a column; neighbouring ranges with equal points are merged."""
    if not np.ptp(points):
        return [] if not points[0] else _flat(name, float(points[0]))
    if isinstance(bins, MeanBins):
        return _mean_rows(bins, points, name)
    if isinstance(bins, LevelBins):
        ranges: list[Interval | LevelSet] = [MISSING_VALUES]
        ranges += [_level_set(bins, [code]) for code in range(1, bins.size)]
        pairs = zip(ranges, points.tolist(), strict=True)
        return [CardRow((name,), (levels,), adds) for levels, adds in pairs]
    ends = np.append(bins.cuts, math.inf)
    starts = np.append(-math.inf, bins.cuts)
    rows = [CardRow((name,), (MISSING_VALUES,), float(points[MISSING]))]
    for low, high, level in zip(starts, ends, points[1:], strict=True):
        last = rows[-1]
        before = last.ranges[0]
        if len(rows) > 1 and last.points == level and isinstance(before, Interval):
            rows[-1] = last._replace(ranges=(before._replace(high=float(high)),))
        else:
            rows.append(CardRow((name,), (Interval(float(low), float(high)),), float(level)))
    return rows


def _mean_rows(bins: MeanBins, points: FloatArray, name: str) -> list[CardRow]:
    """The lines of a category by the mean of its levels; levels of equal points are one line."""
    rows = [CardRow((name,), (MISSING_VALUES,), float(points[MISSING]))]
    own, other = points[bins.level_codes], float(points[bins.other])
    labels, texts = (
        bins.labels or tuple(bins.values.tolist()),
        np.array(bins.level_names, dtype=object),
    )
    for level in dict.fromkeys([*own[np.argsort(bins.means, kind="stable")].tolist(), other]):
        inside = own == level
        # The line of unknown levels is that of all levels but those of the other lines.
        listed = np.flatnonzero(inside != (level == other))
        shown = f"{bins.means[inside].min():.4g}" if inside.any() else ""
        if inside.sum() > 1:
            shown += f" to {bins.means[inside].max():.4g}"
        some = ", ".join(texts[inside][:SHOWN_LEVELS]) + (
            ", ..." if inside.sum() > SHOWN_LEVELS else ""
        )
        shown = f"mean {shown}: {inside.sum()} levels ({some})" if inside.any() else ""
        if level == other:
            shown = f"{shown}, and other levels" if shown else "other levels"
        levels = LevelSet(
            shown, tuple(labels[k] for k in listed), bins.values[listed], level == other
        )
        rows.append(CardRow((name,), (levels,), float(level)))
    return rows


def _flat(name: str, points: float) -> list[CardRow]:
    """The lines of a column whose values all have the same points."""
    both = (MISSING_VALUES,), (Interval(-math.inf, math.inf),)
    return [CardRow((name,), ranges, points) for ranges in both]


def _pair_rows(
    pair: PairBins,
    points: FloatArray,
    columns: Sequence[ColumnBins | LevelBins],
    names: Sequence[str],
) -> list[CardRow]:
    """The lines of a pair: its cells whose points are not zero."""
    sides = _sides(pair, columns)
    both = names[pair.first], names[pair.second]
    return [
        CardRow(both, (one, two), float(points[a * pair.shape[1] + b]))
        for a, one in enumerate(sides[0])
        for b, two in enumerate(sides[1])
        if points[a * pair.shape[1] + b]
    ]


def cross_table(
    pair: PairBins, points: Array, columns: Sequence[ColumnBins | LevelBins], names: Sequence[str]
) -> CrossTable:
    """The cells of a pair; missing values without points are left out."""
    cells = points.reshape(pair.shape)
    first, second = (int(not side.any()) for side in (cells[0], cells[:, 0]))
    down, across = _sides(pair, columns)
    return CrossTable(
        (names[pair.first], names[pair.second]),
        tuple(one.short() for one in down[first:]),
        tuple(one.short() for one in across[second:]),
        cells[first:, second:],
    )


def _sides(
    pair: PairBins, columns: Sequence[ColumnBins | LevelBins]
) -> list[list[Interval | LevelSet]]:
    """The ranges of the levels of both columns of a pair."""
    both = zip((pair.first, pair.second), pair.levels, strict=True)
    return [_levels(columns[j], level) for j, level in both]


def _levels(bins: ColumnBins | LevelBins, level: Any) -> list[Interval | LevelSet]:
    """The range of each level of a column in a pair."""
    ranges: list[Interval | LevelSet] = [MISSING_VALUES]
    for number in range(1, int(level.max()) + 1):
        codes = np.flatnonzero(level == number)
        if isinstance(bins, LevelBins):
            ranges.append(_level_set(bins, codes.tolist()))
            continue
        cuts = np.concatenate(([-math.inf], bins.cuts, [math.inf]))
        ranges.append(Interval(float(cuts[codes[0] - 1]), float(cuts[codes[-1]])))
    return ranges


def _level_set(bins: LevelBins, codes: Sequence[int]) -> LevelSet:
    """The levels of some codes; with that of all others, the levels that are left out."""
    labels = bins.labels or tuple(bins.values.tolist())
    others = bins.other in codes
    listed = [code - 1 for code in range(1, bins.other) if (code in codes) != others]
    texts = bins.names()
    shown = ", ".join(texts[code] for code in codes)
    return LevelSet(shown, tuple(labels[k] for k in listed), bins.values[listed], others)
