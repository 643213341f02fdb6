"""Base class of data in memory: shape, target, threads and sums over blocks of rows.

Results do not depend on the number of threads: sums over rows are cut into blocks whose number
depends on the size of the data only, and the blocks are added in order.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from itertools import pairwise
from typing import Self

import numpy as np

from auctor.core.types import DuplicateRows, FloatArray, Target
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.runtime.parallel import SERIAL_WORK, available_threads, run_tasks

#: Least number of entries that a block of a reduction reads.
BLOCK_ENTRIES = 1 << 17
#: Least number of entries that a block reads per number it writes.
BLOCK_RATIO = 8
#: Most blocks of a reduction; each has its own copy of the result.
MOST_BLOCKS = 16


class InMemory(ABC):
    """Base class of dense, sparse and binned data."""

    def __init__(self, shape: tuple[int, int], target: Target, n_threads: int | None) -> None:
        self.n_rows, self.n_columns = int(shape[0]), int(shape[1])
        self.target = target
        self.n_threads = available_threads(n_threads)

    n_entries: int

    @abstractmethod
    def _cuts(self, parts: int) -> list[int]:
        """Ends of ``parts`` ranges of stored rows that hold about as many entries each."""

    def with_target(self, target: Target) -> Self:
        """The same matrix with another target; cached results are shared."""
        other = copy(self)
        other.target = target
        return other

    @cached_property
    def duplicate_rows(self) -> DuplicateRows:
        """Groups of equal rows, in an order that only depends on the rows' values.

        Rows are compared by a random projection; equal rows have equal projections, as every row is
        summed in the same order.
        """
        keys = self.scores(np.random.default_rng(0).random(self.n_columns) + 0.5)
        order = ascending_order(keys).astype(np.int64)
        keys = keys[order]
        return DuplicateRows(order, np.flatnonzero(np.append(True, keys[1:] != keys[:-1])))

    @abstractmethod
    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""

    @abstractmethod
    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""

    def several_scores(self, vectors: FloatArray) -> FloatArray:
        """``X @ vectors.T``, (n, K), for K vectors (K, d)."""
        return np.column_stack([self.scores(np.ascontiguousarray(one)) for one in vectors])

    def several_gradients(self, slopes: FloatArray) -> FloatArray:
        """``slopes.T @ X``, (K, d), for K vectors of slopes (n, K)."""
        return np.array([self.gradient(np.ascontiguousarray(one)) for one in slopes.T])

    def _map(self, task: Callable[[int, int], object]) -> None:
        """Run ``task(low, high)`` over disjoint ranges of stored rows."""
        parts = self.n_threads if self.n_entries > SERIAL_WORK else 1
        cuts = self._cuts(parts)
        run_tasks([partial(task, a, b) for a, b in pairwise(cuts)], parts)

    def _reduce(
        self, task: Callable[[FloatArray, int, int], float | None], shape: tuple[int, ...]
    ) -> tuple[FloatArray, float]:
        """Sum over blocks of what ``task(out, low, high)`` adds to ``out``, and of its results."""
        size = math.prod(shape)
        parts = max(1, self.n_entries // max(BLOCK_ENTRIES, BLOCK_RATIO * size))
        parts = min(MOST_BLOCKS, 1 << (parts.bit_length() - 1))  # a power of two splits evenly
        cuts = self._cuts(parts)
        outs = np.zeros((parts, *shape))
        totals = np.zeros(parts)

        def run(k: int) -> None:
            totals[k] = task(outs[k], cuts[k], cuts[k + 1]) or 0.0

        run_tasks([partial(run, k) for k in range(parts)], self.n_threads)
        return (outs[0] if parts == 1 else outs.sum(axis=0)), float(totals.sum())


def mirrored(upper: FloatArray) -> FloatArray:
    """The symmetric matrix of an upper triangle; the lower triangle must be zero."""
    full = upper + upper.T
    np.fill_diagonal(full, upper.diagonal())
    return full
