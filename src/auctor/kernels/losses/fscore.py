"""The most violated labelling of F-beta, and its smoothing over levels of F.

Weights are shares of the total, of sum 1. A labelling flips the lowest positives, of mass B, and
the highest negatives, of mass C. With ``factor = 1 + beta^2`` and ``m`` the mass of the positives,
``1 - F = 1 - factor (m - B) / (factor m - B + C)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.losses.thresholds import SHARE_ROUNDING
from auctor.kernels.runtime.compiled import kernel

#: Values per block whose moments are precomputed.
BLOCK = 64
#: Levels whose weight is below exp(-CUT) of the largest are not searched.
CUT = 45.0
#: Number of levels from which the grid of levels is not refined.
MOST_LEVELS = 1 << 15
#: Column of a table of levels: the level of F itself.
PHI = 0
#: Column of a table of levels: the value there, ``1 - phi`` plus the smoothed worst margin.
VALUE = 1
#: Column of a table of levels: the multiplier of the constraint ``F <= phi``.
MU = 2
#: Column of a table of levels: flipped mass of the positives; that of the negatives follows.
FLIPPED = 3
#: Column of a table of levels: mass of the positives on the ramp; that of the negatives follows.
ON_RAMP = 5
#: Number of columns of a table of levels.
LEVEL_COLUMNS = 7


@kernel
def worst_labelling(
    pos: FloatArray, p: FloatArray, neg: FloatArray, q: FloatArray, factor: float, whole: bool
) -> tuple[float, int, int, float]:
    """Maximise ``1 - F + 2 (scores of flipped negatives - scores of flipped positives)``.

    Scores are weighted sums. ``pos`` is ascending, ``neg`` descending. Returns the value, the
    numbers of flipped positives and negatives, and the flipped part of the next negative (0 if
    ``whole``). For given B the objective is concave in C and is maximised by bisection over the
    negatives; for given C it is convex in B between two positives, so B ends at one of them.
    O(n_pos log n_neg).
    """
    m, total_neg = p.sum(), q.shape[0]
    mass, score = np.zeros(total_neg + 1), np.zeros(total_neg + 1)
    for j in range(total_neg):
        mass[j + 1] = mass[j] + q[j]
        score[j + 1] = score[j] + q[j] * neg[j]
    best, best_i, best_j, best_part = -np.inf, 0, 0, 0.0
    flipped = cost = 0.0
    for i in range(p.shape[0] + 1):
        last = i == p.shape[0]
        # 1 - F = 1 - hit / (rest + C), C the weight of flipped negatives: its slope in C is
        # hit / (rest + C)^2, against which a flip costs 2 neg.
        hit = 0.0 if last else factor * max(m - flipped, 0.0)
        rest = factor * m - flipped
        # Number of negatives whose flip increases the value at first.
        low, high = 0, total_neg
        while low < high:
            middle = (low + high) // 2
            if hit / (rest + mass[middle]) ** 2 + 2.0 * neg[middle] > 0.0:
                low = middle + 1
            else:
                high = middle
        # The maximum may lie inside the last of them: hit / (rest + C)^2 = -2 neg_j.
        full, part = low, 0.0
        if low > 0:
            j = low - 1
            if neg[j] < 0.0:
                room = np.sqrt(hit / (-2.0 * neg[j])) - rest - mass[j]
                if room < q[j]:
                    full, part = j, max(room, 0.0) / q[j]
        # A fractional flip is not allowed if `whole`: the better of its two neighbours counts.
        for choice in range(2 if whole and part > 0.0 else 1):
            take, share = (full + choice, 0.0) if whole else (full, part)
            c = mass[take] + (share * q[take] if share > 0.0 else 0.0)
            gain = score[take] + (share * q[take] * neg[take] if share > 0.0 else 0.0)
            value = 1.0 - hit / (rest + c) + 2.0 * (gain - cost)
            if value > best:
                best, best_i, best_j, best_part = value, i, take, share
        if not last:
            flipped += p[i]
            cost += p[i] * pos[i]
    return best, best_i, best_j, best_part


class RampSums(NamedTuple):
    """Partial sums over one class from which sums of ramps and smoothed hinges are quick.

    Moments are taken about a value nearby, as moments about zero would cancel.
    """

    value: FloatArray  # ascending scores
    weight: FloatArray  # weight of each
    mass: FloatArray  # mass[i]: weight of the first i values
    moment: FloatArray  # moment[i]: first moment of the first i values about the last of them
    block: FloatArray  # block[b]: moments of order 0, 1 and 2 of a block about its first value


@kernel
def _prepare(value: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    n = value.shape[0]
    mass, moment = np.zeros(n + 1), np.zeros(n + 1)
    block = np.zeros((n // BLOCK, 3))
    for i in range(n):
        gap = value[i] - value[i - 1] if i > 0 else 0.0
        moment[i + 1] = moment[i] + mass[i] * gap
        mass[i + 1] = mass[i] + weight[i]
        b = i // BLOCK
        if b < block.shape[0]:
            z = value[i] - value[b * BLOCK]
            block[b, 0] += weight[i]
            block[b, 1] += weight[i] * z
            block[b, 2] += weight[i] * z * z
    return mass, moment, block


def ramp_sums(value: FloatArray, weight: FloatArray) -> RampSums:
    """Partial sums over one class, given its ascending scores."""
    return RampSums(value, weight, *_prepare(value, weight))


@kernel
def _position(value: FloatArray, x: float, inclusive: bool) -> int:
    """Number of values below x, or up to x if ``inclusive``."""
    low, high = 0, value.shape[0]
    while low < high:
        middle = (low + high) // 2
        if value[middle] < x or (inclusive and value[middle] == x):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _sums(side: RampSums, t: float, width: float) -> tuple[float, float, float]:
    """Sums over one class of ramps, of their slopes times width, and of smoothed hinges of t - v.

    The ramp is ``min(max((t - v) / width, 0), 1)``, and the smoothed hinge is its integral.
    """
    value, weight = side.value, side.weight
    first, last = _position(value, t - width, True), _position(value, t, False)
    # Values below t - width: their ramp is 1 and their hinge is t - v - width / 2.
    full = side.mass[first]
    hinges = 0.0
    if first > 0:
        hinges = side.moment[first] + full * (t - value[first - 1] - 0.5 * width)
    # Values on the ramp: sums of (t - v)^k for k = 0, 1, 2, by whole blocks where possible.
    sum0 = sum1 = sum2 = 0.0
    i = first
    while i < last:
        b = i // BLOCK
        if i % BLOCK == 0 and i + BLOCK <= last:
            # Moments about t from those about the first value of the block.
            z = t - value[i]
            m0, m1, m2 = side.block[b, 0], side.block[b, 1], side.block[b, 2]
            sum0 += m0
            sum1 += m0 * z - m1
            sum2 += z * (m0 * z - 2.0 * m1) + m2
            i += BLOCK
        else:
            z = t - value[i]
            sum0 += weight[i]
            sum1 += weight[i] * z
            sum2 += weight[i] * z * z
            i += 1
    return full + sum1 / width, sum0, hinges + sum2 / (2.0 * width)


@kernel
def _level(
    pos: RampSums,
    neg: RampSums,
    factor: float,
    phi: float,
    width: float,
    guess: float,
    level: FloatArray,
) -> None:
    """Fill a row of `levels`: ``1 - phi`` plus the smoothed worst margin where F <= phi.

    The margin is that of the worst labelling with F <= phi; mu is the multiplier of this
    constraint, found by safeguarded Newton steps.
    """
    m = pos.mass[-1]
    up = factor - phi
    goal = factor * m * (1.0 - phi)
    low, high = 0.0, max(0.0, (pos.value[-1] + width) / up)
    mu = high if phi == 0.0 else min(max(guess, 0.0), high)
    share_pos = active_pos = hinges_pos = share_neg = active_neg = hinges_neg = 0.0
    for _ in range(2000):
        share_pos, active_pos, hinges_pos = _sums(pos, up * mu, width)
        share_neg, active_neg, hinges_neg = _sums(neg, phi * mu, width)
        # Residual of the constraint at mu, which increases in mu.
        miss = up * share_pos + phi * share_neg - goal
        if abs(miss) <= SHARE_ROUNDING or (miss > 0.0 and mu == 0.0) or phi == 0.0:
            break
        if miss > 0.0:
            high = mu
        else:
            low = mu
        bend = (up * up * active_pos + phi * phi * active_neg) / width
        new = mu - miss / bend if bend > 0.0 else np.nan
        if new <= 0.0 and low == 0.0:
            new = 0.0
        elif not low < new < high:
            new = low + 0.5 * (high - low)
        if abs(new - mu) <= 4e-16 * mu:  # a few units of rounding
            break
        mu = new
    level[PHI], level[MU] = phi, mu
    level[VALUE] = 1.0 - phi + 2.0 * (hinges_pos + hinges_neg - mu * goal)
    level[FLIPPED], level[FLIPPED + 1] = share_pos, share_neg
    level[ON_RAMP], level[ON_RAMP + 1] = active_pos, active_neg


@kernel
def levels(
    pos: RampSums, neg: RampSums, factor: float, width: float, fine: int, temperature: float
) -> FloatArray:
    """Evaluate the levels ``j / 2^fine`` of F whose value is close to the largest; one per row.

    Columns: phi, value, multiplier, and for positives and negatives the flipped mass and the mass
    on the ramp. The margin increases with phi, so between two levels the value falls by at most
    their distance. An interval that stays ``CUT * temperature`` below the best value so far is not
    refined; the others are halved.
    """
    size = 9
    table = np.empty((256, LEVEL_COLUMNS))
    guess = best = 0.0
    # Nine levels 1, 7/8, ..., 0 to start from.
    for j in range(size):
        _level(pos, neg, factor, 1.0 - j / 8.0, width, guess, table[j])
        guess = table[j, MU]
        best = max(best, table[j, VALUE]) if j else table[j, VALUE]
    ends = np.arange(8)  # the level at the upper end of each interval
    step = 1.0 / 8.0
    for _ in range(3, fine):
        if size >= MOST_LEVELS:
            break
        kept = np.empty(2 * ends.shape[0], np.int64)
        count = 0
        step *= 0.5
        for e in range(ends.shape[0]):
            at = ends[e]
            if table[at, VALUE] + 2.0 * step < best - CUT * temperature:
                continue
            if size == table.shape[0]:
                table = np.concatenate((table, np.empty_like(table)))
            phi = table[at, PHI] - step
            _level(pos, neg, factor, phi, width, table[at, MU], table[size])
            best = max(best, table[size, VALUE])
            kept[count], kept[count + 1] = at, size
            count += 2
            size += 1
        ends = kept[:count]
    return table[:size]


@kernel
def mixed_ramps(
    value: FloatArray, at: FloatArray, weight: FloatArray, width: float, out: FloatArray
) -> None:
    """``out[i] = sum_k weight_k min(max((at_k - value_i) / width, 0), 1)``; O(n + k).

    Both arrays ascend. The moments of the ramps that contain the current value are relative to it.
    """
    size = at.shape[0]
    full = weight.sum()
    sum0 = sum1 = here = 0.0
    first = last = 0  # ramps first..last contain the value, those from last on are 1
    for i in range(value.shape[0]):
        v = value[i]
        # Ramps that end below v.
        while first < last and at[first] <= v:
            sum0 -= weight[first]
            sum1 -= weight[first] * (at[first] - here)
            first += 1
        if first == last:
            sum0 = sum1 = 0.0
            while last < size and at[last] <= v:
                full -= weight[last]
                last += 1
            first = last
        # Move the moment to the new value, then add the ramps that start.
        sum1 -= sum0 * (v - here)
        here = v
        while last < size and at[last] - v < width:
            sum0 += weight[last]
            sum1 += weight[last] * (at[last] - v)
            full -= weight[last]
            last += 1
        share = (full if last < size else 0.0) + (sum1 / width if first < last else 0.0)
        out[i] = min(max(share, 0.0), 1.0)


class Ramps(NamedTuple):
    """Flipped shares ``min(max((at_k - value) / width, 0), 1)`` of ascending values, per level k.

    Values ``first_k`` to ``last_k`` are on the ramp, those before are flipped as a whole.
    """

    value: FloatArray
    at: FloatArray
    first: IntArray
    last: IntArray
    width: float


@kernel
def level_sums(ramps: Ramps, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Per level, sums of x over the values on its ramp, and of x times flipped share; O(n + k)."""
    value, at, first, last, width = ramps
    total, moment = np.zeros(x.shape[0] + 1), np.zeros(x.shape[0] + 1)
    for i in range(x.shape[0]):
        total[i + 1] = total[i] + x[i]
        moment[i + 1] = moment[i] + x[i] * value[i]
    on_ramp, flipped = np.empty(at.shape[0]), np.empty(at.shape[0])
    for k in range(at.shape[0]):
        on_ramp[k] = total[last[k]] - total[first[k]]
        ramp = at[k] * on_ramp[k] - (moment[last[k]] - moment[first[k]])
        flipped[k] = total[first[k]] + ramp / width
    return on_ramp, flipped


