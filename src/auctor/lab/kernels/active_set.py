"""Convex quadratics under linear constraints, by a primal active-set method in the null space.

Minimises ``x'Gx/2 + c'x`` over ``A x >= b``, the first ``n_equal`` rows as equations, from a
feasible point. Rows of A have length one. G may be singular, even zero (a linear program).

Notation: the *working set* holds the rows treated as equations. The first rows of the orthogonal
matrix Q are a basis Z of the directions that keep all working rows constant; its last rows, read
backwards, are a basis Y of the other directions, with ``A_W' = Y' R`` and R upper triangular.
``L L' = Z G Z'`` is the reduced Hessian. It stays regular: at the start its null directions are
fixed by artificial working rows, and one row at a time is dropped, at the minimiser of its face, so
that at most the last pivot of L is zero; the step then follows that null direction until a row
blocks it (Gill, Murray, Saunders, Wright, Inertia-controlling methods for general quadratic
programming, 1991). Every change of the working set updates Q, R and L by rotations.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.rounding import ROUNDING, SMALLEST_DIVISOR
from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel

#: How a solve ended: at a point that meets the optimality conditions.
OPTIMAL = 0
#: How a solve ended: the objective decreases without bound.
UNBOUNDED = 1
#: How a solve ended: after the largest number of steps.
OUT_OF_STEPS = 2

#: Curvature, as a share of the largest diagonal entry of G, that counts as zero.
NO_CURVATURE = 1e-13
#: Slope of a row of length one along a direction of length one that counts as zero.
PARALLEL = 1e-10
#: Rounding error of a multiplier, as a share of the length of the gradient.
MULTIPLIER_ROUNDING = 1e-12
#: Consecutive steps of length zero after which Bland's rule.
CYCLE_STEPS = 8
#: Changes of the working set after which the factors are recomputed.
REFACTOR_AFTER = 60


@fast_kernel
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@fast_kernel
def _rotate(x: FloatArray, y: FloatArray, c: float, s: float) -> None:
    """``(x, y) <- (c x + s y, c y - s x)``."""
    for i in range(x.shape[0]):
        first, second = x[i], y[i]
        x[i] = c * first + s * second
        y[i] = c * second - s * first


@kernel
def _add_row(
    row: FloatArray, Q: FloatArray, R: FloatArray, L: FloatArray, size: int, factored: bool
) -> bool:
    """Add a row to a working set of ``size`` rows; False where it depends on them.

    Rotations collect the components of the row along Z in the last vector of Z, which then moves
    to Y.
    """
    d = Q.shape[0]
    free = d - size
    # Components of the row along Z; without them it is a combination of the working rows.
    part = np.empty(free)
    length = 0.0
    for i in range(free):
        part[i] = _dot(Q[i], row)
        length += part[i] * part[i]
    if math.sqrt(length) <= PARALLEL:
        return False
    for i in range(free - 1):
        if part[i] == 0.0:
            continue
        length = math.hypot(part[i], part[i + 1])
        # (part_i, part_{i+1}) -> (0, length)
        c, s = part[i + 1] / length, -part[i] / length
        _rotate(Q[i], Q[i + 1], c, s)
        part[i + 1] = length
        if factored:
            # The same rotation of the rows of L creates an entry above its diagonal; a rotation of
            # its columns removes that entry.
            _rotate(L[i, : i + 2], L[i + 1, : i + 2], c, s)
            length = math.hypot(L[i, i], L[i, i + 1])
            if length > 0.0:
                c, s = L[i, i] / length, L[i, i + 1] / length
                for k in range(i, free):
                    first, second = L[k, i], L[k, i + 1]
                    L[k, i] = c * first + s * second
                    L[k, i + 1] = c * second - s * first
            L[i, i + 1] = 0.0
    # The new column of R: the components of the row along Y.
    for j in range(size + 1):
        R[j, size] = _dot(Q[d - 1 - j], row)
    return True


@kernel
def _drop_row(Q: FloatArray, R: FloatArray, working: IntArray, size: int, at: int) -> None:
    """Drop the working row number ``at``; the last vector of Y becomes the last of Z."""
    d = Q.shape[0]
    # Shift the later columns of R to the left, which leaves one entry below each diagonal ...
    for j in range(at, size - 1):
        working[j] = working[j + 1]
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
    # ... and rotate those entries away, together with the vectors of Y.
    for j in range(at, size - 1):
        length = math.hypot(R[j, j], R[j + 1, j])
        c, s = R[j, j] / length, R[j + 1, j] / length
        _rotate(R[j, j : size - 1], R[j + 1, j : size - 1], c, s)
        _rotate(Q[d - 1 - j], Q[d - 2 - j], c, s)


@kernel
def _extend(G: FloatArray, Q: FloatArray, L: FloatArray, free: int, flat: float) -> bool:
    """Extend L by the last vector of Z; return whether the reduced Hessian stays regular."""
    last = free - 1
    image = np.empty(G.shape[0])
    for i in range(G.shape[0]):
        image[i] = _dot(G[i], Q[last])
    row = L[last]
    for i in range(last):
        row[i] = (_dot(Q[i], image) - _dot(L[i, :i], row[:i])) / L[i, i]
    pivot = _dot(Q[last], image) - _dot(row[:last], row[:last])
    row[last] = math.sqrt(max(pivot, 0.0))
    return pivot > flat


@kernel
def _factor(G: FloatArray, Q: FloatArray, L: FloatArray, free: int, flat: float) -> int:
    """Factorise ``Z G Z'`` with the largest pivots first; return its rank. Z is reordered alike."""
    reduced = np.empty((free, free))
    image = np.empty(G.shape[0])
    for j in range(free):
        for i in range(G.shape[0]):
            image[i] = _dot(G[i], Q[j])
        for i in range(j, free):
            reduced[i, j] = _dot(Q[i], image)
    for k in range(free):
        best = k
        for i in range(k + 1, free):
            if reduced[i, i] > reduced[best, best]:
                best = i
        if reduced[best, best] <= flat:
            return k
        if best != k:
            # Swap k and best in Z, in the finished columns of L and in the remaining matrix.
            for i in range(Q.shape[1]):
                Q[k, i], Q[best, i] = Q[best, i], Q[k, i]
            for i in range(k):
                L[k, i], L[best, i] = L[best, i], L[k, i]
            for i in range(k, free):
                if i != k and i != best:
                    x, y = (max(i, k), min(i, k)), (max(i, best), min(i, best))
                    reduced[x], reduced[y] = reduced[y], reduced[x]
            reduced[k, k], reduced[best, best] = reduced[best, best], reduced[k, k]
        # Column k of L, and the Schur complement of the remaining matrix.
        L[k, k] = math.sqrt(reduced[k, k])
        for i in range(k + 1, free):
            L[i, k] = reduced[i, k] / L[k, k]
            L[k, i] = 0.0
        for j in range(k + 1, free):
            for i in range(j, free):
                reduced[i, j] -= L[i, k] * L[j, k]
    return free


