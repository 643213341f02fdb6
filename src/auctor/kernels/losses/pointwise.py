"""Losses of one score and one target, as scalar functions and as loops over rows.

A loss is an integer ``kind`` with a ``param`` and a smoothing ``width``, so that one compiled loop
serves all of them and coordinate kernels can evaluate any loss without a call back into Python.
Letters: s score, y target, u slope (derivative in s), b = -y u the dual weight of a margin loss,
p normalised row weight.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel, kernel

LOGISTIC, HINGE, SQUARED_HINGE, EXPONENTIAL = 0, 1, 2, 3
SQUARED, HUBER, QUANTILE, EPSILON, POISSON = 4, 5, 6, 7, 8

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10


@inline_kernel
def _exp_negative(x: float) -> float:
    """exp(x) for x <= 0 in straight-line code, so that a loop over it vectorises (2 ulp)."""
    x = max(x, -700.0)
    k = np.floor(x * _LOG2E + 0.5)
    # |r| < 1, so this bound never binds: it keeps a fast kernel from adding the two parts of
    # ln 2 together, which costs log2|x| bits.
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
    bits = (np.int64(k) + np.int64(1023)) << np.int64(52)
    two_to_k: float = np.int64(bits).view(np.float64)
    return float(p * two_to_k)


@inline_kernel
def _log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1 by the atanh series, z = e/(2+e) <= 1/3."""
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
def logistic_value_grad(
    scores: FloatArray, y: FloatArray, p: FloatArray, grad: FloatArray
) -> float:
    """Weighted mean of log(1 + exp(-y s)) and its gradient."""
    n, strip, total = scores.shape[0], 512, 0.0
    small = np.empty(strip)
    for low in range(0, n, strip):
        high = min(low + strip, n)
        s, t, share, out, e = scores[low:high], y[low:high], p[low:high], grad[low:high], small
        for i in range(high - low):
            e[i] = _exp_negative(-abs(t[i] * s[i]))
        # Sums apart from what stores: whether such a loop vectorises may depend on addresses.
        for i in range(high - low):
            total += share[i] * (max(-t[i] * s[i], 0.0) + _log1p_unit(e[i]))
        for i in range(high - low):
            q = 1.0 / (1.0 + e[i])
            out[i] = -t[i] * share[i] * (e[i] * q if t[i] * s[i] > 0.0 else q)
    return total


@inline_kernel
def _log_positive(x: float) -> float:
    """log(x) for normal x > 0 in straight-line code, so that a loop over it vectorises."""
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
def logistic_conjugate(dscores: FloatArray, y: FloatArray, p: FloatArray) -> float:
    """`conjugate` of the logistic loss for positive weights."""
    total, outside = 0.0, 0.0
    for i in range(dscores.shape[0]):
        b = -y[i] * dscores[i] / p[i]
        c = 1.0 - b
        outside += 1.0 if min(b, c) < -1e-12 else 0.0
        b, c = max(b, 1e-300), max(c, 1e-300)  # 0 log 0 is 0
        total += p[i] * (b * _log_positive(b) + c * _log_positive(c))
    return math.inf if outside > 0.0 else total


