"""Why a row scores above a baseline: the columns whose parts of the score are largest.

A score is the intercept plus a part for each column of the table, and for each pair of columns of
an additive model. Minus the parts of a baseline, these parts say how much each column raises the
score of a row; their sum and the score of the baseline are the score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auctor.core.checks import check_choice, check_int, meant
from auctor.core.errors import DataError, ParameterError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.coerce import in_shards
from auctor.data.matrices import compressed_rows, dense_array, is_dense
from auctor.kernels.linalg.reasons import dense_reasons, sparse_reasons
from auctor.kernels.runtime.parallel import available_threads, run_tasks
from auctor.tables.schema import Column

#: What rows are compared with: the mean of the training rows, or the lowest score that the columns
#: can give, each for itself, which is the best one where the positive class is the bad event.
BASELINES = ("mean", "best")
#: Rows that a kernel takes at a time, so that their numbers stay in the second-level cache.
BLOCK_ROWS = 2048
#: Share of the training rows up to which a category without a level counts as one they lack.
NO_ROWS = 1e-12

#: The values of a column, or of a pair, in some rows: numbers, text, or ``None`` where missing.
Shown: TypeAlias = Callable[[IntArray], Sequence[Any]]


class ColumnRanges(NamedTuple):
    """Mean (by weight), minimum and maximum of each column over the training rows."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


class Part(NamedTuple):
    """A summand of scores: its name, and the values of its column in some rows of a matrix."""

    name: str
    shown: Shown


