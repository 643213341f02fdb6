"""Block coordinate descent on ``g.d + d.Hd/2 + sum_b weight_b |z_b|_2 + l1_b |z_b|_1``, z = w + d.

Letters: z weights of the K columns in the working set, block b at ``starts[b]:starts[b + 1]``;
slope the gradient of the model there; G the matrix of one block, e and V its eigenvalues and
eigenvectors, L a bound on e; h curvature of the rows; q = g + h * (X d) in score space. An
unpenalised intercept is eliminated: it adds ``-shift hx`` to the slope, with ``hx = X'h`` and
``shift = hx.d / sum(h)``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.rounding import ROUNDING
from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.linalg.columns import column_add, column_clear, column_dot
from auctor.kernels.penalties.groups import block_factor, shrunk
from auctor.kernels.runtime.compiled import kernel

#: Majorised steps on one block where its minimiser has no closed form (with an l1 part).
OWN_STEPS = 20
#: Length of a majorised step, as a share of the first one, at which the steps on a block end.
OWN_SHARE = 0.1
#: Newton steps, at most, for the norm of a block.
NORM_STEPS = 60


class Blocks(NamedTuple):
    """The blocks of a working set of K columns: their penalties, and their parts of the Hessian."""

    starts: IntArray  # block b is starts[b]:starts[b + 1] of the working set
    weight: FloatArray  # strength of the Euclidean norm of each block
    l1: FloatArray  # strength of the l1 norm of each block
    L: FloatArray  # bound on the eigenvalues of each block's matrix
    own: IntArray  # place in G and V at which the matrix of each block begins, and their end
    G: FloatArray  # the matrices of the blocks, one after the other, flat
    e: FloatArray  # eigenvalues of the blocks (K,)
    V: FloatArray  # eigenvectors of the blocks, stored as G is
    turned: Array  # whether e and V of a block were computed; large blocks do without


@kernel
def block_products(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    columns: IntArray,
    starts: IntArray,
    own: IntArray,
    out: FloatArray,
) -> None:
    """The matrix ``X_b' diag(h) X_b`` of each block, flattened, block b from ``own[b]`` on."""
    buffer = np.zeros(h.shape[0])
    for b in range(starts.shape[0] - 1):
        low, high = starts[b], starts[b + 1]
        m = high - low
        for s in range(low, high):
            j = columns[s]
            column_add(indptr, indices, values, j, 1.0, h, buffer)
            for t in range(low, s + 1):
                x = column_dot(indptr, indices, values, columns[t], buffer)
                out[own[b] + (s - low) * m + t - low] = x
                out[own[b] + (t - low) * m + s - low] = x
            column_clear(indptr, indices, j, buffer)


@kernel
def rotated_minimiser(
    e: FloatArray, V: FloatArray, slope: FloatArray, z: FloatArray, weight: float, out: FloatArray
) -> None:
    """Exact minimiser over one block with ``G = V diag(e) V'`` and no l1 part.

    With ``c = V'(G z - slope)`` it is 0 if ``|c| <= weight``, else ``c nu/(e nu + weight)`` where
    the norm nu solves ``|c/(e nu + weight)| = 1``. The inverse of that norm is concave in nu, so
    after its first step Newton's method increases monotonically to the root.
    """
    m = e.shape[0]
    c = np.empty(m)
    square = start = 0.0
    # c = V'(G z - slope) = e (V'z) - V'slope.
    for i in range(m):
        start += z[i] * z[i]
        turned = push = 0.0
        for k in range(m):
            turned += V[k, i] * z[k]
            push += V[k, i] * slope[k]
        c[i] = e[i] * turned - push
        square += c[i] * c[i]
    if weight > 0.0:
        if square <= weight * weight:
            out[:] = 0.0
            return
        nu = math.sqrt(start)
        for _ in range(NORM_STEPS):
            norm = slope_nu = 0.0
            for i in range(m):
                bottom = e[i] * nu + weight
                x = c[i] / bottom
                norm += x * x
                slope_nu += x * x * e[i] / bottom
            root = math.sqrt(norm)
            # Newton on 1/root = 1; the derivative of 1/root is slope_nu / root^3.
            move = (1.0 - 1.0 / root) * root * norm / slope_nu
            nu = max(nu + move, 0.0)
            if not abs(move) > ROUNDING * nu:
                break
        for i in range(m):
            c[i] *= nu / (e[i] * nu + weight)
    else:
        for i in range(m):
            c[i] /= e[i]
    # Back from the eigenbasis.
    for k in range(m):
        total = 0.0
        for i in range(m):
            total += V[k, i] * c[i]
        out[k] = total


@kernel
def stepped_minimiser(
    G: FloatArray,
    L: float,
    slope: FloatArray,
    z: FloatArray,
    weight: float,
    l1: float,
    out: FloatArray,
) -> None:
    """Proximal gradient steps on one block until a step is at most OWN_SHARE of the first."""
    m = z.shape[0]
    current, trial = slope.copy(), np.empty(m)
    out[:] = z
    first = 0.0
    for step in range(OWN_STEPS):
        # out <- prox of the block penalty at out - gradient / L: soft threshold, then scale the
        # block.
        square = 0.0
        for k in range(m):
            trial[k] = shrunk(out[k] - current[k] / L, l1 / L)
            square += trial[k] * trial[k]
        factor = block_factor(math.sqrt(square), weight / L)
        moved = 0.0
        for k in range(m):
            trial[k] = factor * trial[k] - out[k]
            out[k] += trial[k]
            moved = max(moved, abs(trial[k]))
        if step == 0:
            first = moved
        if moved <= OWN_SHARE * first:
            return
        # Gradient at the new point: current += G step.
        for k in range(m):
            if trial[k] != 0.0:
                for i in range(m):
                    current[i] += trial[k] * G[k, i]


