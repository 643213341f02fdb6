"""The max-margin loss of F-beta: the most violated labelling, and its mean over levels of F."""

from __future__ import annotations

import math
from typing import NamedTuple

from auctor.losses.fscore import FEWEST_HALVINGS, LEVEL_PART, RAMP_PART
from auctor.scans.ops import A, Ops
from auctor.scans.rows import SetRows, Sorted, arrange, mirrored

#: Steps of the search for a multiplier: Newton steps, every third one a bisection.
STEPS = 90
#: Entries of a table of levels by rows that is computed at once.
TABLE = 1 << 22


def f_beta(ops: Ops, scores: A, rows: SetRows, beta: float, width: float) -> tuple[A, A]:
    """The loss of `auctor.losses.FBeta` and its slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import set_rows
    >>> ops, positive = NumpyOps(), np.array([True, False])
    >>> float(f_beta(ops, np.zeros(2), set_rows(ops, positive, None), 1.0, 0.0)[0])
    1.0
    """
    factor = 1.0 + beta * beta
    value, slopes = (
        _smoothed(ops, scores, rows, factor, width)
        if width > 0.0
        else _exact(ops, scores, rows, factor)
    )
    both = rows.both > 0.0
    return ops.where(both, value, 0.0 * rows.both), ops.where(both, slopes, 0.0 * rows.p)


