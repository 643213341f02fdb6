"""Products with some of the columns of a matrix, and with its rows by way of columns.

Columns are compressed, ``indptr`` and ``indices`` unsigned; one that stores every row stores them
in order, so it is read without its indices. Letters: h weights of the rows, z a multiplier.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, Columns, FloatArray, IntArray
from auctor.kernels import linear
from auctor.kernels.compiled import fast_kernel, kernel


@fast_kernel
def column_dot(indptr: Array, indices: Array, values: Array, j: int, r: FloatArray) -> float:
    """``X[:, j] @ r``; a column that stores every row needs no indices."""
    start, stop = indptr[j], indptr[j + 1]
    total = 0.0
    if stop - start == r.shape[0]:
        column = values[start:stop]
        for i in range(r.shape[0]):
            total += column[i] * r[i]
    else:
        for k in range(start, stop):
            total += values[k] * r[indices[k]]
    return total


@fast_kernel
def column_add(
    indptr: Array, indices: Array, values: Array, j: int, z: float, h: FloatArray, out: FloatArray
) -> None:
    """``out += z h * X[:, j]``."""
    start, stop = indptr[j], indptr[j + 1]
    if stop - start == out.shape[0]:
        column = values[start:stop]
        for i in range(out.shape[0]):
            out[i] += z * h[i] * column[i]
    else:
        for k in range(start, stop):
            i = indices[k]
            out[i] += z * h[i] * values[k]


@kernel
def column_clear(indptr: Array, indices: Array, j: int, out: FloatArray) -> None:
    """Zero where column j has entries."""
    start, stop = indptr[j], indptr[j + 1]
    if stop - start == out.shape[0]:
        out[:] = 0.0
    else:
        for k in range(start, stop):
            out[indices[k]] = 0.0


@kernel
def dots(
    indptr: Array, indices: Array, values: Array, chosen: IntArray, r: FloatArray, out: FloatArray
) -> None:
    """``out[k] = X[:, chosen[k]] @ r``."""
    for k in range(chosen.shape[0]):
        out[k] = column_dot(indptr, indices, values, chosen[k], r)


@kernel
def combine(
    indptr: Array,
    indices: Array,
    values: Array,
    chosen: IntArray,
    z: FloatArray,
    ones: FloatArray,
    out: FloatArray,
) -> None:
    """``out += X[:, chosen] @ z``."""
    for k in range(chosen.shape[0]):
        if z[k] != 0.0:
            column_add(indptr, indices, values, chosen[k], z[k], ones, out)


@kernel
def spread(indptr: Array, indices: Array, values: Array, chosen: IntArray, out: FloatArray) -> None:
    """Chosen columns as rows of a dense array of zeros."""
    for k in range(chosen.shape[0]):
        j = chosen[k]
        start, stop = indptr[j], indptr[j + 1]
        if stop - start == out.shape[1]:
            out[k] = values[start:stop]
        else:
            for s in range(start, stop):
                out[k, indices[s]] = values[s]


@kernel
def sparse_products(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    left: IntArray,
    right: IntArray,
    out: FloatArray,
) -> None:
    """``out[a, b] = X[:, left[a]] @ (h * X[:, right[b]])``."""
    buffer = np.zeros(h.shape[0])
    for b in range(right.shape[0]):
        column_add(indptr, indices, values, right[b], 1.0, h, buffer)
        for a in range(left.shape[0]):
            out[a, b] = column_dot(indptr, indices, values, left[a], buffer)
        column_clear(indptr, indices, right[b], buffer)


def products(columns: Columns, h: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """``X[:, left].T @ diag(h) @ X[:, right]``, through BLAS where columns are dense."""
    n = h.shape[0]
    entries = int((columns.indptr[left + 1] - columns.indptr[left]).sum())
    if entries < 0.3 * n * left.size:
        out = np.empty((left.size, right.size))
        sparse_products(*columns, h, left, right, out)
        return out
    one = np.zeros((left.size, n))
    spread(*columns, left, one)
    if right is left:
        one *= np.sqrt(h)
        return one @ one.T  # recognised as a symmetric product
    two = np.zeros((right.size, n))
    spread(*columns, right, two)
    two *= h
    return one @ two.T


def row_products(columns: Columns, n: int, scale: FloatArray) -> FloatArray:
    """``X @ diag(scale) @ X.T`` for n rows, never forming a matrix of columns by columns."""
    d = scale.shape[0]
    if columns.values.size == n * d:
        lines = columns.values.reshape(d, n)
        out = np.zeros((n, n))
        size = max(1, (1 << 18) // n)
        for low in range(0, d, size):
            strip = lines[low : low + size].astype(np.float64)
            out += strip.T @ (strip * scale[low : low + size, None])
        return out
    upper = np.zeros((n, n))
    linear.gram_upper(*columns, scale, upper, 0, d)
    return np.triu(upper) + np.triu(upper, 1).T
