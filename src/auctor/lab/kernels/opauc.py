"""Gradient steps on the pairwise square loss with running class moments.

Each row is compared with the mean and covariance of the other class, which represent all its rows.
Arrays have the positive class first. ``mass`` (2,) holds class weights, ``mean`` (2, d) means,
``scatter`` (2, d, d) full matrices of centred products, not divided by the mass.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.descent.coordinate import next_random
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel, kernel

#: Halvings, at most, of the interval of the multiplier of a projection.
MOST_HALVINGS = 100
#: Relative accuracy of the multiplier of a projection on a ball.
BALL_ACCURACY = 1e-12


@kernel
def dense_row(indptr: Array, indices: Array, values: Array, i: int, out: FloatArray) -> None:
    """Write row i as a dense row."""
    out[:] = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        out[indices[k]] = values[k]


@fast_kernel
def observe(
    x: FloatArray, weight: float, side: int, mass: FloatArray, mean: FloatArray, scatter: FloatArray
) -> None:
    """Welford's update of the weighted moments of one class."""
    d = x.shape[0]
    mass[side] += weight
    share = weight / mass[side]
    apart = x - mean[side]
    for j in range(d):
        mean[side, j] += share * apart[j]
    factor = weight * (1.0 - share)
    if factor > 0.0:
        for i in range(d):
            z = factor * apart[i]
            if z != 0.0:
                line = scatter[side, i]
                for j in range(d):
                    line[j] += z * apart[j]


@fast_kernel
def pair_slope(
    x: FloatArray, sign: float, ridge: float, w: FloatArray, mean: FloatArray, slope: FloatArray
) -> float:
    """Set ``slope`` to ``ridge w + (u.w - sign) u`` with u = x - mean; returns ``u.u``."""
    d = x.shape[0]
    score = 0.0
    size = 0.0
    for j in range(d):
        u = x[j] - mean[j]
        score += u * w[j]
        size += u * u
    for j in range(d):
        slope[j] = ridge * w[j] + (score - sign) * (x[j] - mean[j])
    return size


@fast_kernel
def add_covariance(scatter: FloatArray, mass: float, w: FloatArray, slope: FloatArray) -> None:
    """``slope += scatter @ w / mass``."""
    d = w.shape[0]
    for i in range(d):
        line = scatter[i]
        z = 0.0
        for j in range(d):
            z += line[j] * w[j]
        slope[i] += z / mass


@kernel
def _rate(step: float, ridge: float, t: int, largest: float) -> float:
    """The given step size, or ``1 / (ridge t + 2 largest |u|^2)``, which the curvature allows."""
    return step if step > 0.0 else 1.0 / (ridge * t + 2.0 * largest)


@inline_kernel
def averaged_step(
    rate: float, slope: FloatArray, t: int, w: FloatArray, average: FloatArray
) -> None:
    """A step along the slope after t rows; the new w has the weight t in the average."""
    for j in range(w.shape[0]):
        w[j] -= rate * slope[j]
        average[j] += 2.0 / (t + 1.0) * (w[j] - average[j])


@kernel
def opauc_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    ridge: float,
    step: float,
    mass: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    w: FloatArray,
    average: FloatArray,
    largest: FloatArray,
    clock: IntArray,
) -> None:
    """OPAUC with full covariances; ``step`` 0 selects step sizes automatically.

    ``average`` is the mean of the iterates in which the one after t rows has the weight t.
    """
    d = w.shape[0]
    x, slope = np.empty(d), np.empty(d)
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        side = 0 if y[i] > 0.0 else 1
        other = 1 - side
        dense_row(indptr, indices, values, i, x)
        observe(x, weight[i], side, mass, mean, scatter)
        clock[0] += 1
        if mass[other] == 0.0:
            continue
        # slope = ridge w + (u.w - y) u + C w, u = x - mean and C covariance of the other class.
        size = pair_slope(x, y[i], ridge, w, mean[other], slope)
        largest[0] = max(largest[0], size)
        add_covariance(scatter[other], mass[other], w, slope)
        rate = _rate(step, ridge, clock[0], largest[0])
        rate *= weight[i] * clock[0] / (mass[0] + mass[1])
        averaged_step(rate, slope, clock[0], w, average)


@kernel
def random_signs(random: Array, size: float, out: FloatArray) -> None:
    """Fill ``out`` with plus or minus ``size``."""
    bits = np.uint64(0)
    for k in range(out.shape[0]):
        if k % 64 == 0:  # a random word has 64 bits
            bits = next_random(random)
        out[k] = size if bits & np.uint64(1) else -size
        bits >>= np.uint64(1)


