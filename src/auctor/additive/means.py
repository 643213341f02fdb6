"""Categories with more levels than there are codes: a curve of the mean target of the level.

The mean of a level is moved towards that of all rows by its credibility. In training the code of a
row is made without its own label: member k uses only rows that it is fitted to, and of these only
rows outside of the row's own fold. So neither the labels that a member leaves out, nor a row's own,
are in the code of any row that the member is fitted to or judged by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.columns import MAX_VALUE_CODES, ColumnBins, bin_column
from auctor.additive.task import Coded, Columns, Fold, Task
from auctor.core.protocols import Penalty
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.coded import SideBySide
from auctor.data.coerce import in_shards
from auctor.data.matrices import column_values
from auctor.problem import Problem

#: Standard errors that the variance between levels has above 0, at least; below, levels are alike.
CLEARLY = 3.0

#: Difference of two means, relative to the largest deviation, below which they are equal.
SAME = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanBins(ColumnBins):
    """The bins of a category by the mean of the target of its level.

    Parameters
    ----------
    values : array
        Increasing: the numbers that stand for the levels of the training rows.
    means : array
        Mean of the target of each level, moved towards that of all rows. With several classes, the
        position of the shares of the classes on the direction in which they vary most.
    prior : float
        Mean of all rows, which levels that training rows did not have get.
    labels : tuple, optional
        What the numbers stand for, if not for themselves.
    """

    values: FloatArray
    means: FloatArray
    prior: float
    labels: tuple[Any, ...] | None = None

    @property
    def decides(self) -> tuple[FloatArray, ...]:
        """What decides which code a value gets."""
        return self.cuts, self.values, self.means

    @property
    def simple(self) -> bool:
        """Whether the column may be part of a pair: its codes differ between members."""
        return False

    def means_of(self, values: Array) -> FloatArray:
        """The mean of the level of every value; NaN for missing ones."""
        values = np.asarray(values, dtype=np.float64)
        place = np.searchsorted(self.values, values).clip(max=self.values.size - 1)
        means = np.where(self.values[place] == values, self.means[place], self.prior)
        return np.where(np.isnan(values), np.nan, means)

    def codes(self, values: Array) -> Array:
        """The code of every value: that of the mean of its level."""
        return super().codes(self.means_of(values))

    @cached_property
    def level_codes(self) -> Array:
        """The code of every level."""
        return super().codes(self.means)

    @cached_property
    def other(self) -> int:
        """Code of levels that training rows did not have."""
        return int(super().codes(np.array([self.prior]))[0])

    @cached_property
    def level_names(self) -> list[str]:
        """Text of every level."""
        return [*map(str, self.labels or (f"{value:g}" for value in self.values.tolist()))]

    def level(self, value: float) -> str:
        """Text of the level of a number; "other" if training rows did not have it."""
        place = int(np.searchsorted(self.values, value))
        known = place < self.values.size and self.values[place] == value
        return self.level_names[place] if known else "other"

    def text(self, value: float) -> str:
        """A number as text: its level with the mean of that level."""
        if math.isnan(value):
            return "missing"
        return f"{self.level(value)} ({float(self.means_of(np.array([value]))[0]):.4g})"


class Deviations(NamedTuple):
    """By how much the outcome of levels differs from that of all rows, and the mean of these."""

    levels: FloatArray  # (levels, outcomes), 0 for levels that no row has
    weight: FloatArray  # (levels,)
    mean: FloatArray  # (outcomes,)
    prior_rows: float  # rows that the mean of all rows counts for


class LevelMeans:
    """The levels of one column of the training rows, and the means of their outcomes.

    Parameters
    ----------
    values : (n,) array
        Numbers that stand for levels; NaN where missing.
    outcome : (n, k) array
        The target, or a column of zeros and ones for each of more than two classes.
    weight : (n,) array
    group : (n,) int array
        Rows of one group never count for each other.

    Notes
    -----
    The mean of a level of weight n is ``prior + sum of (y - prior) / (n + m)``, with ``m`` the
    variance within levels over that between them: the credibility of Buhlmann. The variance between
    levels is estimated from the products of the residuals of two rows of one level, which have the
    mean 0 where levels are alike; it counts if it is `CLEARLY` above 0. Weights are divided so that
    their sum is the effective number of rows.

    References
    ----------
    Buhlmann, Gisler, A Course in Credibility Theory and its Applications, 2005.
    Micci-Barreca, A preprocessing scheme for high-cardinality categorical attributes in
    classification and prediction problems, 2001.
    """

    def __init__(
        self, values: Array, outcome: FloatArray, weight: FloatArray, group: IntArray
    ) -> None:
        there = ~np.isnan(values) & (weight > 0.0)
        self.values = np.unique(values[there])
        self.slot = np.searchsorted(self.values, values).clip(max=max(0, self.values.size - 1))
        self.missing = np.isnan(values)
        self.known = self.values[self.slot] == values if self.size else ~self.missing
        self.there, self.outcome, self.group = there, outcome, group
        self.weight = weight * (weight.sum() / (weight @ weight))
        self.n_groups = int(group.max()) + 1

    @property
    def size(self) -> int:
        """Number of levels."""
        return int(self.values.size)

    def _sums(self, at: Array, amount: FloatArray) -> FloatArray:
        """Sums by level of amounts of some rows."""
        return np.asarray(np.bincount(self.slot[at], amount, minlength=self.size), np.float64)

    def _of_others(self, at: Array, amount: FloatArray) -> FloatArray:
        """For every row, the sum of the amounts of some rows of its level in other groups.

        Nothing is subtracted, so that not even the rounding depends on the row's own group.
        """
        place = self.slot[at] * self.n_groups + self.group[at]
        table = np.bincount(place, amount, minlength=self.size * self.n_groups)
        table = np.pad(table.reshape(self.size, self.n_groups), ((0, 0), (1, 1)))
        before, after = table.cumsum(axis=1)[:, :-2], table[:, ::-1].cumsum(axis=1)[:, ::-1][:, 2:]
        return np.where(self.known, (before + after)[self.slot, self.group], 0.0)

    def deviations(self, rows: Array) -> tuple[Deviations, FloatArray]:
        """What some rows, a mask, say about the levels, and their residuals (rows, outcomes)."""
        at = np.flatnonzero(self.there & rows)
        w, y = self.weight[at], self.outcome[at]
        mean = w @ y / w.sum() if at.size else self.outcome.mean(axis=0)
        residual = y - mean
        count = self._sums(at, w)
        seen = count > 0.0
        inverse = np.divide(1.0, count, out=np.zeros_like(count), where=seen)
        sums = np.column_stack([self._sums(at, w * one) for one in residual.T])
        # Products of two rows of a level, over the weight of the level; zero in the mean of levels
        # that are alike, with the variance below.
        squares = np.column_stack([self._sums(at, (w * one) ** 2) for one in residual.T])
        second, fourth = self._sums(at, w**2), self._sums(at, w**4)
        products = float((inverse @ (sums**2 - squares)).sum())
        pairs = float(inverse @ (count**2 - second))
        spread = (residual * w[:, None]).T @ residual / max(float(w.sum()), 1e-300)
        error = 2.0 * float((spread**2).sum() * (inverse**2 @ (second**2 - fourth)))
        prior_rows = math.inf
        if products > CLEARLY * math.sqrt(max(error, 0.0)) and pairs > 0.0:
            between = products / pairs
            within = float(np.trace(spread)) - between
            prior_rows = max(1.0, within / between)
        return Deviations(_shrunk(sums, count, prior_rows), count, mean, prior_rows), residual

    def left_out(self, rows: Array) -> FloatArray:
        """Deviations (n, outcomes) for every row, of the level by other groups of some rows."""
        deviations, residual = self.deviations(rows)
        if math.isinf(deviations.prior_rows):
            return np.zeros_like(self.outcome)
        at = np.flatnonzero(self.there & rows)
        w = self.weight[at]
        sums = np.column_stack([self._of_others(at, w * one) for one in residual.T])
        return _shrunk(sums, self._of_others(at, w), deviations.prior_rows)


def _shrunk(sums: FloatArray, count: FloatArray, prior_rows: float) -> FloatArray:
    """Sums of residuals as deviations; 0 where nothing is known."""
    if math.isinf(prior_rows):
        return np.zeros_like(sums)
    deviations: FloatArray = sums / (count + prior_rows)[:, None]
    return deviations


def _direction(deviations: Deviations, near: FloatArray | None = None) -> FloatArray:
    """Direction in which the outcomes of levels vary most; of a single outcome, its own."""
    if deviations.mean.size == 1:
        return np.ones(1)
    second = (deviations.levels * deviations.weight[:, None]).T @ deviations.levels
    first: FloatArray = np.linalg.eigh(second)[1][:, -1]
    along = first[np.argmax(np.abs(first))] if near is None else first @ near
    return -first if along < 0.0 else first


class MeanColumn:
    """A column of many levels: its bins, and the codes of the training rows in any member.

    Parameters
    ----------
    means : LevelMeans
    n_bins : int
        Bins, as for a column of numbers.
    labels : sequence, optional
        What the numbers of levels stand for.
    """

    def __init__(self, means: LevelMeans, n_bins: int, labels: Sequence[Any] | None) -> None:
        self.means = means
        every = np.ones(means.slot.size, dtype=bool)
        deviations, _ = means.deviations(every)
        self.direction = _direction(deviations)
        # The same number for all members, so that rows of unknown levels have one code.
        self.prior = float(deviations.mean @ self.direction)
        self.unit = SAME * (float(np.abs(deviations.levels).max(initial=0.0)) or 1.0)
        plain = bin_column(self._placed(every), means.weight, n_bins)
        texts = None if labels is None else tuple(labels[int(v)] for v in means.values)
        own = {one.name: getattr(plain, one.name) for one in fields(plain)}
        self.bins = MeanBins(
            **own,
            values=means.values,
            means=self._along(deviations.levels, self.direction),
            prior=self.prior,
            labels=texts,
        )

    def _placed(self, rows: Array) -> FloatArray:
        """The mean of every row's level by other groups of some rows; NaN where it is missing."""
        direction = self.direction
        if direction.size > 1:
            direction = _direction(self.means.deviations(rows)[0], direction)
        placed = self._along(self.means.left_out(rows), direction)
        placed[self.means.missing] = np.nan
        return placed

    def _along(self, deviations: FloatArray, direction: FloatArray) -> FloatArray:
        """Means on a direction, those that differ by rounding only being equal."""
        steps: FloatArray = np.round(deviations @ direction / self.unit)
        return self.prior + self.unit * steps

    def codes(self, rows: Array) -> Array:
        """Codes of all training rows for a member that is fitted to some rows, a mask."""
        return ColumnBins.codes(self.bins, self._placed(rows))


