"""Ridge regressions of the rows of a matrix on the factors of its columns."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel


@kernel
def ridge_rows(
    indptr: Array,
    indices: Array,
    values: FloatArray,
    other: FloatArray,
    strength: float,
    start: int,
    stop: int,
    out: FloatArray,
) -> None:
    """Row i of ``out`` minimises ``sum_j (values_ij - out_i' other_j)^2 + strength |out_i|^2``.

    The sum is over the stored entries j of row i; each row costs ``entries rank^2 + rank^3``. A row
    without entries becomes zero.
    """
    rank = other.shape[1]
    gram, right = np.empty((rank, rank)), np.empty(rank)
    for i in range(start, stop):
        gram[:] = 0.0
        right[:] = 0.0
        # Normal equations: gram = sum_j f_j f_j', right = sum_j x_ij f_j; lower triangle only.
        for at in range(indptr[i], indptr[i + 1]):
            factor, value = other[indices[at]], values[at]
            for a in range(rank):
                right[a] += value * factor[a]
                for b in range(a + 1):
                    gram[a, b] += factor[a] * factor[b]
        # Cholesky in place, then two triangular solves.
        for a in range(rank):
            for b in range(a + 1):
                total = gram[a, b] + (strength if a == b else 0.0)
                for k in range(b):
                    total -= gram[a, k] * gram[b, k]
                gram[a, b] = (
                    math.sqrt(max(total, SMALLEST_DIVISOR)) if a == b else total / gram[b, b]
                )
        for a in range(rank):
            for k in range(a):
                right[a] -= gram[a, k] * right[k]
            right[a] /= gram[a, a]
        for a in range(rank - 1, -1, -1):
            for k in range(a + 1, rank):
                right[a] -= gram[k, a] * right[k]
            right[a] /= gram[a, a]
        for a in range(rank):
            out[i, a] = right[a]


@fast_kernel
def entries_of_product(
    indptr: Array, indices: Array, left: FloatArray, right: FloatArray, out: FloatArray
) -> None:
    """Set ``out`` to ``left_i' right_j`` for every stored entry (i, j)."""
    rank = left.shape[1]
    for i in range(indptr.shape[0] - 1):
        for at in range(indptr[i], indptr[i + 1]):
            total = 0.0
            for k in range(rank):
                total += left[i, k] * right[indices[at], k]
            out[at] = total
