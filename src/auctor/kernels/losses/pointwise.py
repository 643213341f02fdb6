"""Losses of one score and one target: six scalar functions, and loops over rows.

A loss is an integer ``kind`` with a ``param`` and a smoothing ``width``, so that one compiled loop
serves all of them and coordinate kernels can evaluate any loss without a call back into Python.
Letters: s score, y target, r = s - y residual, m = y s margin, u slope (derivative in s),
b = -y u the dual weight of a margin loss, p normalised row weight, (z)+ = max(z, 0).

A new loss gets a number here and a block in each of the six functions, in the same order:
`point` (value and slope), `point_curve` (second derivative), `point_conjugate`, `prox_slope`,
`piece` and `curve_bound`::

    kind           loss                            conjugate
    LOGISTIC       log(1 + exp(-m))                b log b + (1-b) log(1-b),  0 <= b <= 1
    HINGE          (1 - m)+                        -b,                        0 <= b <= 1
    SQUARED_HINGE  (1 - m)+^2 / 2                  b^2/2 - b,                 0 <= b
    EXPONENTIAL    exp(-m)                         b log b - b,               0 <= b
    SQUARED        r^2 / 2                         u y + u^2/2
    HUBER          r^2 / 2 up to |r| = param       u y + u^2/2,               |u| <= param
    QUANTILE       (1-param) (r)+ + param (-r)+    u y,              -param <= u <= 1 - param
    EPSILON        (|r| - param)+                  u y + param |u|,           |u| <= 1
    POISSON        exp(s) - y s                    z log z - z,               0 <= z = u + y

The three with kinks (HINGE, QUANTILE, EPSILON) are smoothed by adding ``width/2 u^2`` to their
conjugate. The ``param`` of HINGE adds a linear term, so that b runs from ``-tilt`` to ``1 - tilt``.
"""

from __future__ import annotations

import math

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel

# Codes of the losses in the table above; each stands for one branch of the functions below.
#: Logistic loss of the margin.
LOGISTIC = 0
#: Hinge loss of the margin.
HINGE = 1
#: Half the squared hinge loss of the margin.
SQUARED_HINGE = 2
#: Exponential loss of the margin.
EXPONENTIAL = 3
#: Half the squared residual.
SQUARED = 4
#: Huber loss of the residual.
HUBER = 5
#: Quantile loss of the residual.
QUANTILE = 6
#: Absolute residual beyond a tolerance.
EPSILON = 7
#: Poisson loss: the score is the logarithm of the expected count.
POISSON = 8

#: Rounding error in u allowed beyond the domain of a conjugate.
SLACK = 1e-12
#: Largest number of steps for the slope of a prox. Newton needs 4 to 8.
PROX_STEPS = 60
#: Step in the margin below which the logistic slope is linear to rounding.
LINEAR = 1e-7
#: Step size of the prox from which the slope of the last visit is not used as a start.
STEEP = 1e6
#: Relative change of log(slope) at which Newton's method for the exponential loss stops.
EXPONENTIAL_ACCURACY = 1e-13


# --- parts that several losses share --------------------------------------------------------------


@kernel
def clipped(x: float, low: float, high: float) -> float:
    """``x`` confined to [low, high]."""
    return min(max(x, low), high)


@kernel
def soft(x: float, level: float) -> float:
    """Soft threshold: ``sign(x) max(|x| - level, 0)``."""
    return math.copysign(max(abs(x) - level, 0.0), x)


