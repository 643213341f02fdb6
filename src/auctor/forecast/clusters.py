"""Kernel k-means: Lloyd's steps in feature space, and the symmetric factorisation of the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray, IntArray

#: Weight of the equality of both factors, over the norm of the kernel per row.
EQUALITY = 1.0
#: Most steps of an inner solve of the factorisation.
INNER_STEPS = 50


class Clusters(NamedTuple):
    """Centres in feature space, ``c_j = sum_i share_ij phi(x_i)``.

    Parameters
    ----------
    share : (n, k) array
        Columns sum to 1.
    square : (k,) array
        Squared lengths ``c_j . c_j``.
    """

    share: FloatArray
    square: FloatArray

    @classmethod
    def of(cls, K: FloatArray, members: FloatArray) -> Clusters:
        """The means of the rows by non-negative weights (n, k)."""
        share = members / members.sum(axis=0)
        return cls(share, np.einsum("ij,ij->j", share, K @ share))

    def distances(self, cross: FloatArray, diagonal: FloatArray) -> FloatArray:
        """Squared distances of rows: ``k(x, x) - 2 sum share k(x, x_i) + c . c``."""
        apart = diagonal[:, None] - 2.0 * cross @ self.share + self.square
        return np.maximum(apart, 0.0, out=apart)


def indicator(labels: IntArray, k: int) -> FloatArray:
    """One-hot rows of labels."""
    return np.eye(k)[labels]


def lloyd(
    K: FloatArray, k: int, rng: np.random.Generator, max_iter: int
) -> tuple[IntArray, float, int]:
    """Labels of kernel k-means with their objective: rows move to the nearest centre until none do.

    Starts are drawn far apart, as k-means++ does. A cluster that loses its last row takes the row
    that is farthest from its centre.
    """
    n, diagonal = len(K), np.diagonal(K)
    centres = [int(rng.integers(n))]
    for _ in range(1, k):
        apart = (diagonal[:, None] - 2.0 * K[:, centres] + diagonal[centres]).min(axis=1).clip(0.0)
        apart[centres] = 0.0
        total = apart.sum()
        free = np.setdiff1d(np.arange(n), centres)
        centres.append(int(rng.choice(n, p=apart / total) if total > 0.0 else rng.choice(free)))
    # The first distances are those of the pre-images: k(x, x) - 2 k(x, m) + k(m, m).
    labels = (diagonal[centres] - 2.0 * K[:, centres]).argmin(axis=1)
    n_iter, moved = 0, True
    while moved and n_iter < max_iter:
        labels = filled(labels, k, K)
        apart = Clusters.of(K, indicator(labels, k)).distances(K, diagonal)
        nearest = apart.argmin(axis=1)
        # A row stays where another centre is only as near.
        moves = apart[np.arange(n), nearest] < apart[np.arange(n), labels] - 1e-12
        labels, moved, n_iter = np.where(moves, nearest, labels), bool(moves.any()), n_iter + 1
    labels = filled(labels, k, K)
    apart = Clusters.of(K, indicator(labels, k)).distances(K, diagonal)
    return labels, float(apart[np.arange(n), labels].sum()), n_iter


def filled(labels: IntArray, k: int, K: FloatArray) -> IntArray:
    """Labels without an empty cluster: it takes the row that is farthest from its centre."""
    labels = labels.copy()
    for empty in np.setdiff1d(np.arange(k), labels):
        known, place = np.unique(labels, return_inverse=True)
        apart = Clusters.of(K, indicator(place, known.size)).distances(K, np.diagonal(K))
        own = apart[np.arange(len(K)), place]
        own[np.bincount(place)[place] == 1] = -1.0  # the last row of a cluster stays
        labels[own.argmax()] = empty
    return labels


class Factor(NamedTuple):
    """``K ~ G G'`` with ``G >= 0``; ``violation`` of the optimality conditions."""

    G: FloatArray
    violation: float
    n_iter: int


def symmetric_factor(
    K: FloatArray, k: int, rng: np.random.Generator, max_iter: int, tol: float
) -> Factor:
    """Minimise ``|K - X G'|^2`` with ``G >= 0`` and ``X = G``, by alternating minimisation.

    The augmented Lagrangian has a closed form in X and accelerated projected gradients in G. The
    start is random: with equal columns all steps keep them equal.
    """
    n = len(K)
    level = float(np.abs(K).mean())
    G = rng.random((n, k)) * np.sqrt(2.0 * level / k)
    V, weight = np.zeros_like(G), EQUALITY * float(np.linalg.norm(K)) / np.sqrt(k)
    limit, violation, n_iter = tol * float(np.abs(K).max()), np.inf, 0
    while violation > limit and n_iter < max_iter:
        n_iter += 1
        gram = 2.0 * G.T @ G + weight * np.eye(k)
        X = np.linalg.solve(gram, (2.0 * K @ G + V + weight * G).T).T
        G = _projected_gradients(K @ X, X, V, weight, G)
        V = V - weight * (X - G)
        # Stationary in X and in G >= 0, and both equal: the largest entry that is not.
        in_x = -2.0 * K @ G + 2.0 * X @ (G.T @ G) - V
        in_g = np.minimum(G, -2.0 * K @ X + 2.0 * G @ (X.T @ X) + V)
        violation = max(float(np.abs(part).max()) for part in (in_x, X - G, in_g))
    return Factor(G, violation / float(np.abs(K).max()), n_iter)


def _projected_gradients(
    KX: FloatArray, X: FloatArray, V: FloatArray, weight: float, G: FloatArray
) -> FloatArray:
    """Accelerated steps on ``|K - X G'|^2 + V.G + weight/2 |X - G|^2`` over ``G >= 0``."""
    gram = X.T @ X
    step = 1.0 / (2.0 * np.linalg.norm(gram, 2) + weight)
    last, t, moved = G, 1.0, np.inf
    for _ in range(INNER_STEPS):
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        Z = G + (t - 1.0) / later * (G - last)
        gradient = -2.0 * KX + 2.0 * Z @ gram + V - weight * (X - Z)
        last, G, t = G, np.maximum(Z - step * gradient, 0.0), later
        before, moved = moved, float(np.linalg.norm(G - last))
        if moved <= 1e-3 * step * np.linalg.norm(gradient) or moved == before == 0.0:
            break
    return G
