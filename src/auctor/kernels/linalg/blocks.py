"""Inner products of compressed rows with a block of dense rows: a block of a kernel matrix."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array
from auctor.kernels.runtime.compiled import fast_kernel

#: Rows whose products are buffered before they are written.
TILE = 16


@fast_kernel
def products_with_block(
    indptr: Array,
    indices: Array,
    values: Array,
    offset: Array,
    block: Array,
    block_offset: Array,
    start: int,
    stop: int,
    out: Array,
) -> None:
    """``out[j, i - start] = <row i, column j of block> + offset_i + block_offset_j``.

    For the rows i from ``start`` to ``stop``. ``block`` is (columns, size): the products of one
    entry of a row with the whole block are one contiguous loop. The products of `TILE` rows are
    buffered and then transposed into ``out``.
    """
    size = block.shape[1]
    tile = np.empty((TILE, size), out.dtype)
    for first in range(start, stop, TILE):
        count = min(TILE, stop - first)
        for t in range(count):
            sums = tile[t]
            for j in range(size):
                sums[j] = offset[first + t] + block_offset[j]
            for at in range(indptr[first + t], indptr[first + t + 1]):
                value, column = values[at], block[indices[at]]
                for j in range(size):
                    sums[j] += value * column[j]
        for j in range(size):
            for t in range(count):
                out[j, first - start + t] = tile[t, j]
