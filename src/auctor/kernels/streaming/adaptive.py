"""Stochastic descent for many columns, at O(entries) per row.

Four learners are trained side by side on the same rows. Each takes steps on the squared hinge loss
``max(0, 1 - y (w.x + b))^2`` with classes of equal weight. A step is implicit, so it never
overshoots. Two learners have one step size for all columns, which decreases with the root of the
number of rows. The other two have a step size for each column, which decreases with the root of the
sum of its squares so far.

Rows are scored before they are learned. The class means and covariances of these scores give the
linear discriminant of the four scores, by which the learners are combined. Rows with extreme scores
have less weight in it, and so have old rows, from when the learners had seen little.

All numbers of a column are one line of a table, so that an entry of a row costs one cache line: its
weight in each learner, the sum of squares, the number of the row that used it last, and its sums in
the positive and the negative class.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel
from auctor.kernels.streaming.rescaling import HEAVY

#: Step sizes of the learners.
RATES = (30.0, 100.0, 0.3, 5.0)
#: Number of learners with one step size for all columns; they come first.
PLAIN = 2
#: Number of learners. Their weights of a column are the first entries of its line of the table.
TRIED = len(RATES)
#: Position in a line of the table: sum of the squared entries of the column.
SQUARES = TRIED
#: Position in a line of the table: number of the row that used the column last.
TOUCHED = TRIED + 1
#: Position in a line of the table.
SUMS = TRIED + 2
#: Length of a line of the table.
LINE = TRIED + 4
#: The t-th row has the weight t to this power in the moments of the scores.
RECENCY_EXPONENT = 2.0
#: Ridge on the correlation matrix of the scores.
CORRELATION_RIDGE = 1e-2
#: Step size of the intercept of each learner.
CONSTANT_RATE = 2.0


@kernel
def shrink_all(ridge: float, units: FloatArray, now: float, table: FloatArray) -> None:
    """Apply the ridge steps that are due to all weights."""
    for j in range(table.shape[0]):
        line = table[j]
        if line[SQUARES] > 0.0:
            owed = ridge * (now - line[TOUCHED])
            own = units[1] / math.sqrt(line[SQUARES])
            for k in range(TRIED):
                line[k] /= 1.0 + owed * RATES[k] * (units[0] if k < PLAIN else own)
            line[TOUCHED] = now


@kernel
def set_units(mass: FloatArray, average: FloatArray, latest: float, units: FloatArray) -> None:
    """Set the units of the step sizes, and the effective number of rows.

    ``units`` holds the unit of a step size for all columns, the unit of one per column (to be
    divided by the root of its sum of squares), and the effective number of rows.
    """
    units[:] = 0.0
    if average[0] > 0.0:
        scaled_weight = latest * average[1]
        units[2] = (mass[0] + mass[1]) / scaled_weight
        units[0] = 1.0 / (average[2] * math.sqrt(units[2]))
        units[1] = math.sqrt(scaled_weight) / average[0]


@fast_kernel
def update_score_moments(
    score: FloatArray,
    side: int,
    weight: float,
    keep: float,
    judged: FloatArray,
    centre: FloatArray,
    scatter: FloatArray,
) -> None:
    """Add the scores of a row to the moments of its class; earlier rows decay by ``keep``."""
    # Squared distance from the middle between the classes, in variances; the largest counts.
    far = 0.0
    for k in range(TRIED):
        apart = score[k] - 0.5 * (centre[0, k] + centre[1, k])
        variance = scatter[0, k, k] / max(judged[0], SMALLEST_DIVISOR)
        variance += scatter[1, k, k] / max(judged[1], SMALLEST_DIVISOR)
        if variance > 0.0:
            far = max(far, apart * apart / variance)
    judged *= keep
    scatter *= keep
    w = weight / (1.0 + far)
    # Update of the weighted mean and scatter of the class.
    old = judged[side]
    judged[side] += w
    share = w / judged[side]
    for k in range(TRIED):
        for m in range(TRIED):
            product = (score[k] - centre[side, k]) * (score[m] - centre[side, m])
            scatter[side, k, m] += old * share * product
    for k in range(TRIED):
        centre[side, k] += share * (score[k] - centre[side, k])


@fast_kernel
def combine_learners(
    judged: FloatArray, centre: FloatArray, scatter: FloatArray, system: FloatArray, mix: FloatArray
) -> None:
    """Weights of the learners: the ridge linear discriminant of their scores.

    They stay equal until both classes have been seen.
    """
    if not (judged[0] > 0.0 and judged[1] > 0.0):
        return
    # Correlations of the scores plus the ridge; right-hand side: standardised mean differences.
    for k in range(TRIED):
        variance = scatter[0, k, k] / judged[0] + scatter[1, k, k] / judged[1]
        system[k, TRIED + 1] = 1.0 / math.sqrt(variance) if variance > 0.0 else 1.0
    for k in range(TRIED):
        scale = system[k, TRIED + 1]
        for m in range(TRIED):
            common = scatter[0, k, m] / judged[0] + scatter[1, k, m] / judged[1]
            system[k, m] = scale * system[m, TRIED + 1] * common
        system[k, k] = 1.0 + CORRELATION_RIDGE + TRIED / (1.0 + min(judged[0], judged[1]))
        gap = max(0.0, scale * (centre[0, k] - centre[1, k]))
        system[k, TRIED] = gap + 1.0 / (1.0 + judged[0] + judged[1])
    # Solve by Gaussian elimination; then weights of the scores, with absolute sum 1.
    for k in range(TRIED):
        for i in range(k + 1, TRIED):
            part = system[i, k] / system[k, k]
            for m in range(k + 1, TRIED + 1):
                system[i, m] -= part * system[k, m]
    total = 0.0
    for i in range(TRIED):
        k = TRIED - 1 - i
        value = system[k, TRIED]
        for m in range(k + 1, TRIED):
            value -= system[k, m] * system[m, TRIED]
        system[k, TRIED] = value / system[k, k]
        mix[k] = system[k, TRIED] * system[k, TRIED + 1]
        total += abs(mix[k])
    mix /= total


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
    growth: float,
    window: float,
    scores: FloatArray,
    table: FloatArray,
    mass: FloatArray,
    constant: FloatArray,
    judged: FloatArray,
    centre: FloatArray,
    scatter: FloatArray,
    mix: FloatArray,
    average: FloatArray,
    latest: FloatArray,
    clock: IntArray,
) -> None:
    """Score rows low..high by the current combination, each before learning from it.

    Scores include the intercepts of the learners; a row of weight zero gets the score 0.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    y, weight : (n,) arrays
        Labels -1 and +1, and row weights.
    low, high : int
        The rows to use.
    judging : bool
        Whether the combination of the learners is adapted to their scores.
    ridge : float
        Strength of the ridge on all weights.
    growth : float
        Factor by which a row weighs more than the one before (forgetting).
    window : float
        Number of rows, about, on which the combination depends.
    scores : (n,) array
        The scores; written.
    table : (d, LINE) array
        A line for each column, as the positions at the top of this file say.
    mass : (2,) array
        Weights of the classes, the positive class first here and below.
    constant, mix : (TRIED,) arrays
        The intercept and the coefficient of each learner in the combination.
    judged, centre, scatter : (2,), (2, TRIED) and (2, TRIED, TRIED) arrays
        Weight, mean and scatter of the scores in each class.
    average : (3,) array
        Running means of the sums of absolute entries, of the row weights and of the squared
        lengths.
    latest : (1,) array
        Factor on the weight of the next row, ``growth`` to the number of rows since it was 1.
    clock : (1,) int array
        Number of rows so far.
    """
    d = table.shape[0]
    score, rate, units = np.empty(TRIED), np.empty(TRIED), np.empty(3)
    system = np.empty((TRIED, TRIED + 2))
    for i in range(low, high):
        start, stop = indptr[i], indptr[i + 1]
        if weight[i] == 0.0:
            scores[i] = 0.0
            continue
        clock[0] += 1
        scaled_weight, now = weight[i] * latest[0], float(clock[0])
        side = 0 if y[i] > 0.0 else 1
        set_units(mass, average, latest[0], units)

        # Scores of the learners; sums of |x| and x^2; curvature of the per-column metric.
        score[:] = constant
        length = size = curvature = 0.0
        for a in range(start, stop):
            line, x = table[indices[a]], float(values[a])
            length += abs(x)
            size += x * x
            # The ridge steps since the column was last seen: w / (1 + rows * rate * ridge).
            if ridge > 0.0 and line[SQUARES] > 0.0:
                owed = ridge * (now - 1.0 - line[TOUCHED])
                own = units[1] / math.sqrt(line[SQUARES])
                for k in range(PLAIN):
                    line[k] /= 1.0 + owed * RATES[k] * units[0]
                for k in range(PLAIN, TRIED):
                    line[k] /= 1.0 + owed * RATES[k] * own
            for k in range(TRIED):
                score[k] += x * line[k]
            line[TOUCHED] = now - 1.0
            line[SQUARES] += scaled_weight * x * x
            if line[SQUARES] > 0.0:
                curvature += x * x / math.sqrt(line[SQUARES])
        scores[i] = 0.0
        for k in range(TRIED):
            scores[i] += mix[k] * score[k]

        # Running means of |x|_1, of the weights and of |x|^2, which set the units of the steps.
        average[0] += (length - average[0]) / now
        average[1] += (weight[i] - average[1]) / now
        average[2] += (size - average[2]) / now
        mass[side] += scaled_weight
        set_units(mass, average, latest[0], units)
        # Step sizes of the learners, and how their scores are mixed.
        rate[:] = 0.0
        if mass[1 - side] > 0.0 and units[2] > 0.0:
            share = mass[side] / (mass[0] + mass[1])
            part = 0.5 * weight[i] / (share * average[1])
            if judging:
                keep = min(
                    1.0 - RECENCY_EXPONENT / (units[2] + RECENCY_EXPONENT),
                    1.0 - 1.0 / (window + 1.0),
                )
                update_score_moments(
                    score, side, weight[i] / average[1], keep, judged, centre, scatter
                )
                combine_learners(judged, centre, scatter, system, mix)
            for k in range(TRIED):
                # Implicit step on the hinge: the slack after the step is slack / (1 + bend), with
                # bend the step's own change of the margin, step |x|^2 in the learner's metric.
                step = RATES[k] * part
                bend = step * (size * units[0] if k < PLAIN else curvature * units[1])
                slack = max(0.0, 1.0 - y[i] * score[k]) / (1.0 + bend)
                rate[k] = y[i] * slack * step * (units[0] if k < PLAIN else units[1])
                drift = min(1.0, CONSTANT_RATE * part / math.sqrt(units[2]))
                constant[k] += y[i] * drift * min(1.0, slack)

        # Steps.
        for a in range(start, stop):
            line, x = table[indices[a]], float(values[a])
            # w <- w + rate x for the plain learners, and x / sqrt(sum x^2) for the adaptive ones.
            line[SUMS + side] += scaled_weight * x
            if line[SQUARES] > 0.0:
                z = x / math.sqrt(line[SQUARES])
                for k in range(PLAIN):
                    line[k] += rate[k] * x
                for k in range(PLAIN, TRIED):
                    line[k] += rate[k] * z

        # Forgetting: weights of new rows grow; before they overflow, all sums are rescaled.
        latest[0] *= growth
        if latest[0] > HEAVY:
            for j in range(d):
                table[j, SQUARES] /= latest[0]
                table[j, SUMS] /= latest[0]
                table[j, SUMS + 1] /= latest[0]
            mass /= latest[0]
            latest[0] = 1.0
