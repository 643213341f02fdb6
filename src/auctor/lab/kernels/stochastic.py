"""Coordinate descent on the loss itself, one random column at a time.

Letters: s scores, u slopes ``p_i loss'(s_i)``, beta a bound on a coordinate's curvature, p the
normalised row weights. Penalties are given as the arrays of a `SeparableSpec`.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.descent.coordinate import next_random
from auctor.kernels.linalg.columns import column_dot
from auctor.kernels.losses.pointwise import point
from auctor.kernels.penalties.separable import prox_one
from auctor.kernels.runtime.compiled import kernel


@kernel
def stochastic_epoch(
    indptr: Array,
    indices: Array,
    values: Array,
    kind: int,
    param: float,
    width: float,
    y: FloatArray,
    p: FloatArray,
    beta: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    w: FloatArray,
    s: FloatArray,
    u: FloatArray,
    steps: int,
    random: Array,
) -> float:
    """``steps`` majorised steps in random coordinates; updates w, s, u; returns the entries read.

    A step reads its column for the slope and, if the coordinate moves, once more to update.

    Parameters
    ----------
    indptr, indices, values : arrays
        The columns in compressed form.
    kind, param, width : int, float, float
        The loss, as in `pointwise`.
    y, p : (n,) arrays
        Targets and weights of the rows.
    beta : (d,) array
        Upper bound on the curvature of each coordinate.
    l1, l2, lower, upper : arrays of one entry per column
        The penalty, as in `SeparableSpec`.
    w : (d,) array
        Weights.
    s, u : (n,) arrays
        Scores, and slopes of the loss at them times p.
    steps : int
        Number of steps.
    random : (1,) uint64 array
        State of the random generator.
    """
    d = w.shape[0]
    work = 0.0
    for _ in range(steps):
        j = int(next_random(random) % np.uint64(d))
        start, stop = indptr[j], indptr[j + 1]
        work += stop - start
        slope = column_dot(indptr, indices, values, j, u)
        # Minimise the majoriser slope z + beta z^2 / 2 + penalty(w_j + z).
        new = prox_one(w[j] - slope / beta[j], 1.0 / beta[j], l1[j], l2[j], lower[j], upper[j])
        z = new - w[j]
        if z != 0.0:
            w[j] = new
            work += stop - start
            for k in range(start, stop):
                i = indices[k]
                s[i] += z * values[k]
                if p[i] > 0.0:
                    u[i] = p[i] * point(kind, param, width, s[i], y[i])[1]
    return work
