"""Concave quadratics over the simplex, by a primal active-set method.

Maximises ``b'a - a'Ga/2`` over ``a >= 0, sum a = 1``. ``active`` lists the entries that may be
non-zero (the face); L is the Cholesky factor of ``G + shift`` on them, in their order. As sum a is
constant, the shift does not change the problem, and it keeps the matrix regular while the vectors
whose products are G are affinely independent.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel

#: Changes of the face allowed beyond ten per vector.
EXTRA_STEPS = 100
#: Newton steps on one face after which the factor is recomputed.
REFACTOR_STEPS = 4


@fast_kernel
def _dot(x: FloatArray, y: FloatArray, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@kernel
def _solve(L: FloatArray, size: int, x: FloatArray) -> None:
    """Overwrite x with ``(L L')^-1 x``."""
    for i in range(size):
        x[i] = (x[i] - _dot(L[i], x, i)) / L[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@kernel
def _append(
    G: FloatArray, shift: float, active: IntArray, size: int, L: FloatArray, new: int
) -> None:
    """Add the entry ``new`` to the active ones and extend the factor."""
    row = L[size]
    for i in range(size):
        row[i] = (G[active[i], new] + shift - _dot(L[i], row, i)) / L[i, i]
    whole = G[new, new] + shift
    # Smallest pivot of the factor, as a share of its diagonal entry.
    row[size] = math.sqrt(max(whole - _dot(row, row, size), 1e-13 * whole))
    active[size] = new


@kernel
def factorise(G: FloatArray, shift: float, active: IntArray, size: int, L: FloatArray) -> None:
    """Compute the factor of the active entries from scratch."""
    for k in range(size):
        _append(G, shift, active, int(k), L, active[k])


@kernel
def _remove(active: IntArray, size: int, L: FloatArray, at: int) -> None:
    """Drop the active entry number ``at``; rotations make the factor triangular again."""
    for i in range(at, size - 1):
        active[i] = active[i + 1]
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
    for i in range(at, size - 1):
        length = math.hypot(L[i, i], L[i, i + 1])
        c, s = L[i, i] / length, L[i, i + 1] / length
        for k in range(i, size - 1):
            x, y = L[k, i], L[k, i + 1]
            L[k, i], L[k, i + 1] = c * x + s * y, c * y - s * x


@kernel
def _slope(
    G: FloatArray, b: FloatArray, a: FloatArray, active: IntArray, size: int, i: int
) -> float:
    """Entry i of the gradient ``b - Ga``."""
    row = G[i]
    total = float(b[i])
    for k in range(size):
        total -= row[active[k]] * a[active[k]]
    return total


@kernel
def _reach(G: FloatArray, a: FloatArray, active: IntArray, size: int) -> float:
    """``sum_k a_k |g_k|`` with ``|g_k|^2 = G_kk``: a bound on ``|sum_k a_k g_k|``."""
    total = 0.0
    for k in range(size):
        total += a[active[k]] * math.sqrt(G[active[k], active[k]])
    return total


@kernel
def _noise(G: FloatArray, b: FloatArray, reach: float, i: int) -> float:
    """Rounding error of entry i of the gradient."""
    # Rounding error of an entry of the gradient, as a share of its other terms: machine epsilon.
    return max(ROUNDING * abs(float(b[i])), 2e-16 * math.sqrt(G[i, i]) * reach)


@kernel
def _maximise_on_face(
    G: FloatArray,
    b: FloatArray,
    shift: float,
    tol: float,
    a: FloatArray,
    active: IntArray,
    size: int,
    L: FloatArray,
) -> int:
    """Maximise on the face of the active entries; entries whose weight becomes zero are dropped.

    Newton steps from a recomputed gradient, so that an inaccurate factor costs steps but no
    accuracy. Returns the number of active entries.
    """
    steps = 0
    while size > 1:
        p, ones = np.empty(size), np.ones(size)
        level, allowed = 0.0, tol
        reach = _reach(G, a, active, size)
        for k in range(size):
            i = active[k]
            # Gradient p = b - G a on the face, less its mean by a: the multiplier of sum a = 1.
            p[k] = _slope(G, b, a, active, size, i)
            level += a[i] * p[k]
            allowed = max(allowed, _noise(G, b, reach, i))
        worst = 0.0
        for k in range(size):
            p[k] -= level
            worst = max(worst, abs(p[k]))
        if worst <= allowed or steps >= 3 * REFACTOR_STEPS:
            break
        if steps == REFACTOR_STEPS:
            factorise(G, shift, active, size, L)
        _solve(L, size, p)
        _solve(L, size, ones)
        # Newton step with sum 0: M^-1 p - (1'M^-1 p / 1'M^-1 1) M^-1 1, M = G + shift.
        tilt = p.sum() / ones.sum()
        # The longest step that keeps all weights >= 0; the first to reach 0 leaves the face.
        length, used = 1.0, -1
        for k in range(size):
            p[k] -= tilt * ones[k]
            if p[k] < 0.0 and a[active[k]] < -p[k] * length:
                length, used = a[active[k]] / -p[k], k
        for k in range(size):
            a[active[k]] = max(a[active[k]] + length * p[k], 0.0)
        if used < 0:
            steps += 1
            continue
        a[active[used]] = 0.0
        _remove(active, size, L, int(used))
        size -= 1
    return size


@kernel
def maximise(
    G: FloatArray,
    b: FloatArray,
    n: int,
    shift: float,
    tol: float,
    a: FloatArray,
    active: IntArray,
    size: int,
    L: FloatArray,
) -> int:
    """Maximise over the first n entries from the feasible ``a``; returns the new ``size``.

    With ``size`` 0 it starts from the best single entry. Stops when no entry's slope exceeds the
    weighted mean slope by more than ``tol``, which then bounds the distance to the maximum.
    """
    # Start at the best single entry.
    if size == 0:
        first = 0
        for i in range(1, n):
            if b[i] - 0.5 * G[i, i] > b[first] - 0.5 * G[first, first]:
                first = i
        a[:n] = 0.0
        a[first] = 1.0
        _append(G, shift, active, size, L, int(first))
        size = 1
    value = -math.inf
    for _ in range(10 * n + EXTRA_STEPS):
        # Maximum on the face of the active entries.
        size = _maximise_on_face(G, b, shift, tol, a, active, size, L)
        # Rounding: scale the weights back to sum 1.
        total = 0.0
        for k in range(size):
            total += a[active[k]]
        for k in range(size):
            a[active[k]] /= total
        # Slopes of all entries.
        slope = np.empty(n)
        level = linear = 0.0
        for i in range(n):
            # Joins where its slope is most above level = a.(b - G a); the excess bounds the gap.
            slope[i] = _slope(G, b, a, active, size, i)
        for k in range(size):
            level += a[active[k]] * slope[active[k]]
            linear += a[active[k]] * b[active[k]]
        # The entry with the largest excess that is not active joins the face.
        best, new = 0.0, -1
        reach = _reach(G, a, active, size)
        inside = np.zeros(n, np.bool_)  # an active weight may be 0, too
        for k in range(size):
            inside[active[k]] = True
        for i in range(n):
            excess = slope[i] - level - max(tol, _noise(G, b, reach, i))
            if not inside[i] and excess > best:
                best, new = excess, i
        # Stop if no entry joins, or nothing was gained.
        reached = 0.5 * (level + linear)
        if new < 0 or not reached > value:
            break
        value = reached
        _append(G, shift, active, int(size), L, int(new))
        size += 1
    return size