@kernel
def row_sums(ramps: Ramps, y: FloatArray, z: FloatArray) -> FloatArray:
    """Per value, sum of y over the levels on whose ramp it is, plus z times its flipped shares."""
    value, at, first, last, width = ramps
    n = value.shape[0]
    # Per value, the sum is level + slope * value; both change only where a ramp starts or ends.
    steps = np.zeros((n + 1, 2))
    out = np.empty(n)
    for k in range(at.shape[0]):
        rise, slope = y[k] + z[k] * at[k] / width, z[k] / width
        steps[first[k], 0] += rise - z[k]
        steps[first[k], 1] -= slope
        steps[last[k], 0] -= rise
        steps[last[k], 1] += slope
    level, slope = z.sum(), 0.0
    for i in range(n):
        level += steps[i, 0]
        slope += steps[i, 1]
        out[i] = level + slope * value[i]
    return out


class ClassCurvature(NamedTuple):
    """The part of one class in the curvature of a mixture of levels.

    ``share`` has the sign of the class, ``own`` is the diagonal, and ``cost`` is the coefficient of
    a flip in the constraint of each level.
    """

    rows: IntArray
    share: FloatArray
    own: FloatArray
    cost: FloatArray
    ramps: Ramps


@kernel
def curvature_products(
    V: FloatArray,
    pos: ClassCurvature,
    neg: ClassCurvature,
    weight: FloatArray,
    soft: FloatArray,
    temperature: float,
) -> FloatArray:
    """Products of the curvature with the rows of V; O(n + k) for each.

    The curvature is the mean of the levels' curvatures plus the covariance of their gradients,
    divided by the temperature.
    """
    out = np.zeros_like(V)  # rows without weight are in neither class
    for j in range(V.shape[0]):
        v = V[j]
        bent_pos, flipped_pos = level_sums(pos.ramps, pos.share * v[pos.rows])
        bent_neg, flipped_neg = level_sums(neg.ramps, neg.share * v[neg.rows])
        along = soft * (pos.cost * bent_pos + neg.cost * bent_neg)
        slope = -2.0 * (flipped_pos + flipped_neg)
        tilt = (2.0 / temperature) * weight * (slope - (weight * slope).sum())
        less_pos = row_sums(pos.ramps, along * pos.cost, tilt)
        less_neg = row_sums(neg.ramps, along * neg.cost, tilt)
        for i in range(pos.rows.shape[0]):
            row = pos.rows[i]
            out[j, row] = pos.own[i] * v[row] - pos.share[i] * less_pos[i]
        for i in range(neg.rows.shape[0]):
            row = neg.rows[i]
            out[j, row] = neg.own[i] * v[row] - neg.share[i] * less_neg[i]
    return out
