"""Coordinate descent on quadratic models ``g.d + d.Hd/2 + penalty(w + d)``.

Letters: w weights, d change, g gradient of the loss, a curvature of a coordinate, h curvature of
the rows, r = h * (X d). Penalties are given as the arrays of a `SeparableSpec`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.penalties.separable import prox_one, separable_value, violation_one
from auctor.kernels.runtime.compiled import fast_kernel, kernel

#: Number of coordinates from which iterates are extrapolated.
MANY = 64
#: Differences of successive iterates that an extrapolation combines.
MEMORY = 5
#: Added to the diagonal of the system for the weights of an extrapolation, as a share of its trace.
MIX_RIDGE = 1e-10
#: An extrapolation is rejected if the absolute values of its weights sum to more than this.
LARGEST_MIX = 1e4


@kernel
def next_random(state: Array) -> Any:
    """Advance a xorshift generator held in ``state[0]``; same seed, same sequence."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return x


@kernel
def shuffle(order: IntArray, count: int, state: Array) -> None:
    """Shuffle the first ``count`` entries in place."""
    for i in range(count - 1, 0, -1):
        k = np.int64(next_random(state) % np.uint64(i + 1))
        order[i], order[k] = order[k], order[i]


@fast_kernel
def _model_value(
    gradient: FloatArray,
    slope: FloatArray,
    w: FloatArray,
    x: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Model plus penalty at x, given ``slope = gradient + H (x - w)``."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (gradient[j] + slope[j]) * (x[j] - w[j])
    return 0.5 * total + separable_value(x, l1, l2, lower, upper)


@fast_kernel
def _anderson_weights(xs: FloatArray, mix: FloatArray) -> float:
    """Anderson weights: sum 1, and the combined difference of successive iterates is shortest.

    Returns the sum of their absolute values; infinity where the system is singular.
    """
    m = mix.shape[0]
    # Gram matrix of the differences, with a ridge against linear dependence.
    products = np.empty((m, m))
    for a in range(m):
        for b in range(a + 1):
            total = 0.0
            for j in range(xs.shape[1]):
                total += (xs[a + 1, j] - xs[a, j]) * (xs[b + 1, j] - xs[b, j])
            products[a, b] = products[b, a] = total
    trace = 0.0
    for a in range(m):
        trace += products[a, a]
    for a in range(m):
        products[a, a] += MIX_RIDGE * trace
        mix[a] = 1.0
    # Solve (Gram) mix = 1 by elimination, then normalise to sum 1.
    for a in range(m):
        if not products[a, a] > 0.0:
            return math.inf
        for b in range(a + 1, m):
            z = products[b, a] / products[a, a]
            mix[b] -= z * mix[a]
            for c in range(a, m):
                products[b, c] -= z * products[a, c]
    whole, size = 0.0, 0.0
    for a in range(m - 1, -1, -1):
        for b in range(a + 1, m):
            mix[a] -= products[a, b] * mix[b]
        mix[a] /= products[a, a]
        whole += mix[a]
        size += abs(mix[a])
    if whole == 0.0:
        return math.inf
    for a in range(m):
        mix[a] /= whole
    return size / abs(whole)


@kernel
def _combination(values: FloatArray, mix: FloatArray, out: FloatArray) -> None:
    """``out = sum_a mix[a] values[a + 1]``."""
    out[:] = 0.0
    for a in range(mix.shape[0]):
        for j in range(out.shape[0]):
            out[j] += mix[a] * values[a + 1, j]


@fast_kernel
def descend_matrix(
    matrix: FloatArray,
    gradient: FloatArray,
    w: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    change: FloatArray,
    max_sweeps: int,
    tol: float,
) -> int:
    """Minimise over all coordinates with a given Hessian; sets ``change``, returns the sweeps.

    The Hessian is the leading block of ``matrix``. Every eighth sweep is full and tests the
    optimality of all coordinates; the others skip the coordinates at 0. From `MANY` coordinates on,
    the iterates are extrapolated (Anderson) after every `MEMORY` sweeps, and the result is kept if
    it lowers the model. Stops when the largest violation in a full sweep is at most ``tol``.
    """
    p = w.shape[0]
    slope = gradient.copy()
    # The iterate is stored itself: w plus a sum of changes would miss zeros and bounds by rounding.
    x = w.copy()
    xs, slopes = np.empty((MEMORY + 1, p)), np.empty((MEMORY + 1, p))
    trial, trial_slope, mix = np.empty(p), np.empty(p), np.empty(MEMORY)
    sweeps, seen = max_sweeps, 0
    for sweep in range(max_sweeps):
        full = sweep % 8 == 0
        worst = 0.0
        for j in range(p):
            at = x[j]
            if not full and at == 0.0:
                continue
            worst = max(worst, violation_one(at, slope[j], l1[j], l2[j], lower[j], upper[j]))
            a = matrix[j, j]
            # x_j <- prox(x_j - slope_j / H_jj), with slope = gradient + H (x - w).
            if a > 0.0:
                new = prox_one(at - slope[j] / a, 1.0 / a, l1[j], l2[j], lower[j], upper[j])
            elif abs(slope[j]) < l1[j]:  # no curvature: only the penalty moves it
                new = min(max(0.0, lower[j]), upper[j])
            else:
                continue
            z = new - at
            if z != 0.0:
                x[j] = new
                row = matrix[j]
                for k in range(p):  # slope <- slope + z H_j
                    slope[k] += z * row[k]
        if full and worst <= tol:
            sweeps = sweep + 1
            break
        if p < MANY:
            continue
        for j in range(p):
            xs[seen, j], slopes[seen, j] = x[j], slope[j]
        seen += 1
        if seen > MEMORY:
            # Anderson: the affine combination of the last iterates with the shortest difference.
            seen = 0
            if _anderson_weights(xs, mix) < LARGEST_MIX:
                _combination(xs, mix, trial)
                _combination(slopes, mix, trial_slope)
                now = _model_value(gradient, slope, w, x, l1, l2, lower, upper)
                if _model_value(gradient, trial_slope, w, trial, l1, l2, lower, upper) < now:
                    for j in range(p):
                        x[j], slope[j] = trial[j], trial_slope[j]
    for j in range(p):
        change[j] = x[j] - w[j]
    return sweeps


@kernel
def column_curvatures(
    indptr: Array, indices: Array, values: Array, h: FloatArray, columns: IntArray, out: FloatArray
) -> None:
    """``out[j] = X[:, j]^2 . h`` for the chosen columns."""
    for j in columns:
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            x = float(values[k])
            total += x * x * h[indices[k]]
        out[j] = total


@kernel
def column_sums(
    indptr: Array, indices: Array, values: Array, h: FloatArray, columns: IntArray, out: FloatArray
) -> None:
    """``out[j] = X[:, j] . h`` for the chosen columns."""
    for j in columns:
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            total += values[k] * h[indices[k]]
        out[j] = total


@kernel
def combine_columns(
    indptr: Array,
    indices: Array,
    values: Array,
    change: FloatArray,
    columns: IntArray,
    out: FloatArray,
) -> None:
    """``out += X @ change`` over the chosen columns."""
    for j in columns:
        z = change[j]
        if z != 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                out[indices[k]] += z * values[k]


@kernel
def extract_columns(
    indptr: Array,
    indices: Array,
    values: Array,
    slot: Array,
    column_ptr: IntArray,
    rows_out: Array,
    values_out: Array,
) -> None:
    """Collect from compressed rows the columns whose ``slot`` is not negative, each in row order.

    ``column_ptr[c]`` is the start of column c; on return it is the end.
    """
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            c = slot[indices[k]]
            if c >= 0:
                at = column_ptr[c]
                rows_out[at] = i
                values_out[at] = values[k]
                column_ptr[c] = at + 1


@kernel
def count_columns(indices: Array, counts: IntArray) -> None:
    """Add the number of entries of each column to ``counts``."""
    for k in range(indices.shape[0]):
        counts[indices[k]] += 1


@kernel
def gram_chosen(
    indptr: Array, indices: Array, values: Array, slot: Array, h: FloatArray, out: FloatArray
) -> None:
    """``X' diag(h) X`` over the columns whose ``slot`` is not negative, from compressed rows."""
    size = out.shape[0]
    where, x = np.empty(size + 1, dtype=np.uint32), np.empty(size + 1)
    # Entries of row i in the chosen columns, then the products of each pair of them, once.
    for i in range(indptr.shape[0] - 1):
        count = 0
        for k in range(indptr[i], indptr[i + 1]):
            c = slot[indices[k]]
            where[count], x[count] = c, values[k]  # no branch: it would often be mispredicted
            count += c >= 0
        for a in range(count):
            row, z = out[where[a]], h[i] * x[a]
            for b in range(a, count):
                row[where[b]] += z * x[b]
    # Slots may be in another order than columns, so a product may be in either triangle: add both.
    for a in range(size):
        for b in range(a):
            out[a, b] += out[b, a]
            out[b, a] = out[a, b]


@kernel
def descend_columns(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    gradient: FloatArray,
    curvature: FloatArray,
    w: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    factors: FloatArray,
    core: FloatArray,
    columns: IntArray,
    change: FloatArray,
    r: FloatArray,
    max_sweeps: int,
    tol: float,
    state: Array,
) -> tuple[int, float]:
    """Minimise the model over the chosen columns; updates ``change`` and ``r``.

    Coordinates at 0 whose gradient is well below l1 are left out of the sweeps (shrinking) and
    checked again at the end. Returns the sweeps and the number of entries read.

    Parameters
    ----------
    indptr, indices, values : arrays
        The columns in compressed form.
    h : (n,) array
        Curvature of the rows.
    gradient, curvature : (d,) arrays
        Gradient of the loss at w, and the diagonal of the Hessian.
    w : (d,) array
        Weights at which the model is made.
    l1, l2, lower, upper : arrays of one entry per column
        The penalty, as in `SeparableSpec`.
    factors, core : (d, k) and (k, k) arrays
        A low-rank part ``factors core factors'`` of the Hessian.
    chosen : int array
        The columns that may change.
    change : (d,) array
        The change of the weights, d in the model.
    r : (n,) array
        ``h * (X change)``.
    max_sweeps : int
        Largest number of sweeps.
    tol : float
        Summed violation of a full sweep at which to stop.
    state : (1,) uint64 array
        State of the random generator.
    """
    p, k_low = columns.shape[0], core.shape[0]
    order = columns.copy()
    low = np.zeros(k_low)  # core @ factors.T @ change
    work = 0.0
    active, room = p, np.inf
    x = w + change  # stored itself, so that zeros and bounds are met exactly
    sweeps = max_sweeps
    for sweep in range(max_sweeps):
        full = room == np.inf
        shuffle(order, active, state)
        total = worst = 0.0
        s = 0
        while s < active:
            j = order[s]
            at = x[j]
            start, stop = indptr[j], indptr[j + 1]
            work += stop - start
            # slope_j = gradient_j + x_j . r + (F C F' change)_j, with r = h * (X change).
            slope = gradient[j]
            for k in range(start, stop):
                slope += values[k] * r[indices[k]]
            for k in range(k_low):
                slope += factors[j, k] * low[k]
            if at == 0.0 and l1[j] - abs(slope) > room:  # shrinking: it will stay at 0
                active -= 1
                order[s], order[active] = order[active], order[s]
                continue
            s += 1
            violation = violation_one(at, slope, l1[j], l2[j], lower[j], upper[j])
            total += violation
            worst = max(worst, violation)
            # x_j <- prox(x_j - slope_j / a): the exact minimiser along j, without 0 / 0.
            a = curvature[j] + SMALLEST_DIVISOR
            new = prox_one(at - slope / a, 1.0 / a, l1[j], l2[j], lower[j], upper[j])
            z = new - at
            if z != 0.0:
                x[j] = new
                # r and the low-rank part follow the change z of x_j.
                for k in range(start, stop):
                    i = indices[k]
                    r[i] += z * values[k] * h[i]
                for k in range(k_low):
                    for m in range(k_low):
                        low[k] += core[k, m] * factors[j, m] * z
        # Converged on the active coordinates: stop if these were all, else sweep over all again.
        if total <= tol:
            if full:
                sweeps = sweep + 1
                break
            active, room = p, np.inf
        else:  # the margin for shrinking, as in LIBLINEAR: largest violation over number of rows
            room = worst / h.shape[0]
    for j in columns:
        change[j] = x[j] - w[j]
    return sweeps, work