def row_groups(folds: Sequence[Fold], n: int, groups: IntArray | None, seed: int) -> IntArray:
    """Group of each row whose rows never count for each other: the fold that leaves it out.

    The rows of two folds are halved, as a member of two has but one other fold.
    """
    group = np.full(n, len(folds), dtype=np.int64)
    for k, fold in enumerate(folds):
        group[fold.test] = k
    if len(folds) < 3:
        side = np.random.default_rng(seed).integers(2, size=n) if groups is None else groups % 2
        group = 2 * group + side
    return group


@dataclass(frozen=True)
class ColumnQuestion:
    """The values of some columns of rows, which their workers read."""

    columns: tuple[int, ...]

    def answer(self, matrix: Any, rows: None, weight: None) -> list[FloatArray]:
        """The columns of one shard as floats."""
        wanted = {}
        for j, values in enumerate(column_values(matrix)):
            if j in self.columns:
                wanted[j] = np.array(values, dtype=np.float64)
        return [wanted[j] for j in self.columns]


def mean_columns(
    matrix: Any,
    categories: Mapping[int, Sequence[Any] | None],
    outcome: FloatArray,
    weight: FloatArray | None,
    group: IntArray,
    n_bins: int,
) -> dict[int, MeanColumn]:
    """The categories with more levels than there are codes, by number.

    Parameters
    ----------
    matrix : (n, d) matrix
    categories : mapping
        Columns of categories by number, with the labels of their numbers.
    outcome, weight, group, n_bins
        As in `LevelMeans` and `MeanColumn`.
    """
    columns = {}
    mass = np.ones(matrix.shape[0]) if weight is None else weight
    question = ColumnQuestion(tuple(categories))
    if in_shards(matrix):
        parts = matrix.holder.ask("answer", question, None, None)
        lines = [np.concatenate(one) for one in zip(*parts, strict=True)]
    else:
        lines = question.answer(matrix, None, None)
    for j, values in zip(categories, lines, strict=True):
        means = LevelMeans(values, outcome, mass, group)
        if means.size > MAX_VALUE_CODES:
            columns[j] = MeanColumn(means, n_bins, categories[j])
    return columns


