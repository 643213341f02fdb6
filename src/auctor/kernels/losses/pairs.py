"""Sums over the pairs of two classes in O(n), once each class is sorted within its groups.

One class has thresholds ``a``, the other values ``t``; both are ascending within every group, whose
rows are ``starts[g]:starts[g + 1]``. The term of a pair depends on ``z = t - a``; both rows of a
pair are always of the same group.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.linalg.sorting import AnyRows, KeyArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel


@kernel
def by_group(order: KeyArray, group: IntArray, starts: IntArray) -> KeyArray:
    """Stable reordering of ``order`` by group."""
    place = starts.copy()
    out = np.empty_like(order)
    for k in range(order.shape[0]):
        g = group[order[k]]
        out[place[g]] = order[k]
        place[g] += 1
    return out


@kernel
def put(out: FloatArray, rows: AnyRows, sign: float, weight: FloatArray, slope: FloatArray) -> None:
    """Set ``out[rows] = sign * weight * slope``."""
    for k in range(rows.shape[0]):
        out[rows[k]] = sign * weight[k] * slope[k]


@kernel
def hinge_windows(
    a: FloatArray,
    p: FloatArray,
    a_starts: IntArray,
    t: FloatArray,
    q: FloatArray,
    t_starts: IntArray,
    width: float,
    slope: FloatArray,
    low: IntArray,
    high: IntArray,
    level: FloatArray | None,
) -> float:
    """Return ``sum_ij p_i q_j H(t_j - a_i)``; set ``slope[i] = sum_j q_j H'(t_j - a_i)``.

    H is the smoothed hinge ``H(z) = 0 (z <= 0), z^2/(2 width) (z <= width), z - width/2``.
    ``level[i]`` is set to ``sum_j q_j H(t_j - a_i)`` unless it is None. One sweep from the highest
    row down moves the window ``0 < t - a_i < width``, whose bounds are stored in ``low`` and
    ``high`` unless those are empty. Its moments are relative to the current ``a_i``, so that their
    rounding errors are relative to ``width`` and not to the scores.

    For the rows beyond the window the mass and the moment about the lowest of them are kept. Their
    terms are non-negative, so an outlier below causes no cancellation above it. The masses are
    slopes of the loss, so each addition is compensated (Kahan): for equal shares they are exact
    multiples of the share up to the last bit or two, for any number of rows.
    """
    total = 0.0
    for g in range(a_starts.shape[0] - 1):
        begin, end = t_starts[g], t_starts[g + 1]
        mass = moment = lost = 0.0  # of the rows t[beyond:end]
        sum0 = sum1 = sum2 = 0.0  # sum_m = sum q_j (t_j - at)^m over the window t[first:last]
        first = last = beyond = end
        at = 0.0
        for i in range(a_starts[g + 1] - 1, a_starts[g] - 1, -1):
            new = a[i]
            # Rows that leave the window above, where H(z) = z - width/2.
            while first < last and not t[last - 1] - new < width:
                last -= 1
                z = t[last] - at
                sum0 -= q[last]
                sum1 -= q[last] * z
                sum2 -= q[last] * z * z
            if first == last:
                sum0 = sum1 = sum2 = 0.0
                while last > begin and t[last - 1] > new and not t[last - 1] - new < width:
                    last -= 1
                first = last
            while beyond > last:
                beyond -= 1
                if beyond + 1 < end:
                    moment += mass * (t[beyond + 1] - t[beyond])
                term = q[beyond] - lost
                grown = mass + term
                lost = (grown - mass) - term
                mass = grown
            # The moments move to the new centre: (z - shift)^2 = z^2 - 2 shift z + shift^2.
            shift = new - at
            sum2 += shift * (shift * sum0 - 2.0 * sum1)
            sum1 -= shift * sum0
            at = new
            # Rows that enter the window below, where H(z) = z^2 / (2 width).
            while first > begin and t[first - 1] > new:
                first -= 1
                z = t[first] - new
                sum0 += q[first]
                sum1 += q[first] * z
                sum2 += q[first] * z * z
            if low.shape[0] > 0:
                low[i], high[i] = first, last
            # Slope and value of the row against all of the other class.
            rise = value = 0.0
            if last < end:
                rise = mass
                value = moment + mass * (t[last] - new - 0.5 * width)
            if first < last:
                rise += sum1 / width
                value += sum2 / (2.0 * width)
            slope[i] = rise
            total += p[i] * value
            if level is not None:
                level[i] = value
    return total


@kernel
def square_windows(
    a: FloatArray,
    p: FloatArray,
    a_starts: IntArray,
    t: FloatArray,
    q: FloatArray,
    t_starts: IntArray,
    slope: FloatArray,
    low: IntArray,
    high: IntArray,
) -> float:
    """Return ``sum_ij p_i q_j max(0, t_j - a_i)^2``; set ``slope[i]`` to the sum of derivatives.

    The window of row i, ``low[i]:high[i]``, holds all t above ``a_i``; empty arrays are not filled.
    """
    total = 0.0
    for g in range(a_starts.shape[0] - 1):
        begin, end = t_starts[g], t_starts[g + 1]
        # Mass of t[first:end], compensated as in `hinge_windows`, and moments about t[first].
        mass = moment = second = lost = 0.0
        first = end
        for i in range(a_starts[g + 1] - 1, a_starts[g] - 1, -1):
            while first > begin and t[first - 1] > a[i]:
                first -= 1
                if first + 1 < end:
                    step = t[first + 1] - t[first]
                    second += step * (2.0 * moment + step * mass)
                    moment += mass * step
                term = q[first] - lost
                grown = mass + term
                lost = (grown - mass) - term
                mass = grown
            if low.shape[0] > 0:
                low[i], high[i] = first, end
            slope[i] = 0.0
            if first < end:
                # sum_j q_j (t_j - a)^2 from the moments about the first t above a.
                step = t[first] - a[i]
                slope[i] = 2.0 * (moment + step * mass)
                total += p[i] * (second + step * (2.0 * moment + step * mass))
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

    The bounds of the windows ascend, so each row of ``other`` is added and subtracted once.
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
        # An empty window: restart from exact zeros, without accumulated rounding errors.
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


@kernel
def window_mass(low: IntArray, high: IntArray, q: FloatArray, out: FloatArray) -> None:
    """``out[i]`` = sum of q over low[i]..high[i]; the bounds of the windows ascend."""
    total = 0.0
    first = last = 0
    for i in range(low.shape[0]):
        while first < min(low[i], last):
            total -= q[first]
            first += 1
        if first == last:
            total = 0.0
            first = last = max(last, low[i])
        while last < high[i]:
            total += q[last]
            last += 1
        out[i] = max(total, 0.0)


@fast_kernel
def group_means(
    scores: FloatArray, rows: IntArray, share: FloatArray, start: IntArray
) -> FloatArray:
    """Weighted mean score of every group; the shares of a group sum to 1."""
    out = np.zeros(start.shape[0] - 1)
    for g in range(out.shape[0]):
        total = 0.0
        for k in range(start[g], start[g + 1]):
            total += share[k] * scores[rows[k]]
        out[g] = total
    return out


@fast_kernel
def square_slopes(
    scores: FloatArray,
    rows: IntArray,
    weight: FloatArray,
    start: IntArray,
    mean: FloatArray,
    shift: FloatArray,
    grad: FloatArray,
) -> float:
    """Sum of ``weight (s - mean)^2``, and ``grad = 2 weight (s - mean + shift)`` at the rows."""
    total = 0.0
    for g in range(mean.shape[0]):
        for k in range(start[g], start[g + 1]):
            apart = scores[rows[k]] - mean[g]
            total += weight[k] * apart * apart
            grad[rows[k]] = 2.0 * weight[k] * (apart + shift[g])
    return total