@dataclass(frozen=True, eq=False)
class Reasons:
    """The columns that raise the score of each row most, the strongest first.

    ``baseline + parts.sum(axis=1) + rest`` are the scores: those of `decision_function` for the
    positive class, or the scores of a regression.

    Parameters
    ----------
    columns : (n, k) array
        Number of each reason in ``all_names``; beyond the last one where fewer than k columns raise
        the score.
    parts : (n, k) array
        What the columns add to the score, compared with the baseline; above 0, then 0.
    baseline : float
        Score of the baseline.
    rest : (n,) array
        Sum of the parts of all other columns.
    all_names : sequence of str
        Names of the columns and pairs.
    texts : mapping
        Texts of columns and pairs, by name.

    Attributes
    ----------
    names : (n, k) array of str
        The columns and pairs; "" where fewer than k raise the score.
    values : (n, k) array of objects
        Their values, as the model reads them; ``None`` where missing.
    sentences : (n, k) array of str
        The texts of the columns, by default their names.
    """

    columns: Array = field(repr=False)
    parts: FloatArray
    baseline: float
    rest: FloatArray
    all_names: Sequence[str] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)
    _shown: Sequence[Shown] = field(repr=False)

    @property
    def scores(self) -> FloatArray:
        """The scores of the rows."""
        total: FloatArray = self.baseline + self.parts.sum(axis=1) + self.rest
        return total

    @property
    def names(self) -> Array:
        """Names of the columns."""
        return np.array([*self.all_names, ""], dtype=object)[self.columns]

    @property
    def sentences(self) -> Array:
        """Texts of the columns; their names where they have none."""
        words = [self.texts.get(name, name) for name in self.all_names]
        return np.array([*words, ""], dtype=object)[self.columns]

    @cached_property
    def values(self) -> Array:
        """Values of the columns."""
        out = np.full(self.columns.shape, None, dtype=object)
        flat = out.ravel()
        k = self.parts.shape[1]
        order = np.argsort(self.columns, axis=None, kind="stable")
        ends = np.searchsorted(self.columns.ravel()[order], np.arange(len(self._shown) + 1))
        for shown, (start, stop) in zip(self._shown, pairwise(ends), strict=True):
            if stop > start:
                places = order[start:stop]
                entries = np.empty(places.size, dtype=object)
                entries[:] = shown(places // k)
                flat[places] = entries
        return out


def check_reasons(
    k: object, baseline: object, texts: Mapping[str, str], names: Sequence[str]
) -> int:
    """The number of reasons; raises for another baseline and for texts of unknown columns."""
    check_choice("baseline", baseline, BASELINES)
    unknown = [name for name in texts if name not in names]
    if unknown:
        raise ParameterError(
            f"texts of columns, or pairs, of the model; got {unknown[0]!r}. "
            f"{meant(unknown[0], names)}Pass the names in the model."
        )
    return check_int("k", k, low=1)


#: A kernel on rows start to stop, which fills three arrays: columns, parts, rest.
Work: TypeAlias = Callable[[int, int, Array, FloatArray, FloatArray], object]


def gathered(
    work: Work,
    n: int,
    k: int,
    baseline: float,
    parts: Sequence[Part],
    texts: Mapping[str, str],
    n_threads: int | None,
) -> Reasons:
    """Reasons of n rows, block by block."""
    which = np.full((n, k), len(parts), dtype=np.uint32)
    largest, rest = np.zeros((n, k)), np.zeros(n)
    starts = range(0, n, BLOCK_ROWS)

    def block(start: int) -> None:
        rows = slice(start, min(start + BLOCK_ROWS, n))
        work(rows.start, rows.stop, which[rows], largest[rows], rest[rows])

    run_tasks([partial(block, start) for start in starts], available_threads(n_threads))
    return Reasons(
        which,
        largest,
        baseline,
        rest,
        [part.name for part in parts],
        texts,
        [part.shown for part in parts],
    )


# --- linear models --------------------------------------------------------------------------------


def linear_reasons(
    matrix: Any,
    coef: FloatArray,
    intercept: float,
    ranges: ColumnRanges | None,
    columns: Sequence[Column],
    k: object,
    baseline: str,
    texts: Mapping[str, str] = MappingProxyType({}),
    n_threads: int | None = None,
) -> Reasons:
    """Reasons of a linear model.

    Parameters
    ----------
    coef : (d,) array
        Weights of the score of the positive class.
    ranges : ColumnRanges
        Of the training rows.
    columns : sequence of Column
        The columns of the table, each of which owns one column of the matrix or several.
    k, baseline, texts
        As in `auctor.fit.model.LinearBase.reasons`.
    """
    names = [column.name for column in columns]
    count = check_reasons(k, baseline, texts, names)
    if in_shards(matrix):
        raise DataError("rows in memory for reasons; got shards. Pass an array or a table of rows.")
    ranges = known_ranges(ranges)
    starts = np.append(0, np.cumsum([column.width for column in columns])).astype(np.uint32)
    base = baseline_parts(coef, ranges, columns, baseline)
    parts = [
        Part(name, partial(_shown, matrix, column, int(start)))
        for name, column, start in zip(names, columns, starts, strict=False)
    ]
    work = (_on_dense if is_dense(matrix) else _on_sparse)(matrix, coef, starts, base)
    total = intercept + float(base.sum())
    return gathered(work, matrix.shape[0], count, total, parts, texts, n_threads)


def known_ranges(ranges: ColumnRanges | None) -> ColumnRanges:
    """The ranges of a linear model; raises if it has none."""
    if ranges is None:
        raise DataError(
            "the means of the training rows for reasons; got a model without them: of a stream, of "
            "shards, or from a file of an older version. Fit the model again, to rows in memory."
        )
    return ranges


def baseline_parts(
    coef: FloatArray, ranges: ColumnRanges, columns: Sequence[Column], baseline: str
) -> FloatArray:
    """What each column of the table adds to the score of the baseline."""
    ends = np.cumsum([column.width for column in columns])
    mean = coef * ranges.mean
    least = np.minimum(coef * ranges.low, coef * ranges.high)
    base = np.zeros(len(columns))
    for p, (column, stop) in enumerate(zip(columns, ends.tolist(), strict=True)):
        own = slice(stop - column.width, stop)
        if baseline == "mean" or not column.width:
            base[p] = mean[own].sum()
        elif column.words or column.kind != "category":  # a row has any of its words
            base[p] = least[own].sum()
        else:  # one level, or none if some training rows have none
            levels = coef[own][ranges.high[own] > 0.0].tolist()
            none = ranges.mean[own].sum() < 1.0 - NO_ROWS
            base[p] = min([*levels, 0.0] if none else levels)
    return base


def _on_dense(matrix: Any, coef: FloatArray, starts: Array, base: FloatArray) -> Work:
    def work(start: int, stop: int, *out: Any) -> None:
        rows = np.ascontiguousarray(matrix[start:stop], dtype=np.float64)
        dense_reasons(rows, coef, starts, base, *out)

    return work


def _on_sparse(matrix: Any, coef: FloatArray, starts: Array, base: FloatArray) -> Work:
    owner = np.repeat(np.arange(base.size, dtype=np.uint32), np.diff(starts))
    rows = compressed_rows(matrix)
    indices = rows.indices.view(np.uint32 if rows.indices.itemsize == 4 else np.uint64)
    order = np.argsort(base, kind="stable").astype(np.uint32)

    def work(start: int, stop: int, *out: Any) -> None:
        ends = rows.indptr[start : stop + 1]
        sparse_reasons(rows.data, indices, ends, coef, owner, base, order, *out)

    return work


def _shown(matrix: Any, column: Column, start: int, rows: IntArray) -> Sequence[Any]:
    """The values of a column of a table in some rows of the matrix."""
    part = dense_array(matrix[rows][:, start : start + column.width])
    if column.kind != "category" or column.numbered:
        return of_kind(column.kind, part[:, 0].astype(np.float64))
    names = column.levels or [*map(str, range(column.width))]
    # A row has one level or none, or any number of words.
    shown_names = [[names[k] for k in np.flatnonzero(one).tolist()] for one in part]
    return [", ".join(one) or None for one in shown_names]


def of_kind(kind: str, numbers: FloatArray) -> Sequence[Any]:
    """Numbers of a column as they are in a table: dates as text, missing ones as ``None``."""
    values: list[Any] = [None if value != value else value for value in numbers.tolist()]
    return [_date(value) for value in values] if kind == "date" else values


def _date(days: float | None) -> str | None:
    """The date of a number of days since 1 January 1970, with its time if it has one."""
    if days is None:
        return None
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
    except OverflowError:
        return f"day {days:g}"
    return when.date().isoformat() if days == round(days) else when.isoformat(timespec="seconds")
