"""Bins of columns: from values to codes, of which one byte per value is kept.

Numbers get up to 254 codes, so that a straight line is represented almost exactly. A value that
alone holds the weight of a code has one of its own; the others are cut by equal weight. The curve
may jump at some of the boundaries between codes, the edges of the bins, which are made in the same
way. A category has a code for each of its levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.binned import BinnedMatrix, pack
from auctor.data.codebook import MOST_CODES, Book, Codebook, MapBook
from auctor.data.coerce import LARGEST, in_shards
from auctor.data.matrices import column_values, largest_size
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
#: Levels of a column in a pair, at most, level 0 of missing values included: 256 cells are a byte.
LEVELS = 16
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

    @property
    def size(self) -> int:
        """Number of codes, the one of missing values included."""
        return int(self.cuts.size + 2)

    @property
    def constant(self) -> bool:
        """Whether the training rows have at most one distinct value."""
        return not self.cuts.size

    @property
    def has_missing(self) -> bool:
        """Whether training rows had missing values."""
        return bool(self.share[MISSING] > 0.0)

    @cached_property
    def book(self) -> Codebook:
        """The parameters: a line, a jump at every step, a weight for missing values if any."""
        own = (MISSING,) if self.has_missing and self.share[MISSING] < 1.0 else ()
        line = None if self.constant else self.line
        return Codebook(self.size, line, tuple(self.steps.tolist()), own)

    @cached_property
    def edges(self) -> FloatArray:
        """Boundaries between the bins: the values at which the curve may jump."""
        found: FloatArray = self.cuts[self.steps - 2]
        return found

    def codes(self, values: Array) -> Array:
        """The code of every value."""
        out = np.empty(values.shape[0], dtype=np.uint8)
        search_codes(np.ascontiguousarray(values), self.cuts, 1, MISSING, out)
        return out


def bin_column(values: Array, weight: FloatArray | None, n_bins: int) -> ColumnBins:
    """Bins of a column of numbers; few distinct values, and heavy ones, have a code each."""
    values = np.asarray(values, dtype=np.float64)
    mass = np.ones(values.size) if weight is None else weight
    total = float(mass.sum())
    there = ~np.isnan(values) & (mass > 0.0)
    if not there.any():  # only missing values: one code, no parameters
        none, nothing = np.empty(0), np.zeros(0, dtype=np.int64)
        return ColumnBins(none, np.zeros(2), np.array([1.0, 0.0]), nothing, 0.0, 1.0, 0.0, 0.0)
    distinct, slot = np.unique(values[there], return_inverse=True)
    amount = np.bincount(slot, mass[there], minlength=distinct.size).astype(np.float64)
    # Fine codes by quantiles of the distinct values, with their weight and mean value.
    code = groups_of(amount, MAX_VALUE_CODES)
    size = int(code[-1]) + 1
    share: FloatArray = np.bincount(code, amount, minlength=size).astype(np.float64)
    centre = np.bincount(code, amount * distinct, minlength=size) / share
    # A cut lies half-way between the last value of a code and the first of the next.
    ends = np.flatnonzero(np.diff(code))
    cuts = 0.5 * distinct[ends] + 0.5 * distinct[ends + 1]
    middle = float(share @ centre / share.sum())
    scale = float(np.sqrt(share @ (centre - middle) ** 2 / share.sum())) if size > 1 else 1.0
    # Bins group the fine codes; with two values a line says all there is, and no jump is needed.
    bin_of = groups_of(share, n_bins) if size > 2 else np.zeros(size)
    return ColumnBins(
        cuts=cuts,
        line=np.append(0.0, (centre - middle) / scale),
        share=np.append(total - share.sum() if not there.all() else 0.0, share) / total,
        steps=np.flatnonzero(np.diff(bin_of)) + 2,
        middle=middle,
        scale=scale,
        low=float(distinct[0]),
        high=float(distinct[-1]),
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
    values: Array, weight: FloatArray | None, labels: Sequence[Any] | None = None
) -> LevelBins:
    """Codes of a category: of its most frequent levels with at least `ROWS_PER_LEVEL` rows."""
    values = np.asarray(values, dtype=np.float64)
    mass = np.ones(values.size) if weight is None else weight
    there = ~np.isnan(values) & (mass > 0.0)
    distinct, slot, count = np.unique(values[there], return_inverse=True, return_counts=True)
    kept = np.flatnonzero(count >= ROWS_PER_LEVEL)
    if kept.size > MAX_VALUE_CODES:
        kept = np.sort(kept[np.argsort(-count[kept], kind="stable")[:MAX_VALUE_CODES]])
    code = np.full(distinct.size, kept.size + 1)
    code[kept] = 1 + np.arange(kept.size)
    share = np.bincount(code[slot], mass[there], minlength=kept.size + 2).astype(np.float64)
    share[MISSING] = mass.sum() - share.sum() if not there.all() else 0.0
    texts = None if labels is None else tuple(labels[int(v)] for v in distinct[kept])
    return LevelBins(distinct[kept], share / mass.sum(), texts)


@dataclass(frozen=True, eq=False)
class PairBins:
    """Cells of two columns together, each with a weight of its own.

    Parameters
    ----------
    first, second : int
        The columns.
    levels : tuple of two arrays
        Level of each code of either column; level 0 is that of missing values.
    share : array
        Weight of the training rows by cell; the levels of the second column run fastest.
    """

    first: int
    second: int
    levels: tuple[Array, Array]
    share: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Levels of the two columns."""
        first, second = (int(level.max()) + 1 for level in self.levels)
        return first, second

    @cached_property
    def book(self) -> MapBook:
        """Steps times steps, centred over the training rows."""
        cells = self.share.reshape(self.shape)
        # Share of the rows at each level or above it, from level 1 on.
        first, second = (cells.sum(axis=1 - k)[::-1].cumsum()[::-1][1:] for k in (0, 1))
        total = self.share.sum()
        return MapBook(self.shape, (_exact(first / total), _exact(second / total)))

    def codes(self, first: Array, second: Array) -> Array:
        """The cell of every row, from its codes in both columns."""
        cells: Array = self.levels[0][first] * np.uint8(self.shape[1]) + self.levels[1][second]
        return cells


