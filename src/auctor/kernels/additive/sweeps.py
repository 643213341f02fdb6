"""Coordinate descent on the quadratic models of eight members, column by column of the codes.

The model of member m is ``sum_i (r_i d_i + h_i d_i^2 / 2)`` plus the penalty, where d_i is the
change of the score of row i. Within a column all depends on the sums of r and h by code alone: the
parameter of a step at code c has the slope ``sum of g[e] over e >= c``, so that one pass from the
last code to the first updates every step. One pass over the rows then moves r to the new scores,
and gathers the sums of the next column, for all members.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.runtime.eight import EIGHT, STRIDE, add_eight, add_product_eight

#: Passes over the parameters of a column, per pass over its rows.
INNER = 40
#: A column is left when no change of a slope is above this share of the first pass's.
INNER_SHARE = 1e-2


@kernel
def to_next_column(
    words: Array, old: int, moved: FloatArray, h: FloatArray, r: FloatArray,
    new: int, sums: FloatArray,
) -> None:  # fmt: skip
    """``r_i += h_i moved[c]`` for the codes c of column ``old``, unless that is -1.

    The sums of the new r by the codes of column ``new`` are added to ``sums``.
    """
    stride, byte = np.uint64(STRIDE), np.uint64(255)
    lines, curves = np.uint64(r.ctypes.data), np.uint64(h.ctypes.data)
    table, histogram = np.uint64(moved.ctypes.data), np.uint64(sums.ctypes.data)
    last, next_ = words[max(old, 0) // 8], words[new // 8]
    shift, by = np.uint64(8 * (max(old, 0) % 8)), np.uint64(8 * (new % 8))
    for i in range(r.shape[0]):
        at = stride * np.uint64(i)
        if old >= 0:
            code = (last[i] >> shift) & byte
            add_product_eight(lines + at, curves + at, table + stride * code)
        add_eight(histogram + stride * ((next_[i] >> by) & byte), lines + at)


@kernel
def best_value(
    theta: float, slope: float, curve: float, l1: float, l2: float, lower: float, upper: float
) -> float:
    """Minimiser over x of ``slope (x - theta) + curve (x - theta)^2 / 2`` plus the penalty of x."""
    if not curve + l2 > 1e-300:
        return theta
    pull = curve * theta - slope
    if pull > l1:
        value = (pull - l1) / (curve + l2)
    elif pull < -l1:
        value = (pull + l1) / (curve + l2)
    else:
        value = 0.0
    return min(max(value, lower), upper)


@kernel
def level_change(
    g: FloatArray, d: FloatArray, low: int, high: int, left: int, right: int, empty: int,
    levels: FloatArray, theta: FloatArray,
) -> float:  # fmt: skip
    """Best change of the codes low..high: of the jump ``left``, and by as much less ``right``.

    Both keep their signs and bounds; ``left`` may be ``empty``, for the intercept.
    """
    slope = curve = 0.0
    for c in range(low, high):
        slope += g[c]
        curve += d[c]
    least, most = -np.inf, np.inf
    for side in range(2):
        k, sign = (np.int64(right), -1.0) if side else (np.int64(left), 1.0)
        if k == empty:
            continue
        value = theta[k]
        slope += sign * (levels[0, k] * np.sign(value) + levels[1, k] * value)
        curve += levels[1, k]
        low_end = max(0.0, levels[2, k]) if value > 0.0 else levels[2, k]
        high_end = min(0.0, levels[3, k]) if value < 0.0 else levels[3, k]
        one, two = sign * (low_end - value), sign * (high_end - value)
        least, most = max(least, min(one, two)), min(most, max(one, two))
    if not curve > 1e-300:
        return 0.0
    change: float = min(max(-slope / curve, least), most)
    return change


@kernel
def solve_column(
    g: FloatArray, d: FloatArray, size: int, line: int, centre: FloatArray, step: Array,
    own: Array, empty: int, levels: FloatArray, theta: FloatArray, intercept: bool,
    moved: FloatArray,
) -> float:  # fmt: skip
    """Minimise over the parameters of one column, and the intercept; returns the largest change.

    ``g`` and ``d`` are the sums of slopes and curvatures by code, ``levels`` the rows l1, l2, lower
    and upper; changes go to ``theta``, whose last entry is the intercept, to ``g`` and to ``moved``
    (scores by code). Changes are measured as slopes: change of the parameter times its curvature.
    """
    above = np.empty(size)  # curvature of each step
    whole = bent = 0.0
    for back in range(size):
        c = size - 1 - back
        whole += d[c]
        above[c] = whole
        bent += centre[c] * centre[c] * d[c]
    jump = np.zeros(size)
    first = 0.0
    for _ in range(INNER):
        most = 0.0
        # intercept
        if intercept and whole > 0.0:
            total = 0.0
            for c in range(size):
                total += g[c]
            change = -total / whole
            theta[-1] += change
            most = change * change * whole
            for c in range(size):
                g[c] += d[c] * change
                moved[c] += change
        # line
        if line != empty:
            slope = 0.0
            for c in range(size):
                slope += centre[c] * g[c]
            value = best_value(
                theta[line], slope, bent, levels[0, line], levels[1, line], levels[2, line],
                levels[3, line],
            )  # fmt: skip
            change = value - theta[line]
            if change != 0.0:
                theta[line] = value
                most += change * change * bent
                for c in range(size):
                    g[c] += d[c] * centre[c] * change
                    moved[c] += centre[c] * change
        # steps, from the last: a change moves the slopes of all steps below it by the same amount
        slope = 0.0
        any_step = False
        for back in range(size):
            c = size - 1 - back
            slope += g[c]
            k = step[c]
            if k == empty:
                continue
            value = best_value(
                theta[k], slope, above[c], levels[0, k], levels[1, k], levels[2, k], levels[3, k]
            )
            change = value - theta[k]
            if change != 0.0:
                theta[k] = value
                jump[c] = change
                slope += change * above[c]
                most += change * change * above[c]
                any_step = True
        if any_step:
            level = 0.0
            for c in range(size):
                level += jump[c]
                jump[c] = 0.0
                g[c] += d[c] * level
                moved[c] += level
        # levels between two jumps: a change of both that keeps their signs
        last = -1
        for back in range(size + 1):
            c = size - 1 - back  # the codes from here on, below `last`; -1 is the intercept
            if c < 0 and not intercept:
                break
            k = empty
            if c >= 0:
                k = int(step[c])
                if k == empty or theta[k] == 0.0:
                    continue
            if last >= 0 and theta[step[last]] != 0.0:  # not moved to 0 just now
                change = level_change(
                    g, d, max(c, 0), int(last), k, int(step[last]), empty, levels, theta
                )
                if change != 0.0:
                    theta[k if k != empty else theta.shape[0] - 1] += change
                    theta[step[last]] -= change
                    for e in range(max(c, 0), last):
                        most += change * change * d[e]
                        g[e] += d[e] * change
                        moved[e] += change
            last = c
        # own values
        for c in range(size):
            k = own[c]
            if k == empty:
                continue
            value = best_value(
                theta[k], g[c], d[c], levels[0, k], levels[1, k], levels[2, k], levels[3, k]
            )
            change = value - theta[k]
            if change != 0.0:
                theta[k] = value
                most += change * change * d[c]
                g[c] += d[c] * change
                moved[c] += change
        first = max(first, most)
        if most <= INNER_SHARE * first:
            break
    gain = 0.0
    for c in range(size):
        gain += d[c] * moved[c] * moved[c]
    return gain


@kernel
def sweep_columns(
    words: Array,
    h: FloatArray,
    r: FloatArray,
    curves: FloatArray,
    active: Array,
    sizes: Array,
    line: Array,
    centre: FloatArray,
    step: Array,
    own: Array,
    levels: FloatArray,
    theta: FloatArray,
    intercept: bool,
    sweeps: int,
    share: float,
) -> int:
    """Sweeps over the columns, for each member until one gains ``share`` of the first or less.

    ``active`` (columns, members) says which columns a member updates. ``h`` and ``r`` (n, 8) have
    the curvatures and slopes of the members, ``curves`` (columns, 256, 8) the sums of h by code,
    ``theta`` (members, parameters + 1) the parameters and the intercept. Both r and theta are
    changed. Returns the number of sweeps.
    """
    empty, members = levels.shape[1], active.shape[1]
    moved = np.zeros((256, EIGHT))
    sums = np.zeros((256, EIGHT))
    part, g, d = np.zeros(256), np.zeros(256), np.zeros(256)
    first, gains = np.zeros(members), np.zeros(members)
    going = np.ones(members, dtype=np.bool_)
    last = -1  # the column whose changes are not yet in r
    for sweep in range(sweeps):
        gains[:] = 0.0
        for j in range(active.shape[0]):
            needed = False
            for m in range(members):
                needed = needed or (active[j, m] and going[m])
            if not needed:
                continue
            size = sizes[j]
            sums[:size] = 0.0
            to_next_column(words, int(last), moved, h, r, j, sums)
            moved[:] = 0.0
            last = -1
            for m in range(members):
                if not (active[j, m] and going[m]):
                    continue
                for c in range(size):
                    g[c], d[c], part[c] = sums[c, m], curves[j, c, m], 0.0
                gain = solve_column(
                    g, d, size, line[j], centre[j], step[j], own[j], empty, levels, theta[m],
                    intercept, part,
                )  # fmt: skip
                gains[m] += gain
                for c in range(size):
                    moved[c, m] = part[c]
                if gain > 0.0:
                    last = j
        needed = False
        for m in range(members):
            first[m] = max(first[m], gains[m])
            going[m] = going[m] and gains[m] > share * first[m]
            needed = needed or going[m]
        if not needed:
            return sweep + 1
    return sweeps
