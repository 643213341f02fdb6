"""Stochastic descent on the pairwise square loss for many columns, at O(entries) per row.

The slope of a row is a multiple of the row: ``(w.(x - m) - y) x`` over the share of its class, with
m the mean of the other class. A step is implicit, so that it never overshoots, and columns have
steps of their own, which shrink with the root of the squares they have seen. Several step sizes
run side by side on the same rows; each is judged on rows before it learns from them, by the squared
mean of its margins over their mean square, which no change of scale improves.

All that is known of a column is one line of a table, so that an entry of a row costs one cache
line: the weights of each step size, the sum of squares, the row that touched it last, and its sums
in the positive and the negative class.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.compiled import fast_kernel, kernel

#: Step sizes tried side by side, as multiples of one over the average sum of a row's entries.
RATES = (0.1, 0.4, 1.6, 6.4)
TRIED = len(RATES)
#: Places in a line of the table after the weights.
SQUARES, TOUCHED, SUMS = TRIED, TRIED + 1, TRIED + 2
LINE = TRIED + 4
#: Weight of the newest row at which all are divided by it.
HEAVY = 1e30
#: All weights are shrunk after this many entries per column were read.
SYNC = 4


@kernel
def shrink_all(
    ridge: float, latest: float, clock: IntArray, average: FloatArray, table: FloatArray
) -> None:
    """Apply the ridge to all weights up to now."""
    now = float(clock[0])
    for j in range(table.shape[0]):
        line = table[j]
        if line[SQUARES] > 0.0:
            idle = ridge * (now - line[TOUCHED]) * math.sqrt(latest / line[SQUARES]) / average[0]
            for k in range(TRIED):
                line[k] /= 1.0 + idle * RATES[k]
            line[TOUCHED] = now


@kernel
def set_dots(table: FloatArray, dots: FloatArray) -> None:
    """Products of the weights with the sums of each class."""
    dots[:] = 0.0
    for j in range(table.shape[0]):
        for side in range(2):
            z = table[j, SUMS + side]
            for k in range(TRIED):
                dots[side, k] += z * table[j, k]


@fast_kernel
def descend_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    judging: bool,
    ridge: float,
    relative: float,
    growth: float,
    fading: float,
    scores: FloatArray,
    table: FloatArray,
    mass: FloatArray,
    dots: FloatArray,
    margins: FloatArray,
    average: FloatArray,
    latest: FloatArray,
    clock: IntArray,
    width: IntArray,
) -> None:
    """Score rows low..high by the best step size so far, each before learning from it.

    Scores count from the middle between the class means; a row of weight zero gets none.

    The ridge is ``ridge`` plus ``relative`` times the mean squared length of a row. Unless
    ``judging``, the choice among the step sizes stays.

    ``mass`` (2,) holds class weights, ``dots`` (2, tried) the products of weights and class sums,
    ``margins`` (2, tried) fading sums of margins and of their squares, ``average`` the running
    means of the sums of absolute entries, of row weights and of squared lengths, ``clock`` the
    rows, the entries since all weights were shrunk, and the best step size, ``width`` the columns
    that rows have had so far.
    """
    d = table.shape[0]
    score, rate, fit = np.empty(TRIED), np.empty(TRIED), np.zeros(TRIED)
    for i in range(low, high):
        start, stop = indptr[i], indptr[i + 1]
        if weight[i] == 0.0:
            scores[i] = 0.0
            continue
        clock[0] += 1
        clock[1] += np.int64(stop) - np.int64(start)
        heft, now = weight[i] * latest[0], float(clock[0])
        side = 0 if y[i] > 0.0 else 1
        other = 1 - side
        if stop > start:
            width[0] = max(width[0], np.int64(indices[np.int64(stop) - 1]) + 1)
        length = size = 0.0
        for a in range(start, stop):
            length += abs(values[a])
            size += float(values[a]) * values[a]
        average[2] += (size - average[2]) / now
        shrink = ridge + relative * average[2]
        average[0] += (length - average[0]) / now
        average[1] += (weight[i] - average[1]) / now
        unit = 1.0 / average[0] if average[0] > 0.0 else 0.0
        age = math.sqrt(latest[0])

        score[:] = 0.0
        curvature = 0.0
        for a in range(start, stop):
            line, x = table[indices[a]], float(values[a])
            if line[SQUARES] > 0.0:
                idle = shrink * unit * (now - line[TOUCHED]) * age / math.sqrt(line[SQUARES])
                up, down = line[SUMS], line[SUMS + 1]
                for k in range(TRIED):
                    old = line[k]
                    new = old / (1.0 + idle * RATES[k])
                    line[k] = new
                    dots[0, k] += (new - old) * up
                    dots[1, k] += (new - old) * down
                    score[k] += x * new
            line[TOUCHED] = now
            line[SQUARES] += heft * x * x
            if line[SQUARES] > 0.0:
                curvature += x * x * age / math.sqrt(line[SQUARES])
        scores[i] = score[clock[2]]
        if mass[0] > 0.0 and mass[1] > 0.0:
            scores[i] -= 0.5 * (dots[0, clock[2]] / mass[0] + dots[1, clock[2]] / mass[1])

        mass[side] += heft
        share = mass[side] / (mass[0] + mass[1])
        rate[:] = 0.0
        for k in range(TRIED):
            dots[side, k] += heft * score[k]
            if mass[other] > 0.0:
                margin = y[i] * (score[k] - dots[other, k] / mass[other])
                part = weight[i] / share
                margins[0, k] = fading * margins[0, k] + part * margin
                margins[1, k] = fading * margins[1, k] + part * margin * margin
                fit[k] = margins[0, k] * abs(margins[0, k]) / max(margins[1, k], 1e-300)
                step = RATES[k] * unit * part / average[1]
                rate[k] = y[i] * (1.0 - margin) * step / (1.0 + step * curvature)

        lean_up = lean_down = 0.0
        for a in range(start, stop):
            line, x = table[indices[a]], float(values[a])
            line[SUMS + side] += heft * x
            if line[SQUARES] > 0.0:
                z = x * age / math.sqrt(line[SQUARES])
                lean_up += z * line[SUMS]
                lean_down += z * line[SUMS + 1]
                for k in range(TRIED):
                    line[k] += rate[k] * z
        for k in range(TRIED):
            dots[0, k] += rate[k] * lean_up
            dots[1, k] += rate[k] * lean_down

        latest[0] *= growth
        if latest[0] > HEAVY:
            for j in range(d):
                table[j, SQUARES] /= latest[0]
                table[j, SUMS] /= latest[0]
                table[j, SUMS + 1] /= latest[0]
            dots /= latest[0]
            mass /= latest[0]
            latest[0] = 1.0
        if clock[1] > SYNC * width[0]:
            known = table[: width[0]]
            shrink_all(shrink, latest[0], clock, average, known)
            set_dots(known, dots)
            clock[1] = 0
        if judging:
            clock[2] = np.argmax(fit)
