"""Coordinate ascent on the dual of a row loss with a strongly convex separable penalty.

Letters: u dual variable of a row (the slope of its loss at the optimum), p row weight, q squared
length of a row in the metric of the penalty (``x' diag(1/l2) x``), v = -X'u, w = soft(v, l1) / l2.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.descent.coordinate import next_random
from auctor.kernels.losses.pointwise import (
    HUBER,
    SQUARED,
    SQUARED_HINGE,
    clipped,
    piece,
    prox_slope,
    soft,
)
from auctor.kernels.runtime.compiled import fast_kernel, kernel

#: Squared length up to which a row counts as empty.
EMPTY_ROW = 1e-200
#: Share of a Newton step on the free rows below which it is given up: it is halved seven times.
LEAST_PART = 0.01
#: Factor on the change of a row's score that must leave its dual variable at the bound.
SCORE_MARGIN = 1.25


@kernel
def keys_and_lengths(
    indptr: Array,
    indices: Array,
    values: Array,
    direction: FloatArray,
    l2: FloatArray,
    keys: FloatArray,
    lengths: FloatArray,
) -> None:
    """Write the product of each row with ``direction`` and its squared length.

    Lengths are in the metric of the penalty, ``x' diag(1/l2) x``; an ``l2`` of length one holds for
    all columns.
    """
    for i in range(keys.shape[0]):
        key = length = 0.0
        if l2.shape[0] == 1:
            for k in range(indptr[i], indptr[i + 1]):
                x = float(values[k])
                key += x * direction[indices[k]]
                length += x * x
            length /= l2[0]
        else:
            for k in range(indptr[i], indptr[i + 1]):
                j, x = indices[k], float(values[k])
                key += x * direction[j]
                length += x * x / l2[j]
        keys[i], lengths[i] = key, length


@kernel
def inside(kind: int, param: float, y: float, u: float, p: float) -> bool:
    """Whether a dual variable is strictly inside its piece, not at one of its ends."""
    low, high = piece(kind, param, y, u)
    return p * low < u < p * high


@kernel
def unshrink(
    kind: int,
    param: float,
    width: float,
    y: FloatArray,
    p: FloatArray,
    q: FloatArray,
    u: FloatArray,
    scores: FloatArray,
    before: FloatArray,
    order: IntArray,
) -> int:
    """Move the rows that may move soon to the front of ``order``; return their number.

    The dual variables of the other rows are at the end of a piece, and stay there if their scores
    change by `SCORE_MARGIN` times as much as since ``before``. (The factor 1 would reach exactly a
    kink, where rounding decides.)
    """
    active = 0
    for s in range(order.shape[0]):
        i = order[s]
        t = max(q[i], EMPTY_ROW)
        z, far = scores[i] + t * u[i], SCORE_MARGIN * abs(scores[i] - before[i])
        low = p[i] * prox_slope(kind, param, width, z - far, y[i], t * p[i])
        high = p[i] * prox_slope(kind, param, width, z + far, y[i], t * p[i])
        if low != u[i] or high != u[i] or inside(kind, param, y[i], u[i], p[i]):
            order[s], order[active] = order[active], i
            active += 1
    return active


@fast_kernel
def row_score(indices: Array, values: Array, start: int, stop: int, w: FloatArray) -> float:
    """Score of one row, whose entries are ``start`` to ``stop``."""
    score = 0.0
    for k in range(start, stop):
        score += values[k] * w[indices[k]]
    return score


@fast_kernel
def dot(a: FloatArray, b: FloatArray) -> float:
    """``a @ b``."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@kernel
def pull_rows(
    indptr: Array, indices: Array, values: Array, rows: IntArray, d: FloatArray, out: FloatArray
) -> None:
    """``out = X[rows].T @ d``."""
    out[:] = 0.0
    for r in range(rows.shape[0]):
        i = rows[r]
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += d[r] * values[k]


