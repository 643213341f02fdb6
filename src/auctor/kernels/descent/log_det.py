"""Coordinate descent on the Newton model of a log-determinant, one row of the matrix at a time.

The model of ``-log det X + tr(S X)`` around X, with ``W = X^-1`` and a symmetric step D, is::

    tr((S - W) D) + 1/2 tr(W D W D)

so that along one pair ``D_ij = D_ji`` it is a parabola whose slope is ``S_ij - W_ij + (W D W)_ij``
and whose curvature is ``W_ij^2 + W_ii W_jj`` (``W_ii^2`` on the diagonal), both once for each of
the two entries off the diagonal. ``U = D W`` is kept up to date.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel, kernel

#: ``(W D W)_ij`` of the free pairs, as a function of the step on them.
Product = Callable[[FloatArray], FloatArray]


@inline_kernel
def soft_step(c: float, slope: float, curve: float, l1: float) -> float:
    """Change of an entry c that minimises ``slope z + curve z^2 / 2 + l1 |c + z|``."""
    v = c - slope / curve
    size = abs(v) - l1 / curve
    if size <= 0.0:
        return -c
    return (size if v > 0.0 else -size) - c


@fast_kernel
def descend_rows(
    S: FloatArray,
    W: FloatArray,
    X: FloatArray,
    l1: FloatArray,
    indptr: Array,
    indices: Array,
    D: FloatArray,
    U: FloatArray,
    passes: int,
    inner: int,
    tiny: float,
) -> float:
    """Passes of coordinate descent over the free pairs; returns the last pass's largest change.

    ``indptr, indices`` list the free columns ``j >= i`` of every row, ``D`` holds the step of these
    pairs in the same order, ``l1`` their penalties, ``U = D W``. The pairs of a row are visited
    ``inner`` times before the next row: their slopes ``t_j = (W D W)_ij`` are read from U once, and
    then cost one product for each free pair of the row. Changes are in units of the diagonal of the
    model: ``|z| sqrt(curvature)``. Passes end early when none is above ``tiny``.
    """
    p = W.shape[0]
    t, moved = np.empty(p), np.empty(p)
    largest = 0.0
    for _ in range(passes):
        largest = 0.0
        for i in range(p):
            first, last = indptr[i], indptr[i + 1]
            count = last - first
            if count == np.uint64(0):
                continue
            # t_j = sum_k W_ik U_kj, for all free j of the row at once.
            for a in range(count):
                t[a] = 0.0
                moved[a] = 0.0
            for k in range(p):
                w = W[i, k]
                for a in range(count):
                    t[a] += w * U[k, indices[first + a]]
            changed = False
            for _ in range(inner):
                again = 0.0
                for a in range(count):
                    j = indices[first + a]
                    wij = W[i, j]
                    curve = wij * wij
                    if j != np.uint64(i):
                        curve += W[i, i] * W[j, j]
                    slope = S[i, j] - wij + t[a]
                    z = soft_step(X[i, j] + D[first + a], slope, curve, l1[first + a])
                    if z == 0.0:
                        continue
                    size = abs(z) * np.sqrt(curve)
                    again = max(again, size)
                    D[first + a] += z
                    moved[a] += z
                    # (W D W)_il changes by z (W_ii W_jl + W_ij W_il), by z W_ii W_il for j = i.
                    if j == np.uint64(i):
                        for b in range(count):
                            t[b] += z * wij * W[i, indices[first + b]]
                    else:
                        for b in range(count):
                            lb = indices[first + b]
                            t[b] += z * (W[i, i] * W[j, lb] + wij * W[i, lb])
                if again > 0.0:
                    changed = True
                largest = max(largest, again)
                if again <= tiny:
                    break
            if not changed:
                continue
            # U = D W: row i gains moved_j W_j, row j gains moved_j W_i.
            for a in range(count):
                z = moved[a]
                if z == 0.0:
                    continue
                j = indices[first + a]
                for k in range(p):
                    U[i, k] += z * W[j, k]
                if j != np.uint64(i):
                    for k in range(p):
                        U[j, k] += z * W[i, k]
        if largest <= tiny:
            break
    return largest


@fast_kernel
def sandwich(
    W: FloatArray,
    indptr: Array,
    row: Array,
    column: Array,
    step: FloatArray,
    U: FloatArray,
    V: FloatArray,
    out: FloatArray,
) -> None:
    """``(W D W)_ij`` of the free pairs, for the symmetric matrix D of a step on them.

    ``U`` and ``V`` are room for ``D W`` and its transpose, so that both loops read rows.
    """
    p = W.shape[0]
    U[:] = 0.0
    for i in range(p):
        for a in range(indptr[i], indptr[i + 1]):
            z = step[a]
            if z == 0.0:
                continue
            j = column[a]
            for k in range(p):
                U[i, k] += z * W[j, k]
            if j != np.uint64(i):
                for k in range(p):
                    U[j, k] += z * W[i, k]
    for i in range(p):
        for k in range(p):
            V[k, i] = U[i, k]
    for a in range(row.shape[0]):
        i, j = row[a], column[a]
        total = 0.0
        for k in range(p):
            total += W[i, k] * V[j, k]
        out[a] = total


@kernel
def pack_upper(matrix: FloatArray, packed: FloatArray) -> None:
    """Copy the upper triangle of a matrix, row by row."""
    p, at = matrix.shape[0], 0
    for i in range(p):
        for j in range(i, p):
            packed[at] = matrix[i, j]
            at += 1


@kernel
def unpack_upper(packed: FloatArray, matrix: FloatArray) -> None:
    """Fill a symmetric matrix from its upper triangle."""
    p, at = matrix.shape[0], 0
    for i in range(p):
        for j in range(i, p):
            matrix[i, j] = packed[at]
            matrix[j, i] = packed[at]
            at += 1