@kernel
def _start(
    A: FloatArray, working: IntArray, size: int, Q: FloatArray, R: FloatArray, L: FloatArray
) -> int:
    """Compute Q and R of the working set; rows that depend on earlier ones are left out."""
    d = Q.shape[0]
    Q[:] = 0.0
    for i in range(d):
        Q[i, i] = 1.0
    kept = 0
    for k in range(size):
        row = working[k]
        if row < A.shape[0] and kept < d and _add_row(A[row], Q, R, L, kept, False):
            working[kept] = row
            kept += 1
    return kept


@kernel
def _fix_flat_directions(
    G: FloatArray, m: int, working: IntArray, size: int, Q: FloatArray, R: FloatArray,
    L: FloatArray, flat: float,
) -> int:  # fmt: skip
    """Factorise on the working set; directions without curvature become artificial working rows."""
    held: int = Q.shape[0] - _factor(G, Q, L, Q.shape[0] - size, flat)
    for k in range(size, held):
        working[k] = m
        R[:k, k] = 0.0
        R[k, k] = 1.0
    return held


@kernel
def _restore_working_rows(
    A: FloatArray, b: FloatArray, x: FloatArray, working: IntArray, size: int, Q: FloatArray,
    R: FloatArray,
) -> None:  # fmt: skip
    """Correct rounding errors in x: move it back to ``A_W x = b_W`` by ``R' u = b_W - A_W x``."""
    d, m = Q.shape[0], A.shape[0]
    u = np.empty(size)
    for k in range(size):
        miss = 0.0
        if working[k] < m:
            miss = b[working[k]] - _dot(A[working[k]], x)
        for i in range(k):
            miss -= R[i, k] * u[i]
        u[k] = miss / R[k, k]
    for k in range(size):
        for i in range(d):
            x[i] += u[k] * Q[d - 1 - k, i]