@kernel
def entropy(x: float) -> float:
    """``x log x`` with its limit 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


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
    return r, clipped(0.0, low, high)  # r is 0, or NaN, which must be passed on


@kernel
def huberised_curve(r: float, low: float, high: float, width: float) -> float:
    """Curvature of `huberised`: 1/width strictly between its kinks."""
    return 1.0 / width if width > 0.0 and low * width < r < high * width else 0.0


@kernel
def tilt(param: float, y: float) -> float:
    """Slope of the hinge beyond its margin: ``param`` for positives, ``-param`` for negatives."""
    return max(param, 0.0) if y > 0.0 else max(-param, 0.0)


# --- slopes at a prox that need an iteration ------------------------------------------------------


@kernel
def logistic_slope(z: float, t: float, start: float = 0.0) -> float:
    """The b in (0, 1) with ``b = 1 / (1 + exp(z + t b))``, by safeguarded Newton on the margin.

    The margin ``m = z + t b`` is the root of the increasing ``m - t / (1 + exp(m)) - z`` and lies
    between z and z + t. The iteration starts at ``b = start`` where that is inside (0, 1), else at
    ``b = -z / t``, which is correct to first order for large t.
    """
    low, high = z, z + t
    m = clipped(0.0, low, high)
    if 0.0 < start < 1.0 and t < STEEP:
        m = z + t * start
    elif low < 0.0 < high:
        m = clipped(math.log((t + z) / -z), low, high)
    b, last = 0.5, math.inf
    for _ in range(PROX_STEPS):
        e = math.exp(-abs(m))
        b = e / (1.0 + e) if m > 0.0 else 1.0 / (1.0 + e)
        # Newton step for the root; bisection where it leaves the bracket or converges slowly.
        excess = m - t * b - z
        if excess > 0.0:
            high = m
        else:
            low = m
        bend = b * (1.0 - b)
        step = -excess / (1.0 + t * bend)
        if abs(step) <= LINEAR:
            return b - bend * step
        m += step
        if not low <= m <= high or abs(excess) > 0.5 * last:
            m = 0.5 * (low + high)
        last = abs(excess)
    return b


@kernel
def exponential_slope(z: float, t: float) -> float:
    """The b > 0 with ``b = exp(-(z + t b))``, by Newton on x = log b: ``x + z + t exp(x) = 0``."""
    x = -z if z > 0.0 else min(-z, math.log1p(max(-z, 0.0) / t) if t > 0.0 else -z)
    for _ in range(PROX_STEPS):
        e = math.exp(x)
        step = (x + z + t * e) / (1.0 + t * e)
        x -= step
        if abs(step) <= EXPONENTIAL_ACCURACY * (1.0 + abs(x)):
            break
    return math.exp(x)


# --- the six functions, a block per loss ----------------------------------------------------------


@kernel
def point(kind: int, param: float, width: float, s: float, y: float) -> tuple[float, float]:
    """Value and slope of one loss at one score."""
    if kind == LOGISTIC:
        m = y * s
        e = math.exp(-abs(m))
        q = 1.0 / (1.0 + e)
        return max(-m, 0.0) + math.log1p(e), -y * (e * q if m > 0.0 else q)
    if kind == HINGE:
        back = tilt(param, y)
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
def point_curve(kind: int, param: float, width: float, s: float, y: float) -> float:
    """Second derivative of one loss at one score (one-sided at kinks)."""
    if kind == LOGISTIC:
        e = math.exp(-abs(s))
        q = 1.0 / (1.0 + e)
        return e * q * q
    if kind == HINGE:
        back = tilt(param, y)
        return huberised_curve(1.0 - y * s, -back, 1.0 - back, width)
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
        return huberised_curve(r, -param, 1.0 - param, width)
    if kind == EPSILON:
        return huberised_curve(soft(r, param), -1.0, 1.0, width) if abs(r) > param else 0.0
    return math.exp(s)  # POISSON


@kernel
def point_conjugate(kind: int, param: float, width: float, u: float, y: float) -> float:
    """Fenchel conjugate ``sup_s u s - loss(s, y)``; infinite outside its domain."""
    b = -y * u
    smooth = 0.5 * width * u * u
    if kind == LOGISTIC:
        if b < -SLACK or b > 1.0 + SLACK:
            return math.inf
        b = clipped(b, 0.0, 1.0)
        return entropy(b) + entropy(1.0 - b)
    if kind == HINGE:
        back = tilt(param, y)
        return math.inf if b < -back - SLACK or b > 1.0 - back + SLACK else smooth - b
    if kind == SQUARED_HINGE:
        return math.inf if b < -SLACK else 0.5 * b * b - b
    if kind == EXPONENTIAL:
        return math.inf if b < -SLACK else entropy(max(b, 0.0)) - max(b, 0.0)
    if kind == SQUARED:
        return u * y + 0.5 * u * u
    if kind == HUBER:
        return math.inf if abs(u) > param * (1.0 + SLACK) else u * y + 0.5 * u * u
    if kind == QUANTILE:
        return math.inf if u < -param - SLACK or u > 1.0 - param + SLACK else u * y + smooth
    if kind == EPSILON:
        return math.inf if abs(u) > 1.0 + SLACK else u * y + param * abs(u) + smooth
    z = u + y  # POISSON
    return math.inf if z < -SLACK * (1.0 + y) else entropy(max(z, 0.0)) - max(z, 0.0)


@kernel
def prox_slope(
    kind: int, param: float, width: float, z: float, y: float, t: float, start: float = 0.0
) -> float:
    """Slope of the loss at its prox: the u with ``u = loss'(z - t u)``, iterated from ``start``."""
    if kind == LOGISTIC:
        return -y * logistic_slope(y * z, t, -y * start)
    if kind == HINGE:
        back = tilt(param, y)
        return -y * clipped((1.0 - y * z) / (t + width), -back, 1.0 - back)
    if kind == SQUARED_HINGE:
        return -y * max((1.0 - y * z) / (1.0 + t), 0.0)
    if kind == EXPONENTIAL:
        return -y * exponential_slope(y * z, t)
    r = z - y
    if kind == SQUARED:
        return r / (1.0 + t)
    if kind == HUBER:
        return clipped(r / (1.0 + t), -param, param)
    if kind == QUANTILE:
        return clipped(r / (t + width), -param, 1.0 - param)
    if kind == EPSILON:
        return clipped(soft(r, param) / (t + width), -1.0, 1.0)
    return exponential_slope(-(z + t * y), t) - y  # POISSON: e = exp(z - t (e - y))


@kernel
def piece(kind: int, param: float, y: float, slope: float) -> tuple[float, float]:
    """Interval around ``slope`` on which the conjugate of a loss is a quadratic function."""
    if kind == HINGE:
        back = tilt(param, y)
        return (back - 1.0, back) if y > 0.0 else (-back, 1.0 - back)
    if kind == SQUARED_HINGE:
        return (-math.inf, 0.0) if y > 0.0 else (0.0, math.inf)
    if kind == HUBER:
        return -param, param
    if kind == QUANTILE:
        return -param, 1.0 - param
    if kind == EPSILON:
        return (0.0, 1.0) if slope > 0.0 else (-1.0, 0.0)
    return -math.inf, math.inf


def curve_bound(kind: int, width: float) -> float:
    """Largest second derivative of the loss of a kind; infinite where it is unbounded.

    Examples
    --------
    >>> curve_bound(LOGISTIC, 0.0)
    0.25
    """
    known = {LOGISTIC: 0.25, SQUARED_HINGE: 1.0, SQUARED: 1.0, HUBER: 1.0}
    if kind in (HINGE, QUANTILE, EPSILON):
        return 1.0 / width if width > 0.0 else math.inf
    return known.get(kind, math.inf)


# --- loops over rows ------------------------------------------------------------------------------


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