@dataclass(frozen=True, eq=False)
class MeanTask(Task):
    """A task whose members have codes of their own in the columns of many levels.

    Parameters
    ----------
    means : sequence of MeanColumn
    """

    means: Sequence[MeanColumn] = ()

    @cached_property
    def _codes(self) -> list[tuple[Any, Array]]:
        """The book of each column, and the codes of all rows."""
        return [(one.bins.book, one.codes(self.weight > 0.0)) for one in self.means]

    def coded(self, matrix: Any) -> Any:
        """Columns with the member's own codes."""
        if isinstance(matrix, SideBySide):
            return matrix.with_first(self.coded(matrix.first))
        lines = {
            j: codes
            for j, book in enumerate(matrix.books)
            for mine, codes in self._codes
            if book is mine
        }
        return matrix.with_codes(lines) if lines else matrix

    def problem(
        self, matrix: Columns, penalty: Penalty, shift: FloatArray | None = None
    ) -> Problem:
        """The problem on the member's own codes."""
        return super().problem(self.coded(matrix), penalty, shift)

    def solve(
        self, problem: Problem, w0: FloatArray | None = None, leading: Coded | None = None
    ) -> Solution:
        """Minimise a problem, as `Task.solve`."""
        own = None if leading is None else self.coded(leading)
        return super().solve(problem, w0, own)
