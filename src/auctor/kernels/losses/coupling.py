"""A few pairs that represent all pairs: rows of two classes matched by cumulative weight."""

from __future__ import annotations

import math

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def sigmoid(z: float) -> float:
    """``1 / (1 + exp(-z))`` without overflow."""
    e = math.exp(-abs(z))
    return 1.0 / (1.0 + e) if z >= 0.0 else e / (1.0 + e)


@kernel
def coupled_sigmoid(
    scores: FloatArray,
    rows_p: IntArray,
    p: FloatArray,
    start_p: IntArray,
    rows_q: IntArray,
    q: FloatArray,
    start_q: IntArray,
    width: float,
    grad: FloatArray,
) -> float:
    """Sum over matched pairs of mass times ``sigmoid((s_j - s_i) / width)``; adds its gradient.

    Both classes of a group have the same total weight. Rows are matched in order, each with as much
    of the other class as its own weight, so a group has at most as many pairs as rows minus one.
    """
    total = 0.0
    for g in range(start_p.shape[0] - 1):
        i, j = start_p[g], start_q[g]
        left_p, left_q = p[i], q[j]
        while True:
            last_p, last_q = i + 1 == start_p[g + 1], j + 1 == start_q[g + 1]
            # The last row takes the remaining mass, so that rounding loses no pair.
            ends_p = (left_p <= left_q or last_q) and not last_p
            ends_q = (left_q <= left_p or last_p) and not last_q
            mass = left_p if last_q else left_q if last_p else min(left_p, left_q)
            # value = sigma((s_j - s_i) / width); d/ds_j = mass value (1 - value) / width.
            value = sigmoid((scores[rows_q[j]] - scores[rows_p[i]]) / width)
            push = mass * value * (1.0 - value) / width
            total += mass * value
            grad[rows_p[i]] -= push
            grad[rows_q[j]] += push
            if not ends_p and not ends_q:
                break
            left_p -= mass
            left_q -= mass
            if ends_p:
                i += 1
                left_p = p[i]
            if ends_q:
                j += 1
                left_q = q[j]
    return total
