"""One-pass learning of the pairwise square loss, row by row: SPAM with lazy penalties.

A learner is a ``table`` with four entries per column, side by side so that a row's entry costs one
cache line, and a vector ``s`` of scalars (their places are the constants below). With l1 strength
k, cumulative threshold C and scale P, a column's weight is::

    w = P (a - sign(a) k C)      a = table[j, 0], zero where the weight is

so that a penalty step on all columns changes P and C alone. The sum of the iterates, the t-th
counted t times, is ``a U - sign(a) k V - table[j, 1]`` with U and V the sums of ``t P`` and
``t P C``. ``table[j, 2]`` and ``table[j, 3]`` hold the weighted sums of the positive and of the
negative rows (or their known means); the products of w with them follow from
``E = sum a m`` and ``F = sum sign(a) k m``.

With l1, a column must be looked at in the step that thresholds it to zero, when k C reaches |a|.
From time to time all are looked at; those that may get to zero before the next time are sorted by
the C of that moment into `buckets`, which are emptied as C goes on. So are those that come close to
zero in the meantime.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.buckets import BUCKET, MOST, NEXT, enter, leave
from auctor.kernels.compiled import inline_kernel, kernel
from auctor.kernels.prox import prox_one
from auctor.kernels.quad import Quad, lane, line, plus, quad, set_line

#: Places in the vector of scalars: steps made; rows, their weight and weighted lengths.
STEPS, ROWS, TOTAL, LENGTHS = 0, 1, 2, 3
#: Weight of the positive and negative rows behind the sums, and the prior if known (0: running).
POSITIVE, NEGATIVE, PRIOR = 4, 5, 6
#: P, C, U, V and the total weight of the averaged iterates.
SCALE, SHRUNK, SUM_SCALE, SUM_SHRUNK, MASS = 7, 8, 9, 10, 11
#: E and F for both classes.
DOT_POSITIVE, DOT_NEGATIVE, SIGN_POSITIVE, SIGN_NEGATIVE = 12, 13, 14, 15
#: Entries read; C when all columns were looked at last and when they will be again; buckets per C.
ENTRIES, ORIGIN, HORIZON, FINENESS = 16, 17, 18, 19
SCALARS = 20

#: Step rules.
INVERSE, SQRT, CONSTANT = 0, 1, 2
#: A scale below this is multiplied into the columns, before rounding matters.
SMALL = 1e-5
#: So is a cumulative threshold above this.
LARGE = 1e3
#: All columns are looked at when about this many entries per column were read, but not more often
#: than after so many steps.
SWEEP, LEAST = 1.4, 64.0


@inline_kernel
def step_length(rule: int, rate: float, t: float, ridge: float, size: float) -> float:
    """Length of step t for rows of squared length ``size``."""
    if rule == INVERSE:
        return 1.0 / (ridge * t + 4.0 * size)
    level = rate / math.sqrt(t) if rule == SQRT else rate
    return min(level, 0.25) / size


@inline_kernel
def count_row(s: FloatArray, weight: float, positive: bool, square: float) -> bool:
    """Count a row; whether both classes have been seen, so that a step can be made."""
    s[ROWS] += 1.0
    s[TOTAL] += weight
    s[LENGTHS] += weight * math.sqrt(square)
    if s[PRIOR] == 0.0:
        s[POSITIVE if positive else NEGATIVE] += weight
    return bool(s[POSITIVE] > 0.0 and s[NEGATIVE] > 0.0 and s[LENGTHS] > 0.0)


@inline_kernel
def class_shares(s: FloatArray, weight: float, positive: bool) -> tuple[float, float]:
    """Multiple of a row that the sums of the positives and of the negatives take, if running."""
    add = weight if s[PRIOR] == 0.0 else 0.0
    return (add, 0.0) if positive else (0.0, add)


@inline_kernel
def mean_square(s: FloatArray) -> float:
    """Square of the mean length of the rows; one outlier does not decide it."""
    return float((s[LENGTHS] / s[TOTAL]) ** 2)


@inline_kernel
def prior(s: FloatArray) -> float:
    """Share of the positive class."""
    return float(s[PRIOR] if s[PRIOR] > 0.0 else s[POSITIVE] / s[TOTAL])


@inline_kernel
def pull(
    positive: bool, p: float, share: float, score: float, other: float, eta: float, square: float
) -> float:
    """Multiple of the row that a gradient step adds to w, ``other`` the opposite mean score.

    No row may move w further than its own curvature allows.
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
    indices: Array, values: Array, start: int, stop: int, table: FloatArray, step: Quad
) -> None:
    """Add multiples of a row to the four entries of its columns."""
    for k in range(start, stop):
        j = indices[k]
        set_line(table, j, plus(line(table, j), float(values[k]), step))


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
        products, square = quad(0.0, 0.0, 0.0, 0.0), 0.0
        for k in range(start, stop):
            x = float(values[k])
            products = plus(products, x, line(table, indices[k]))
            square += x * x
        ax, positive = lane(products, 0), y[i] > 0.0
        ready = count_row(s, weight[i], positive, square)
        up, down = class_shares(s, weight[i], positive)
        s[DOT_POSITIVE] += up * ax
        s[DOT_NEGATIVE] += down * ax
        t = scale = move = pace = 0.0
        if ready:
            s[STEPS] += 1.0
            t, scale, p = s[STEPS], s[SCALE], prior(s)
            ridge = p * (1.0 - p) * l2
            eta = step_length(rule, rate, t, ridge, mean_square(s))
            pace = eta * ridge
            other = s[DOT_NEGATIVE] / s[NEGATIVE] if positive else s[DOT_POSITIVE] / s[POSITIVE]
            share = weight[i] * s[ROWS] / s[TOTAL]
            move = pull(positive, p, share, scale * ax, scale * other, eta, square) / scale
        step = quad(move, s[SUM_SCALE] * move, up, down)
        add_row(indices, values, start, stop, table, step)
        if not ready:
            continue
        s[DOT_POSITIVE] += move * (lane(products, 2) + up * square)
        s[DOT_NEGATIVE] += move * (lane(products, 3) + down * square)
        s[SCALE] = scale / (1.0 + pace)
        s[SUM_SCALE] += t * s[SCALE]
        s[MASS] += t
        if s[SCALE] < SMALL:
            unscale(table, s)


