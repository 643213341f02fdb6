"""Sums over all (positive, negative) pairs in O(n) once each class is sorted.

The smoothed hinge of a pair is ``H(z) = 0 (z <= 0), z^2/(2 width) (z <= width), z - width/2``
with ``z = 1 - s_pos + s_neg``. For one side with thresholds ``a`` and the other with values ``t``
(both ascending), ``z = t - a``.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.compiled import kernel


@kernel
def hinge_windows(
    a: FloatArray,
    p: FloatArray,
    t: FloatArray,
    q: FloatArray,
    width: float,
    slope: FloatArray,
    low: IntArray,
    high: IntArray,
) -> float:
    """Return ``sum_ij p_i q_j H(t_j - a_i)``; set ``slope[i] = sum_j q_j H'(t_j - a_i)``.

    One sweep moves the window ``0 < t - a_i < width`` (bounds stored in ``low``, ``high``). Its
    moments are kept relative to the current ``a_i``, so their rounding is that of ``width`` and
    not that of the scores.
    """
    m = t.shape[0]
    # Mass of t[j:] and its moment about t[j]: sums of non-negative terms, so that an outlier below
    # cancels nothing above it.
    mass, moment = np.zeros(m + 1), np.zeros(m + 1)
    for j in range(m - 1, -1, -1):
        mass[j] = mass[j + 1] + q[j]
        if j + 1 < m:
            moment[j] = moment[j + 1] + mass[j + 1] * (t[j + 1] - t[j])
    total = 0.0
    sum0 = sum1 = sum2 = 0.0
    first = last = 0
    at = 0.0
    for i in range(a.shape[0]):
        new = a[i]
        while first < last and t[first] <= new:
            z = t[first] - at
            sum0 -= q[first]
            sum1 -= q[first] * z
            sum2 -= q[first] * z * z
            first += 1
        if first == last:
            sum0 = sum1 = sum2 = 0.0
            while last < m and t[last] <= new:
                last += 1
            first = last
        shift = new - at
        sum2 += shift * (shift * sum0 - 2.0 * sum1)
        sum1 -= shift * sum0
        at = new
        while last < m and t[last] - new < width:
            z = t[last] - new
            sum0 += q[last]
            sum1 += q[last] * z
            sum2 += q[last] * z * z
            last += 1
        low[i], high[i] = first, last
        slope[i] = 0.0
        if last < m:
            slope[i] += mass[last]
            total += p[i] * (moment[last] + mass[last] * (t[last] - new - 0.5 * width))
        if first < last:
            slope[i] += sum1 / width
            total += p[i] * sum2 / (2.0 * width)
    return total


@kernel
def window_product(
    low: IntArray,
    high: IntArray,
    own: FloatArray,
    other: FloatArray,
    q: FloatArray,
    out: FloatArray,
) -> None:
    """``out[i] = sum of q_j (own_i - other_j)`` over j in low[i]..high[i], for each column.

    Windows ascend, so each row of ``other`` enters and leaves once.
    """
    k = own.shape[1]
    sum0 = 0.0
    sum1 = np.zeros(k)
    first = last = 0
    for i in range(own.shape[0]):
        while first < min(low[i], last):
            sum0 -= q[first]
            for c in range(k):
                sum1[c] -= q[first] * other[first, c]
            first += 1
        if first == last:
            sum0 = 0.0
            sum1[:] = 0.0
            first = last = max(last, low[i])
        while last < high[i]:
            sum0 += q[last]
            for c in range(k):
                sum1[c] += q[last] * other[last, c]
            last += 1
        for c in range(k):
            out[i, c] = own[i, c] * sum0 - sum1[c]
