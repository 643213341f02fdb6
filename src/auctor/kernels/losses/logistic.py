"""The logistic loss of all rows at once, in loops that vectorise.

`pointwise` has the same loss for one row, by the functions of the C library. Calls to those do not
vectorise; the loops below do. Letters: s score, y target (-1 or +1), p normalised row weight,
e = exp(-|y s|), b = -y u the dual weight of a row with slope u.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.losses.pointwise import SLACK
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel

#: 1 / ln 2: turns a natural exponent into a power of two. Rounded to a double.
_LOG2E = 1.4426950408889634
#: ln 2 = high + low in doubles.
_LN2_HIGH = 0.6931471803691238
#: ln 2 - high. Rounded to a double.
_LN2_LOW = 1.9082149292705877e-10
#: Smallest argument of exp (1e-304): below it the power of two is not a normal double.
_LOWEST = -700.0
#: Rows per strip: three buffers of 4 kB each stay in the first-level cache.
STRIP = 512


@inline_kernel
def _exp_negative(x: float) -> float:
    """exp(x) for x <= 0 in straight-line code, so that a loop over it vectorises (2 ulp)."""
    x = max(x, _LOWEST)
    # exp(x) = 2^k exp(r) with |r| <= ln(2) / 2; exp(r) by its Taylor polynomial of degree 12.
    k = np.floor(x * _LOG2E + 0.5)
    # |r| < 1, so the maximum never changes r: it keeps the compiler from adding the two parts of
    # ln 2 before the subtraction, which would lose log2|x| bits.
    r = max(x - k * _LN2_HIGH, -1.0) - k * _LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # 2^k, by writing k + 1023 into the exponent of a double.
    bits = (np.int64(k) + np.int64(1023)) << np.int64(52)
    two_to_k: float = np.int64(bits).view(np.float64)
    return float(p * two_to_k)


@inline_kernel
def _log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1 as 2 atanh(s), by its series in s = e/(2+e) <= 1/3."""
    s = e / (2.0 + e)
    z = s * s
    p = 1.0 / 31.0
    p = p * z + 1.0 / 29.0
    p = p * z + 1.0 / 27.0
    p = p * z + 1.0 / 25.0
    p = p * z + 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return 2.0 * s * p


@fast_kernel
def value_grad(scores: FloatArray, y: FloatArray, p: FloatArray, grad: FloatArray) -> float:
    """Weighted mean of log(1 + exp(-y s)) and its gradient."""
    n, total = scores.shape[0], 0.0
    small = np.empty(STRIP)
    for low in range(0, n, STRIP):
        high = min(low + STRIP, n)
        s, t, share, out, e = scores[low:high], y[low:high], p[low:high], grad[low:high], small
        for i in range(high - low):
            e[i] = _exp_negative(-abs(t[i] * s[i]))
        # Separate from the loop that stores: combined, whether it vectorises depends on addresses.
        for i in range(high - low):
            total += share[i] * (max(-t[i] * s[i], 0.0) + _log1p_unit(e[i]))
        for i in range(high - low):
            q = 1.0 / (1.0 + e[i])
            out[i] = -t[i] * share[i] * (e[i] * q if t[i] * s[i] > 0.0 else q)
    return total


@inline_kernel
def _log_positive(x: float) -> float:
    """log(x) for normal x > 0 by the series of atanh: straight-line code, which vectorises."""
    bits = np.float64(x).view(np.int64)
    k = (bits - 0x3FE6A09E667F3BCD) >> 52  # x / 2^k lies in [sqrt(1/2), sqrt(2))
    m = np.int64(bits - (k << 52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return k * 0.6931471805599453 + 2.0 * s * p


@fast_kernel
def conjugate(dscores: FloatArray, y: FloatArray, p: FloatArray) -> float:
    """``sum_i p_i (b_i log b_i + (1 - b_i) log(1 - b_i))``, for positive weights."""
    total, outside = 0.0, 0.0
    for i in range(dscores.shape[0]):
        b = -y[i] * dscores[i] / p[i]
        c = 1.0 - b
        outside += 1.0 if min(b, c) < -SLACK else 0.0
        b, c = max(b, 1e-300), max(c, 1e-300)  # 0 log 0 is 0
        total += p[i] * (b * _log_positive(b) + c * _log_positive(c))
    return math.inf if outside > 0.0 else total


@fast_kernel
def curvature(scores: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """Second derivative of the weighted logistic loss in each score."""
    for i in range(scores.shape[0]):
        e = _exp_negative(-abs(scores[i]))
        q = 1.0 / (1.0 + e)
        out[i] = p[i] * e * q * q


@fast_kernel
def shifted(
    scores: FloatArray, y: FloatArray, p: FloatArray, t: float
) -> tuple[float, float, float, float]:
    """With t added to the scores: loss, and sums of the slopes, their sizes and the curvatures.

    Each strip is summed separately, which keeps rounding errors small.
    """
    n = scores.shape[0]
    small = np.empty(STRIP)
    value = slope = size = curve = 0.0
    for low in range(0, n, STRIP):
        high = min(low + STRIP, n)
        s, sign, share, e = scores[low:high], y[low:high], p[low:high], small
        for i in range(high - low):
            e[i] = _exp_negative(-abs(s[i] + t))
        part = total = length = bend = 0.0
        # With q = 1 / (1 + e): slope -sign b, b = sigmoid(-m), and curvature e q^2.
        for i in range(high - low):
            m = sign[i] * (s[i] + t)
            part += share[i] * (max(-m, 0.0) + _log1p_unit(e[i]))
            q = 1.0 / (1.0 + e[i])
            b = share[i] * (e[i] * q if m > 0.0 else q)
            length += b
            total -= sign[i] * b
            bend += share[i] * e[i] * q * q
        value += part
        slope += total
        size += length
        curve += bend
    return value, slope, size, curve
