"""One-pass learning of the pairwise square loss, row by row: SPAM with lazy penalties.

A learner is a ``table`` with four entries per column, stored together so that an entry of a row
costs one cache line, and a vector ``s`` of scalars (the constants below are positions in it). With
l1 strength k, cumulative threshold C and scale P, the weight of a column is::

    w = P (a - sign(a) k C)      a = table[j, 0], zero where the weight is

so that a penalty step on all columns changes only P and C. The sum of the iterates, the t-th
counted t times, is ``a U - sign(a) k V - table[j, 1]`` with U and V the sums of ``t P`` and
``t P C``. ``table[j, 2]`` and ``table[j, 3]`` hold the weighted sums of the positive and of the
negative rows (or their known means); the products of w with them follow from
``E = sum a m`` and ``F = sum sign(a) k m``.
"""

from __future__ import annotations

import math
from enum import IntEnum

from auctor.core.types import Array, FloatArray
from auctor.kernels.penalties.separable import prox_one
from auctor.kernels.runtime.compiled import inline_kernel, kernel
from auctor.kernels.streaming.rescaling import SMALL_SCALE


class Lazy(IntEnum):
    """Positions in the vector ``s`` of scalars, here, in `spam_lasso` and in a learner's state.

    Scale and threshold are applied to all columns at once, by changing a scalar: the penalty is
    lazy.
    """

    #: Steps so far.
    STEPS = 0
    #: Rows so far.
    ROWS = 1
    #: Weight of the rows so far.
    TOTAL = 2
    #: Sum of the weighted lengths of the rows.
    LENGTHS = 3
    #: Weight of the positive rows in the class sums.
    POSITIVE = 4
    #: Weight of the negative rows in the class sums.
    NEGATIVE = 5
    #: Share of positives if it is known; 0 means that it is estimated.
    PRIOR = 6
    #: P, the factor of all weights.
    SCALE = 7
    #: C, the cumulative threshold.
    SHRUNK = 8
    #: U, the sum of ``t P``.
    SUM_SCALE = 9
    #: V, the sum of ``t P C``.
    SUM_SHRUNK = 10
    #: Total weight of the averaged iterates, the sum of t.
    MASS = 11
    #: E, the sum of ``a m`` with m the sum of the positive rows.
    DOT_POSITIVE = 12
    #: E, the sum of ``a m`` with m the sum of the negative rows.
    DOT_NEGATIVE = 13
    #: F, the sum of ``sign(a) k m`` with m the sum of the positive rows.
    SIGN_POSITIVE = 14
    #: F, the sum of ``sign(a) k m`` with m the sum of the negative rows.
    SIGN_NEGATIVE = 15
    #: Entries read so far.
    ENTRIES = 16
    #: C at the last sweep over all columns.
    ORIGIN = 17
    #: C at the next sweep over all columns.
    HORIZON = 18
    #: Buckets per unit of C.
    FINENESS = 19


#: Largest step size, in units of one over the squared length of a row.
LARGEST_STEP = 0.25


@inline_kernel
def step_length(power: float, rate: float, t: float, ridge: float, size: float) -> float:
    """Step size of step t for rows of mean squared length ``size``.

    One over ``ridge t`` plus a constant for a power below 0, else ``rate / t ** power``.
    """
    if power < 0.0:
        return 1.0 / (ridge * t + 4.0 * size)
    return float(min(rate / t**power, LARGEST_STEP) / size)


@inline_kernel
def count_row(s: FloatArray, weight: float, positive: bool, square: float) -> bool:
    """Count a row; return whether both classes have been seen, so that a step is possible."""
    s[Lazy.ROWS] += 1.0
    s[Lazy.TOTAL] += weight
    s[Lazy.LENGTHS] += weight * math.sqrt(square)
    if s[Lazy.PRIOR] == 0.0:
        s[Lazy.POSITIVE if positive else Lazy.NEGATIVE] += weight
    return bool(s[Lazy.POSITIVE] > 0.0 and s[Lazy.NEGATIVE] > 0.0 and s[Lazy.LENGTHS] > 0.0)


