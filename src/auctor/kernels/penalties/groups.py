"""Norms of disjoint groups of coordinates.

Block b holds the coordinates ``indices[indptr[b]:indptr[b + 1]]``; its penalty is
``weight[b] |w_b|_2 + l1[b] |w_b|_1``. Index arrays are unsigned.
"""

from __future__ import annotations

import math

from auctor.core.types import Array, FloatArray
from auctor.kernels.penalties.separable import SLACK
from auctor.kernels.runtime.compiled import kernel

#: Newton steps, at most, for the scale of a dual point, here and in `trees`.
SCALE_STEPS = 100


@kernel
def group_value(
    w: FloatArray, indptr: Array, indices: Array, weight: FloatArray, l1: FloatArray
) -> float:
    """Value of the penalty at w."""
    total = 0.0
    for b in range(weight.shape[0]):
        square = ones = 0.0
        for k in range(indptr[b], indptr[b + 1]):
            x = w[indices[k]]
            square += x * x
            ones += abs(x)
        total += weight[b] * math.sqrt(square) + l1[b] * ones
    return total


@kernel
def shrunk(x: float, level: float) -> float:
    """Soft threshold of x; NaN stays NaN."""
    size = abs(x) - level
    return 0.0 if size <= 0.0 else math.copysign(size, x)


@kernel
def group_prox(
    v: FloatArray,
    step: float,
    indptr: Array,
    indices: Array,
    weight: FloatArray,
    l1: FloatArray,
    out: FloatArray,
) -> None:
    """Prox of ``step`` times the penalty: soft threshold, then scale each block towards 0."""
    for b in range(weight.shape[0]):
        square = 0.0
        for k in range(indptr[b], indptr[b + 1]):
            x = shrunk(v[indices[k]], step * l1[b])
            out[indices[k]] = x
            square += x * x
        factor = block_factor(math.sqrt(square), step * weight[b])
        for k in range(indptr[b], indptr[b + 1]):
            out[indices[k]] *= factor


@kernel
def block_factor(norm: float, level: float) -> float:
    """Factor by which the prox of ``level |.|`` scales a vector of this norm."""
    if level == 0.0:
        return 1.0
    return 0.0 if norm <= level else 1.0 - level / norm


@kernel
def group_violation(
    w: FloatArray,
    grad: FloatArray,
    indptr: Array,
    indices: Array,
    weight: FloatArray,
    l1: FloatArray,
    out: FloatArray,
) -> None:
    """Distance of ``-grad`` to the subdifferential, block by block, as one entry per coordinate.

    The distance of a block is the norm of its entries.
    """
    for b in range(weight.shape[0]):
        norm = excess = 0.0
        for k in range(indptr[b], indptr[b + 1]):
            j = indices[k]
            norm += w[j] * w[j]
            out[j] = shrunk(grad[j], l1[b])
            excess += out[j] * out[j]
        norm = math.sqrt(norm)
        factor = block_factor(math.sqrt(excess), weight[b])
        for k in range(indptr[b], indptr[b + 1]):
            j = indices[k]
            # At 0: soft(grad, l1) less the ball of radius weight. Otherwise |w_b|_2 is
            # differentiable.
            if norm == 0.0:
                out[j] = abs(out[j] * factor)
            elif w[j] == 0.0:
                out[j] = abs(out[j])
            else:
                out[j] = abs(grad[j] + weight[b] / norm * w[j] + math.copysign(l1[b], w[j]))


@kernel
def soft_norm(
    v: FloatArray, scale: float, level: float, indices: Array, low: int, high: int
) -> tuple[float, float]:
    """Norm of the soft-thresholded ``scale v`` over one block, and its slope in the scale."""
    square = slope = 0.0
    for k in range(low, high):
        x = abs(v[indices[k]])
        over = max(scale * x - level, 0.0)
        square += over * over
        slope += over * x
    norm = math.sqrt(square)
    return norm, slope / norm if norm > 0.0 else 0.0


@kernel
def group_in_ball(
    v: FloatArray, indptr: Array, indices: Array, weight: FloatArray, l1: FloatArray
) -> bool:
    """Whether the conjugate at v is finite (then it is 0)."""
    for b in range(weight.shape[0]):
        level = l1[b] * (1.0 + SLACK)
        norm, _ = soft_norm(v, 1.0, level, indices, indptr[b], indptr[b + 1])
        if not norm <= weight[b] * (1.0 + SLACK):
            return False
    return True


@kernel
def group_dual_scale(
    v: FloatArray, indptr: Array, indices: Array, weight: FloatArray, l1: FloatArray
) -> float:
    """Largest c in [0, 1] with ``c v`` in the dual ball.

    The norm is convex in c and 0 at 0, so Newton's method converges from above, and
    ``c weight/norm`` is always feasible.
    """
    c = 1.0
    for b in range(weight.shape[0]):
        low, high = indptr[b], indptr[b + 1]
        # Without a group norm: |c v_j| <= l1 for every coordinate.
        if weight[b] == 0.0:
            top = 0.0
            for k in range(low, high):
                top = max(top, abs(v[indices[k]]))
            if c * top > l1[b]:
                c = l1[b] / top
            continue
        # Newton's method for norm(c) = weight, from above.
        for _ in range(SCALE_STEPS):
            norm, slope = soft_norm(v, c, l1[b], indices, low, high)
            if norm <= weight[b]:
                break
            new = c - (norm - weight[b]) / slope
            if not 0.0 < new < c:
                c *= weight[b] / norm
                break
            c = new
    return c
