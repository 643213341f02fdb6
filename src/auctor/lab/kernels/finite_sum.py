"""Stochastic solvers for the pairwise square loss of data in memory.

Up to a constant the loss is ``sum_i p_i (w.(x_i - m_i))^2 + (1 - w.d)^2``: p_i the weight of row i
in its class, m_i the mean of its class, d the difference of the means.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.descent.coordinate import next_random
from auctor.kernels.penalties.separable import prox_one
from auctor.kernels.runtime.compiled import kernel


@kernel
def uniform(random: Array) -> float:
    """A uniform random number in [0, 1)."""
    return float(next_random(random) >> np.uint64(11)) * 2.0**-53


@kernel
def svrg_epoch(
    indptr: Array,
    indices: Array,
    values: Array,
    rows: IntArray,
    own: Array,
    means: FloatArray,
    below: FloatArray,
    scale: FloatArray,
    anchor: FloatArray,
    gradient: FloatArray,
    step: float,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    w: FloatArray,
    steps: int,
    random: Array,
) -> None:
    """Proximal SVRG steps from the anchor with its full gradient, one row each; updates w.

    The term of the class means is not sampled.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    rows, own : int arrays
        Rows that may be drawn, and the class (0 or 1) of each.
    means : (2, d) array
        Class means.
    below : array
        Cumulative probabilities: entry k of ``rows`` is drawn with ``below[k + 1] - below[k]``.
    scale : array
        Factor of the term of each row: its weight divided by that probability, so that the estimate
        of the gradient is unbiased.
    anchor, gradient : (d,) arrays
        The anchor and the full gradient there.
    step : float
        Step size.
    l1, l2, lower, upper : arrays of one entry per column
        The penalty, as in `SeparableSpec`.
    w : (d,) array
        Weights.
    steps : int
        Number of steps.
    random : (1,) uint64 array
        State of the random generator.
    """
    d = w.shape[0]
    change, pulls = np.zeros(d), np.zeros(d)
    for _ in range(steps):
        # Draw row k: ``below`` holds the cumulative probabilities.
        k = int(np.searchsorted(below, uniform(random), side="right")) - 1
        k = min(max(k, 0), rows.shape[0] - 1)
        mean = means[own[k]]
        # along = z.(w - anchor) with z = x - m of the row; across = d.(w - anchor), d = m_1 - m_0.
        along = across = 0.0
        for j in range(d):
            change[j] = w[j] - anchor[j]
            along -= change[j] * mean[j]
            across += change[j] * (means[1, j] - means[0, j])
            pulls[j] = 0.0
        i = rows[k]
        start, stop = indptr[i], indptr[i + 1]
        for e in range(start, stop):
            along += change[indices[e]] * values[e]
        along *= 2.0 * scale[k]
        for e in range(start, stop):
            pulls[indices[e]] = along * values[e]
        for j in range(d):
            # g = grad(anchor) + 2 scale (z.(w - anchor)) z + 2 (d.(w - anchor)) d,
            # w <- prox_step(w - step g).
            g = gradient[j] + pulls[j] - along * mean[j]
            g += 2.0 * across * (means[1, j] - means[0, j])
            w[j] = prox_one(w[j] - step * g, step, l1[j], l2[j], lower[j], upper[j])


@kernel
def spdam_epoch(
    indptr: Array,
    indices: Array,
    values: Array,
    rows: IntArray,
    own: Array,
    scale: FloatArray,
    means: FloatArray,
    ridge: FloatArray,
    sigma: float,
    tau: float,
    theta: float,
    batch: int,
    steps: int,
    order: IntArray,
    dual: FloatArray,
    u: FloatArray,
    w: FloatArray,
    extrapolated: FloatArray,
    random: Array,
) -> None:
    """Stochastic primal-dual steps with ``batch`` rows each; updates the last arrays.

    Row k stands for ``z_k = scale[k] (x - m)``. Minimises ``1/(2n) sum (w.z_k)^2 + (b.w)^2/2 + b.w
    + w'ridge w/2`` with b the mean of the negatives minus that of the positives.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    rows, own, scale : arrays
        Rows that may be drawn, the class (0 or 1) and the factor of each.
    means : (2, d) array
        Class means.
    ridge : (d,) array
        Strengths of the l2 penalty.
    sigma, tau : float
        Step sizes of the dual and of the primal variables.
    theta : float
        Extrapolation: ``extrapolated = w + theta (w - old w)``.
    batch, steps : int
        Rows of a step, and the number of steps.
    order : int array
        A permutation of the rows, which is shuffled.
    dual : array
        Dual variable of each row.
    u : (d,) array
        ``sum_k dual_k z_k / n``.
    w, extrapolated : (d,) arrays
        Weights, and the point at which dual steps are taken.
    random : (1,) uint64 array
        State of the random generator.
    """
    n, d = rows.shape[0], w.shape[0]
    b = means[0] - means[1]
    inverse = 1.0 / (ridge + 1.0 / tau)
    solved = inverse * b
    # (ridge + 1/tau + b b')^-1 by Sherman and Morrison: D - (D b)(D b)' / (1 + b' D b), D diagonal.
    bend = 1.0 + (b * solved).sum()
    gain, back, centre = np.zeros(d), np.zeros(2), np.zeros(2)
    for _ in range(steps):
        centre[:] = 0.0
        back[:] = 0.0
        for j in range(d):
            gain[j] = 0.0
            centre[0] += means[0, j] * extrapolated[j]
            centre[1] += means[1, j] * extrapolated[j]
        for k in range(batch):
            # A random row that is not yet in the batch (Fisher and Yates).
            other = k + np.int64(next_random(random) % np.uint64(n - k))
            order[k], order[other] = order[other], order[k]
            r = order[k]
            i = rows[r]
            start, stop = indptr[i], indptr[i + 1]
            score = 0.0
            for e in range(start, stop):
                score += values[e] * extrapolated[indices[e]]
            score = scale[r] * (score - centre[own[r]])
            # Dual step: a_k <- (a_k + sigma z_k.extrapolated) / (1 + sigma), the prox of a^2/2.
            new = (dual[r] + sigma * score) / (1.0 + sigma)
            change = (new - dual[r]) * scale[r] / n
            dual[r] = new
            back[own[r]] += change
            for e in range(start, stop):
                gain[indices[e]] += change * values[e]
        along = 0.0
        for j in range(d):
            gain[j] -= back[0] * means[0, j] + back[1] * means[1, j]
            # Primal step, with u = sum_k a_k z_k / n:
            # (ridge + 1/tau + b b') w = w/tau - u - (n/batch) gain - b.
            r_j = w[j] / tau - u[j] - n / batch * gain[j] - b[j]
            u[j] += gain[j]
            gain[j] = inverse[j] * r_j
            along += b[j] * gain[j]
        for j in range(d):
            # Extrapolate: extrapolated = w + theta (w - old w).
            new = gain[j] - solved[j] * along / bend
            extrapolated[j] = new + theta * (new - w[j])
            w[j] = new