@kernel
def minimise_block(
    slope: FloatArray,
    z: FloatArray,
    weight: float,
    l1: float,
    L: float,
    G: FloatArray,
    e: FloatArray,
    V: FloatArray,
    turned: bool,
    out: FloatArray,
) -> float:
    """Write new weights of a block to ``out``; return the length of the change times L."""
    m = z.shape[0]
    resting, square = True, 0.0
    for k in range(m):
        resting = resting and z[k] == 0.0
        square += shrunk(slope[k], l1) ** 2
    # A block at 0 stays there if |soft(slope, l1)| <= weight.
    if resting and square <= weight * weight:
        out[:] = 0.0
        return 0.0
    if turned and l1 == 0.0:
        rotated_minimiser(e, V.reshape(m, m), slope, z, weight, out)
    else:
        stepped_minimiser(G.reshape(m, m), L, slope, z, weight, l1, out)
    moved = 0.0
    for k in range(m):
        moved += (out[k] - z[k]) ** 2
    return L * math.sqrt(moved)


@kernel
def descend_gram(
    gram: FloatArray, slope: FloatArray, blocks: Blocks, z: FloatArray, max_sweeps: int, tol: float
) -> tuple[int, bool]:
    """Sweeps of block descent with the Gram matrix of the working set; updates z and slope.

    Returns the number of sweeps, and whether the last one changed no block by more than ``tol``.
    """
    starts, weight, l1, L, own, G, e, V, turned = blocks
    trial = np.empty(int(np.max(np.diff(starts))))
    for sweep in range(max_sweeps):
        worst = 0.0
        for b in range(weight.shape[0]):
            low, high = starts[b], starts[b + 1]
            new = trial[: high - low]
            # z_b <- argmin over one block of slope.d + d'Gd/2 + weight |z_b|_2 + l1 |z_b|_1.
            moved = minimise_block(
                slope[low:high],
                z[low:high],
                weight[b],
                l1[b],
                L[b],
                G[own[b] : own[b + 1]],
                e[low:high],
                V[own[b] : own[b + 1]],
                turned[b],
                new,
            )
            if moved == 0.0:
                continue
            worst = max(worst, moved)
            for k in range(low, high):
                # Update the gradient: slope += H[:, k] step.
                step = new[k - low] - z[k]
                if step != 0.0:
                    z[k] = new[k - low]
                    row = gram[k]
                    for i in range(slope.shape[0]):
                        slope[i] += step * row[i]
        if worst <= tol:
            return sweep + 1, True
    return max_sweeps, False


@kernel
def descend_residual(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    q: FloatArray,
    hx: FloatArray,
    sum_h: float,
    shift: float,
    columns: IntArray,
    blocks: Blocks,
    z: FloatArray,
    max_sweeps: int,
    tol: float,
) -> tuple[int, bool, float]:
    """Sweeps of block descent with column products instead of a Gram matrix; updates z and q.

    Blocks at zero are visited only in full sweeps. Returns the number of sweeps, whether a full
    sweep changed no block by more than ``tol``, and the number of entries read.

    Parameters
    ----------
    indptr, indices, values : arrays
        The columns in compressed form.
    h, q : (n,) arrays
        Curvature of the rows, and ``gradient + h * (X d)`` in score space.
    hx, sum_h : (K,) array, float
        ``X'h`` of the chosen columns and the sum of h, for the eliminated intercept; ``sum_h = 0``
        without one.
    shift : float
        ``hx.d / sum_h`` at the start.
    chosen : (K,) int array
        The columns of the working set.
    blocks : Blocks
        Their blocks.
    z : (K,) array
        Weights of the chosen columns.
    max_sweeps : int
        Largest number of sweeps.
    tol : float
        Largest change of a block that counts as none.
    """
    starts, weight, l1, L, own, G, e, V, turned = blocks
    size = int(np.max(np.diff(starts)))
    trial, slope = np.empty(size), np.empty(size)
    work = 0.0
    full, since = max_sweeps > 1, 0
    for sweep in range(max_sweeps):
        worst = 0.0
        for b in range(weight.shape[0]):
            low, high = starts[b], starts[b + 1]
            if not full and not z[low:high].any():
                continue
            for k in range(low, high):
                j = columns[k]
                work += indptr[j + 1] - indptr[j]
                # slope = x_j . q, q = gradient + h * (X d), less the part of the intercept.
                slope[k - low] = column_dot(indptr, indices, values, j, q) - shift * hx[k]
            # Minimiser of the block.
            new = trial[: high - low]
            moved = minimise_block(
                slope[: high - low],
                z[low:high],
                weight[b],
                l1[b],
                L[b],
                G[own[b] : own[b + 1]],
                e[low:high],
                V[own[b] : own[b + 1]],
                turned[b],
                new,
            )
            if moved == 0.0:
                continue
            worst = max(worst, moved)
            for k in range(low, high):
                # q += step h x_j, and the eliminated intercept: shift += step hx_k / sum h.
                step = new[k - low] - z[k]
                if step != 0.0:
                    j = columns[k]
                    z[k] = new[k - low]
                    work += indptr[j + 1] - indptr[j]
                    column_add(indptr, indices, values, j, step, h, q)
                    if sum_h > 0.0:
                        shift += step * hx[k] / sum_h
        if full and worst <= tol:
            return sweep + 1, True, work
        # A full sweep follows when the non-zero blocks have converged, and at the latest after ten.
        since = 0 if full else since + 1
        full = worst <= tol or since >= 10
    return max_sweeps, False, work