@inline_kernel
def class_shares(s: FloatArray, weight: float, positive: bool) -> tuple[float, float]:
    """Multiples of a row to add to the sums of both classes; 0 where their means are known."""
    add = weight if s[Lazy.PRIOR] == 0.0 else 0.0
    return (add, 0.0) if positive else (0.0, add)


@inline_kernel
def mean_square(s: FloatArray) -> float:
    """Square of the mean length of the rows; an outlier changes it less than the mean square."""
    return float((s[Lazy.LENGTHS] / s[Lazy.TOTAL]) ** 2)


@inline_kernel
def prior(s: FloatArray) -> float:
    """Share of the positive class: the known prior, or the share so far."""
    return float(s[Lazy.PRIOR] if s[Lazy.PRIOR] > 0.0 else s[Lazy.POSITIVE] / s[Lazy.TOTAL])


@inline_kernel
def row_multiple(
    positive: bool, p: float, share: float, score: float, other: float, eta: float, square: float
) -> float:
    """Multiple of the row that a gradient step adds to w; ``other`` is the opposite mean score.

    The step size is capped at what the curvature of the row allows.
    """
    if positive:
        slope = 2.0 * (1.0 - p) * share * (score - other - 1.0)
    else:
        slope = 2.0 * p * share * (score - other + 1.0)
    if square * share * eta > LARGEST_STEP:
        eta = LARGEST_STEP / (square * share)
    move = -eta * slope
    return move if math.isfinite(move) else 0.0


@inline_kernel
def add_row(
    indices: Array,
    values: Array,
    start: int,
    stop: int,
    table: FloatArray,
    move: float,
    past: float,
    up: float,
    down: float,
) -> None:
    """Add multiples of a row to the four entries of its columns."""
    for k in range(start, stop):
        j, x = indices[k], float(values[k])
        table[j, 0] += move * x
        table[j, 1] += past * x
        table[j, 2] += up * x
        table[j, 3] += down * x


