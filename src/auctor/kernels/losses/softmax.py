"""The log-loss of several classes at once."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def log_loss(
    scores: FloatArray, y: FloatArray, share: FloatArray, offset: FloatArray, p: FloatArray
) -> float:
    """``sum_i share_i (log sum_k exp z_ik - z_i,own)`` with ``z = scores + offset``.

    ``scores`` and ``y`` are (n, K); y is positive for the own class of a row. The probabilities
    ``exp z_ik / sum exp z_i`` are written to ``p``.
    """
    n, classes = scores.shape
    total = 0.0
    for i in range(n):
        top = -np.inf
        own = 0.0
        for k in range(classes):
            z = scores[i, k] + offset[k]
            p[i, k] = z
            if z > top or z != z:
                top = z
            if y[i, k] > 0.0:
                own = z
        mass = 0.0
        for k in range(classes):
            p[i, k] = np.exp(p[i, k] - top)
            mass += p[i, k]
        for k in range(classes):
            p[i, k] /= mass
        if share[i] > 0.0 or own != own:
            total += share[i] * (np.log(mass) + (top - own))
    return total


@kernel
def negative_entropy(q: FloatArray, share: FloatArray) -> tuple[float, float]:
    """``sum_ik share_i q_ik log q_ik``, and the lowest q; those below 0 count as 0."""
    total, low = 0.0, 0.0
    n, classes = q.shape
    for i in range(n):
        for k in range(classes):
            if q[i, k] > 0.0:
                total += share[i] * q[i, k] * np.log(q[i, k])
            elif share[i] > 0.0:
                low = min(low, q[i, k])
    return total, low
