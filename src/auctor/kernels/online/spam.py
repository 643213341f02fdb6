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

from auctor.core.types import Array, FloatArray
from auctor.kernels.online.rescaling import SMALL_SCALE
from auctor.kernels.penalties.separable import prox_one
from auctor.kernels.runtime.compiled import inline_kernel, kernel

#: Positions in the vector of scalars: steps; rows, their weight and weighted lengths.
STEPS, ROWS, TOTAL, LENGTHS = 0, 1, 2, 3
#: Weight of the positive and negative rows in the sums, and the prior if known (0: estimated).
POSITIVE, NEGATIVE, PRIOR = 4, 5, 6
#: P, C, U, V and the total weight of the averaged iterates.
SCALE, SHRUNK, SUM_SCALE, SUM_SHRUNK, MASS = 7, 8, 9, 10, 11
#: E and F for both classes.
DOT_POSITIVE, DOT_NEGATIVE, SIGN_POSITIVE, SIGN_NEGATIVE = 12, 13, 14, 15
#: Entries read; C at the last and at the next sweep over all columns; buckets per unit of C.
ENTRIES, ORIGIN, HORIZON, FINENESS = 16, 17, 18, 19
#: Length of the vector of scalars.
SCALARS = 20

#: Rules for the step size.
INVERSE, SQRT, CONSTANT = 0, 1, 2


@inline_kernel
def step_length(rule: int, rate: float, t: float, ridge: float, size: float) -> float:
    """Step size of step t for rows of mean squared length ``size``."""
    if rule == INVERSE:
        return 1.0 / (ridge * t + 4.0 * size)
    level = rate / math.sqrt(t) if rule == SQRT else rate
    return min(level, 0.25) / size


@inline_kernel
def count_row(s: FloatArray, weight: float, positive: bool, square: float) -> bool:
    """Count a row; return whether both classes have been seen, so that a step is possible."""
    s[ROWS] += 1.0
    s[TOTAL] += weight
    s[LENGTHS] += weight * math.sqrt(square)
    if s[PRIOR] == 0.0:
        s[POSITIVE if positive else NEGATIVE] += weight
    return bool(s[POSITIVE] > 0.0 and s[NEGATIVE] > 0.0 and s[LENGTHS] > 0.0)


@inline_kernel
def class_shares(s: FloatArray, weight: float, positive: bool) -> tuple[float, float]:
    """Multiples of a row to add to the sums of both classes; 0 where their means are known."""
    add = weight if s[PRIOR] == 0.0 else 0.0
    return (add, 0.0) if positive else (0.0, add)


@inline_kernel
def mean_square(s: FloatArray) -> float:
    """Square of the mean length of the rows; an outlier changes it less than the mean square."""
    return float((s[LENGTHS] / s[TOTAL]) ** 2)


@inline_kernel
def prior(s: FloatArray) -> float:
    """Share of the positive class: the known prior, or the share so far."""
    return float(s[PRIOR] if s[PRIOR] > 0.0 else s[POSITIVE] / s[TOTAL])


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
    if square * share * eta > 0.25:
        eta = 0.25 / (square * share)
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
    rule: int,
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
        s[DOT_POSITIVE] += up * ax
        s[DOT_NEGATIVE] += down * ax
        # w <- (w - eta slope x) / (1 + eta p(1-p) l2): the division changes the scale P alone.
        t = scale = move = shrinkage = 0.0
        if ready:
            s[STEPS] += 1.0
            t, scale, p = s[STEPS], s[SCALE], prior(s)
            ridge = p * (1.0 - p) * l2
            eta = step_length(rule, rate, t, ridge, mean_square(s))
            shrinkage = eta * ridge
            other = s[DOT_NEGATIVE] / s[NEGATIVE] if positive else s[DOT_POSITIVE] / s[POSITIVE]
            share = weight[i] * s[ROWS] / s[TOTAL]
            move = row_multiple(positive, p, share, scale * ax, scale * other, eta, square) / scale
        add_row(indices, values, start, stop, table, move, s[SUM_SCALE] * move, up, down)
        if not ready:
            continue
        s[DOT_POSITIVE] += move * (on_positive + up * square)
        s[DOT_NEGATIVE] += move * (on_negative + down * square)
        # The average weighs iterate t by t: U += t P.
        s[SCALE] = scale / (1.0 + shrinkage)
        s[SUM_SCALE] += t * s[SCALE]
        s[MASS] += t
        if s[SCALE] < SMALL_SCALE:
            unscale(table, s)


@kernel
def unscale(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and recompute their products with the class sums."""
    s[DOT_POSITIVE] = s[DOT_NEGATIVE] = 0.0
    for j in range(table.shape[0]):
        table[j, 1] -= s[SUM_SCALE] * table[j, 0]
        table[j, 0] *= s[SCALE]
        s[DOT_POSITIVE] += table[j, 0] * table[j, 2]
        s[DOT_NEGATIVE] += table[j, 0] * table[j, 3]
    s[SCALE], s[SUM_SCALE] = 1.0, 0.0


@inline_kernel
def sign(a: float) -> float:
    """-1, 0 or 1."""
    return float((a > 0.0) - (a < 0.0))


@kernel
def write_back(table: FloatArray, s: FloatArray, l1: FloatArray) -> None:
    """Apply scale and threshold to the columns, reset both, and recompute the products."""
    one = l1.shape[0] == 1
    scale, shrunk = s[SCALE], s[SHRUNK]
    for place in (DOT_POSITIVE, DOT_NEGATIVE, SIGN_POSITIVE, SIGN_NEGATIVE):
        s[place] = 0.0
    for j in range(table.shape[0]):
        a, level = table[j, 0], l1[0 if one else j]
        table[j, 1] -= a * s[SUM_SCALE] - sign(a) * level * s[SUM_SHRUNK]
        table[j, 0] = scale * max(abs(a) - level * shrunk, 0.0) * sign(a)
        for own in (2, 3):
            s[DOT_POSITIVE - 2 + own] += table[j, 0] * table[j, own]
            s[SIGN_POSITIVE - 2 + own] += sign(table[j, 0]) * level * table[j, own]
    s[SCALE], s[SHRUNK], s[SUM_SCALE], s[SUM_SHRUNK], s[HORIZON] = 1.0, 0.0, 0.0, 0.0, 0.0


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
    rule: int,
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
        add = weight[i] if s[PRIOR] == 0.0 else 0.0
        # Score and squared length; the class sum gets the row unless the class means are known.
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            score += x * table[j, 0]
            square += x * x
            table[j, own] += add * x
        if not count_row(s, weight[i], positive, square):
            continue
        s[STEPS] += 1.0
        t, p = s[STEPS], prior(s)
        q = p * (1.0 - p)
        eta = step_length(rule, rate, t, q * least, mean_square(s))
        # Mean score of the other class, w.m, with m from the last two entries of the table.
        other = 0.0
        for j in range(table.shape[0]):
            other += table[j, 0] * table[j, 5 - own]
        other /= s[NEGATIVE] if positive else s[POSITIVE]
        share = weight[i] * s[ROWS] / s[TOTAL]
        move = row_multiple(positive, p, share, score, other, eta, square)
        for k in range(start, stop):
            table[indices[k], 0] += move * values[k]
        for j in range(table.shape[0]):
            # w <- prox of eta p(1-p) times the penalty; the average counts iterate t times t.
            w = prox_one(table[j, 0], eta * q, l1[j], l2[j], lower[j], upper[j])
            table[j, 0] = w
            table[j, 1] -= t * w
        s[MASS] += t
