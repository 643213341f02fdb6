"""The top share of weighted scores: exact and smoothed quantiles, and losses around them.

With ``ramp(z) = min(max(z / width, 0), 1)`` (a step at 0 for width 0), the threshold t solves
``sum p ramp(t - u) = goal``. For width 0 it is the weighted quantile of u.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel, kernel

#: Number of values up to which a quantile is found by sorting.
SORT_FROM = 4096
#: Size of the sample whose values bracket a quantile.
SAMPLE = 2048
#: Rows whose shares are summed separately before the sums are added.
STRIP = 4096
#: Rounding error of a sum of shares, whose sum is 1: a few times machine epsilon.
SHARE_ROUNDING = 1e-15


class Threshold(NamedTuple):
    """A threshold: ``sum p [(1 - mix) ramp(low - u) + mix ramp(high - u)]`` equals the goal."""

    low: float
    high: float
    mix: float


@inline_kernel
def _ramp(z: float, width: float) -> float:
    """``min(max(z / width, 0), 1)``; a step at 0 for width 0."""
    if width > 0.0:
        return min(max(z / width, 0.0), 1.0)
    return 1.0 if z > 0.0 else 0.0


@fast_kernel
def augment(scores: FloatArray, y: FloatArray, gap: float, out: FloatArray) -> bool:
    """``scores`` with ``gap`` added where y is -1; return whether any is NaN."""
    half = 0.5 * gap
    broken = 0
    for i in range(scores.shape[0]):
        u = scores[i] + half * (1.0 - y[i])
        broken += u != u
        out[i] = u
    return broken > 0


@kernel
def _kahan_add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Add a term to a compensated sum: the new total and its rounding error (Kahan)."""
    term -= lost
    new = total + term
    return new, (new - total) - term


