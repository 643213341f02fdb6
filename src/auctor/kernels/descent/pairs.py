"""Quadratic programs with a box and one equation, solved for two variables at a time.

Maximises ``target'b - b'Kb/2`` over ``low <= b <= high`` with a constant sum of b, where K is
positive semi-definite: the dual of support vector classification (b is the multiplier times the
label) and regression. ``slope = target - K b`` is the gradient. In the pair to change, i has the
largest slope among the variables below their upper bound. Among those above their lower bound, j
has the largest second-order gain ``(slope_i - slope_j)^2 / (K_ii + K_jj - 2 K_ij)`` (Fan, Chen,
Lin, Working set selection using second order information for training support vector machines,
2005).
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel

#: Smallest curvature along a pair, as a share of the sum of its diagonal entries.
LEAST_CURVATURE = 1e-12
#: Singular values below this share of the largest count as zero.
DEPENDENT = 1e-13
#: Part of the slopes, as a share of their spread, that a joint step may leave at its maximum.
INCONSISTENT = 1e-6
#: Most joint steps of the free variables before pairs are tried again.
MOST_STEPS = 200


@fast_kernel
def _moved(slope: FloatArray, first: Array, second: Array, step: float) -> None:
    """``slope -= step (first - second)``."""
    for k in range(slope.shape[0]):
        slope[k] -= step * (first[k] - second[k])


@kernel
def _partner(
    row: Array, diagonal: FloatArray, low: FloatArray, beta: FloatArray, slope: FloatArray, i: int
) -> int:
    """The variable to lower when i rises: that with the largest second-order gain, or -1."""
    top, own = slope[i], diagonal[i]
    best, j = 0.0, -1
    for k in range(slope.shape[0]):
        fall = top - slope[k]
        if fall <= 0.0 or beta[k] <= low[k]:
            continue
        whole = own + diagonal[k]
        curve = max(whole - 2.0 * row[k], LEAST_CURVATURE * whole)
        # Compared as products: a division for every row would take most of the time.
        if fall * fall > best * curve:
            best, j = fall * fall / curve, k
    return j


@kernel
def solve_pairs(
    K: Array,
    low: FloatArray,
    high: FloatArray,
    beta: FloatArray,
    slope: FloatArray,
    tol: float,
    max_steps: int,
) -> int:
    """Change pairs until ``max slope_i - min slope_j <= tol`` over b_i < high_i and b_j > low_j.

    ``beta`` and ``slope`` are updated in place; returns the number of changed pairs.
    """
    n = beta.shape[0]
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = K[k, k]
    for steps in range(max_steps):
        # The largest slope that may rise, and the smallest that may fall: the stopping test.
        i, top, bottom = -1, -math.inf, math.inf
        for k in range(n):
            if beta[k] < high[k] and slope[k] > top:
                top, i = slope[k], k
            if beta[k] > low[k] and slope[k] < bottom:
                bottom = slope[k]
        if i < 0 or top - bottom <= tol:
            return steps
        j = _partner(K[i], diagonal, low, beta, slope, i)
        if j < 0:
            return steps
        # The exact maximum along b_i + step, b_j - step, limited by the box:
        #   step = (slope_i - slope_j) / (K_ii + K_jj - 2 K_ij).
        whole = diagonal[i] + diagonal[j]
        curve = max(whole - 2.0 * K[i, j], LEAST_CURVATURE * whole)
        rise, fall = high[i] - beta[i], beta[j] - low[j]
        step = math.inf if curve <= 0.0 else (slope[i] - slope[j]) / curve
        step = min(step, rise, fall)
        # A variable that reaches its bound is set to it exactly.
        beta[i] = high[i] if step == rise else beta[i] + step
        beta[j] = low[j] if step == fall else beta[j] - step
        _moved(slope, K[i], K[j], step)
    return max_steps


def polish(
    K: FloatArray,
    target: FloatArray,
    low: FloatArray,
    high: FloatArray,
    beta: FloatArray,
    slope: FloatArray,
    tol: float,
) -> bool:
    """Solve for all free variables at once, in place; whether the result is optimal to ``tol``.

    The variables strictly inside the box move together to their maximum. Those that reach a bound
    on the way stay there, and the others move on. ``slope`` is recomputed at the end.
    """
    for _ in range(MOST_STEPS):
        free = np.flatnonzero((beta > low) & (beta < high))
        slope[:] = target - K @ beta
        if not free.size:
            break
        step, rank, exists = _joint_step(K[np.ix_(free, free)], slope[free], tol)
        if exists and _move(free, step, 1.0, low, high, beta):
            break
        if rank < free.size:
            _thin_out(K, target, low, high, beta, free, rank)
    slope[:] = target - K @ beta
    rises, falls = slope[beta < high], slope[beta > low]
    return not rises.size or not falls.size or float(rises.max() - falls.min()) <= tol


def _joint_step(K: FloatArray, slope: FloatArray, tol: float) -> tuple[FloatArray, int, bool]:
    """The shortest step to the maximum over the free variables with a constant sum.

    Also the rank of their kernel and whether there is a maximum: a singular K may have none.
    """
    size = slope.size
    # KKT system [K 1; 1' 0] (step, intercept) = (slope, 0), whose rank is one more.
    system = np.ones((size + 1, size + 1))
    system[:size, :size], system[size, size] = K, 0.0
    solved, _, rank, _ = np.linalg.lstsq(system, np.append(slope, 0.0), rcond=DEPENDENT)
    left = slope - K @ solved[:size] - solved[size]
    exists = np.abs(left).max() <= max(0.1 * tol, INCONSISTENT * np.ptp(slope))
    return solved[:size], int(rank) - 1, bool(exists)


def _move(
    index: IntArray, step: FloatArray, longest: float, low: FloatArray, high: FloatArray,
    beta: FloatArray,
) -> bool:  # fmt: skip
    """Take a step of some variables up to the first bound; whether none was in the way."""
    bound = np.where(step > 0.0, high[index], low[index])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step == 0.0, np.inf, (bound - beta[index]) / step)
    first = int(room.argmin())
    length = min(float(room[first]), longest)
    if not np.isfinite(length):
        return True
    beta[index] = np.clip(beta[index] + length * step, low[index], high[index])
    if length == longest:
        return True
    # A variable that reaches its bound is set to it exactly.
    beta[index[first]] = bound[first]
    return False


def _thin_out(
    K: FloatArray, target: FloatArray, low: FloatArray, high: FloatArray, beta: FloatArray,
    free: IntArray, rank: int,
) -> None:  # fmt: skip
    """Move free variables to bounds along directions without curvature until ``rank`` are left.

    Of any ``rank + 1`` free variables some combination changes neither the scores nor the sum.
    """
    while free.size > rank:
        some = free[: rank + 1]
        # The null vector of [K; 1'] on these variables, in the direction that does not descend.
        wide = np.vstack((K[np.ix_(free, some)], np.ones(some.size)))
        flat = np.linalg.svd(wide, full_matrices=False)[2][-1]
        rise = float((target[some] - K[some] @ beta) @ flat)
        if _move(some, flat if rise >= 0.0 else -flat, np.inf, low, high, beta):
            return
        free = free[(beta[free] > low[free]) & (beta[free] < high[free])]


@fast_kernel
def subtract_rows(
    pool: Array, slots: Array, change: FloatArray, start: int, stop: int, slope: FloatArray
) -> None:
    """``slope[start:stop] -= sum_k change_k pool[slots_k, start:stop]``, summed in float64.

    Four rows at a time, so that the slopes are read and written a quarter as often.
    """
    count = slots.shape[0]
    part = slope[start:stop]
    whole = count - count % 4
    for k in range(0, whole, 4):
        a, b, c, d = change[k], change[k + 1], change[k + 2], change[k + 3]
        first, second = pool[slots[k], start:stop], pool[slots[k + 1], start:stop]
        third, fourth = pool[slots[k + 2], start:stop], pool[slots[k + 3], start:stop]
        for i in range(part.shape[0]):
            part[i] -= a * first[i] + b * second[i] + c * third[i] + d * fourth[i]
    for k in range(whole, count):
        a, first = change[k], pool[slots[k], start:stop]
        for i in range(part.shape[0]):
            part[i] -= a * first[i]


@kernel
def gather(pool: Array, slots: Array, columns: Array, known: int, out: FloatArray) -> None:
    """``out[i, j] = pool[slots_i, columns_j]``, a symmetric matrix.

    Its first ``known`` rows and columns are already filled. Each other entry is read once and
    copied to its mirror image.
    """
    for i in range(known, slots.shape[0]):
        row = pool[slots[i]]
        for j in range(i + 1):
            out[i, j] = row[columns[j]]
    for i in range(slots.shape[0]):
        for j in range(max(i + 1, known), slots.shape[0]):
            out[i, j] = out[j, i]
