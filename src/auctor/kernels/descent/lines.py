"""Proximal Newton over a few dense columns in one call, for problems where calls are what costs.

Letters: w weights, s scores, u their gradient, h their curvature, g gradient in w. A loss is an
integer kind with its param and width, as in `pointwise`; penalties come as `SeparableSpec` arrays.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.descent.coordinate import descend_matrix
from auctor.kernels.losses.pointwise import point, point_curve
from auctor.kernels.penalties.separable import separable_value, violation_one
from auctor.kernels.runtime.compiled import fast_kernel, kernel


@kernel
def _loss(
    kind: int,
    param: float,
    width: float,
    s: FloatArray,
    y: FloatArray,
    p: FloatArray,
    u: FloatArray,
    h: FloatArray,
) -> float:
    """Weighted mean loss; sets its gradient and its curvature."""
    total = 0.0
    for i in range(s.shape[0]):
        u[i] = h[i] = 0.0
        if p[i] > 0.0:
            value, slope = point(kind, param, width, s[i], y[i])
            total += p[i] * value
            u[i] = p[i] * slope
            h[i] = p[i] * point_curve(kind, param, width, s[i], y[i])
    return total


@fast_kernel
def _pull(lines: Array, u: FloatArray, g: FloatArray) -> None:
    """``g = lines @ u``."""
    for a in range(lines.shape[0]):
        line = lines[a]
        total = 0.0
        for i in range(u.shape[0]):
            total += line[i] * u[i]
        g[a] = total


@fast_kernel
def _products(
    lines: Array, chosen: Array, count: int, h: FloatArray, buffer: FloatArray, gram: FloatArray
) -> None:
    """``gram = L diag(h) L'`` of the chosen lines, with a trace more on its diagonal."""
    n = h.shape[0]
    for a in range(count):
        line = lines[chosen[a]]
        for i in range(n):
            buffer[i] = line[i] * h[i]
        for b in range(a, count):
            other = lines[chosen[b]]
            total = 0.0
            for i in range(n):
                total += buffer[i] * other[i]
            gram[a, b] = gram[b, a] = total
        gram[a, a] *= 1.0 + 1e-10


@kernel
def newton_on_lines(
    kind: int,
    param: float,
    width: float,
    lines: Array,
    y: FloatArray,
    p: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    w: FloatArray,
    s: FloatArray,
    goal: float,
    least: float,
    sigma: float,
    max_steps: int,
    max_sweeps: int,
) -> int:
    """Minimise loss plus penalty over the weights of the lines; changes w and s, returns steps.

    Ends when the largest violation is at most ``least``, or its product with the size of w, which
    bounds what is left, at most
    ``goal``, or when a step brings no sufficient decrease.
    """
    m, n = lines.shape
    u, h, buffer, ahead = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    g, change, trial, new = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    gram, chosen = np.empty((m, m)), np.empty(m, dtype=np.int64)
    value = _loss(kind, param, width, s, y, p, u, h) + separable_value(w, l1, l2, lower, upper)
    for step in range(max_steps):
        _pull(lines, u, g)
        count, worst, size = 0, 0.0, 0.0
        for a in range(m):
            violation = violation_one(w[a], g[a], l1[a], l2[a], lower[a], upper[a])
            worst, size = max(worst, violation), size + abs(w[a])
            if w[a] != 0.0 or violation > 0.0:
                chosen[count] = a
                count += 1
        if worst <= least or (step > 0 and worst * size <= goal):
            return step
        _products(lines, chosen, count, h, buffer, gram)
        tol = max(0.02 * worst, 0.3 * least, 0.2 * goal / size if size > 0.0 else 0.0)
        at = chosen[:count]
        descend_matrix(
            gram, g[at], w[at], l1[at], l2[at], lower[at], upper[at], change[:count],
            max_sweeps, tol,
        )  # fmt: skip
        promised = -separable_value(w, l1, l2, lower, upper)
        ahead[:], new[:] = 0.0, w
        for a in range(count):
            j, z = chosen[a], change[a]
            new[j] = min(max(w[j] + z, lower[j]), upper[j])
            promised += g[j] * z
            if z != 0.0:
                for i in range(n):
                    ahead[i] += z * lines[j, i]
        promised += separable_value(new, l1, l2, lower, upper)
        if not promised < -2e-15 * abs(value):
            return step
        length, better, found = 1.0, value, False
        while length > 1e-6 and not found:
            for a in range(m):
                trial[a] = w[a] + length * (new[a] - w[a]) if length < 1.0 else new[a]
            for i in range(n):
                buffer[i] = s[i] + length * ahead[i]
            better = _loss(kind, param, width, buffer, y, p, u, h)
            better += separable_value(trial, l1, l2, lower, upper)
            found = better <= value + sigma * length * promised
            length *= 0.5
        if not found:
            return step
        value = better
        w[:], s[:] = trial, buffer
    return max_steps
