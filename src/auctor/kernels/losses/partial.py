"""Kernels of the partial AUC: the highest-scoring part of one class, sums of hinge slopes."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def top_share(
    level: FloatArray, values: FloatArray, q: FloatArray, top: float, width: float, part: FloatArray
) -> None:
    """Maximise ``sum_j q_j (part_j level_j - width/2 part_j^2)`` over parts in [0, 1].

    Subject to ``sum_j q_j part_j = top``. ``values`` ascend and ``level`` descends. The solution is
    ``part_j = clip((level_j - t)/width, 0, 1)`` with the t that satisfies the constraint. For width
    0, rows that are tied at the boundary get equal parts.
    """
    n = level.shape[0]
    # Row k is the one in which the cumulative weight reaches `top`.
    before, k = 0.0, 0
    while k < n - 1 and before + q[k] < top:
        before += q[k]
        k += 1
    if top >= 1.0:
        part[:] = 1.0
    elif width <= 0.0:
        first, last = k, k + 1
        while first > 0 and values[first - 1] == values[k]:
            first -= 1
        while last < n and values[last] == values[k]:
            last += 1
        above = q[:first].sum()
        part[:first], part[last:] = 1.0, 0.0
        part[first:last] = min(1.0, max(0.0, (top - above) / q[first:last].sum()))
    else:
        _smooth_share(level, q, top, width, level[k], part)


@kernel
def _smooth_share(
    level: FloatArray, q: FloatArray, top: float, width: float, edge: float, part: FloatArray
) -> None:
    """Solve for the parts: safeguarded Newton for t in [edge - width, edge], then interpolation."""
    low, high = edge - width, edge
    mass_low, mass_high = _mass(level, q, low, width)[0], _mass(level, q, high, width)[0]
    t = 0.5 * (low + high)
    for step in range(100):
        if mass_low <= top or mass_high >= top or not low < t < high:
            break
        mass, slope = _mass(level, q, t, width)
        if mass >= top:
            low, mass_low = t, mass
        else:
            high, mass_high = t, mass
        t = 0.5 * (low + high)
        if slope > 0.0 and step % 3 < 2:
            newton = (low if mass >= top else high) + (mass - top) / slope
            if low < newton < high:
                t = newton
    # Rounding may leave an error at both ends; interpolating between them meets the constraint.
    mix = 1.0
    if mass_low > mass_high:
        mix = min(1.0, max(0.0, (top - mass_high) / (mass_low - mass_high)))
    for j in range(level.shape[0]):
        above = min(1.0, max(0.0, (level[j] - low) / width))
        below = min(1.0, max(0.0, (level[j] - high) / width))
        part[j] = mix * above + (1.0 - mix) * below


@kernel
def _mass(level: FloatArray, q: FloatArray, t: float, width: float) -> tuple[float, float]:
    """``sum_j q_j clip((level_j - t)/width)`` and minus its derivative in t."""
    total = rate = 0.0
    for j in range(level.shape[0]):
        part = (level[j] - t) / width
        if part >= 1.0:
            total += q[j]
        elif part > 0.0:
            total += q[j] * part
            rate += q[j]
    return total, rate / width


@kernel
def slope_sums(
    a: FloatArray,
    t: FloatArray,
    c: FloatArray,
    low: IntArray,
    high: IntArray,
    width: float,
    out: FloatArray,
) -> None:
    """``out[i] = sum_j c_j H'(t_j - a_i)`` with H the smoothed hinge.

    For one group; ``low``, ``high`` are the windows of `pairs.hinge_windows`; c has any sign.
    """
    tail = np.zeros(t.shape[0] + 1)
    for j in range(t.shape[0] - 1, -1, -1):
        tail[j] = tail[j + 1] + c[j]
    sum0 = sum1 = 0.0
    first = last = 0
    at = 0.0
    for i in range(a.shape[0]):
        # The window of row i, with moments relative to a_i, as in `pairs.hinge_windows`.
        while first < min(low[i], last):
            sum0 -= c[first]
            sum1 -= c[first] * (t[first] - at)
            first += 1
        if first == last:
            sum0 = sum1 = 0.0
            first = last = max(last, low[i])
        sum1 -= (a[i] - at) * sum0
        at = a[i]
        while last < high[i]:
            sum0 += c[last]
            sum1 += c[last] * (t[last] - at)
            last += 1
        out[i] = tail[high[i]]
        if first < last:
            out[i] += sum1 / width
