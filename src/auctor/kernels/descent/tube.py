"""Projected stochastic subgradients of kernel regression with a shifted tube."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def tube_steps(
    K: FloatArray, y: FloatArray, coef: FloatArray, scores: FloatArray, drawn: Array,
    strength: float, low: float, high: float, down: float, up: float, radius: float,
) -> None:  # fmt: skip
    """Run one step per row of ``drawn``, in place; ``scores = K coef`` is kept up to date.

    The loss of a residual r is ``up (r - high)`` above ``high`` and ``down (-low - r)`` below
    ``-low``. Step t has length ``1 / (strength t)``, after which the function is scaled back to a
    norm of at most ``radius``.
    """
    steps, size = drawn.shape
    n = y.size
    push = np.empty(size)
    for t in range(steps):
        length = 1.0 / (strength * (t + 1.0))
        for j in range(size):
            r = y[drawn[t, j]] - scores[drawn[t, j]]
            push[j] = length / size * (up if r > high else (-down if r < -low else 0.0))
        keep = 1.0 - 1.0 / (t + 1.0)
        for i in range(n):
            coef[i] *= keep
            scores[i] *= keep
        for j in range(size):
            if push[j] != 0.0:
                coef[drawn[t, j]] += push[j]
                row = K[drawn[t, j]]
                for i in range(n):
                    scores[i] += push[j] * row[i]
        square = 0.0
        for i in range(n):
            square += coef[i] * scores[i]
        if square > radius * radius:
            back = radius / np.sqrt(square)
            for i in range(n):
                coef[i] *= back
                scores[i] *= back