@kernel
def free_step(
    indptr: Array,
    indices: Array,
    values: Array,
    kind: int,
    param: float,
    width: float,
    y: FloatArray,
    p: FloatArray,
    q: FloatArray,
    l2: FloatArray,
    order: IntArray,
    active: int,
    rounds: int,
    drop: float,
    u: FloatArray,
    w: FloatArray,
    intercept: FloatArray,
    spread: float,
) -> int:
    """A Newton step on the dual variables strictly inside their pieces, by conjugate gradients.

    The step is clipped at the ends of the pieces and halved until the dual increases. Updates u, w
    and the intercept; returns the number of visits of rows.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    kind, param, width : int, float, float
        The loss, as in `pointwise`.
    y, p, q : (n,) arrays
        Targets, weights and squared lengths of the rows.
    l2 : (d,) or (1,) array
        Strengths of the l2 penalty; one entry holds for all columns.
    order, active : int array, int
        The first ``active`` entries of ``order`` are the rows that are not shrunk.
    rounds : int
        Largest number of iterations.
    drop : float
        Share of the squared residual of the start at which the iterations stop.
    u, w : (n,) and (d,) arrays
        Dual variables and weights.
    intercept : (2,) array
        The multiplier of ``sum u = 0`` and the intercept.
    spread : float
        Curvature of the column of the intercept; 0 for no intercept.
    """
    rows = np.empty(active, dtype=np.int64)
    residual = np.empty(active)
    bend = 1.0 if kind in (SQUARED_HINGE, SQUARED, HUBER) else width
    single = 1.0 / l2[0] if l2.shape[0] == 1 else 1.0
    # Rows whose dual variable stays inside its piece after its own exact step. There the dual is
    #   D(u) = -1/2 |X'u|^2 / l2 - 1/2 bend sum_i u_i^2 / p_i + linear,
    # whose gradient in u_i is (own step) * (q_i + bend / p_i): the residual.
    m = 0
    for s in range(active):
        i = order[s]
        if not inside(kind, param, y[i], u[i], p[i]):
            continue
        t = max(q[i], EMPTY_ROW)
        score = intercept[1] + row_score(indices, values, indptr[i], indptr[i + 1], w)
        slope = prox_slope(kind, param, width, score + t * u[i], y[i], t * p[i])
        if inside(kind, param, y[i], p[i] * slope, p[i]):
            rows[m] = i
            residual[m] = (p[i] * slope - u[i]) * (t + bend / p[i])
            m += 1
    rows, residual = rows[:m], residual[:m]
    # Diagonal of the system.
    uphill = residual.copy()
    size = np.empty(m)
    for r in range(m):
        size[r] = max(q[rows[r]], EMPTY_ROW) + bend / p[rows[r]]
    # Conjugate gradients on (X X' / l2 + spread 11' + diag(bend / p)) step = residual over these
    # rows, preconditioned by the diagonal ``size``; ``image`` is the matrix times the direction.
    step, image, pull = np.zeros(m), np.empty(m), np.empty(w.shape[0])
    direction = residual / size
    energy = dot(residual, direction)
    first = energy
    used = 0
    while used < rounds and energy > drop * first:
        used += 1
        pull_rows(indptr, indices, values, rows, direction, pull)
        if l2.shape[0] > 1:
            pull /= l2
        total = spread * direction.sum()
        for r in range(m):
            i = rows[r]
            score = row_score(indices, values, indptr[i], indptr[i + 1], pull)
            image[r] = score * single + total + bend / p[i] * direction[r]
        curve = dot(direction, image)
        if curve <= 0.0:
            break
        length = energy / curve
        for r in range(m):
            step[r] += length * direction[r]
            residual[r] -= length * image[r]
        last = energy
        energy = dot(residual, residual / size)
        direction = residual / size + energy / last * direction
    # Clip the step at the ends of the pieces; halve it until the dual rises by
    #   uphill.change - 1/2 (|X'change|^2 / l2 + spread (sum change)^2 + bend sum change^2 / p) > 0.
    share = 1.0
    goal, change = np.empty(m), np.empty(m)
    while share > LEAST_PART and m > 0:
        used += 1
        for r in range(m):
            i = rows[r]
            low, high = piece(kind, param, y[i], u[i])
            goal[r] = clipped(u[i] + share * step[r], p[i] * low, p[i] * high)
            change[r] = goal[r] - u[i]
        pull_rows(indptr, indices, values, rows, change, pull)
        total = change.sum()
        gain = dot(uphill, change) - 0.5 * (dot(pull, pull / l2) + spread * total * total)
        for r in range(m):
            gain -= 0.5 * bend / p[rows[r]] * change[r] * change[r]
        if gain > 0.0:
            for r in range(m):
                u[rows[r]] = goal[r]
            w -= pull / l2
            intercept[1] -= spread * total
            break
        share *= 0.5
    return used * m


