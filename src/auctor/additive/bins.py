"""Bins of numeric columns: from values to codes, and what each code adds to a score.

Values get up to 254 codes by quantiles, so that one byte per value represents a straight line
almost exactly. The curve may jump at a few of the boundaries between codes, the edges of the bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.binned import BinnedMatrix, pack
from auctor.data.codebook import MOST_CODES, Codebook
from auctor.data.coerce import LARGEST, in_shards
from auctor.data.matrices import column_values, largest_size
from auctor.kernels.linalg.binned import search_codes

#: Largest number of codes for values, and so the largest ``n_bins``.
MAX_VALUE_CODES = MOST_CODES - 2
#: Code of a missing value.
MISSING = 0
#: Training rows per bin, at least, by weight.
ROWS_PER_BIN = 10
#: Levels of a column in a pair, at most.
LEVELS = 8
#: Training rows per cell of a pair, on average, at least; with fewer rows there are fewer levels.
ROWS_PER_CELL = 30


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
    """Bins of a column by weighted quantiles; few distinct values have a code each."""
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
    code = _equal_weight_groups(amount, MAX_VALUE_CODES)
    size = int(code[-1]) + 1
    share: FloatArray = np.bincount(code, amount, minlength=size).astype(np.float64)
    centre = np.bincount(code, amount * distinct, minlength=size) / share
    # A cut lies half-way between the last value of a code and the first of the next.
    ends = np.flatnonzero(np.diff(code))
    cuts = 0.5 * distinct[ends] + 0.5 * distinct[ends + 1]
    middle = float(share @ centre / share.sum())
    scale = float(np.sqrt(share @ (centre - middle) ** 2 / share.sum())) if size > 1 else 1.0
    # Bins group the fine codes; with two values a line says all there is, and no jump is needed.
    bin_of = _equal_weight_groups(share, n_bins) if size > 2 else np.zeros(size)
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


def _equal_weight_groups(amount: FloatArray, most: int) -> IntArray:
    """Group number of each of the ordered values: at most ``most`` groups of about equal weight."""
    if amount.size <= most:
        return np.arange(amount.size)
    before = np.cumsum(amount) - 0.5 * amount
    group = np.minimum((before * (most / amount.sum())).astype(np.int64), most - 1)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


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
        first, second = (int(level[-1]) + 1 for level in self.levels)
        return first, second

    @cached_property
    def book(self) -> Codebook:
        """One weight for every cell that training rows were in."""
        own = tuple(np.flatnonzero(self.share > 0.0).tolist())
        return Codebook(self.share.size, own=own)

    def codes(self, first: Array, second: Array) -> Array:
        """The cell of every row, from its codes in both columns."""
        cells: Array = self.levels[0][first] * np.uint8(self.shape[1]) + self.levels[1][second]
        return cells


def most_levels(n: int, weight: FloatArray | None) -> int:
    """Number of levels of a column in a pair, by `ROWS_PER_CELL` and the weighted row count.

    Examples
    --------
    >>> most_levels(600, None), most_levels(10_000, None)
    (4, 8)
    """
    return max(2, min(LEVELS, math.isqrt(int(row_count(n, weight)) // ROWS_PER_CELL)))


def levels_of(bins: ColumnBins, most: int) -> Array:
    """Level of each code in a pair: 0 for missing, then at most ``most`` of about equal weight."""
    groups = (
        _equal_weight_groups(bins.share[1:], most)
        if bins.share[1:].any()
        else np.zeros(1, dtype=int)
    )
    return np.append(0, groups + 1).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a table: of its columns, and of pairs of them.

    Parameters
    ----------
    columns : sequence of ColumnBins
    pairs : sequence of PairBins

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 5.0]])
    >>> bins = Bins.of(X)
    >>> bins.encoded(X).to_dense().shape
    (3, 3)
    """

    columns: Sequence[ColumnBins]
    pairs: Sequence[PairBins] = ()

    @classmethod
    def of(cls, matrix: Any, weight: FloatArray | None = None, n_bins: int = 32) -> Bins:
        """Bins of every column of a matrix, by quantiles of its weighted values."""
        most = min(n_bins, max(2, int(row_count(matrix.shape[0], weight) // ROWS_PER_BIN)))
        return cls([bin_column(values, weight, most) for values in column_values(matrix)])

    @property
    def parts(self) -> list[ColumnBins | PairBins]:
        """The columns, then the pairs."""
        return [*self.columns, *self.pairs]

    @property
    def books(self) -> list[Codebook]:
        """The codebooks, which map codes to parameters: of the columns, then of the pairs."""
        return [part.book for part in self.parts]

    @cached_property
    def bounds(self) -> IntArray:
        """Parameters of part k are ``bounds[k]:bounds[k + 1]``."""
        return np.append(0, np.cumsum([book.n_params for book in self.books])).astype(np.int64)

    @property
    def n_params(self) -> int:
        """Parameters of all columns and pairs."""
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

    def tables(self, theta: FloatArray) -> list[FloatArray]:
        """What each code of each column and pair adds to the score: an array per part.

        In a column without missing values in training, a missing value adds the training mean.
        """
        found = []
        for k, book in enumerate(self.books):
            table = book.table(theta[self.bounds[k] : self.bounds[k + 1]])
            if k < len(self.columns) and not self.columns[k].has_missing:
                table[MISSING] = self.columns[k].share @ table
            found.append(table)
        return found

    def importances(self, coef: FloatArray) -> FloatArray:
        """The `spread` of each column and pair; of several scores, rows of coef, the largest."""
        found: FloatArray = np.max([self.spread(theta) for theta in coef], axis=0)
        return found

    def spread(self, theta: FloatArray) -> FloatArray:
        """Standard deviation over the training rows of what each part adds to the score."""
        found = []
        for part, table in zip(self.parts, self.tables(theta), strict=True):
            level = table - float(part.share @ table)
            found.append(np.sqrt(float(part.share @ level**2)))
        return np.array(found)

    def scores(self, matrix: Any, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """Scores of every row for every weight vector, shape (n, k)."""
        codes = self.codes(matrix)
        out = np.tile(intercept, (matrix.shape[0], 1)).astype(np.float64)
        for k, theta in enumerate(coef):
            for line, table in zip(codes, self.tables(theta), strict=True):
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