@kernel
def spam_ridge(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    l2: float,
    power: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """Proximal steps with one l2 strength for all columns, O(entries of the row) each."""
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        ax = on_positive = on_negative = square = 0.0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            ax += x * table[j, 0]
            on_positive += x * table[j, 2]
            on_negative += x * table[j, 3]
            square += x * x
        positive = y[i] > 0.0
        ready = count_row(s, weight[i], positive, square)
        up, down = class_shares(s, weight[i], positive)
        s[Lazy.DOT_POSITIVE] += up * ax
        s[Lazy.DOT_NEGATIVE] += down * ax
        # w <- (w - eta slope x) / (1 + eta p(1-p) l2): the division changes the scale P alone.
        t = scale = move = shrinkage = 0.0
        if ready:
            s[Lazy.STEPS] += 1.0
            t, scale, p = s[Lazy.STEPS], s[Lazy.SCALE], prior(s)
            ridge = p * (1.0 - p) * l2
            eta = step_length(power, rate, t, ridge, mean_square(s))
            shrinkage = eta * ridge
            if positive:
                other = s[Lazy.DOT_NEGATIVE] / s[Lazy.NEGATIVE]
            else:
                other = s[Lazy.DOT_POSITIVE] / s[Lazy.POSITIVE]
            share = weight[i] * s[Lazy.ROWS] / s[Lazy.TOTAL]
            move = row_multiple(positive, p, share, scale * ax, scale * other, eta, square) / scale
        add_row(indices, values, start, stop, table, move, s[Lazy.SUM_SCALE] * move, up, down)
        if not ready:
            continue
        s[Lazy.DOT_POSITIVE] += move * (on_positive + up * square)
        s[Lazy.DOT_NEGATIVE] += move * (on_negative + down * square)
        # The average weighs iterate t by t: U += t P.
        s[Lazy.SCALE] = scale / (1.0 + shrinkage)
        s[Lazy.SUM_SCALE] += t * s[Lazy.SCALE]
        s[Lazy.MASS] += t
        if s[Lazy.SCALE] < SMALL_SCALE:
            unscale(table, s)


@kernel
def unscale(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and recompute their products with the class sums."""
    s[Lazy.DOT_POSITIVE] = s[Lazy.DOT_NEGATIVE] = 0.0
    for j in range(table.shape[0]):
        table[j, 1] -= s[Lazy.SUM_SCALE] * table[j, 0]
        table[j, 0] *= s[Lazy.SCALE]
        s[Lazy.DOT_POSITIVE] += table[j, 0] * table[j, 2]
        s[Lazy.DOT_NEGATIVE] += table[j, 0] * table[j, 3]
    s[Lazy.SCALE], s[Lazy.SUM_SCALE] = 1.0, 0.0


@inline_kernel
def sign(a: float) -> float:
    """-1, 0 or 1."""
    return float((a > 0.0) - (a < 0.0))


@kernel
def write_back(table: FloatArray, s: FloatArray, l1: FloatArray) -> None:
    """Apply scale and threshold to the columns, reset both, and recompute the products."""
    one = l1.shape[0] == 1
    scale, shrunk = s[Lazy.SCALE], s[Lazy.SHRUNK]
    s[Lazy.DOT_POSITIVE] = s[Lazy.DOT_NEGATIVE] = 0.0
    s[Lazy.SIGN_POSITIVE] = s[Lazy.SIGN_NEGATIVE] = 0.0
    for j in range(table.shape[0]):
        a, level = table[j, 0], l1[0 if one else j]
        table[j, 1] -= a * s[Lazy.SUM_SCALE] - sign(a) * level * s[Lazy.SUM_SHRUNK]
        table[j, 0] = scale * max(abs(a) - level * shrunk, 0.0) * sign(a)
        for own in (2, 3):
            s[Lazy.DOT_POSITIVE - 2 + own] += table[j, 0] * table[j, own]
            s[Lazy.SIGN_POSITIVE - 2 + own] += sign(table[j, 0]) * level * table[j, own]
    s[Lazy.SCALE] = 1.0
    s[Lazy.SHRUNK] = s[Lazy.SUM_SCALE] = s[Lazy.SUM_SHRUNK] = s[Lazy.HORIZON] = 0.0


@kernel
def spam_dense(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    power: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """Proximal steps with any separable penalty, O(d) each."""
    least = l2.min()
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        score = square = 0.0
        positive = y[i] > 0.0
        own = 2 if positive else 3
        add = weight[i] if s[Lazy.PRIOR] == 0.0 else 0.0
        # Score and squared length; the class sum gets the row unless the class means are known.
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            score += x * table[j, 0]
            square += x * x
            table[j, own] += add * x
        if not count_row(s, weight[i], positive, square):
            continue
        s[Lazy.STEPS] += 1.0
        t, p = s[Lazy.STEPS], prior(s)
        q = p * (1.0 - p)
        eta = step_length(power, rate, t, q * least, mean_square(s))
        # Mean score of the other class, w.m, with m from the last two entries of the table.
        other = 0.0
        for j in range(table.shape[0]):
            other += table[j, 0] * table[j, 5 - own]
        other /= s[Lazy.NEGATIVE] if positive else s[Lazy.POSITIVE]
        share = weight[i] * s[Lazy.ROWS] / s[Lazy.TOTAL]
        move = row_multiple(positive, p, share, score, other, eta, square)
        for k in range(start, stop):
            table[indices[k], 0] += move * values[k]
        for j in range(table.shape[0]):
            # w <- prox of eta p(1-p) times the penalty; the average counts iterate t times t.
            w = prox_one(table[j, 0], eta * q, l1[j], l2[j], lower[j], upper[j])
            table[j, 0] = w
            table[j, 1] -= t * w
        s[Lazy.MASS] += t
