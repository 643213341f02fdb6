"""Coordinate descent on the Newton model of a log-determinant, one row of the matrix at a time.

The model of ``-log det X + tr(S X)`` around X, with ``W = X^-1`` and a symmetric step D, is::

    tr((S - W) D) + 1/2 tr(W D W D)

Along one pair ``D_ij = D_ji`` it is a parabola whose slope is ``S_ij - W_ij + (W D W)_ij`` and
whose curvature is ``W_ij^2 + W_ii W_jj`` (``W_ii^2`` on the diagonal). Off the diagonal both count
twice, once for each entry. ``U = D W`` is updated with every step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel, kernel

#: Rows and columns of a tile when a matrix is transposed.
TILE = 32
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
    W: FloatArray,
    value: FloatArray,
    gradient: FloatArray,
    l1: FloatArray,
    indptr: Array,
    indices: Array,
    D: FloatArray,
    U: FloatArray,
    passes: int,
    inner: int,
    tiny: float,
) -> float:
    """Coordinate descent over the free pairs; return the largest change in the last pass.

    ``indptr, indices`` list the free columns ``j >= i`` of every row. In the same order, ``value``
    holds their entries of X, ``gradient`` those of ``S - W``, ``l1`` their penalties and ``D`` the
    step; ``U = D W``. The pairs of a row are visited up to ``inner`` times before the next row: the
    slopes ``t_j = (W D W)_ij`` are computed from U once per row, and updated at the cost of one
    product for each free pair of the row. Changes are measured as ``|z| sqrt(curvature)``. Passes
    end early when no change is above ``tiny``.
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
            # Minimise exactly over one pair after the other.
            for _ in range(inner):
                again = 0.0
                for a in range(count):
                    j = indices[first + a]
                    wij = W[i, j]
                    curve = wij * wij
                    if j != np.uint64(i):
                        curve += W[i, i] * W[j, j]
                    slope = gradient[first + a] + t[a]
                    z = soft_step(value[first + a] + D[first + a], slope, curve, l1[first + a])
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
def times_inverse(W: Array, indptr: Array, column: Array, step: Array, U: Array) -> None:
    """``U = D W``, for the symmetric matrix D of a step on the free pairs."""
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


@fast_kernel
def sandwich(
    W: Array, indptr: Array, row: Array, column: Array, step: Array, U: Array, out: Array
) -> None:
    """``(W D W)_ij`` of the free pairs, where D is the symmetric matrix of a step on them.

    ``U`` is a work array for ``D W`` and then its transpose, so that all loops read rows. All
    arrays of numbers are float64, or all are float32.
    """
    p = W.shape[0]
    times_inverse(W, indptr, column, step, U)
    # Transpose in place, tile by tile.
    for top in range(0, p, TILE):
        for left in range(top, p, TILE):
            for i in range(top, min(top + TILE, p)):
                for k in range(max(left, i + 1), min(left + TILE, p)):
                    U[i, k], U[k, i] = U[k, i], U[i, k]
    for a in range(row.shape[0]):
        i, j = row[a], column[a]
        total = W.dtype.type(0.0)
        for k in range(p):
            total += W[i, k] * U[j, k]
        out[a] = total


# Below, ``packed`` arrays hold an upper triangle row by row, and ``slopes`` the derivatives in
# these entries: ``S - W`` on the diagonal and twice that off it, because such an entry stands for
# two of the matrix. ``strengths`` is (p, p), or (1, 1) with one strength for all pairs.


@kernel
def unpack_upper(packed: FloatArray, matrix: FloatArray) -> None:
    """Fill a symmetric matrix from its upper triangle."""
    p, at = matrix.shape[0], 0
    for i in range(p):
        for j in range(i, p):
            matrix[i, j] = packed[at]
            at += 1
    mirror_upper(matrix)


@kernel
def mirror_upper(matrix: FloatArray) -> None:
    """Copy the upper triangle of a matrix to the lower one, tile by tile."""
    p = matrix.shape[0]
    for top in range(0, p, TILE):
        for left in range(top, p, TILE):
            for i in range(top, min(top + TILE, p)):
                for j in range(max(left, i + 1), min(left + TILE, p)):
                    matrix[j, i] = matrix[i, j]