@kernel
def _search_direction(
    Q: FloatArray, L: FloatArray, free: int, regular: bool, g: FloatArray, p: FloatArray
) -> None:
    """The step p on the face: ``Z G Z' p_z = -Z g``, or the null direction that descends."""
    z = np.empty(free)
    if regular:
        for i in range(free):
            z[i] = (-_dot(Q[i], g) - _dot(L[i, :i], z[:i])) / L[i, i]
        last = free
    else:
        # L_11' z = -l with the last entry 1 spans the null space.
        last = free - 1
        for i in range(last):
            z[i] = -L[last, i]
        z[last] = 1.0
    for i in range(last - 1, -1, -1):
        z[i] /= L[i, i]
        for j in range(i):
            z[j] -= L[i, j] * z[i]
    p[:] = 0.0
    for k in range(free):
        for i in range(p.shape[0]):
            p[i] += z[k] * Q[k, i]
    if not regular and _dot(p, g) > 0.0:
        for i in range(p.shape[0]):
            p[i] = -p[i]


@kernel
def _blocking(
    A: FloatArray, b: FloatArray, x: FloatArray, p: FloatArray, inside: IntArray, step: float,
    careful: bool,
) -> tuple[float, int]:  # fmt: skip
    """The longest step up to ``step`` that keeps x feasible, and the row that limits it, or -1.

    Of rows that limit the step equally the steepest is taken, or the first if ``careful``.
    """
    length = math.sqrt(_dot(p, p))
    blocking, steepest = -1, 0.0
    for i in range(A.shape[0]):
        if inside[i]:
            continue
        slope = _dot(A[i], p)
        if slope >= -PARALLEL * length:
            continue
        room = max(_dot(A[i], x) - b[i], 0.0) / -slope
        tie = blocking >= 0 and abs(room - step) <= ROUNDING * (1.0 + step)
        if (room < step and not tie) or (tie and not careful and slope < steepest):
            step, blocking, steepest = min(room, step), i, slope
    return step, blocking


@kernel
def _multipliers(Q: FloatArray, R: FloatArray, g: FloatArray, size: int, out: FloatArray) -> None:
    """``R lambda = Y g`` for the working rows, into the first ``size`` entries of ``out``."""
    d = Q.shape[0]
    for k in range(size):
        out[k] = _dot(Q[d - 1 - k], g)
    for k in range(size - 1, -1, -1):
        out[k] /= R[k, k]
        for i in range(k):
            out[i] -= R[i, k] * out[k]


@kernel
def _row_to_drop(
    weight: FloatArray, working: IntArray, size: int, m: int, n_equal: int, noise: float,
    careful: bool,
) -> int:  # fmt: skip
    """Position of the working row to drop, or -1: that of the most negative multiplier.

    If ``careful``, it is the smallest row number with a negative multiplier (Bland's rule).
    Artificial rows, numbered m, come first and are dropped for a multiplier of either sign.
    """
    worst, lowest = -1, -noise
    for k in range(size):
        if working[k] == m:
            if abs(weight[k]) > noise:
                return k
        elif working[k] >= n_equal and weight[k] < lowest:
            if careful and worst >= 0 and working[k] > working[worst]:
                continue
            worst = k
            if not careful:
                lowest = weight[k]
    return worst


