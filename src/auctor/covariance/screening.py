"""Screening before a solve: connected components, and components with a closed form."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.matrices import compressed_rows


def components(S: FloatArray, strengths: FloatArray) -> list[IntArray]:
    """Groups of variables that the solution may connect, largest group first.

    ``strengths`` is (p, p), or (1, 1) for all pairs. The solution is exactly block diagonal over
    the connected components of ``|S_ij| > strength_ij`` (Mazumder, Hastie 2012; Witten, Friedman,
    Simon 2011).
    """
    linked = compressed_rows(linked_pairs(S, strengths))
    count, group = connected_components(linked, directed=False)
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=count))
    parts = np.split(order, ends[:-1])
    return sorted(parts, key=lambda part: (-part.size, int(part[0])))


def linked_pairs(S: FloatArray, strengths: FloatArray) -> Array:
    """Mask of the off-diagonal pairs whose absolute covariance exceeds their penalty."""
    linked = np.abs(S) > strengths
    np.fill_diagonal(linked, False)
    return linked


def tree_solution(S: FloatArray, strengths: FloatArray) -> FloatArray | None:
    """The precision matrix of a component that is a tree, otherwise ``None``.

    With ``r_ij`` the soft-thresholded covariance of an edge,
    ``X_ij = -r_ij / (S_ii S_jj - r_ij^2)`` and
    ``X_ii = (1 + sum_j r_ij^2 / (S_ii S_jj - r_ij^2)) / S_ii``. The inverse of this matrix has the
    covariances r on the edges, and products along paths elsewhere. It is optimal if these products
    are within their bounds, which the caller checks by the duality gap (Fattahi, Sojoudi 2019).
    """
    linked = linked_pairs(S, strengths)
    strengths = np.broadcast_to(strengths, S.shape)
    if int(np.count_nonzero(linked)) != 2 * (S.shape[0] - 1):
        return None
    row, column = np.nonzero(linked)
    # Soft-thresholded covariances of the edges, and the closed form of the docstring.
    covariance = S[row, column]
    soft = np.sign(covariance) * (np.abs(covariance) - strengths[row, column])
    diagonal = S.diagonal()
    rest = diagonal[row] * diagonal[column] - soft * soft
    if (rest <= 0.0).any():
        return None
    X = np.zeros_like(S)
    X[row, column] = -soft / rest
    share = np.bincount(row, weights=soft * soft / rest, minlength=S.shape[0])
    np.fill_diagonal(X, (1.0 + share) / diagonal)
    return X
