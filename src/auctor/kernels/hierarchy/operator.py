"""The prox of a hierarchical norm, row by row, and its derivative in the weights of the groups.

The norm is ``sum_t phi_t |v_D(t)|``, D(t) the nodes at or below t, numbered with parents first.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel


@inline_kernel
def _pass_up(
    row: FloatArray, parent: Array, phi: FloatArray, eta: FloatArray, rho: FloatArray
) -> None:
    """Squared norms and factors of all groups of a row, children before parents.

    ``rho_t = max(1 - phi_t / sqrt(eta_t), 0)`` and ``eta_parent += eta_t rho_t^2``, where ``eta_t``
    starts as ``u_t^2``. The last entry of ``eta`` collects the sums of the root nodes.
    """
    size = row.shape[0]
    for t in range(size):
        eta[t] = row[t] * row[t]
    eta[size] = 0.0
    for t in range(size - 1, -1, -1):
        norm = np.sqrt(eta[t])
        rho[t] = 1.0 - phi[t] / norm if norm > phi[t] else 0.0
        above = parent[t] if parent[t] >= 0 else size
        eta[above] += eta[t] * rho[t] * rho[t]


@kernel
def tree_operator(u: FloatArray, parent: Array, phi: FloatArray, factor: FloatArray) -> None:
    """Factors (n, L) by which the prox on a tree shrinks the scores, ``v = factor * u``.

    O(L) for a row. The factor of a node is the product of the ``rho`` of its own group and of all
    groups above it. A node is selected where its factor is positive.
    """
    n, size = u.shape
    eta, rho = np.empty(size + 1), np.empty(size)
    for i in range(n):
        _pass_up(u[i], parent, phi, eta, rho)
        for t in range(size):
            above = parent[t]
            factor[i, t] = rho[t] if above < 0 else rho[t] * factor[i, above]


@kernel
def tree_operator_gradient(
    u: FloatArray, parent: Array, phi: FloatArray, slope: FloatArray, out: FloatArray
) -> None:
    """Add ``sum_i slope_i . dv_i / dphi`` to ``out`` (L,), on a tree; O(L) for a row.

    Reverse-mode differentiation of `tree_operator`. Where the norm of a group equals its weight
    the prox has a kink, and the derivative from the side on which the group is zero is taken.
    """
    n, size = u.shape
    eta, rho, total = np.empty(size + 1), np.empty(size), np.empty(size)
    d_total, d_eta = np.empty(size), np.empty(size)
    for i in range(n):
        _pass_up(u[i], parent, phi, eta, rho)
        # Forward: factor_t = rho_t factor_parent, and v_t = factor_t u_t.
        for t in range(size):
            total[t] = rho[t] if parent[t] < 0 else rho[t] * total[parent[t]]
            d_total[t] = slope[i, t] * u[i, t]
        # Backward through the factors, children first: d_total_t = d loss / d factor_t, with the
        # part of its descendants.
        for t in range(size - 1, -1, -1):
            if parent[t] >= 0:
                d_total[parent[t]] += d_total[t] * rho[t]
        # Backward through rho = 1 - phi / sqrt(eta) and eta_parent += eta rho^2, parents first.
        for t in range(size):
            d_eta[t] = 0.0
            if rho[t] <= 0.0:
                continue
            above = parent[t]
            d_rho = d_total[t]
            if above >= 0:
                d_rho = d_total[t] * total[above] + 2.0 * d_eta[above] * eta[t] * rho[t]
                d_eta[t] = d_eta[above] * rho[t] * rho[t]
            norm = np.sqrt(eta[t])
            out[t] -= d_rho / norm
            d_eta[t] += d_rho * phi[t] / (2.0 * norm * eta[t])


@inline_kernel
def _sweep(v: FloatArray, zeta: FloatArray, below: Array, start: Array, phi: FloatArray) -> float:
    """Replace each ``zeta_t`` by the projection of ``v_g + zeta_t`` onto the ball of radius phi_t.

    Returns the largest change of an entry. Groups are taken from the leaves up.
    """
    moved = 0.0
    for t in range(phi.shape[0] - 1, -1, -1):
        square = 0.0
        for a in range(start[t], start[t + 1]):
            v[below[a]] += zeta[a]
            square += v[below[a]] ** 2
        norm = np.sqrt(square)
        share = 1.0 if norm <= phi[t] else phi[t] / norm
        for a in range(start[t], start[t + 1]):
            new = share * v[below[a]]
            moved = max(moved, abs(new - zeta[a]))
            zeta[a] = new
            v[below[a]] -= new
    return moved


@kernel
def dag_operator(
    u: FloatArray,
    below: Array,
    start: Array,
    phi: FloatArray,
    sweeps: int,
    tol: float,
    v: FloatArray,
    on: Array,
) -> float:
    """The prox of overlapping groups and its non-zero nodes, by cyclic ascent on its dual.

    Group t holds the descendants ``below[start[t]:start[t + 1]]`` of node t with t itself. The dual
    maximises ``-1/2 |v|^2`` with ``v = u - sum_t zeta_t`` and ``|zeta_t| <= phi_t``. Sweeps over
    the groups start from an extrapolation of the last two; where ``|v|`` rises they start again
    without. They end when no entry moves by more than a hundredth of ``tol``. Where ``v_g`` is zero
    up to ten times ``tol``, the nodes of that group are dropped.

    Returns the largest bound of an error in the rows that did not end: with the duality gap
    ``g = sum_t (phi_t |v_g| - zeta_t . v_g)``, ``|v - v*| <= sqrt(2 g)``.
    """
    n, size = u.shape
    zeta, last = np.empty(below.shape[0]), np.empty(below.shape[0])
    kept = np.empty(size)
    error = 0.0
    for i in range(n):
        x = v[i]
        x[:] = u[i]
        zeta[:] = 0.0
        least, age, ended = np.inf, 0, False
        for _ in range(sweeps):
            kept[:] = x
            # Extrapolation, with Nesterov's weights.
            weight = age / (age + 3.0)
            for t in range(size):
                for a in range(start[t], start[t + 1]):
                    step = weight * (zeta[a] - last[a]) if age else 0.0
                    last[a] = zeta[a]
                    zeta[a] += step
                    x[below[a]] -= step
            moved = _sweep(x, zeta, below, start, phi)
            value = 0.0
            for t in range(size):
                value += x[t] * x[t]
            if value > least and age:  # back to the last point, and without extrapolation
                x[:] = kept
                zeta[:] = last
                age = 0
                continue
            least, age = value, age + 1
            if moved <= 0.01 * tol:
                ended = True
                break
        # Drop every group with |v_g| = 0 up to the tolerance.
        gap = 0.0
        for t in range(size):
            on[i, t] = True
        for t in range(size):
            square, along = 0.0, 0.0
            for a in range(start[t], start[t + 1]):
                square += x[below[a]] ** 2
                along += zeta[a] * x[below[a]]
            gap += phi[t] * np.sqrt(square) - along
        for t in range(size):
            square = 0.0
            for a in range(start[t], start[t + 1]):
                square += x[below[a]] ** 2
            if np.sqrt(square) <= 10.0 * tol:
                for a in range(start[t], start[t + 1]):
                    on[i, below[a]] = False
                    x[below[a]] = 0.0
        if not ended:
            error = max(error, np.sqrt(2.0 * max(gap, 0.0)))
    return error


@kernel
def dag_operator_gradient(
    below: Array, start: Array, phi: FloatArray, v: FloatArray, slope: FloatArray, out: FloatArray
) -> None:
    """Add ``sum_i slope_i . dv_i / dphi`` to ``out`` (L,) for overlapping groups.

    On the non-zero nodes, ``u = v + sum_t phi_t v_g / |v_g|``, with the sum over the groups whose
    ``v_g`` is non-zero. Its derivative is a symmetric linear system over the non-zero nodes of the
    row, usually few:
    ``(I + sum_t phi_t / |v_g| (I_g - v_g v_g' / |v_g|^2)) dv = -sum_t dphi_t v_g / |v_g|``.
    """
    n, size = v.shape
    norm, place = np.empty(size), np.empty(size, np.int64)
    for i in range(n):
        # Norms of the groups, and positions of the non-zero nodes in the system.
        count = 0
        for t in range(size):
            square = 0.0
            for a in range(start[t], start[t + 1]):
                square += v[i, below[a]] ** 2
            norm[t] = np.sqrt(square)
            place[t] = -1
            if v[i, t] != 0.0:
                place[t] = count
                count += 1
        if count == 0:
            continue
        # The system matrix I + sum_t phi_t / |v_g| (I_g - v_g v_g' / |v_g|^2), and slope on its
        # right.
        system, right = np.eye(count), np.empty(count)
        for t in range(size):
            if place[t] >= 0:
                right[place[t]] = slope[i, t]
            if norm[t] == 0.0:
                continue
            weight = phi[t] / norm[t]
            for a in range(start[t], start[t + 1]):
                at = place[below[a]]
                if at < 0:
                    continue
                system[at, at] += weight
                own = weight * v[i, below[a]] / norm[t] ** 2
                for b in range(start[t], start[t + 1]):
                    if place[below[b]] >= 0:
                        system[at, place[below[b]]] -= own * v[i, below[b]]
        # The matrix is symmetric: solve once for the slope instead of once per group.
        answer = np.linalg.solve(system, right)
        # out_t -= answer . v_g / |v_g|.
        for t in range(size):
            if norm[t] > 0.0:
                for a in range(start[t], start[t + 1]):
                    if place[below[a]] >= 0:
                        out[t] -= answer[place[below[a]]] * v[i, below[a]] / norm[t]
