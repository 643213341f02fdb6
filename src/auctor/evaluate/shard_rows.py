"""What a report reads of rows in shards: some rows, the moments of columns, and their range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.core.types import FloatArray, IntArray
from auctor.data import Sharded
from auctor.data.matrices import dense_array, is_dense
from auctor.data.preparation import column_moments
from auctor.data.spread import PerShard
from auctor.tables.blocks import Block
from auctor.tables.schema import ColumnSummary
from auctor.tables.stats import ColumnStats


class ShardRows:
    """The rows to measure on, of which those at some positions can be read.

    Parameters
    ----------
    data : Sharded
    count : int
        Number of rows.
    known : dict from position to array
    """

    ndim = 2

    def __init__(self, data: Sharded, count: int, known: dict[int, FloatArray]) -> None:
        self.data, self.shape, self._known = data, (count, data.n_columns), known

    @classmethod
    def of(
        cls, data: Sharded, measured: IntArray, shown: IntArray, bins: Bins | None = None
    ) -> ShardRows:
        """The rows ``measured`` of all rows, read at the positions ``shown`` among them.

        Codes are values again by their ``bins``: the mean of the values of a code.
        """
        numbers = measured[shown]
        order = np.argsort(numbers)
        ends = np.cumsum([0, *data.holder.lengths])
        parts = np.split(numbers[order], np.searchsorted(numbers[order], ends[1:-1]))
        local = [part - start for part, start in zip(parts, ends[:-1], strict=True)]
        answers = np.concatenate(data.holder.ask("answer", RowQuestion(), PerShard(local), None))
        if bins is not None:
            answers = bins.values(answers.astype(np.uint8))
        return cls(data, measured.size, dict(zip(shown[order].tolist(), answers, strict=True)))

    def __getitem__(self, index: Any) -> FloatArray:
        """Some of the rows that were read, by position."""
        return np.array([self._known[int(k)] for k in index])

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every column, by two products with all rows."""
        share = np.full(self.data.n_rows, 1.0 / self.data.n_rows)
        mean = self.data.gradient(share)
        return mean, np.sqrt(np.maximum(self.data.square_gradient(share) - mean * mean, 0.0))


@dataclass(frozen=True)
class RowQuestion:
    """Some rows of a shard, which its worker reads."""

    def answer(self, matrix: Any, rows: IntArray, weight: None) -> FloatArray:
        """The rows as floats."""
        return dense_array(matrix[rows]).astype(np.float64)


@dataclass(frozen=True)
class FactsQuestion:
    """Count of missing values, minimum, maximum and mean of the columns of a shard."""

    def answer(self, matrix: Any, rows: None, weight: None) -> ColumnStats | None:
        """Statistics of a shard of dense rows; None of sparse ones, which have many columns."""
        if not is_dense(matrix):
            return None
        numbers = np.asarray(matrix, dtype=np.float64)
        stats = ColumnStats()
        stats.add(Block(numbers, np.empty((len(numbers), 0), np.int32), [], None))
        return stats


def column_summary(data: Sharded) -> Sequence[ColumnSummary]:
    """A summary of every column of dense rows, from one pass over the shards if it is not known."""
    if data.coding is not None:
        return [ColumnSummary(*one) for one in data.coding.get("columns", ())]
    answers = data.holder.ask("answer", FactsQuestion(), None, None)
    if any(one is None for one in answers):
        return ()
    total = ColumnStats()
    for one in answers:
        total.merge(one)
    names: Sequence[Any] = data.names or [f"column {j}" for j in range(data.n_columns)]
    return [total.number(str(name), k) for k, name in enumerate(names)]


def moments_of(matrix: Any) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the columns of a matrix, or of rows in shards."""
    return matrix.moments() if isinstance(matrix, ShardRows) else column_moments(matrix)