@kernel
def dual_sweeps(
    indptr: Array,
    indices: Array,
    values: Array,
    kind: int,
    param: float,
    width: float,
    y: FloatArray,
    p: FloatArray,
    q: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    order: IntArray,
    active: int,
    sweeps: int,
    rows: int,
    leave: bool,
    u: FloatArray,
    v: FloatArray,
    w: FloatArray,
    intercept: FloatArray,
    spread: float,
    state: Array,
) -> tuple[int, int]:
    """Visit the active rows of ``order`` in random order, each with its exact (majorised) step.

    Updates u, w, v where the penalty has an l1 part, and the intercept. Returns the number of
    active rows and of visits.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    kind, param, width : int, float, float
        The loss, as in `pointwise`.
    y, p, q : (n,) arrays
        Targets, weights and squared lengths of the rows. An empty row has the tiny length
        `EMPTY_ROW`, so that its dual variable is the slope of its loss.
    l1 : (d,) or empty array
        Strengths of the l1 part; empty without one.
    l2 : (d,) or (1,) array
        Strengths of the l2 part; one entry holds for all columns.
    order : (n,) int array
        The rows; the first ``active`` of them are visited, and permuted.
    active : int
        Number of rows that are not shrunk.
    sweeps, rows : int
        Largest number of sweeps and of visits.
    leave : bool
        Whether rows whose dual variable stays at the end of a piece are moved to the end of
        ``order`` and left out (shrinking).
    u : (n,) array
        Dual variables.
    v, w : (d,) arrays
        ``v = -X'u`` (only with an l1 part) and the weights.
    intercept : (2,) array
        The multiplier of ``sum u = 0`` (of an augmented Lagrangian, updated after each sweep) and
        the intercept itself.
    spread : float
        Curvature of the column of the intercept; 0 for no intercept.
    state : (1,) uint64 array
        State of the random generator.
    """
    visits = 0
    single = 1.0 / l2[0]
    for _ in range(sweeps):
        if visits >= rows or active == 0:
            break
        visits += active
        s = 0
        while s < active:
            # A random active row that was not yet visited in this sweep, moved to position s.
            drawn = (next_random(state) >> np.uint64(32)) * np.uint64(active - s)
            at = s + np.int64(drawn >> np.uint64(32))
            i = order[at]
            order[at], order[s] = order[s], i
            # Maximise the dual in u_i alone: u_i = p_i loss'(z - t u_i), z the score of the row
            # without its own part, t = q_i = |x_i|^2 / l2.
            t = max(q[i], EMPTY_ROW)
            start, stop = indptr[i], indptr[i + 1]
            score = intercept[1] + row_score(indices, values, start, stop, w)
            old = u[i]
            z = score + t * old
            new = p[i] * prox_slope(kind, param, width, z, y[i], t * p[i], old / p[i])
            change = new - old
            if change == 0.0:
                if leave and not inside(kind, param, y[i], old, p[i]):
                    active -= 1
                    order[s], order[active] = order[active], i
                else:
                    s += 1
                continue
            s += 1
            u[i] = new
            intercept[1] -= spread * change
            # w = soft(v, l1) / l2 with v = -X'u; without l1 it is linear in u.
            if l1.shape[0] > 0:
                for k in range(start, stop):
                    j = indices[k]
                    v[j] -= change * values[k]
                    w[j] = soft(v[j], l1[j]) / l2[j]
            elif l2.shape[0] == 1:
                step = change * single
                for k in range(start, stop):
                    w[indices[k]] -= step * values[k]
            else:
                for k in range(start, stop):
                    j = indices[k]
                    w[j] -= change * values[k] / l2[j]
        # Augmented Lagrangian of sum u = 0: multiplier -= spread * sum u.
        if spread > 0.0:
            total = 0.0
            for i in order:
                total += u[i]
            intercept[0] -= spread * total
            intercept[1] = intercept[0] - spread * total
    return active, visits