@kernel
def unscale(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and make their products exact again."""
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


@inline_kernel
def signed(size: float, a: float) -> float:
    """``size`` with the sign of a; zero where a is."""
    return math.copysign(size, a) if a != 0.0 else 0.0


@kernel
def spam_lasso(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    l1: FloatArray,
    l2: float,
    lower: FloatArray,
    upper: FloatArray,
    rule: int,
    rate: float,
    table: FloatArray,
    s: FloatArray,
    heads: IntArray,
    links: IntArray,
) -> None:
    """Proximal steps with l1 strengths and boxes around zero, O(entries of the row) each.

    The arrays of the penalty have one entry, or one per column. A column whose weight keeps its
    sign and stays away from zero moves as under a ridge, unless there are boxes.
    """
    one, single, strongest = l1.shape[0] == 1, l1[0], l1.max()
    free = bool(np.isinf(lower).all() and np.isinf(upper).all())
    least = 0.0 if free else np.inf  # in a box, no column moves as under a ridge
    slow = np.empty(np.diff(indptr).max(), indptr.dtype)
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        products, turned, square = quad(0.0, 0.0, 0.0, 0.0), 0.0, 0.0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            column = line(table, j)
            products = plus(products, x, column)
            turned += x * signed(single if one else l1[j], lane(column, 0))
            square += x * x
        s[ENTRIES] += float(stop - start)
        ax, positive = lane(products, 0), y[i] > 0.0
        ready = count_row(s, weight[i], positive, square)
        up, down = class_shares(s, weight[i], positive)
        s[DOT_POSITIVE] += up * ax
        s[DOT_NEGATIVE] += down * ax
        s[SIGN_POSITIVE] += up * turned
        s[SIGN_NEGATIVE] += down * turned
        if not ready:
            add_row(indices, values, start, stop, table, quad(0.0, 0.0, up, down))
            continue
        s[STEPS] += 1.0
        t, scale, shrunk, p = s[STEPS], s[SCALE], s[SHRUNK], prior(s)
        q = p * (1.0 - p)
        eta = step_length(rule, rate, t, q * l2, mean_square(s))
        if positive:
            other = (s[DOT_NEGATIVE] - shrunk * s[SIGN_NEGATIVE]) / s[NEGATIVE]
        else:
            other = (s[DOT_POSITIVE] - shrunk * s[SIGN_POSITIVE]) / s[POSITIVE]
        share = weight[i] * s[ROWS] / s[TOTAL]
        score = scale * (ax - shrunk * turned)
        move = pull(positive, p, share, score, scale * other, eta, square) / scale
        cut = eta * q / scale
        if strongest > 0.0 and shrunk + cut >= s[HORIZON]:
            sweep(table, s, heads, links, l1, cut)
        horizon = s[HORIZON]
        sums, moves = quad(0.0, 0.0, up, down), quad(move, s[SUM_SCALE] * move, 0.0, 0.0)
        count = 0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            column = plus(line(table, j), x, sums)
            a = lane(column, 0) + move * x
            bound = (single if one else l1[j]) * horizon
            alone = min(a * lane(column, 0), abs(a) - bound) > least
            set_line(table, j, plus(column, x if alone else 0.0, moves))
            slow[count] = k
            count += not alone
        s[DOT_POSITIVE] += move * (lane(products, 2) + up * square)
        s[DOT_NEGATIVE] += move * (lane(products, 3) + down * square)
        scale_now = max(scale / (1.0 + eta * q * l2), 1e-300)
        count = threshold(
            indices, values, slow, count, l1, lower, upper, free, move, cut, scale_now, table, s
        )
        s[SCALE], s[SHRUNK] = scale_now, shrunk + cut
        if strongest > 0.0:
            if count > 0:
                line_up(indices, slow, count, l1, table, s, heads, links)
            for bucket in range(bucket_of(s, shrunk), bucket_of(s, s[SHRUNK]) + 1):
                if heads[bucket] > 0:
                    empty(bucket, table, s, heads, links, l1)
        s[SUM_SCALE] += t * s[SCALE]
        s[SUM_SHRUNK] += t * s[SCALE] * s[SHRUNK]
        s[MASS] += t
        if s[SCALE] < SMALL or s[SHRUNK] * strongest > LARGE:
            settle(table, s, l1)


@inline_kernel
def threshold(
    indices: Array,
    values: Array,
    slow: Array,
    count: int,
    l1: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    free: bool,
    move: float,
    cut: float,
    scale: float,
    table: FloatArray,
    s: FloatArray,
) -> int:
    """Move the columns of some entries of a row, and take the penalty step on them.

    ``scale`` is that after the step. Leaves in ``slow`` the entries whose columns may get to zero
    before all are looked at again; returns their number.
    """
    one, single = l1.shape[0] == 1, l1[0]
    shrunk, sum_scale, sum_shrunk, horizon = s[SHRUNK], s[SUM_SCALE], s[SUM_SHRUNK], s[HORIZON]
    dot_positive = dot_negative = sign_positive = sign_negative = 0.0
    left = 0
    for n in range(count):
        k = slow[n]
        j, x = indices[k], float(values[k])
        old, level = table[j, 0], single if one else l1[j]
        a = math.copysign(max(abs(old) - level * shrunk, 0.0), old) + move * x
        a = math.copysign(max(abs(a) - level * cut, 0.0), a)
        if not free:
            a = max(a, (lower[0] if one else lower[j]) / scale)
            a = min(a, (upper[0] if one else upper[j]) / scale)
        a += signed(level, a) * (shrunk + cut)
        change, turn = a - old, signed(level, a) - signed(level, old)
        table[j, 0] = a
        table[j, 1] += change * sum_scale - turn * sum_shrunk
        change -= move * x
        dot_positive += change * table[j, 2]
        dot_negative += change * table[j, 3]
        sign_positive += turn * table[j, 2]
        sign_negative += turn * table[j, 3]
        slow[left] = k
        left += min(abs(a), level * horizon - abs(a)) > 0.0
    s[DOT_POSITIVE] += dot_positive
    s[DOT_NEGATIVE] += dot_negative
    s[SIGN_POSITIVE] += sign_positive
    s[SIGN_NEGATIVE] += sign_negative
    return left


@inline_kernel
def line_up(
    indices: Array,
    some: Array,
    count: int,
    l1: FloatArray,
    table: FloatArray,
    s: FloatArray,
    heads: IntArray,
    links: IntArray,
) -> None:
    """See that the columns of some entries are in their bucket, or in an earlier one."""
    one, single = l1.shape[0] == 1, l1[0]
    for n in range(count):
        j = indices[some[n]]
        bucket = bucket_of(s, abs(table[j, 0]) / (single if one else l1[j]))
        if links[j, BUCKET] > bucket + 1:
            leave(heads, links, j)
        if links[j, BUCKET] == 0:
            enter(heads, links, j, bucket)


@inline_kernel
def bucket_of(s: FloatArray, threshold: float) -> int:
    """Where a column belongs that is zero from this cumulative threshold on."""
    place = (threshold - s[ORIGIN]) * s[FINENESS]
    if not place < MOST - 1.0:  # also where it is not a number
        return MOST - 1
    return int(place) if place > 0.0 else 0


@kernel
def sweep(
    table: FloatArray, s: FloatArray, heads: IntArray, links: IntArray, l1: FloatArray, cut: float
) -> None:
    """Put the columns that may get to zero before all are looked at again into buckets.

    There are two buckets for a step that raises the threshold by ``cut``.
    """
    steps = SWEEP * table.shape[0] * s[ROWS] / max(s[ENTRIES], 1.0)
    steps = min(max(steps, LEAST), 0.5 * MOST)
    used = MOST if s[HORIZON] == 0.0 else bucket_of(s, s[HORIZON]) + 1
    for bucket in range(used):
        after, heads[bucket] = heads[bucket], 0
        while after > 0:
            links[after - 1, BUCKET] = 0
            after = links[after - 1, NEXT]
    horizon = s[SHRUNK] + steps * cut
    s[ORIGIN], s[FINENESS], s[HORIZON] = s[SHRUNK], 2.0 / max(cut, 1e-300), horizon
    one, single = l1.shape[0] == 1, l1[0]
    near, count = np.empty(table.shape[0], np.uint64), 0
    for j in range(table.shape[0]):
        a = abs(table[j, 0])
        near[count] = j
        count += min(a, (single if one else l1[j]) * horizon - a) > 0.0
    for n in range(count):
        j = near[n]
        if links[j, BUCKET] == 0:
            enter(heads, links, j, bucket_of(s, abs(table[j, 0]) / (single if one else l1[j])))


@kernel
def empty(
    bucket: int,
    table: FloatArray,
    s: FloatArray,
    heads: IntArray,
    links: IntArray,
    l1: FloatArray,
) -> None:
    """Set the columns of a bucket to zero that the threshold has reached."""
    shrunk, after = s[SHRUNK], heads[bucket]
    heads[bucket] = 0
    while after > 0:
        j = after - 1
        after = links[j, NEXT]
        links[j, BUCKET] = 0
        a, level = table[j, 0], l1[0 if l1.shape[0] == 1 else j]
        if abs(a) > level * shrunk:
            if abs(a) < level * s[HORIZON]:
                enter(heads, links, j, bucket_of(s, abs(a) / level))
            continue
        turn = sign(a) * level
        table[j, 0] = 0.0
        table[j, 1] -= a * s[SUM_SCALE] - turn * s[SUM_SHRUNK]
        s[DOT_POSITIVE] -= a * table[j, 2]
        s[DOT_NEGATIVE] -= a * table[j, 3]
        s[SIGN_POSITIVE] -= turn * table[j, 2]
        s[SIGN_NEGATIVE] -= turn * table[j, 3]


@kernel
def settle(table: FloatArray, s: FloatArray, l1: FloatArray) -> None:
    """Write scale and threshold into the columns and make their products exact again."""
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
        other = 0.0
        for j in range(table.shape[0]):
            other += table[j, 0] * table[j, 5 - own]
        other /= s[NEGATIVE] if positive else s[POSITIVE]
        share = weight[i] * s[ROWS] / s[TOTAL]
        move = pull(positive, p, share, score, other, eta, square)
        for k in range(start, stop):
            table[indices[k], 0] += move * values[k]
        for j in range(table.shape[0]):
            w = prox_one(table[j, 0], eta * q, l1[j], l2[j], lower[j], upper[j])
            table[j, 0] = w
            table[j, 1] -= t * w
        s[MASS] += t