@kernel
def pack_upper(matrix: FloatArray, packed: FloatArray) -> None:
    """Write the upper triangle of a matrix to ``packed``, row by row."""
    p, at = matrix.shape[0], 0
    for i in range(p):
        for j in range(i, p):
            packed[at] = matrix[i, j]
            at += 1


@kernel
def slopes_of_inverse(S: FloatArray, W: FloatArray, slopes: FloatArray) -> None:
    """Slopes of ``-log det X + tr(S X)`` where W is the inverse of X."""
    p, at = S.shape[0], 0
    for i in range(p):
        slopes[at] = S[i, i] - W[i, i]
        at += 1
        for j in range(i + 1, p):
            slopes[at] = 2.0 * (S[i, j] - W[i, j])
            at += 1


@kernel
def inverse_of_slopes(S: FloatArray, slopes: FloatArray, W: FloatArray) -> None:
    """Recover the inverse W of X from the slopes at X."""
    p, at = S.shape[0], 0
    for i in range(p):
        W[i, i] = S[i, i] - slopes[at]
        at += 1
        for j in range(i + 1, p):
            W[i, j] = S[i, j] - 0.5 * slopes[at]
            at += 1
    mirror_upper(W)


@kernel
def dual_point(
    S: FloatArray, packed: FloatArray, slopes: FloatArray, strengths: FloatArray, Z: FloatArray
) -> None:
    """A dual feasible point near the inverse of X: ``|Z_ij - S_ij| <= strength_ij``, Z_ii = S_ii.

    A non-zero entry of X gives ``S_ij + strength_ij sign(X_ij)``, as at the optimum. The other
    entries are those of the inverse, scaled symmetrically to the diagonal of S, and clipped to the
    constraints.
    """
    p, at = S.shape[0], 0
    every = int(strengths.shape[0] > 1)
    scale = np.empty(p)
    # scale_i = sqrt(S_ii / W_ii), with W_ii = S_ii - slope_ii.
    for i in range(p):
        scale[i] = np.sqrt(S[i, i] / (S[i, i] - slopes[at]))
        at += p - i
    at = 0
    for i in range(p):
        Z[i, i] = S[i, i]
        at += 1
        for j in range(i + 1, p):
            most = strengths[every * i, every * j]
            if packed[at] != 0.0:
                Z[i, j] = S[i, j] + (most if packed[at] > 0.0 else -most)
            else:
                near = (S[i, j] - 0.5 * slopes[at]) * scale[i] * scale[j]
                Z[i, j] = S[i, j] + min(max(near - S[i, j], -most), most)
            at += 1
    mirror_upper(Z)


@fast_kernel
def linear_and_l1(S: FloatArray, strengths: FloatArray, packed: FloatArray) -> tuple[float, float]:
    """``tr(S X)``, and ``sum strength_ij |X_ij|`` off the diagonal."""
    p, at = S.shape[0], 0
    every = int(strengths.shape[0] > 1)
    trace, penalty = 0.0, 0.0
    for i in range(p):
        trace += S[i, i] * packed[at]
        at += 1
        for j in range(i + 1, p):
            x = packed[at]
            at += 1
            if x != 0.0:
                trace += 2.0 * S[i, j] * x
                penalty += 2.0 * strengths[every * i, every * j] * abs(x)
    return trace, penalty


@kernel
def list_free(
    packed: FloatArray,
    slopes: FloatArray,
    strengths: FloatArray,
    indptr: Array,
    row: Array,
    column: Array,
    place: Array,
) -> int:
    """List the free entries: non-zero, or with a slope above their penalty; return their number.

    ``row``, ``column`` and ``place`` (the position in the triangle) are filled as far as they have
    room, so a call with arrays of length 0 only counts.
    """
    p = indptr.shape[0] - 1
    at, count = 0, 0
    room = row.shape[0]
    every = int(strengths.shape[0] > 1)
    indptr[0] = 0
    for i in range(p):
        for j in range(i, p):
            free = packed[at] != 0.0
            if not free:
                free = 0.5 * abs(slopes[at]) > strengths[every * i, every * j]
            if free:
                if count < room:
                    row[count], column[count], place[count] = i, j, at
                count += 1
            at += 1
        indptr[i + 1] = count
    return count