@fast_kernel
def logistic_curvature(scores: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """Second derivative of the weighted logistic loss in each score."""
    for i in range(scores.shape[0]):
        e = _exp_negative(-abs(scores[i]))
        q = 1.0 / (1.0 + e)
        out[i] = p[i] * e * q * q


@fast_kernel
def logistic_shifted(
    scores: FloatArray, y: FloatArray, p: FloatArray, t: float
) -> tuple[float, float, float, float]:
    """With t added to the scores: loss, sum of the slopes, of their sizes, and of the curvature.

    Sums in strips, whose rounding is small.
    """
    n, strip = scores.shape[0], 512
    small = np.empty(strip)
    value = slope = size = curve = 0.0
    for low in range(0, n, strip):
        high = min(low + strip, n)
        s, sign, share, e = scores[low:high], y[low:high], p[low:high], small
        for i in range(high - low):
            e[i] = _exp_negative(-abs(s[i] + t))
        part = total = length = bend = 0.0
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


@kernel
def clipped(x: float, low: float, high: float) -> float:
    """``x`` confined to [low, high]."""
    return min(max(x, low), high)


@kernel
def soft(x: float, level: float) -> float:
    """Soft threshold: ``sign(x) max(|x| - level, 0)``."""
    return math.copysign(max(abs(x) - level, 0.0), x)


@kernel
def huberised(r: float, low: float, high: float, width: float) -> tuple[float, float]:
    """Value and slope of ``max over u in [low, high] of u r - width/2 u^2``."""
    if width > 0.0:
        u = clipped(r / width, low, high)
        return u * r - 0.5 * width * u * u, u
    if r > 0.0:
        return high * r, high
    if r < 0.0:
        return low * r, low
    return r, clipped(0.0, low, high)  # r is 0, or a NaN that must not pass for 0


@kernel
def backward(param: float, y: float) -> float:
    """Slope of a hinge beyond its margin: ``param`` of positives, ``-param`` of negatives."""
    return max(param, 0.0) if y > 0.0 else max(-param, 0.0)


@kernel
def point(kind: int, param: float, width: float, s: float, y: float) -> tuple[float, float]:
    """Value and slope of one loss at one score."""
    if kind == LOGISTIC:
        m = y * s
        e = math.exp(-abs(m))
        q = 1.0 / (1.0 + e)
        return max(-m, 0.0) + math.log1p(e), -y * (e * q if m > 0.0 else q)
    if kind == HINGE:
        back = backward(param, y)
        value, b = huberised(1.0 - y * s, -back, 1.0 - back, width)
        return value, -y * b
    if kind == SQUARED_HINGE:
        b = max(1.0 - y * s, 0.0)
        return 0.5 * b * b, -y * b
    if kind == EXPONENTIAL:
        e = math.exp(-y * s)
        return e, -y * e
    r = s - y
    if kind == SQUARED:
        return 0.5 * r * r, r
    if kind == HUBER:
        u = clipped(r, -param, param)
        return u * r - 0.5 * u * u, u
    if kind == QUANTILE:
        return huberised(r, -param, 1.0 - param, width)
    if kind == EPSILON:
        return huberised(soft(r, param), -1.0, 1.0, width)
    e = math.exp(s)  # POISSON
    return e - y * s, e - y


@kernel
def inside(r: float, low: float, high: float, width: float) -> float:
    """Curvature of `huberised`: 1/width strictly between its kinks."""
    return 1.0 / width if width > 0.0 and low * width < r < high * width else 0.0


@kernel
def point_curve(kind: int, param: float, width: float, s: float, y: float) -> float:
    """Second derivative of one loss at one score (one-sided at kinks)."""
    if kind == LOGISTIC:
        e = math.exp(-abs(s))
        q = 1.0 / (1.0 + e)
        return e * q * q
    if kind == HINGE:
        back = backward(param, y)
        return inside(1.0 - y * s, -back, 1.0 - back, width)
    if kind == SQUARED_HINGE:
        return 1.0 if y * s < 1.0 else 0.0
    if kind == EXPONENTIAL:
        return math.exp(-y * s)
    r = s - y
    if kind == SQUARED:
        return 1.0
    if kind == HUBER:
        return 1.0 if abs(r) <= param else 0.0
    if kind == QUANTILE:
        return inside(r, -param, 1.0 - param, width)
    if kind == EPSILON:
        return inside(soft(r, param), -1.0, 1.0, width) if abs(r) > param else 0.0
    return math.exp(s)  # POISSON


@kernel
def entropy(x: float) -> float:
    """``x log x`` with its limit 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@kernel
def point_conjugate(kind: int, param: float, width: float, u: float, y: float) -> float:
    """Fenchel conjugate ``sup_s u s - loss(s, y)``; infinite outside its domain."""
    slack = 1e-12
    b = -y * u
    smooth = 0.5 * width * u * u
    if kind == LOGISTIC:
        if b < -slack or b > 1.0 + slack:
            return math.inf
        b = clipped(b, 0.0, 1.0)
        return entropy(b) + entropy(1.0 - b)
    if kind == HINGE:
        back = backward(param, y)
        return math.inf if b < -back - slack or b > 1.0 - back + slack else smooth - b
    if kind == SQUARED_HINGE:
        return math.inf if b < -slack else 0.5 * b * b - b
    if kind == EXPONENTIAL:
        return math.inf if b < -slack else entropy(max(b, 0.0)) - max(b, 0.0)
    if kind == SQUARED:
        return u * y + 0.5 * u * u
    if kind == HUBER:
        return math.inf if abs(u) > param * (1.0 + slack) else u * y + 0.5 * u * u
    if kind == QUANTILE:
        return math.inf if u < -param - slack or u > 1.0 - param + slack else u * y + smooth
    if kind == EPSILON:
        return math.inf if abs(u) > 1.0 + slack else u * y + param * abs(u) + smooth
    z = u + y  # POISSON
    return math.inf if z < -slack * (1.0 + y) else entropy(max(z, 0.0)) - max(z, 0.0)


@kernel
def value_grad(
    kind: int,
    param: float,
    width: float,
    scores: FloatArray,
    y: FloatArray,
    p: FloatArray,
    grad: FloatArray,
) -> float:
    """Weighted mean loss and its gradient in the scores."""
    total = 0.0
    for i in range(scores.shape[0]):
        if p[i] > 0.0:
            value, slope = point(kind, param, width, scores[i], y[i])
            total += p[i] * value
            grad[i] = p[i] * slope
        else:
            grad[i] = 0.0
    return total


@kernel
def curvature(
    kind: int,
    param: float,
    width: float,
    scores: FloatArray,
    y: FloatArray,
    p: FloatArray,
    out: FloatArray,
) -> None:
    """Second derivative of the weighted mean loss in each score."""
    for i in range(scores.shape[0]):
        out[i] = p[i] * point_curve(kind, param, width, scores[i], y[i]) if p[i] > 0.0 else 0.0


@kernel
def conjugate(
    kind: int, param: float, width: float, dscores: FloatArray, y: FloatArray, p: FloatArray
) -> float:
    """Conjugate of the weighted mean loss: sum of ``p_i conj(dscores_i / p_i)``."""
    total = 0.0
    for i in range(dscores.shape[0]):
        if p[i] > 0.0:
            total += p[i] * point_conjugate(kind, param, width, dscores[i] / p[i], y[i])
        elif dscores[i] != 0.0:
            return math.inf
    return total


def curve_bound(loss: object) -> float:
    """Largest second derivative of a loss that has a ``kind``; infinite where there is none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> curve_bound(SimpleNamespace(kind=LOGISTIC, width=0.0))
    0.25
    """
    kind, width = getattr(loss, "kind", None), float(getattr(loss, "width", 0.0))
    known = {LOGISTIC: 0.25, SQUARED_HINGE: 1.0, SQUARED: 1.0, HUBER: 1.0}
    if kind in (HINGE, QUANTILE, EPSILON):
        return 1.0 / width if width > 0.0 else math.inf
    return math.inf if kind is None else known.get(kind, math.inf)