@kernel
def _sampled(u: FloatArray, p: FloatArray, goal: float) -> tuple[float, float]:
    """Two values that bracket the quantile with high probability, from a systematic sample."""
    step = max(1, u.shape[0] // SAMPLE)
    some, weight = u[::step].copy(), p[::step].copy()
    order = np.argsort(some)
    size = some.shape[0]
    share = min(max(goal / p.sum(), 0.0), 1.0)
    total = weight.sum()
    # Three standard deviations of a sampled share, plus three sample values.
    margin = (3.0 * np.sqrt(share * (1.0 - share) / size) + 3.0 / size) * total
    low, high = some[order[0]], some[order[size - 1]]
    mass = 0.0
    below = False
    for k in range(size):
        i = order[k]
        if mass <= share * total - margin:
            low = some[i]
        mass += weight[i]
        if not below and mass >= share * total + margin:
            high, below = some[i], True
    return low, high


@fast_kernel
def _between(
    u: FloatArray, p: FloatArray, low: float, high: float
) -> tuple[FloatArray, FloatArray, float]:
    """Values in [low, high] with their shares, and the mass below them."""
    values, shares = np.empty(u.shape[0] + 1), np.empty(u.shape[0] + 1)
    size = np.uint64(0)
    below = 0.0
    for begin in range(0, u.shape[0], STRIP):
        part = 0.0
        for i in range(begin, min(begin + STRIP, u.shape[0])):
            values[size] = u[i]
            shares[size] = p[i]
            size += np.uint64((u[i] >= low) & (u[i] <= high))
            part += p[i] if u[i] < low else 0.0
        below += part
    return values[:size], shares[:size], below


@kernel
def quantile(u: FloatArray, p: FloatArray, goal: float) -> tuple[float, float, float]:
    """Weighted quantile t at the mass ``goal``; returns t, the mass below t and the mass at t.

    Rows outside a sampled bracket are discarded until few are left; O(n) on average.
    """
    base = 0.0
    slack = SHARE_ROUNDING + 1e-17 * u.shape[0]
    while u.shape[0] > SORT_FROM:
        low, high = _sampled(u, p, goal - base)
        inside, shares, below = _between(u, p, low, high)
        # Where the bracket misses the quantile, continue with the rows below or above it.
        if base + below > goal + slack:
            inside, shares, below = _between(u, p, -np.inf, np.nextafter(low, -np.inf))
        elif base + below + shares.sum() < goal - slack:
            above, others, under = _between(u, p, np.nextafter(high, np.inf), np.inf)
            if above.shape[0] > 0:
                inside, shares, below = above, others, under
        base += below
        shrunk = inside.shape[0] <= 0.7 * u.shape[0]
        u, p = inside, shares
        if low == high or not shrunk:
            break
    # Sort the remaining rows and add up their shares to the goal.
    order = np.argsort(u)
    at = u[order[u.shape[0] - 1]]
    mass, lost = base, 0.0
    for k in range(order.shape[0]):
        mass, lost = _kahan_add(mass, lost, p[order[k]])
        if mass >= goal - slack and p[order[k]] > 0.0:
            at = u[order[k]]
            break
    below, lost = base, 0.0
    tied = 0.0
    for i in range(u.shape[0]):
        if u[i] < at:
            below, lost = _kahan_add(below, lost, p[i])
        tied += p[i] if u[i] == at else 0.0
    return at, below, tied


@kernel
def next_above(u: FloatArray, p: FloatArray, t: float) -> float:
    """The smallest value with weight above t, or t."""
    best = np.inf
    for i in range(u.shape[0]):
        if u[i] > t and p[i] > 0.0:
            best = min(best, u[i])
    return best if best < np.inf else t


@fast_kernel
def _ramped(u: FloatArray, p: FloatArray, t: float, width: float) -> tuple[float, float]:
    """``sum p ramp(t - u)`` and the mass on the ramp."""
    total = active = 0.0
    steep = 1.0 / width
    for i in range(u.shape[0]):
        z = steep * (t - u[i])
        part = 0.0 if z < 0.0 else z  # selects vectorise, min and max do not
        part = 1.0 if part > 1.0 else part
        total += p[i] * part
        active += p[i] if (z > 0.0) & (z < 1.0) else 0.0
    return total, active


@kernel
def ramp_sums(u: FloatArray, p: FloatArray, cuts: FloatArray, width: float) -> FloatArray:
    """``sum p ramp(t - u)`` at each of some thresholds t."""
    out = np.zeros(cuts.shape[0])
    for k in range(cuts.shape[0]):
        if width > 0.0:
            out[k] = _ramped(u, p, cuts[k], width)[0]
        else:
            for i in range(u.shape[0]):
                out[k] += p[i] if u[i] < cuts[k] else 0.0
    return out


@kernel
def _off_kink(
    u: FloatArray, p: FloatArray, goal: float, width: float, t: float, active: float
) -> float:
    """Move t to the middle of an interval without rows on the ramp that ends at t, if there is one.

    On such an interval the sum is constant and all shares are exactly 0 or 1; t counts as its end
    if it is that up to rounding error. Not searched for more than `SORT_FROM` rows.
    """
    if active == 0.0 or u.shape[0] > SORT_FROM:
        return t
    # Kinks are at u and u + width. On each side: is one at t (near), and how far is the next (far)?
    reach = 4.0 * SHARE_ROUNDING * width / active
    for side in (-1.0, 1.0):
        near = far = np.inf
        for i in range(u.shape[0]):
            for kink in (u[i], u[i] + width):
                ahead = side * (kink - t)
                if p[i] > 0.0 and ahead >= -reach:
                    if ahead <= reach:
                        near = min(near, ahead)
                    else:
                        far = min(far, ahead)
        # The interval up to the next kink is flat if no row is on the ramp in its middle.
        if near < np.inf and far < np.inf:
            middle = t + side * 0.5 * far
            total, active = _ramped(u, p, middle, width)
            if active == 0.0 and abs(total - goal) <= 4.0 * SHARE_ROUNDING:
                return middle
    return t


@kernel
def _root(
    u: FloatArray,
    p: FloatArray,
    goal: float,
    width: float,
    low: float,
    high: float,
    t: float,
    mass: float,
) -> tuple[float, float, float]:
    """Bracketed Newton on the piecewise linear sum; returns low, high and their mix."""
    at_low, at_high = 0.0, mass
    slack = SHARE_ROUNDING * (1.0 + u.shape[0] / 256.0)  # errors of equal terms add up
    for _ in range(2000):
        total, active = _ramped(u, p, t, width)
        miss = total - goal
        if abs(miss) <= slack:
            t = _off_kink(u, p, goal, width, t, active)
            return t, t, 0.0
        if miss > 0.0:
            high, at_high = t, total
        else:
            low, at_low = t, total
        new = t - miss * width / active if active > 0.0 else np.nan
        if not low < new < high:
            new = low + 0.5 * (high - low)
        if new == t or not low < new < high:
            break
        t = new
    mix = (goal - at_low) / (at_high - at_low) if at_high > at_low else 0.0
    return low, high, min(max(mix, 0.0), 1.0)


@fast_kernel
def _extent(u: FloatArray, p: FloatArray) -> tuple[float, float, float]:
    """Minimum and maximum of u, and the sum of p."""
    least = most = u[0]
    mass = 0.0
    for i in range(u.shape[0]):
        least = u[i] if u[i] < least else least
        most = u[i] if u[i] > most else most
        mass += p[i]
    return least, most, mass


@kernel
def smooth_quantile(
    u: FloatArray, p: FloatArray, goal: float, width: float
) -> tuple[float, float, float]:
    """Low, high and mix of the `Threshold` where ``sum p ramp(t - u) = goal``; width > 0."""
    least, last, mass = _extent(u, p)
    most = max(last + width, np.nextafter(last, np.inf))
    guess = least + 0.5 * (most - least)
    # A good starting point: the same problem for a sample.
    if u.shape[0] > SORT_FROM:
        step = u.shape[0] // SAMPLE
        some, weight = u[::step].copy(), p[::step].copy()
        weight *= mass / weight.sum()
        guess, _, _ = _root(some, weight, goal, width, least, most, guess, mass)
    return _root(u, p, goal, width, least, most, guess, mass)


def exact_threshold(u: FloatArray, p: FloatArray, goal: float) -> Threshold:
    """The weighted quantile as a `Threshold`; values tied at it get equal shares."""
    t, below, tied = quantile(u, p, goal)
    part = goal - below
    mix = part / tied if part > 4.0 * SHARE_ROUNDING else 0.0
    if tied - part <= 4.0 * SHARE_ROUNDING:
        mix = 1.0
    return Threshold(t, float(np.nextafter(t, np.inf)), mix)


def threshold(u: FloatArray, p: FloatArray, goal: float, width: float) -> Threshold:
    """The exact quantile for width 0, else the smoothed one."""
    if width > 0.0:
        return Threshold(*smooth_quantile(u, p, goal, width))
    return exact_threshold(u, p, goal)


@fast_kernel
def threshold_loss(
    u: FloatArray,
    y: FloatArray,
    p: FloatArray,
    low: float,
    high: float,
    mix: float,
    width: float,
    rest_pos: float,
    rest_neg: float,
    grad: FloatArray,
) -> float:
    """Loss around a threshold and its gradient ``2 p (rest - share)``, rest by class.

    ``share`` is the ramp of the `Threshold`. A positive adds ``2 p (H(z) - rest_pos z)`` with
    ``z = low - u`` and ``H(z) = 0 (z <= 0), z^2/(2 width) (z <= width), z - width/2``; a negative
    adds ``2 p (H(width - z) - (1 - rest_neg) (width - z))``.
    """
    # Two loops: combined, whether the sum vectorises depends on the addresses of the arrays.
    total = 0.0
    for i in range(u.shape[0]):
        z = low - u[i]
        share = _ramp(z, width)
        positive = y[i] > 0.0
        rest = rest_pos if positive else rest_neg
        # H(width - z) = H(z) - z + width / 2, and a negative keeps (1 - rest_neg) of width - z.
        tilt = share * (z - 0.5 * width * share) - rest * z
        total += p[i] * (tilt if positive else tilt + width * (rest - 0.5))
    for i in range(u.shape[0]):
        share = _ramp(low - u[i], width)
        if mix > 0.0:
            share = (1.0 - mix) * share + mix * _ramp(high - u[i], width)
        off = (rest_pos if y[i] > 0.0 else rest_neg) - share
        grad[i] = 2.0 * p[i] * off if abs(off) > 4.0 * SHARE_ROUNDING else 0.0
    return 2.0 * total


@kernel
def on_ramp(u: FloatArray, p: FloatArray, t: float, width: float, out: FloatArray) -> float:
    """``out = p`` where ``0 < t - u < width``, else 0; returns its sum."""
    total = 0.0
    for i in range(u.shape[0]):
        out[i] = p[i] if 0.0 < t - u[i] < width else 0.0
        total += out[i]
    return total


class Flips(NamedTuple):
    """The labelling of a gradient in the scores, ``d_i = 2 y_i (ideal - flip_i) share_i``."""

    positive: float
    negative: float
    slope: float
    size: float
    outside: int


@fast_kernel
def _flips(
    dscores: FloatArray,
    y: FloatArray,
    share: FloatArray,
    ideal_pos: float,
    ideal_neg: float,
    slack: float,
    floor: float,
) -> tuple[float, float, float, float, int]:
    both = lead = slope = size = 0.0
    outside = 0
    for i in range(dscores.shape[0]):
        ideal = ideal_pos if y[i] > 0.0 else ideal_neg
        # mass = flip share, from dscores = 2 y (ideal - flip) share.
        mass = share[i] * ideal - 0.5 * y[i] * dscores[i]
        loose = slack * (share[i] if share[i] > floor else floor)
        outside += (mass < -loose) | (mass > share[i] + loose) | (mass != mass)
        both += mass
        lead += y[i] * mass
        slope += dscores[i]
        size += abs(dscores[i])
    return 0.5 * (both + lead), 0.5 * (both - lead), slope, size, outside


def flips(
    dscores: FloatArray,
    y: FloatArray,
    share: FloatArray,
    ideal: tuple[float, float],
    slack: float,
    most: float,
) -> Flips:
    """Flipped mass of each class, sum and l1 norm of the slopes, rows with a flip not in [0, 1].

    ``slack`` is relative to the share of a row, but not below ``slack`` times the largest share
    ``most``.
    """
    floor = slack * most
    return Flips(*_flips(dscores, y, share, *ideal, slack, floor))
