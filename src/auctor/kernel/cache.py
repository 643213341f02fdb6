"""Cache of rows of a kernel matrix, computed in blocks."""

from __future__ import annotations

from functools import partial

import numpy as np

from auctor.core.errors import ParameterError
from auctor.core.types import Array, IntArray
from auctor.kernel.points import Points, Strip, strips
from auctor.kernels.runtime.parallel import run_tasks


class RowCache:
    """Cache of rows of the kernel matrix of a set of points; the least recently used are evicted.

    Parameters
    ----------
    cache_bytes : int
        Memory of the cache, at least two rows.
    """

    def __init__(self, points: Points, cache_bytes: int, n_threads: int) -> None:
        row = points.size * points.dtype.itemsize
        capacity = cache_bytes // row
        if capacity < 2:
            raise ParameterError(
                f"`cache_bytes` of at least two rows, {2 * row}; got {cache_bytes}. Increase it."
            )
        self.points, self.n_threads = points, n_threads
        self.capacity = int(min(capacity, points.size))
        # The system assigns memory pages on first write, so an empty cache uses none.
        self.pool = np.empty((self.capacity, points.size), points.dtype)
        self.computed = 0
        self._slot = np.full(points.size, -1, dtype=np.int64)
        self._owner = np.full(self.capacity, -1, dtype=np.int64)
        self._used = np.zeros(self.capacity, dtype=np.int64)  # number of the last request of a slot
        self._request = 0

    def slots(self, index: IntArray) -> Array:
        """Slots in ``pool`` of the rows of at most ``capacity`` points; computes missing rows."""
        self._request += 1
        known = self._slot[index] >= 0
        self._used[self._slot[index[known]]] = self._request
        missing = np.unique(index[~known])
        if missing.size:
            # Oldest slots first: slots never used have 0, those of this request the largest number.
            taken = np.sort(np.argsort(self._used, kind="stable")[: missing.size])
            evicted = self._owner[taken]
            self._slot[evicted[evicted >= 0]] = -1
            self._owner[taken], self._slot[missing] = missing, taken
            self._used[taken] = self._request
            most = self.points.most_rows
            for first in range(0, missing.size, most):
                part = slice(first, first + most)
                self._compute(missing[part], taken[part])
            self.computed += missing.size
        return self._slot[index].astype(np.uint64)

    def _compute(self, index: IntArray, slots: IntArray) -> None:
        """Compute kernel rows into slots, a range of points per task."""
        strip = self.points.against(self.points.rows(index))
        ranges = strips(self.points.size, index.size)
        run_tasks([partial(self._fill, strip, slots, *r) for r in ranges], self.n_threads)

    def _fill(self, strip: Strip, slots: IntArray, start: int, stop: int) -> None:
        """Kernel values of some rows with a range of the points, written to the slots."""
        first, last = int(slots[0]), int(slots[-1])
        if last - first == slots.size - 1:  # contiguous slots: written without a copy
            strip(start, stop, self.pool[first : last + 1, start:stop])
            return
        values = np.empty((slots.size, stop - start), self.points.dtype)
        strip(start, stop, values)
        self.pool[slots, start:stop] = values
