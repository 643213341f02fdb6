"""Separable penalties: ``l1_j |w_j| + l2_j/2 w_j^2`` on the box ``[lower_j, upper_j]``."""

from __future__ import annotations

import math

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel

#: Relative excess over a dual constraint that counts as rounding error.
SLACK = 1e-12


@kernel
def separable_value(
    w: FloatArray, l1: FloatArray, l2: FloatArray, lower: FloatArray, upper: FloatArray
) -> float:
    """Penalty at w; infinite outside the box."""
    total = 0.0
    for j in range(w.shape[0]):
        x = w[j]
        if x < lower[j] or x > upper[j]:
            return math.inf
        total += l1[j] * abs(x) + 0.5 * l2[j] * x * x
    return total


@kernel
def prox_one(v: float, step: float, l1: float, l2: float, lower: float, upper: float) -> float:
    """Minimiser of the penalty of one coordinate plus ``(x - v)^2 / (2 step)``."""
    x = math.copysign(max(abs(v) - step * l1, 0.0), v) / (1.0 + step * l2)
    return min(max(x, lower), upper)


@kernel
def separable_prox(
    v: FloatArray,
    step: float,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    out: FloatArray,
) -> None:
    """Apply `prox_one` to every coordinate."""
    for j in range(v.shape[0]):
        out[j] = prox_one(v[j], step, l1[j], l2[j], lower[j], upper[j])


@kernel
def violation_one(w: float, grad: float, l1: float, l2: float, lower: float, upper: float) -> float:
    """Distance of ``-grad`` to the subdifferential, from the two one-sided derivatives."""
    base = grad + l2 * w
    right = base + (l1 if w >= 0.0 else -l1)
    left = base + (l1 if w > 0.0 else -l1)
    violation = 0.0
    if w < upper:
        violation = max(violation, -right)
    if w > lower:
        violation = max(violation, left)
    return violation


@kernel
def separable_violation(
    w: FloatArray,
    grad: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    out: FloatArray,
) -> None:
    """Apply `violation_one` to every coordinate."""
    for j in range(w.shape[0]):
        out[j] = violation_one(w[j], grad[j], l1[j], l2[j], lower[j], upper[j])


@kernel
def separable_conjugate(
    v: FloatArray, l1: FloatArray, l2: FloatArray, lower: FloatArray, upper: FloatArray
) -> float:
    """``sup over the box of v.w - penalty(w)``; exceeding l1 by rounding error counts as l1."""
    total = 0.0
    for j in range(v.shape[0]):
        z = v[j]
        if abs(z) <= l1[j] and lower[j] <= 0.0 <= upper[j]:
            continue
        # The maximiser x over the box; without l2 it is 0 or a bound.
        pull = math.copysign(max(abs(z) - l1[j], 0.0), z)
        if l2[j] > 0.0:
            x = pull / l2[j]
        elif abs(z) <= l1[j] * (1.0 + SLACK):
            x = 0.0
        else:
            x = math.copysign(math.inf, z)
        x = min(max(x, lower[j]), upper[j])
        if math.isinf(x):
            return math.inf
        total += z * x - l1[j] * abs(x) - 0.5 * l2[j] * x * x
    return total


@kernel
def separable_dual_scale(
    v: FloatArray, l1: FloatArray, l2: FloatArray, lower: FloatArray, upper: FloatArray
) -> float:
    """Largest c in [0, 1] for which the conjugate at ``c v`` is finite."""
    scale = 1.0
    for j in range(v.shape[0]):
        z = v[j]
        if abs(z) > l1[j] and l2[j] == 0.0:
            open_end = upper[j] == math.inf if z > 0.0 else lower[j] == -math.inf
            scale = min(scale, l1[j] / abs(z)) if open_end else scale
    return scale
