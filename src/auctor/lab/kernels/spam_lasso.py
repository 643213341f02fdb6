"""SPAM with l1 strengths and boxes that contain zero; letters and positions are those of `spam`.

A column must be visited in the step that thresholds it to zero, when k C reaches |a|. From time to
time all columns are swept. Those that may become zero before the next sweep are put into `buckets`
by the C at which that happens, and the buckets are processed as C grows. Columns that come close to
zero between two sweeps are put into buckets too.

The entries of a row whose columns need more than a ridge step are listed without a branch, and
processed afterwards.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel
from auctor.kernels.streaming.rescaling import SMALL_SCALE
from auctor.lab.kernels.buckets import BUCKET, BUCKETS, NEXT, enter, leave
from auctor.lab.kernels.spam import (
    Lazy,
    add_row,
    class_shares,
    count_row,
    mean_square,
    prior,
    row_multiple,
    step_length,
    write_back,
)

#: Cumulative threshold, in units of weights, above which it is applied to the columns and reset.
LARGE = 1e3
#: Entries read per column after which all columns are swept.
SWEEP = 1.4
#: Smallest number of steps between two sweeps.
LEAST_STEPS = 64.0


@inline_kernel
def signed(size: float, a: float) -> float:
    """``size`` with the sign of a, and 0 where a is 0."""
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
    power: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
    heads: IntArray,
    links: IntArray,
) -> None:
    """Proximal steps with l1 strengths and boxes that contain 0, O(entries of the row) each.

    The arrays of the penalty have one entry, or one per column. Without boxes, a column whose
    weight keeps its sign and stays away from zero needs only the ridge step.
    """
    one, single, strongest = l1.shape[0] == 1, l1[0], l1.max()
    free = bool(np.isinf(lower).all() and np.isinf(upper).all())
    least = 0.0 if free else np.inf  # with boxes, every column needs the full step
    slow = np.empty(np.diff(indptr).max(), indptr.dtype)
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        # Products of the row with a, with both class sums, and with sign(a) k.
        ax = on_positive = on_negative = turned = square = 0.0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            a = table[j, 0]
            ax += x * a
            on_positive += x * table[j, 2]
            on_negative += x * table[j, 3]
            turned += x * signed(single if one else l1[j], a)
            square += x * x
        s[Lazy.ENTRIES] += float(stop - start)
        positive = y[i] > 0.0
        ready = count_row(s, weight[i], positive, square)
        up, down = class_shares(s, weight[i], positive)
        # E = sum a m and F = sum sign(a) k m change with the class sums.
        s[Lazy.DOT_POSITIVE] += up * ax
        s[Lazy.DOT_NEGATIVE] += down * ax
        s[Lazy.SIGN_POSITIVE] += up * turned
        s[Lazy.SIGN_NEGATIVE] += down * turned
        if not ready:
            add_row(indices, values, start, stop, table, 0.0, 0.0, up, down)
            continue
        s[Lazy.STEPS] += 1.0
        # The step compares w.x with the mean score of the other class (Natole, Ying, Lyu, 2018),
        # with the weights w_j = P (a_j - sign(a_j) k_j C).
        t, scale, shrunk, p = s[Lazy.STEPS], s[Lazy.SCALE], s[Lazy.SHRUNK], prior(s)
        q = p * (1.0 - p)
        eta = step_length(power, rate, t, q * l2, mean_square(s))
        if positive:
            other = (s[Lazy.DOT_NEGATIVE] - shrunk * s[Lazy.SIGN_NEGATIVE]) / s[Lazy.NEGATIVE]
        else:
            other = (s[Lazy.DOT_POSITIVE] - shrunk * s[Lazy.SIGN_POSITIVE]) / s[Lazy.POSITIVE]
        share = weight[i] * s[Lazy.ROWS] / s[Lazy.TOTAL]
        score = scale * (ax - shrunk * turned)
        move = row_multiple(positive, p, share, score, scale * other, eta, square) / scale
        cut = eta * q / scale
        if strongest > 0.0 and shrunk + cut >= s[Lazy.HORIZON]:
            sweep(table, s, heads, links, l1, cut)
        # a <- a + move x. Columns that may reach 0 before the horizon, or change sign, are listed.
        horizon, past = s[Lazy.HORIZON], s[Lazy.SUM_SCALE] * move
        count = 0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            old = table[j, 0]
            a = old + move * x
            bound = (single if one else l1[j]) * horizon
            alone = min(a * old, abs(a) - bound) > least
            table[j, 0] = a if alone else old
            table[j, 1] += past * x if alone else 0.0
            table[j, 2] += up * x
            table[j, 3] += down * x
            slow[count] = k
            count += not alone
        s[Lazy.DOT_POSITIVE] += move * (on_positive + up * square)
        s[Lazy.DOT_NEGATIVE] += move * (on_negative + down * square)
        scale_now = max(scale / (1.0 + eta * q * l2), SMALLEST_DIVISOR)
        count = threshold(
            indices, values, slow, count, l1, lower, upper, free, move, cut, scale_now, table, s
        )
        s[Lazy.SCALE], s[Lazy.SHRUNK] = scale_now, shrunk + cut
        if strongest > 0.0:
            if count > 0:
                enter_buckets(indices, slow, count, l1, table, s, heads, links)
            for bucket in range(bucket_of(s, shrunk), bucket_of(s, s[Lazy.SHRUNK]) + 1):
                if heads[bucket] > 0:
                    process_bucket(bucket, table, s, heads, links, l1)
        # Averages of the iterates, weighted by t: sums of P and of P C are enough.
        s[Lazy.SUM_SCALE] += t * s[Lazy.SCALE]
        s[Lazy.SUM_SHRUNK] += t * s[Lazy.SCALE] * s[Lazy.SHRUNK]
        s[Lazy.MASS] += t
        if s[Lazy.SCALE] < SMALL_SCALE or s[Lazy.SHRUNK] * strongest > LARGE:
            write_back(table, s, l1)


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
    """Move the columns of the listed entries of a row, and take the penalty step on them.

    ``scale`` is that after the step. Leaves in ``slow`` the entries whose columns may become zero
    before the next sweep; returns their number.
    """
    one, single = l1.shape[0] == 1, l1[0]
    shrunk, horizon = s[Lazy.SHRUNK], s[Lazy.HORIZON]
    sum_scale, sum_shrunk = s[Lazy.SUM_SCALE], s[Lazy.SUM_SHRUNK]
    dot_positive = dot_negative = sign_positive = sign_negative = 0.0
    left = 0
    for n in range(count):
        k = slow[n]
        j, x = indices[k], float(values[k])
        old, level = table[j, 0], single if one else l1[j]
        # w/P = sign(a) max(|a| - k C, 0) moves along the row, is soft-thresholded by k cut, put
        # into its box, and stored as a for the new C = shrunk + cut.
        a = math.copysign(max(abs(old) - level * shrunk, 0.0), old) + move * x
        a = math.copysign(max(abs(a) - level * cut, 0.0), a)
        if not free:
            a = max(a, (lower[0] if one else lower[j]) / scale)
            a = min(a, (upper[0] if one else upper[j]) / scale)
        a += signed(level, a) * (shrunk + cut)
        change, turn = a - old, signed(level, a) - signed(level, old)
        table[j, 0] = a
        # The sum of the iterates, a U - sign(a) k V - table[j, 1], must not jump with a.
        table[j, 1] += change * sum_scale - turn * sum_shrunk
        change -= move * x
        dot_positive += change * table[j, 2]
        dot_negative += change * table[j, 3]
        sign_positive += turn * table[j, 2]
        sign_negative += turn * table[j, 3]
        slow[left] = k
        left += min(abs(a), level * horizon - abs(a)) > 0.0
    s[Lazy.DOT_POSITIVE] += dot_positive
    s[Lazy.DOT_NEGATIVE] += dot_negative
    s[Lazy.SIGN_POSITIVE] += sign_positive
    s[Lazy.SIGN_NEGATIVE] += sign_negative
    return left


@inline_kernel
def enter_buckets(
    indices: Array,
    some: Array,
    count: int,
    l1: FloatArray,
    table: FloatArray,
    s: FloatArray,
    heads: IntArray,
    links: IntArray,
) -> None:
    """Put the columns of some entries into their bucket; those in an earlier one stay there."""
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
    """Bucket of a column that becomes zero at this cumulative threshold."""
    place = (threshold - s[Lazy.ORIGIN]) * s[Lazy.FINENESS]
    if not place < BUCKETS - 1.0:  # true for NaN, too
        return BUCKETS - 1
    return int(place) if place > 0.0 else 0


@kernel
def sweep(
    table: FloatArray, s: FloatArray, heads: IntArray, links: IntArray, l1: FloatArray, cut: float
) -> None:
    """Put the columns that may become zero before the next sweep into buckets.

    A step raises the threshold by ``cut``, the width of two buckets.
    """
    steps = SWEEP * table.shape[0] * s[Lazy.ROWS] / max(s[Lazy.ENTRIES], 1.0)
    steps = min(max(steps, LEAST_STEPS), 0.5 * BUCKETS)
    used = BUCKETS if s[Lazy.HORIZON] == 0.0 else bucket_of(s, s[Lazy.HORIZON]) + 1
    # Empty the buckets, then collect the columns close to zero without a branch.
    for bucket in range(used):
        after, heads[bucket] = heads[bucket], 0
        while after > 0:
            links[after - 1, BUCKET] = 0
            after = links[after - 1, NEXT]
    horizon = s[Lazy.SHRUNK] + steps * cut
    s[Lazy.ORIGIN], s[Lazy.HORIZON] = s[Lazy.SHRUNK], horizon
    s[Lazy.FINENESS] = 2.0 / max(cut, SMALLEST_DIVISOR)
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
def process_bucket(
    bucket: int, table: FloatArray, s: FloatArray, heads: IntArray, links: IntArray, l1: FloatArray
) -> None:
    """Set those columns of a bucket to zero whose threshold is reached; keep the others."""
    shrunk, after = s[Lazy.SHRUNK], heads[bucket]
    heads[bucket] = 0
    while after > 0:
        j = after - 1
        after = links[j, NEXT]
        links[j, BUCKET] = 0
        a, level = table[j, 0], l1[0 if l1.shape[0] == 1 else j]
        # Not yet at zero: to a later bucket, if that is before the next sweep.
        if abs(a) > level * shrunk:
            if abs(a) < level * s[Lazy.HORIZON]:
                enter(heads, links, j, bucket_of(s, abs(a) / level))
            continue
        # a becomes 0: correct the sum of the iterates, E and F.
        turn = signed(level, a)
        table[j, 0] = 0.0
        table[j, 1] -= a * s[Lazy.SUM_SCALE] - turn * s[Lazy.SUM_SHRUNK]
        s[Lazy.DOT_POSITIVE] -= a * table[j, 2]
        s[Lazy.DOT_NEGATIVE] -= a * table[j, 3]
        s[Lazy.SIGN_POSITIVE] -= turn * table[j, 2]
        s[Lazy.SIGN_NEGATIVE] -= turn * table[j, 3]