def _exact(means: FloatArray) -> FloatArray:
    """Means of steps, of which those within rounding of 0 and 1 are 0 and 1."""
    return np.where(means < 1e-12, 0.0, np.where(means > 1.0 - 1e-12, 1.0, means))


def levels_of(bins: ColumnBins | LevelBins, effect: FloatArray | None = None) -> Array:
    """Level of each code in a pair: 0 for missing values, then at most 15 of about equal weight.

    Parameters
    ----------
    bins : ColumnBins or LevelBins
    effect : (codes,) array, optional
        What the codes of a category add to the score: its levels are put into this order.
    """
    share = bins.share[1:]
    order = np.arange(share.size)
    if effect is not None:
        order = np.argsort(effect[1:], kind="stable")
    level = np.zeros(bins.size, dtype=np.uint8)
    if share.any():
        level[1 + order] = 1 + few_groups(share[order], LEVELS - 1)
    else:
        level[1:] = 1
    return level


def few_groups(amount: FloatArray, most: int) -> IntArray:
    """As `groups_of`, with at most ``most`` groups: the target is lowered until that holds."""
    for target in range(most, 0, -1):
        group = groups_of(amount, target)
        if group[-1] < most:
            return group
    return np.zeros(amount.size, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a table: of its columns, and of pairs of them.

    The coefficients of an additive model are what each code of each column, and then each cell of
    each pair, adds to the score.

    Parameters
    ----------
    columns : sequence of ColumnBins and LevelBins
    pairs : sequence of PairBins

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 5.0]])
    >>> Bins.of(X).codes(X).tolist()
    [[1, 2, 3], [1, 2, 1]]
    """

    columns: Sequence[ColumnBins | LevelBins]
    pairs: Sequence[PairBins] = ()

    @classmethod
    def of(
        cls,
        matrix: Any,
        weight: FloatArray | None = None,
        n_bins: int | None = None,
        categories: Mapping[int, Sequence[Any] | None] = MappingProxyType({}),
    ) -> Bins:
        """Bins of every column of a matrix.

        Parameters
        ----------
        matrix : (n, d) array or sparse matrix
        weight : (n,) array, optional
        n_bins : int, optional
            Bins of a column; by default 64 below 5,000 rows, and 128 from there on.
        categories : mapping
            The columns whose numbers stand for levels, with the labels of these numbers.
        """
        count = row_count(matrix.shape[0], weight)
        usual = FEW_BINS if count < MANY_ROWS else MANY_BINS
        most = min(n_bins or usual, max(2, int(count // ROWS_PER_BIN)))
        return cls(
            [
                bin_levels(values, weight, categories[j])
                if j in categories
                else bin_column(values, weight, most)
                for j, values in enumerate(column_values(matrix))
            ]
        )

    @property
    def parts(self) -> list[ColumnBins | LevelBins | PairBins]:
        """The columns, then the pairs."""
        return [*self.columns, *self.pairs]

    @property
    def books(self) -> list[Book]:
        """What a fit estimates for the codes: of the columns, then of the pairs."""
        return [part.book for part in self.parts]

    @cached_property
    def bounds(self) -> IntArray:
        """Codes, or cells, of part k are ``bounds[k]:bounds[k + 1]`` of the coefficients."""
        return np.append(0, np.cumsum([part.share.size for part in self.parts])).astype(np.int64)

    @property
    def size(self) -> int:
        """Number of codes of all columns and of cells of all pairs."""
        return int(self.bounds[-1])

    def codes(self, matrix: Any) -> Array:
        """Codes of the rows, shape (columns + pairs, n)."""
        out = np.empty((len(self.columns) + len(self.pairs), matrix.shape[0]), dtype=np.uint8)
        for k, values in enumerate(column_values(matrix)):
            out[k] = self.columns[k].codes(values)
        for k, pair in enumerate(self.pairs, start=len(self.columns)):
            out[k] = pair.codes(out[pair.first], out[pair.second])
        return out

    def encoded(self, matrix: Any) -> BinnedMatrix:
        """A matrix as codes, one byte per entry."""
        return BinnedMatrix(pack(self.codes(matrix)), self.books)

    def tables(self, coef: FloatArray) -> list[FloatArray]:
        """What each code of each column and pair adds to the score: an array per part."""
        return [coef[a:b] for a, b in pairwise(self.bounds.tolist())]

    def importances(self, coef: FloatArray) -> FloatArray:
        """The `spread` of each column and pair; of several scores, rows of coef, the largest."""
        spread: FloatArray = np.max([self.spread(one) for one in coef], axis=0)
        return spread

    def spread(self, coef: FloatArray) -> FloatArray:
        """Standard deviation over the training rows of what each part adds to the score."""
        out = []
        for part, table in zip(self.parts, self.tables(coef), strict=True):
            level = table - float(part.share @ table)
            out.append(np.sqrt(float(part.share @ level**2)))
        return np.array(out)

    def scores(self, matrix: Any, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """Scores of every row for every weight vector, shape (n, k)."""
        codes = self.codes(matrix)
        out = np.tile(intercept, (matrix.shape[0], 1)).astype(np.float64)
        for k, one in enumerate(coef):
            for line, table in zip(codes, self.tables(one), strict=True):
                out[:, k] += table[line]
        return out


def read_values(X: Any, n_columns: int | None = None, names: Sequence[str] | None = None) -> Any:
    """A matrix whose entries are numbers or missing; infinity is refused."""
    matrix = as_matrix(X, finite=False)
    if in_shards(matrix):
        raise DataError(
            "rows in memory to make bins of",
            got="shards",
            todo="Pass an array or a table, or train a linear model.",
        )
    largest = largest_size(matrix)
    if largest > LARGEST:
        raise DataError(
            f"entries of X that are missing, or below {LARGEST:g} in size",
            got="infinity" if np.isinf(largest) else f"{largest:g}",
            todo="Input X contains infinity or a value too large: replace it, or mark it missing.",
        )
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise DataError(
            f"{n_columns} columns", got=matrix.shape[1], todo="Pass the columns used in fit."
        )
    return matrix