@fast_kernel
def add_sketched_covariance(
    sketch: FloatArray,
    drift: FloatArray,
    mean: FloatArray,
    mass: float,
    w: FloatArray,
    part: FloatArray,
    slope: FloatArray,
) -> None:
    """``slope += Y Y'w / mass`` with ``Y = sketch - mean drift'``, the sketch of centred rows."""
    d, rank = sketch.shape
    part[:] = 0.0
    along = 0.0
    # part = Y'w / mass, with Y'w = sketch'w - (mean . w) drift.
    for j in range(d):
        z = w[j]
        if z != 0.0:
            along += z * mean[j]
            line = sketch[j]
            for k in range(rank):
                part[k] += z * line[k]
    shift = 0.0
    for k in range(rank):
        part[k] = (part[k] - along * drift[k]) / mass
    for k in range(rank):
        shift += drift[k] * part[k]
    # slope += Y part = sketch part - mean (drift . part).
    for j in range(d):
        line = sketch[j]
        z = -mean[j] * shift
        for k in range(rank):
            z += line[k] * part[k]
        slope[j] += z


@kernel
def sketched_opauc_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    ridge: float,
    step: float,
    mass: FloatArray,
    mean: FloatArray,
    sketch: FloatArray,
    drift: FloatArray,
    w: FloatArray,
    average: FloatArray,
    largest: FloatArray,
    clock: IntArray,
    random: Array,
) -> None:
    """OPAUC with a random sketch (2, d, rank) of each class in place of its covariance.

    A row x is added to the sketch as ``x a'`` with a vector a of random signs, scaled to length
    one; ``drift`` (2, rank) holds the sums of a.
    """
    d, rank = sketch.shape[1:]
    x, slope, signs, part = np.empty(d), np.empty(d), np.empty(rank), np.empty(rank)
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        side = 0 if y[i] > 0.0 else 1
        other = 1 - side
        dense_row(indptr, indices, values, i, x)
        mass[side] += weight[i]
        share = weight[i] / mass[side]
        for j in range(d):
            mean[side, j] += share * (x[j] - mean[side, j])
        # The sketch of the class, S += x a' with E[a a'] = I w / rank: S S' estimates sum w x x'.
        random_signs(random, math.sqrt(weight[i] / rank), signs)
        drift[side] += signs
        for k in range(indptr[i], indptr[i + 1]):
            line = sketch[side, indices[k]]
            z = values[k]
            for r in range(rank):
                line[r] += z * signs[r]
        clock[0] += 1
        if mass[other] == 0.0:
            continue
        # slope = ridge w + (u.w - y) u + C w, u = x - mean and C covariance of the other class.
        size = pair_slope(x, y[i], ridge, w, mean[other], slope)
        largest[0] = max(largest[0], size)
        add_sketched_covariance(
            sketch[other], drift[other], mean[other], mass[other], w, part, slope
        )
        rate = _rate(step, ridge, clock[0], largest[0])
        rate *= weight[i] * clock[0] / (mass[0] + mass[1])
        averaged_step(rate, slope, clock[0], w, average)


@fast_kernel
def project_ball(u: FloatArray, metric: FloatArray, radius: float) -> None:
    """Project u on the ball, in place, in the norm ``sum_j metric_j (.)_j^2``.

    The projection is ``metric u / (metric + nu)`` with the nu that gives it the length ``radius``;
    nu is found by bisection.
    """
    if (u * u).sum() <= radius * radius:
        return
    low, high = 0.0, metric.max() * math.sqrt((u * u).sum()) / radius
    for _ in range(MOST_HALVINGS):
        nu = 0.5 * (low + high)
        size = 0.0
        for j in range(u.shape[0]):
            z = metric[j] * u[j] / (metric[j] + nu)
            size += z * z
        if size > radius * radius:
            low = nu
        else:
            high = nu
        if high - low <= BALL_ACCURACY * high:
            break
    for j in range(u.shape[0]):
        u[j] *= metric[j] / (metric[j] + high)


@kernel
def ada_oam_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    ridge: float,
    step: float,
    damping: float,
    radius: float,
    euclidean: bool,
    mass: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    w: FloatArray,
    squares: FloatArray,
    clock: IntArray,
) -> None:
    """AdaOAM: the slopes of OPAUC with the step sizes of AdaGrad, one per coordinate.

    The projection is in the metric of the steps, or ``euclidean``.
    """
    d = w.shape[0]
    x, slope, metric = np.empty(d), np.empty(d), np.empty(d)
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        side = 0 if y[i] > 0.0 else 1
        other = 1 - side
        dense_row(indptr, indices, values, i, x)
        observe(x, weight[i], side, mass, mean, scatter)
        clock[0] += 1
        if mass[other] == 0.0:
            continue
        # slope = ridge w + (u.w - y) u + C w, as in `opauc_rows`.
        pair_slope(x, y[i], ridge, w, mean[other], slope)
        add_covariance(scatter[other], mass[other], w, slope)
        # Weight of the row relative to the mean weight so far.
        relative = weight[i] * clock[0] / (mass[0] + mass[1])
        total = 0.0
        for j in range(d):
            z = relative * slope[j]
            squares[j] += z * z
            total += squares[j]
        if total == 0.0:
            continue
        # AdaGrad: w_j -= step g_j / (damping * level + root of the sum of g_j^2 so far), where
        # level is the root mean of these sums over the columns: units of the data cancel.
        level = damping * math.sqrt(total / d)
        for j in range(d):
            metric[j] = level + math.sqrt(squares[j])
            w[j] -= step * relative * slope[j] / metric[j]
        if euclidean:
            metric[:] = 1.0
        project_ball(w, metric, radius)