@kernel
def active_set(
    G: FloatArray, c: FloatArray, A: FloatArray, b: FloatArray, n_equal: int, x: FloatArray,
    working: IntArray, size: int, weight: FloatArray, max_steps: int, refine: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """Minimise from the feasible x, which is overwritten; return status, working rows, steps.

    Parameters
    ----------
    G, c, A, b, n_equal
        The problem; rows of A of length one, the first ``n_equal`` of them equations.
    x : (d,) array
        Feasible start; at the end the solution, or, where the problem is unbounded, a direction
        along which the objective decreases without end.
    working : (d,) int array
        The first ``size`` entries are rows to start from, the equations first. At the end it is the
        working set, in which the number m stands for an artificial row with multiplier zero.
    weight : (d,) array
        Multipliers of the working rows, at the end.
    max_steps : int
        Changes of the working set allowed.
    refine : bool
        Whether to verify an optimum with recomputed factors.
    """
    d, m = G.shape[0], A.shape[0]
    Q, R, L = np.empty((d, d)), np.zeros((d, d)), np.zeros((d, d))
    g, p = np.empty(d), np.empty(d)
    inside = np.zeros(m, np.int64)
    flat = 0.0
    for i in range(d):
        flat = max(flat, G[i, i])
    flat = max(NO_CURVATURE * flat, SMALLEST_DIVISOR)
    # Factors of the starting working set; `inside` marks the rows that are in it.
    size = _start(A, working, size, Q, R, L)
    size = _fix_flat_directions(G, m, working, size, Q, R, L, flat)
    for k in range(size):
        if working[k] < m:
            inside[working[k]] = 1
    regular, changes, stuck, refined = True, 0, 0, 0
    for steps in range(max_steps):
        if changes >= REFACTOR_AFTER and regular:
            size = _start(A, working, size, Q, R, L)
            size = _fix_flat_directions(G, m, working, size, Q, R, L, flat)
            _restore_working_rows(A, b, x, working, size, Q, R)
            changes = 0
        # Gradient g = c + G x, then a step x <- x + step p on the face of the working rows: to its
        # minimiser, or without limit along a direction without curvature.
        for i in range(d):
            g[i] = c[i] + _dot(G[i], x)
        free = d - size
        if free > 0:
            _search_direction(Q, L, free, regular, g, p)
            longest = 1.0 if regular else math.inf
            step, blocking = _blocking(A, b, x, p, inside, longest, stuck > CYCLE_STEPS)
            if step == math.inf:
                x[:] = p
                return UNBOUNDED, size, steps
            for i in range(d):
                x[i] += step * p[i]
            if blocking >= 0:
                moved = step * math.sqrt(_dot(p, p))
                stuck = stuck + 1 if moved <= ROUNDING * (1.0 + math.sqrt(_dot(x, x))) else 0
                if not _add_row(A[blocking], Q, R, L, size, True):
                    return OUT_OF_STEPS, size, steps
                working[size] = blocking
                inside[blocking] = 1
                size += 1
                changes += 1
                # One more row makes the reduced Hessian regular again.
                regular = True
                continue
            for i in range(d):
                g[i] = c[i] + _dot(G[i], x)
        # At the minimiser of the face g = A_W' lambda: drop the row with the most negative
        # multiplier, or stop.
        _multipliers(Q, R, g, size, weight)
        noise = MULTIPLIER_ROUNDING * (math.sqrt(_dot(g, g)) + math.sqrt(_dot(c, c)))
        worst = _row_to_drop(weight, working, size, m, n_equal, noise, stuck > CYCLE_STEPS)
        if worst < 0:
            if refined >= 2 or changes == 0 or not refine:
                return OPTIMAL, size, steps
            # Verify the optimum once more with recomputed factors.
            changes = REFACTOR_AFTER
            refined += 1
            continue
        if working[worst] < m:
            inside[working[worst]] = 0
        _drop_row(Q, R, working, size, worst)
        size -= 1
        changes += 1
        regular = _extend(G, Q, L, d - size, flat)
    return OUT_OF_STEPS, size, max_steps
