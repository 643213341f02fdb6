"""Block coordinate descent on the low-rank quadratic model of `auctor.kernels.descent.lowrank`.

Block b holds the positions ``starts[b]`` to ``starts[b + 1]`` of the model's coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.descent.lowrank import CYCLIC, IID, draw, shuffle
from auctor.kernels.penalties.groups import block_factor, shrunk
from auctor.kernels.runtime.compiled import fast_kernel, kernel


@kernel
def block_bounds(
    base: FloatArray, rows: FloatArray, hats: FloatArray, starts: Array, out: FloatArray
) -> None:
    """Frobenius norms of the diagonal blocks of ``diag(base) - rows hats'``."""
    for b in range(out.shape[0]):
        square = 0.0
        for i in range(starts[b], starts[b + 1]):
            for j in range(starts[b], starts[b + 1]):
                entry = base[i] if i == j else 0.0
                for q in range(rows.shape[1]):
                    entry -= rows[i, q] * hats[j, q]
                square += entry * entry
        out[b] = math.sqrt(square)


@fast_kernel
def block_sweeps(
    w: FloatArray,
    gradient: FloatArray,
    base: FloatArray,
    rows: FloatArray,
    hats: FloatArray,
    starts: Array,
    weight: FloatArray,
    l1: FloatArray,
    bound: FloatArray,
    scale: float,
    extra: float,
    order: int,
    passes: int,
    tiny: float,
    state: Array,
    u: FloatArray,
    project: FloatArray,
) -> int:
    """Passes of majorised block steps; updates u and project; returns the number of steps.

    A block moves to the prox of its norm at a gradient step of length ``1 / a``, where a is at
    least the largest eigenvalue of the model on the block.
    """
    count, taken, largest = starts.shape[0] - 1, 0, 0.0
    index = np.arange(count).astype(np.uint64)
    step = np.empty(w.shape[0])
    for _ in range(passes):
        if order != CYCLIC and order != IID:
            shuffle(index, count, state)
        change = 0.0
        for at in range(count):
            b = draw(state, count) if order == IID else np.int64(index[at])
            low, high = starts[b], starts[b + 1]
            top = 0.0
            for j in range(low, high):
                top = max(top, base[j])
            a = scale * bound[b] + extra * top
            square = 0.0
            for j in range(low, high):
                slope = gradient[j] + (scale + extra) * base[j] * (u[j] - w[j])
                for q in range(rows.shape[1]):
                    slope -= scale * rows[j, q] * project[q]
                step[j] = shrunk(u[j] - slope / a, l1[b] / a)
                square += step[j] * step[j]
            factor = block_factor(math.sqrt(square), weight[b] / a)
            for j in range(low, high):
                z = factor * step[j] - u[j]
                if z != 0.0:
                    u[j] += z
                    change = max(change, a * z * z)
                    for q in range(rows.shape[1]):
                        project[q] += z * hats[j, q]
            taken += high - low
        largest = max(largest, change)
        if not change > tiny * largest:
            break
    return taken
