"""Bins of a table: of its columns, and of pairs of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from auctor.additive.columns import (
    FEW_BINS,
    MANY_BINS,
    MANY_ROWS,
    ROWS_PER_BIN,
    ColumnBins,
    LevelBins,
    Wish,
    bin_column,
    bin_levels,
    groups_of,
    row_count,
)
from auctor.additive.directed import directed_basis
from auctor.additive.sample import ValueTable, value_tables
from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.binned import BinnedMatrix, pack
from auctor.data.codebook import BasisBook, Book, MapBook
from auctor.data.coded import CodedShards
from auctor.data.coerce import LARGEST, in_shards
from auctor.data.matrices import column_values, largest_size
from auctor.data.workers import check_coding

#: Levels of a column in a pair, at most, level 0 of missing values included: 256 cells are a byte.
LEVELS = 16


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
    signs : (int, int)
        Directions in which a fit may move along either column; 0 for both.
    """

    first: int
    second: int
    levels: tuple[Array, Array]
    share: FloatArray
    signs: tuple[int, int] = (0, 0)

    @property
    def shape(self) -> tuple[int, int]:
        """Levels of the two columns."""
        first, second = (int(level.max()) + 1 for level in self.levels)
        return first, second

    @property
    def lower(self) -> FloatArray:
        """Lower bounds of the parameters of a fit."""
        if any(self.signs):
            return directed_basis(self.shape, self.signs)[1]
        return np.full(self.book.n_params, -np.inf)

    @cached_property
    def book(self) -> MapBook | BasisBook:
        """Steps times steps, centred over the training rows where they have no direction."""
        if any(self.signs):
            return BasisBook(directed_basis(self.shape, self.signs)[0])
        cells = self.share.reshape(self.shape)
        # Share of the rows at each level or above it, from level 1 on.
        first, second = (cells.sum(axis=1 - k)[::-1].cumsum()[::-1][1:] for k in (0, 1))
        total = self.share.sum()
        return MapBook(self.shape, (_exact(first / total), _exact(second / total)))

    def codes(self, first: Array, second: Array) -> Array:
        """The cell of every row, from its codes in both columns."""
        cells: Array = self.levels[0][first] * np.uint8(self.shape[1]) + self.levels[1][second]
        return cells


