"""Products with some of the columns of a matrix, and with its rows by way of columns.

Columns are compressed, ``indptr`` and ``indices`` unsigned; one that stores every row stores them
in order, so it is read without its indices. Letters: h weights of the rows, z a multiplier.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, Columns, FloatArray, IntArray
from auctor.kernels.linalg import products as linear
from auctor.kernels.runtime.compiled import fast_kernel, kernel


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
def dots_at(
    indptr: Array, indices: Array, values: Array, chosen: IntArray, r: FloatArray, out: FloatArray
) -> None:
    """``out[j] = X[:, j] @ r`` for the chosen columns j."""
    for j in chosen:
        out[j] = column_dot(indptr, indices, values, j, r)


@fast_kernel
def slope_products(
    slopes: FloatArray, inverse: FloatArray, u: FloatArray, out: FloatArray
) -> float:
    """``out[k] = slopes[k] @ (inverse * u)``; returns ``u @ (inverse * u)``."""
    n, strip = u.shape[0], 1024
    buffer = np.empty(strip)
    out[:] = 0.0
    own = 0.0
    for low in range(0, n, strip):
        size = min(strip, n - low)
        for i in range(size):
            buffer[i] = inverse[low + i] * u[low + i]
        # Apart from the loop that stores: whether that one vectorises may depend on addresses.
        for i in range(size):
            own += buffer[i] * u[low + i]
        for k in range(slopes.shape[0]):
            slope, total = slopes[k, low : low + size], 0.0
            for i in range(size):
                total += slope[i] * buffer[i]
            out[k] += total
    return own


@kernel
def nearest(
    gram: FloatArray, products: FloatArray, own: float, pulled: FloatArray, out: FloatArray
) -> float:
    """Nearest combination of vectors by their products, applied to ``pulled``; squared distance.

    Gaussian elimination without pivots, as the matrix is positive definite; a vector that is a
    combination of those before it is left out. Rounding is added to the distance.
    """
    size = products.shape[0]
    a, mix = gram[:size, :size].copy(), products.copy()
    for k in range(size):
        if a[k, k] <= 1e-13 * gram[k, k]:
            a[k, :], a[:, k], a[k, k], mix[k] = 0.0, 0.0, 1.0, 0.0
        for i in range(k + 1, size):
            z = a[i, k] / a[k, k]
            mix[i] -= z * mix[k]
            for j in range(k, size):
                a[i, j] -= z * a[k, j]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            mix[k] -= a[k, j] * mix[j]
        mix[k] /= a[k, k]
    out[:] = 0.0
    square, noise = own, own
    for k in range(size):
        noise += mix[k] * mix[k] * gram[k, k]
        square -= 2.0 * mix[k] * products[k]
        for i in range(size):
            square += mix[k] * mix[i] * gram[k, i]
        for j in range(out.shape[0]):
            out[j] += mix[k] * pulled[k, j]
    return max(square, 0.0) + 1e-13 * noise


@kernel
def not_enclosed(
    indptr: Array,
    estimate: FloatArray,
    far: float,
    reach: FloatArray,
    w: FloatArray,
    l1: FloatArray,
    out: IntArray,
) -> tuple[int, int, int]:
    """Columns that are not at 0, and then those at 0 that ``estimate`` may leave above l1.

    An estimate is off by at most ``far`` times the reach of its column. Lists them in ``out``;
    returns their number, their entries, and the entries of the latter.
    """
    count, entries, resting = 0, 0, 0
    for j in range(w.shape[0]):
        if w[j] != 0.0 or abs(estimate[j]) + far * reach[j] >= l1[j]:
            out[count] = j
            count += 1
            size = int(indptr[j + 1] - indptr[j])
            entries += size
            resting += size if w[j] == 0.0 else 0
    return count, entries, resting


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
