"""Quadratics in a box under one equation, two variables at a time.

Maximises ``target'b - b'Kb/2`` over ``low <= b <= high`` with the sum of b kept, where K is
positive semi-definite: the dual of support vector classification (b is the multiplier times the
label) and regression. ``slope = target - K b`` is the gradient. The best pair has i with the
largest slope among those that may rise and j, of those that may fall, with the largest gain in the
second order ``(slope_i - slope_j)^2 / (K_ii + K_jj - 2 K_ij)`` (Fan, Chen, Lin, Working set
selection using second order information for training support vector machines, 2005).
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel

#: Curvature along a pair, as a share of its diagonal entries, that counts as none; the step is then
#: bounded by the box.
FLAT = 1e-12


@fast_kernel
def _moved(slope: FloatArray, first: Array, second: Array, step: float) -> None:
    """``slope -= step (first - second)``."""
    for k in range(slope.shape[0]):
        slope[k] -= step * (first[k] - second[k])


@kernel
def _partner(
    row: Array, diagonal: FloatArray, low: FloatArray, beta: FloatArray, slope: FloatArray, i: int
) -> int:
    """The variable to lower when i rises: the largest gain in the second order."""
    top, own = slope[i], diagonal[i]
    best, j = 0.0, -1
    for k in range(slope.shape[0]):
        fall = top - slope[k]
        if fall <= 0.0 or beta[k] <= low[k]:
            continue
        whole = own + diagonal[k]
        curve = max(whole - 2.0 * row[k], FLAT * whole)
        # Compared as products: a division for every row would cost more than all the rest.
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
    """Change pairs until no slope that may rise exceeds one that may fall by more than ``tol``.

    ``beta`` and ``slope`` are updated in place; returns the pairs changed.
    """
    n = beta.shape[0]
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = K[k, k]
    for steps in range(max_steps):
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
        whole = diagonal[i] + diagonal[j]
        curve = max(whole - 2.0 * K[i, j], FLAT * whole)
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

    The variables strictly inside the box are taken as the free ones of the solution; where that
    guess is wrong nothing is changed but ``slope``, which is computed afresh.
    """
    free = np.flatnonzero((beta > low) & (beta < high))
    size = free.size
    if size:
        fixed = beta.copy()
        fixed[free] = 0.0
        system = np.ones((size + 1, size + 1))
        system[:size, :size] = K[np.ix_(free, free)]
        system[size, size] = 0.0
        wanted = np.append((target - K @ fixed)[free], -fixed.sum() + beta.sum())
        solved = np.linalg.lstsq(system, wanted, rcond=1e-13)[0][:size]
        inside = (solved > low[free]) & (solved < high[free])
        if inside.all() and np.isfinite(solved).all():
            beta[free] = solved
    slope[:] = target - K @ beta
    rises, falls = slope[beta < high], slope[beta > low]
    return not rises.size or not falls.size or float(rises.max() - falls.min()) <= tol


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
    """``out[i, j] = pool[slots_i, columns_j]``, a symmetric matrix of which a corner is known.

    The first ``known`` rows and columns are there already; the others are read once for each pair.
    """
    for i in range(known, slots.shape[0]):
        row = pool[slots[i]]
        for j in range(i + 1):
            out[i, j] = row[columns[j]]
    for i in range(slots.shape[0]):
        for j in range(max(i + 1, known), slots.shape[0]):
            out[i, j] = out[j, i]
