"""Products with several vectors in one pass over the rows of a matrix.

The K vectors are the rows of an array (K, d) for dense matrices. For sparse ones they are the
columns of an array (d, K), so that the K numbers that one entry is multiplied by are contiguous.
"""

from __future__ import annotations

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel


@fast_kernel
def dense_dots(rows: Array, vectors: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out[i, k] = rows[i] @ vectors[k]`` for rows low..high."""
    count, d = vectors.shape
    for i in range(low, high):
        row = rows[i]
        for k in range(count):
            vector = vectors[k]
            total = 0.0
            for j in range(d):
                total += row[j] * vector[j]
            out[i, k] = total


@fast_kernel
def dense_axpys(rows: Array, r: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out += r[low:high].T @ rows[low:high]``."""
    count, d = out.shape
    for i in range(low, high):
        row = rows[i]
        for k in range(count):
            rik = r[i, k]
            if rik != 0.0:
                line = out[k]
                for j in range(d):
                    line[j] += rik * row[j]


@fast_kernel
def gathers(
    indptr: Array,
    indices: Array,
    values: Array,
    vectors: FloatArray,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """``out[i] = row_i @ vectors`` for rows low..high of a sparse matrix."""
    count = vectors.shape[1]
    for i in range(low, high):
        total = out[i]
        total[:] = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            x, line = values[a], vectors[indices[a]]
            for k in range(count):
                total[k] += x * line[k]


@fast_kernel
def scatters(
    indptr: Array,
    indices: Array,
    values: Array,
    r: FloatArray,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """``out += rows[low:high].T @ r[low:high]`` for rows of a sparse matrix."""
    count = r.shape[1]
    for i in range(low, high):
        slope = r[i]
        for a in range(indptr[i], indptr[i + 1]):
            x, line = values[a], out[indices[a]]
            for k in range(count):
                line[k] += x * slope[k]
