"""Coordinate ascent on the dual of a row loss with a strongly convex separable penalty.

Letters: u dual variable of a row (the slope of its loss at the optimum), p row weight, q squared
length of a row in the metric of the penalty, v = -X'u, w = soft(v, l1) / l2.
"""

from __future__ import annotations

import math

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.compiled import kernel
from auctor.kernels.coordinate import shuffle
from auctor.kernels.pointwise import (
    EPSILON,
    EXPONENTIAL,
    HINGE,
    HUBER,
    LOGISTIC,
    QUANTILE,
    SQUARED,
    SQUARED_HINGE,
    clipped,
    soft,
)

#: Squared length at which a row counts as empty.
TINY = 1e-200


@kernel
def logistic_slope(z: float, t: float) -> float:
    """The b in (0, 1) with ``b = 1 / (1 + exp(z + t b))``, by guarded Newton on the margin.

    The margin ``m = z + t b`` is the root of the increasing ``m - t / (1 + exp(m)) - z`` and lies
    between z and z + t. It starts from ``b = -z / t``, right to first order for large t.
    """
    low, high = z, z + t
    m = clipped(0.0, low, high)
    if low < 0.0 < high:
        m = clipped(math.log((t + z) / -z), low, high)
    b, last = 0.5, math.inf
    for _ in range(60):
        e = math.exp(-abs(m))
        b = e / (1.0 + e) if m > 0.0 else 1.0 / (1.0 + e)
        excess = m - t * b - z
        if excess > 0.0:
            high = m
        else:
            low = m
        new = m - excess / (1.0 + t * b * (1.0 - b))
        if not low <= new <= high or abs(excess) > 0.5 * last:
            new = 0.5 * (low + high)
        last = abs(excess)
        if abs(new - m) <= 1e-14 * (1.0 + abs(m)):
            break
        m = new
    return b


@kernel
def exponential_slope(z: float, t: float) -> float:
    """The b > 0 with ``b = exp(-(z + t b))``, by Newton on its logarithm, which is concave."""
    x = -z if z > 0.0 else min(-z, math.log1p(max(-z, 0.0) / t) if t > 0.0 else -z)
    for _ in range(60):
        e = math.exp(x)
        step = (x + z + t * e) / (1.0 + t * e)
        x -= step
        if abs(step) <= 1e-13 * (1.0 + abs(x)):
            break
    return math.exp(x)


@kernel
def prox_slope(kind: int, param: float, width: float, z: float, y: float, t: float) -> float:
    """Slope of the loss at its prox: the u with ``u = loss'(z - t u)``."""
    if kind == LOGISTIC:
        return -y * logistic_slope(y * z, t)
    if kind == HINGE:
        return -y * clipped((1.0 - y * z) / (t + width), 0.0, 1.0)
    if kind == SQUARED_HINGE:
        return -y * max((1.0 - y * z) / (1.0 + t), 0.0)
    if kind == EXPONENTIAL:
        return -y * exponential_slope(y * z, t)
    r = z - y
    if kind == SQUARED:
        return r / (1.0 + t)
    if kind == HUBER:
        return clipped(r / (1.0 + t), -param, param)
    if kind == QUANTILE:
        return clipped(r / (t + width), -param, 1.0 - param)
    if kind == EPSILON:
        return clipped(soft(r, param) / (t + width), -1.0, 1.0)
    return exponential_slope(-(z + t * y), t) - y  # POISSON: e = exp(z - t (e - y))


@kernel
def dual_epoch(
    indptr: Array,
    indices: Array,
    values: Array,
    kind: int,
    param: float,
    width: float,
    y: FloatArray,
    p: FloatArray,
    q: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    order: IntArray,
    active: int,
    u: FloatArray,
    v: FloatArray,
    w: FloatArray,
    intercept: FloatArray,
    spread: float,
    state: Array,
) -> int:
    """Visit the active rows of ``order`` in random order, each taking its exact (majorised) step.

    Updates u, w, ``intercept[0]``, whose column has the curvature ``spread`` (0 for none), and v
    where the penalty has an l1 part. Rows that did not move go to the end of ``order``; returns
    how many did. The slope of an empty row is that of its loss: a prox with next to no room.
    """
    shuffle(order, active, state)
    soft_penalty = l1.any()
    s = 0
    while s < active:
        i = order[s]
        t = max(q[i], TINY)
        change = 0.0
        if p[i] > 0.0:
            start, stop = indptr[i], indptr[i + 1]
            score = intercept[0]
            for k in range(start, stop):
                score += values[k] * w[indices[k]]
            new = p[i] * prox_slope(kind, param, width, score + t * u[i], y[i], t * p[i])
            change = new - u[i]
        if change == 0.0:
            active -= 1
            order[s], order[active] = order[active], order[s]
            continue
        s += 1
        u[i] = new
        intercept[0] -= spread * change
        if soft_penalty:
            for k in range(start, stop):
                j = indices[k]
                v[j] -= change * values[k]
                w[j] = soft(v[j], l1[j]) / l2[j]
        else:
            for k in range(start, stop):
                j = indices[k]
                w[j] -= change * values[k] / l2[j]
    return active
