"""What bins are cut by: the distinct values of a column if they are few, else a sample of its rows.

Both are the same wherever the rows are stored. Tables of distinct values are merged by adding them
up; the sample is that of the rows whose numbers have the smallest hash values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.columns import MAX_VALUE_CODES
from auctor.core.errors import DataError
from auctor.core.memory import check_memory
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.coerce import LARGEST, in_shards
from auctor.data.matrices import column_values
from auctor.data.sharded import Sharded
from auctor.data.spread import PerShard
from auctor.kernels.additive.values import few_values

#: Rows of the sample. The share of the rows below any cut is then wrong by at most .006, but for
#: one chance in a million (the inequality of Dvoretzky, Kiefer and Wolfowitz).
MOST_SAMPLED = 200_000
#: Copies of the values of a sample at a time: those of the parts, and those of all.
TABLES = 2
#: Rows whose numbers are hashed at a time.
CHUNK = 1 << 20


class ValueTable(NamedTuple):
    """Values of a column with their weights: distinct ones, NaN included, or those of a sample.

    Parameters
    ----------
    values, weight, rows : arrays
        Values, their weights, and the number of rows that have each.
    ends : (float, float), optional
        Range of all values, where these are those of a sample.
    """

    values: FloatArray
    weight: FloatArray
    rows: FloatArray
    ends: tuple[float, float] | None = None


def sampled_rows(n: int, most: int = MOST_SAMPLED) -> IntArray:
    """Numbers of the rows that a sample of n rows holds, increasing: all of them, or ``most``.

    Examples
    --------
    >>> sampled_rows(3).tolist(), sampled_rows(1000, most=3).size
    ([0, 1, 2], 3)
    """
    if n <= most:
        return np.arange(n)
    # Twice the expected number of rows below a first limit, so that enough are left.
    limit = np.uint64(min(2.0 * most / n, 1.0) * (2.0**64 - 2.0**12))
    numbers, hashes = [], []
    for low in range(0, n, CHUNK):
        row = np.arange(low, min(low + CHUNK, n), dtype=np.uint64)
        mixed = hashed(row)
        near = mixed < limit
        numbers.append(row[near])
        hashes.append(mixed[near])
    order = np.argsort(np.concatenate(hashes), kind="stable")[:most]
    return np.sort(np.concatenate(numbers)[order].astype(np.int64))


def hashed(number: Array) -> Array:
    """Hash values of 64-bit numbers (Steele, Lea and Flood's splitmix64)."""
    mixed = (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out: Array = mixed ^ (mixed >> np.uint64(31))
    return out


def distinct_values(values: Array, weight: FloatArray | None) -> ValueTable | None:
    """The distinct values of some rows, increasing; ``None`` if a column cannot have so many codes.

    Examples
    --------
    >>> distinct_values(np.array([2.0, 1.0, 2.0]), None).values
    array([1., 2.])
    """
    exact = np.where(np.isnan(values), np.nan, values.astype(np.float64)) + 0.0  # one zero, one NaN
    mass = np.ones(values.shape[0]) if weight is None else weight
    seen, sums = np.empty(MAX_VALUE_CODES + 1), np.zeros((2, MAX_VALUE_CODES + 1))
    count = few_values(exact, exact.view(np.uint64), mass, seen.size, seen, sums)
    if count < 0:
        return None
    order = np.argsort(seen[:count])
    return ValueTable(seen[:count][order], *sums[:, :count][:, order])


def merged(tables: Sequence[ValueTable | None], most: int | None) -> ValueTable | None:
    """The distinct values of all parts of the rows; ``None`` if they are more than ``most``."""
    known = [table for table in tables if table is not None]
    if len(known) < len(tables):
        return None
    values, slot = np.unique(np.concatenate([t.values for t in known]), return_inverse=True)
    if most is not None and values.size > most:
        return None
    weight, rows = (
        np.bincount(slot, np.concatenate([t[k] for t in known]), minlength=values.size)
        for k in (1, 2)
    )
    return ValueTable(values, weight.astype(np.float64), rows.astype(np.float64))


@dataclass(frozen=True)
class ValueQuestion:
    """What bins need to know of the rows of one shard, which the workers find out.

    Parameters
    ----------
    categories : frozenset of int
        Columns whose numbers stand for levels, all of which count.
    """

    categories: frozenset[int]

    def answer(
        self, matrix: Any, rows: IntArray, weight: FloatArray | None
    ) -> list[tuple[ValueTable | None, FloatArray, float, float]]:
        """For every column its distinct values if they are few, those of some rows, and its range.

        The range leaves missing values out; it is (inf, -inf) if all are missing.
        """
        return list(self.answers(matrix, rows, weight))

    def answers(
        self, matrix: Any, rows: IntArray, weight: FloatArray | None
    ) -> Iterator[tuple[ValueTable | None, FloatArray, float, float]]:
        """The same, a column at a time: the values of one column are in memory."""
        for j, values in enumerate(column_values(matrix)):
            levels = j in self.categories
            table = all_values(values, weight) if levels else distinct_values(values, weight)
            there = values[~np.isnan(values)]
            ends = (there.min(), there.max()) if there.size else (np.inf, -np.inf)
            some = np.empty(0) if levels else np.asarray(values[rows], dtype=np.float64)
            yield table, some, float(ends[0]), float(ends[1])


def all_values(values: Array, weight: FloatArray | None) -> ValueTable:
    """All distinct values of a column, NaN included."""
    mass = np.ones(values.shape[0]) if weight is None else weight
    kept = mass > 0.0
    distinct, slot = np.unique(np.asarray(values[kept], dtype=np.float64), return_inverse=True)
    sums = np.bincount(slot, mass[kept], minlength=distinct.size).astype(np.float64)
    return ValueTable(distinct, sums, np.bincount(slot, minlength=distinct.size).astype(np.float64))


def check_tables(rows: int, columns: int) -> None:
    """Refuse more columns than memory holds the values of a sample for."""
    check_memory(
        TABLES * 8 * rows * columns,
        f"values of {rows:,} rows of {columns:,} columns, of which bins are made",
        todo="Pass fewer columns, or use a machine with more memory.",
    )


def _check_ends(data: Sharded, answers: Sequence[Sequence[Any]]) -> None:
    """Refuse infinity and huge values of rows in shards, by shard and column."""
    for shard, columns in enumerate(answers):
        for j, (_, _, low, high) in enumerate(columns):
            largest = max(abs(low), abs(high)) if low <= high else 0.0
            if largest > LARGEST:
                name = f"number {j}" if data.names is None else repr(data.names[j])
                raise DataError(
                    f"entries that are missing, or below {LARGEST:g} in size",
                    got=f"{largest:g} in column {name} of shard {shard}",
                    todo="Correct these rows, or mark the entries as missing.",
                )


def value_tables(
    matrix: Any, weight: FloatArray | None, categories: Collection[int]
) -> Iterator[ValueTable]:
    """What the bins of every column are cut by, in order; ``matrix`` may be rows in shards.

    Rows in memory are read a column at a time, so that no second copy of them is made.
    """
    n = matrix.shape[0]
    rows, question = sampled_rows(n), ValueQuestion(frozenset(categories))
    mass = np.ones(rows.size) if weight is None else weight[rows]
    if not in_shards(matrix):
        if rows.size == n:  # all rows as they are
            for j, values in enumerate(column_values(matrix)):
                if j in categories:
                    yield all_values(values, weight)
                else:
                    yield ValueTable(np.asarray(values, dtype=np.float64), mass, np.ones(n))
            return
        answers: Sequence[Iterable[Any]] = [question.answers(matrix, rows, weight)]
    else:
        check_tables(rows.size, matrix.shape[1])
        ends = np.cumsum(matrix.holder.lengths)
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        local = [
            part - (end - size)
            for part, end, size in zip(parts, ends, matrix.holder.lengths, strict=True)
        ]
        weights = PerShard([None] * len(local)) if weight is None else matrix.holder.split(weight)
        found = matrix.holder.ask("answer", question, PerShard(local), weights)
        _check_ends(matrix, found)
        answers = found
    for j, column in enumerate(zip(*answers, strict=True)):
        table = merged([one[0] for one in column], None if j in categories else MAX_VALUE_CODES + 1)
        if table is None:
            values = np.concatenate([one[1] for one in column])
            ends_ = min(one[2] for one in column), max(one[3] for one in column)
            whole = rows.size == n
            table = ValueTable(values, mass, np.ones(rows.size), None if whole else ends_)
        yield table
