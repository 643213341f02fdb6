"""Products with some of the columns of a matrix, and with its rows by way of columns.

Columns are compressed, ``indptr`` and ``indices`` unsigned. A column that stores every row stores
them in order, so it is read without its indices. Letters: h weights of the rows, z a multiplier.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray
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
    """Set the entries of ``out`` to zero in the rows that column j stores."""
    start, stop = indptr[j], indptr[j + 1]
    if stop - start == out.shape[0]:
        out[:] = 0.0
    else:
        for k in range(start, stop):
            out[indices[k]] = 0.0


@kernel
def dots(
    indptr: Array, indices: Array, values: Array, columns: IntArray, r: FloatArray, out: FloatArray
) -> None:
    """``out[k] = X[:, chosen[k]] @ r``."""
    for k in range(columns.shape[0]):
        out[k] = column_dot(indptr, indices, values, columns[k], r)


@kernel
def dots_at(
    indptr: Array, indices: Array, values: Array, columns: IntArray, r: FloatArray, out: FloatArray
) -> None:
    """``out[j] = X[:, j] @ r`` for the chosen columns j."""
    for j in columns:
        out[j] = column_dot(indptr, indices, values, j, r)


@fast_kernel
def slope_products(
    slopes: FloatArray, inverse: FloatArray, u: FloatArray, out: FloatArray
) -> float:
    """Set ``out[k] = slopes[k] @ (inverse * u)`` and return ``u @ (inverse * u)``.

    Rows are taken in strips, so that ``inverse * u`` is computed once and read from the cache.
    """
    n, strip = u.shape[0], 1024
    buffer = np.empty(strip)
    out[:] = 0.0
    own = 0.0
    for low in range(0, n, strip):
        size = min(strip, n - low)
        for i in range(size):
            buffer[i] = inverse[low + i] * u[low + i]
        # A separate loop: combined with the one that stores, whether it vectorises depends on
        # addresses.
        for i in range(size):
            own += buffer[i] * u[low + i]
        for k in range(slopes.shape[0]):
            slope, total = slopes[k, low : low + size], 0.0
            for i in range(size):
                total += slope[i] * buffer[i]
            out[k] += total
    return own


@kernel
def project_on_span(
    gram: FloatArray, products: FloatArray, own: float, pulled: FloatArray, out: FloatArray
) -> float:
    """Project a vector on the span of others, given inner products; return the squared distance.

    ``gram`` holds the products of the spanning vectors with each other, ``products`` those with the
    projected vector and ``own`` its squared norm. ``out`` gets ``sum_k mix_k pulled[k]`` with the
    coefficients ``mix`` of the projection. Gaussian elimination needs no pivots, as the matrix is
    positive definite; a vector in the span of those before it gets the coefficient 0. A bound on
    the rounding error is added to the distance.
    """
    size = products.shape[0]
    a, mix = gram[:size, :size].copy(), products.copy()
    for k in range(size):
        # A pivot of a few hundred machine epsilons: vector k depends on those before it.
        if a[k, k] <= 1e-13 * gram[k, k]:
            a[k, :], a[:, k], a[k, k], mix[k] = 0.0, 0.0, 1.0, 0.0
        for i in range(k + 1, size):
            z = a[i, k] / a[k, k]
            mix[i] -= z * mix[k]
            for j in range(k, size):
                a[i, j] -= z * a[k, j]
    # Back substitution.
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            mix[k] -= a[k, j] * mix[j]
        mix[k] /= a[k, k]
    out[:] = 0.0
    # |u - sum_k mix_k v_k|^2 = own - 2 mix . products + mix' gram mix.
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
def unscreened_columns(
    indptr: Array,
    estimate: FloatArray,
    far: float,
    reach: FloatArray,
    w: FloatArray,
    l1: FloatArray,
    out: IntArray,
) -> tuple[int, int, int]:
    """List in ``out`` the non-zero columns and those that the screening test cannot exclude.

    A column at 0 stays there if its gradient is below ``l1`` in absolute value. ``estimate`` is the
    gradient at a nearby point; it is off by at most ``far * reach_j``. Returns the number of
    listed columns, their stored entries, and the stored entries of those at 0.
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
    columns: IntArray,
    z: FloatArray,
    ones: FloatArray,
    out: FloatArray,
) -> None:
    """``out += X[:, chosen] @ z``."""
    for k in range(columns.shape[0]):
        if z[k] != 0.0:
            column_add(indptr, indices, values, columns[k], z[k], ones, out)


@kernel
def densify(
    indptr: Array, indices: Array, values: Array, columns: IntArray, out: FloatArray
) -> None:
    """Chosen columns as rows of a dense array of zeros."""
    for k in range(columns.shape[0]):
        j = columns[k]
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
        # buffer = h * X[:, right[b]]; only its non-zeros are cleared afterwards.
        column_add(indptr, indices, values, right[b], 1.0, h, buffer)
        for a in range(left.shape[0]):
            out[a, b] = column_dot(indptr, indices, values, left[a], buffer)
        column_clear(indptr, indices, right[b], buffer)


def products(
    columns: CompressedColumns, h: FloatArray, left: IntArray, right: IntArray
) -> FloatArray:
    """``X[:, left].T @ diag(h) @ X[:, right]``; dense copies and BLAS from 30 % of non-zeros."""
    n = h.shape[0]
    # Below that density the compiled loops over non-zeros are faster than BLAS.
    entries = int((columns.indptr[left + 1] - columns.indptr[left]).sum())
    if entries < 0.3 * n * left.size:
        out = np.empty((left.size, right.size))
        sparse_products(*columns, h, left, right, out)
        return out
    one = np.zeros((left.size, n))
    densify(*columns, left, one)
    if right is left:
        one *= np.sqrt(h)
        return one @ one.T  # recognised as a symmetric product
    two = np.zeros((right.size, n))
    densify(*columns, right, two)
    two *= h
    return one @ two.T


def row_products(columns: CompressedColumns, n: int, scale: FloatArray) -> FloatArray:
    """``X @ diag(scale) @ X.T`` for n rows, never forming a matrix of columns by columns."""
    d = scale.shape[0]
    # All entries stored: strips of columns of about 2 MB of float64, so that the copy stays in the
    # cache while BLAS reads it twice.
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