def _exact(ops: Ops, scores: A, rows: SetRows, factor: float) -> tuple[A, A]:
    """The worst labelling: the lowest positives and the highest negatives are flipped.

    For each number of flipped positives, a bisection gives the weight C of the flipped negatives:
    ``1 - hit / (rest + C)`` rises with C by ``hit / (rest + C)^2``, and a flip costs -2 score.
    """
    up = arrange(ops, scores, None)
    p, q = ops.take(rows.p, up.order), ops.take(rows.q, up.order)
    zero = ops.zeros(1, p)
    flipped = ops.concat([zero, ops.cumsum(p)])
    cost = ops.concat([zero, ops.cumsum(p * up.value)])
    # Negatives from the highest one down.
    score, weight = ops.flip(up.value), ops.flip(q)
    mass = ops.concat([zero, ops.cumsum(weight)])
    gain = ops.concat([zero, ops.cumsum(weight * score)])
    m, n = flipped[-1], p.shape[0]
    hit, rest = factor * ops.clip(m - flipped, 0.0, None), factor * m - flipped
    low = ops.arange(n + 1, p) * 0
    high = low + n
    for _ in range(math.ceil(math.log2(n + 1)) + 1):
        middle = ops.clip((low + high) // 2, None, n - 1)
        rises = hit / (rest + ops.take(mass, middle)) ** 2 + 2.0 * ops.take(score, middle) > 0.0
        open_ = low < high
        low, high = (
            ops.where(open_ & rises, middle + 1, low),
            ops.where(open_ & ~rises, middle, high),
        )
    # The last of them may be flipped in part.
    last = ops.clip(low - 1, 0, None)
    below = ops.take(score, last)
    falls = below < 0.0
    inner = falls & (hit > 0.0)
    root = ops.where(
        inner, hit / ops.where(falls, -2.0 * below, 0.0 * below + 1.0), 0.0 * hit + 1.0
    )
    room = ops.where(inner, root**0.5 - rest - ops.take(mass, last), 0.0 * hit)
    part = ops.where(falls, ops.clip(room, 0.0, None), ops.take(weight, last))
    part = ops.where(low > 0, ops.clip(part, None, ops.take(weight, last)), 0.0 * part)
    c = ops.take(mass, last) + part
    gained = ops.take(gain, last) + part * below
    value = 1.0 - hit / (rest + c) + 2.0 * (gained - cost)
    best = (ops.frozen(value)).argmax()
    # Flipped shares of the rows of the best labelling.
    index = ops.arange(n, p)
    at, end = ops.take(low, best), ops.take(part, best)
    left = ops.take(weight, ops.clip(at - 1, 0, None))
    share = end / ops.where(left > 0.0, left, 0.0 * left + 1.0)
    one = 0.0 * p + 1.0
    flip_pos = ops.where(index < best, one, 0.0 * one)
    flip_neg = ops.where(index < at - 1, one, ops.where(index == at - 1, one * share, 0.0 * one))
    slopes = 2.0 * (q * ops.flip(flip_neg) - p * flip_pos)
    return ops.take(value, best), up.back(ops, slopes)


class _Ramps(NamedTuple):
    """One class in ascending order, with running sums for sums of ramps."""

    rows: Sorted
    mass: A
    first: A
    low: A

    @classmethod
    def of(cls, ops: Ops, rows: Sorted, weight: A) -> _Ramps:
        # Moments about the middle: only differences of them are used, near one threshold.
        low = rows.value[rows.value.shape[0] // 2]
        zero = ops.zeros(1, weight)
        first = ops.cumsum(weight * (rows.value - low))
        return cls(rows, ops.concat([zero, ops.cumsum(weight)]), ops.concat([zero, first]), low)

    def sums(self, ops: Ops, at: A, width: float) -> tuple[A, A]:
        """Sums of ramps of ``at - value`` and weight on the ramp, for every entry of ``at``."""
        begin = ops.search(self.rows.value, at - width, True)
        end = ops.search(self.rows.value, at, False)
        full, active = ops.take(self.mass, begin), ops.take(self.mass, end)
        active = active - full
        moment = ops.take(self.first, end) - ops.take(self.first, begin)
        return full + (active * (at - self.low) - moment) / width, active


def _smoothed(ops: Ops, scores: A, rows: SetRows, factor: float, width: float) -> tuple[A, A]:
    """Log-sum-exp over a lattice of levels of F, each the optimum over one multiplier."""
    ramp = RAMP_PART * width
    fine = max(FEWEST_HALVINGS, math.ceil(math.log2(1.0 / LEVEL_PART / width)))
    size = 2**fine + 1
    entropy = math.log(size)
    temperature = LEVEL_PART * width / entropy
    wide, m = ops.wide(scores), rows.p.sum()
    phi = ops.wide(ops.arange(size, wide)) / (size - 1.0)
    mu = _multipliers(ops, wide, rows, factor, phi, ramp)
    # One more Newton step from these multipliers, by sums that can be differentiated.
    up, goal = factor - phi, factor * m * (1.0 - phi)
    cost = [(wide, rows.p, up), (-wide, rows.q, phi)]
    miss, bend = -goal, 0.0 * goal
    for value, weight, each in cost:
        for here in _parts(size, value.shape[0]):
            z = ((each * mu)[here, None] - value[None, :]) / ramp
            on = ops.where((z > 0.0) & (z < 1.0), weight, 0.0 * weight)
            part, active = (weight * ops.clip(z, 0.0, 1.0)).sum(1), on.sum(1)
            miss = _added(ops, miss, here, each[here] * part)
            bend = _added(ops, bend, here, each[here] ** 2 * active / ramp)
    moves = (mu > 0.0) & (bend > 1e-14) & (phi > 0.0)
    step = ops.where(moves, miss / ops.where(moves, bend, 0.0 * bend + 1.0), 0.0 * miss)
    mu = mu - step
    levels = 1.0 - phi - 2.0 * mu * goal
    for value, weight, each in cost:
        for here in _parts(size, value.shape[0]):
            z = (each * mu)[here, None] - value[None, :]
            part = ops.clip(z / ramp, 0.0, 1.0)
            hinges = (weight * part * (z - 0.5 * ramp * part)).sum(1)
            levels = _added(ops, levels, here, 2.0 * hinges)
    top = ops.frozen(levels).max()
    share = ops.exp((levels - top) / temperature)
    total = share.sum()
    result = top + temperature * (ops.log(total) - entropy)
    share, flips = share / total, []
    for value, _, each in cost:
        flip = 0.0 * value
        for here in _parts(size, value.shape[0]):
            z = ((each * mu)[here, None] - value[None, :]) / ramp
            flip = flip + (share[here, None] * ops.clip(z, 0.0, 1.0)).sum(0)
        flips.append(flip)
    return result, 2.0 * (rows.q * flips[1] - rows.p * flips[0])


def _parts(size: int, n: int) -> list[slice]:
    """Levels whose tables of rows are computed at once."""
    step = max(1, TABLE // max(1, n))
    return [slice(low, min(low + step, size)) for low in range(0, size, step)]


def _added(ops: Ops, x: A, here: slice, more: A) -> A:
    """``x`` with ``more`` added at a slice."""
    return ops.concat([x[: here.start], x[here] + more, x[here.stop :]])


def _multipliers(ops: Ops, wide: A, rows: SetRows, factor: float, phi: A, ramp: float) -> A:
    """Multipliers of the constraints ``F <= phi``, by safeguarded Newton steps for all levels."""
    still = ops.frozen(wide)
    up = arrange(ops, still, None)
    down = mirrored(ops, up)
    pos = _Ramps.of(ops, up, ops.take(rows.p, up.order))
    neg = _Ramps.of(ops, down, ops.take(rows.q, down.order))
    m = rows.p.sum()
    high_cost, goal = factor - phi, factor * m * (1.0 - phi)
    low = 0.0 * phi
    most = ops.clip((up.value[-1] + 2.0 * ramp) / high_cost, 0.0, None)
    high, mu = most, ops.where(phi > 0.0, 0.0 * most, most)

    def residual(mu: A) -> tuple[A, A]:
        share_pos, on_pos = pos.sums(ops, high_cost * mu, ramp)
        share_neg, on_neg = neg.sums(ops, phi * mu, ramp)
        miss = high_cost * share_pos + phi * share_neg - goal
        return miss, (high_cost**2 * on_pos + phi**2 * on_neg) / ramp

    # A constraint that holds without a multiplier has none.
    free = (residual(low)[0] < 0.0) | (phi == 0.0)

    def step(k: A, state: tuple[A, A, A]) -> tuple[A, A, A]:
        low, high, mu = state
        miss, bend = residual(mu)
        high = ops.where(miss > 0.0, mu, high)
        low = ops.where(miss > 0.0, low, mu)
        middle = 0.5 * (low + high)
        newton = mu - miss / ops.where(bend > 0.0, bend, 0.0 * bend + 1.0)
        inside = (bend > 0.0) & (newton > low) & (newton < high) & (k % 3 < 2)
        done = (miss == 0.0) | (phi == 0.0)
        return low, high, ops.where(done, mu, ops.where(inside, newton, middle))

    _, _, mu = ops.loop(STEPS, step, (low, high, mu))
    return ops.where(free, mu, 0.0 * mu)