def bin_count(n: int, weight: FloatArray | None, n_bins: int | None) -> int:
    """Bins of a column of n rows: ``n_bins``, or the usual number; at least ten rows in each."""
    count = row_count(n, weight)
    usual = FEW_BINS if count < MANY_ROWS else MANY_BINS
    return min(n_bins or usual, max(2, int(count // ROWS_PER_BIN)))


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
        wishes: Mapping[int, Wish] = MappingProxyType({}),
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
        wishes : mapping
            What the user asks of columns of numbers.
        """
        most = bin_count(matrix.shape[0], weight, n_bins)
        ends: list[tuple[float, float] | None] = []
        tables = _with_ends(value_tables(matrix, weight, categories), ends)
        made = cls.of_tables(tables, most, categories, wishes)
        if all(pair is None for pair in ends):
            return made
        mass = np.ones(matrix.shape[0]) if weight is None else weight
        return made.of_all_rows(ends, made.rows(matrix).histograms(mass) / mass.sum())

    @classmethod
    def of_tables(
        cls,
        tables: Iterable[ValueTable],
        most: int,
        categories: Mapping[int, Sequence[Any] | None],
        wishes: Mapping[int, Wish] = MappingProxyType({}),
    ) -> Bins:
        """Bins, at most so many of a column, by the values of every column."""
        return cls(
            [
                bin_levels(table.values, table.weight, categories[j], table.rows)
                if j in categories
                else bin_column(table.values, table.weight, most, wishes.get(j))
                for j, table in enumerate(tables)
            ]
        )

    def of_all_rows(self, ends: Sequence[tuple[float, float] | None], shares: FloatArray) -> Bins:
        """The same cuts, where they are of a sample with the shares and ranges of all rows."""
        columns = [
            replace(column, share=share[: column.size], low=pair[0], high=pair[1])
            if isinstance(column, ColumnBins) and pair is not None
            else column
            for column, pair, share in zip(self.columns, ends, shares, strict=False)
        ]
        return Bins(columns)

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
            # Numbers are floats; bytes are codes already.
            out[k] = values if values.dtype == np.uint8 else self.columns[k].codes(values)
        for k, pair in enumerate(self.pairs, start=len(self.columns)):
            out[k] = pair.codes(out[pair.first], out[pair.second])
        return out

    def values(self, codes: Array) -> FloatArray:
        """A value of every code, (n, columns): the mean of its values, or its level."""
        out = np.empty(codes.shape)
        for k, (column, line) in enumerate(zip(self.columns, codes.T, strict=True)):
            if isinstance(column, LevelBins):
                rest = column.values[-1] + 1.0 if column.values.size else 0.0
                table = np.concatenate([[np.nan], column.values, [rest]])
            else:
                table = column.middle + column.scale * column.line
                table[0] = np.nan
            out[:, k] = table[line]
        return out

    def rows(self, matrix: Any) -> BinnedMatrix | CodedShards:
        """The rows as codes, where they are."""
        if in_shards(matrix):
            return CodedShards.of(matrix, self, self.books)
        return self.encoded(matrix)

    def encoded(self, matrix: Any) -> BinnedMatrix:
        """A matrix as codes, one byte per entry."""
        return BinnedMatrix(pack(self.codes(matrix)), self.books)

    def expanded(self, train: Any, test: Any) -> tuple[Any, Any]:
        """Two matrices with a column of zeros and ones for each frequent level of categories."""
        if all(type(column) is ColumnBins for column in self.columns):
            return train, test
        sides: tuple[list[Array], list[Array]] = ([], [])
        pairs = zip(column_values(train), column_values(test), strict=True)
        for column, both in zip(self.columns, pairs, strict=True):
            plain = type(column) is ColumnBins
            levels = column if isinstance(column, LevelBins) or plain else bin_levels(both[0], None)
            for side, values in zip(sides, both, strict=True):
                codes = values[:, None]
                side.append(
                    codes if plain else levels.codes(values)[:, None] == np.arange(1, levels.size)
                )
        return np.hstack(sides[0]), np.hstack(sides[1])

    def fingerprint(self) -> str:
        """A checksum of all that decides which code a value gets."""
        digest = sha256()
        for column in self.columns:
            for kept in column.decides:
                digest.update(f"{type(column).__name__} {kept.size} ".encode() + kept.tobytes())
        return digest.hexdigest()

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
        if in_shards(matrix):
            check_coding(matrix.coding, self)
            question = ScoreQuestion(self, coef, intercept)
            return np.concatenate(matrix.holder.ask("answer", question, None, None))
        codes = self.codes(matrix)
        out = np.zeros((matrix.shape[0], len(coef)))
        for k, one in enumerate(coef):
            for line, table in zip(codes, self.tables(one), strict=True):
                out[:, k] += table[line]
        return out + intercept  # last, after the sums that are exact


@dataclass(frozen=True, eq=False)
class ScoreQuestion:
    """The scores of rows in shards, which their workers find out."""

    bins: Bins
    coef: FloatArray
    intercept: FloatArray

    def answer(self, matrix: Any, rows: None, weight: None) -> FloatArray:
        """Scores of the rows of one shard."""
        return self.bins.scores(matrix, self.coef, self.intercept)


def read_values(X: Any, n_columns: int | None = None, names: Sequence[str] | None = None) -> Any:
    """A matrix whose entries are numbers or missing; infinity is refused."""
    matrix = as_matrix(X, finite=False)
    if in_shards(matrix):  # their values are checked when bins are made of them
        return matrix
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


def _with_ends(
    tables: Iterable[ValueTable], ends: list[tuple[float, float] | None]
) -> Iterator[ValueTable]:
    """The tables, whose ranges are added to ``ends``: only one of them is in memory."""
    for table in tables:
        ends.append(table.ends)
        yield table
