"""Checks of covariance matrices and penalty weights; correlations and rank correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from auctor.core.errors import DataError
from auctor.core.types import FloatArray

#: How far two entries that should be equal may differ, as a share of the largest.
SYMMETRY = 1e-8


def check_covariance(who: str, S: Any) -> FloatArray:
    """A symmetric float64 matrix with a positive diagonal, or an error that says what is wrong."""
    try:
        matrix = np.array(S, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(
            who, needs="a covariance of numbers", got=type(S).__name__, todo="Pass an array."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise DataError(
            who,
            needs="a square covariance matrix",
            got=f"shape {matrix.shape}",
            todo="Pass rows to fit, or their covariance to fit_covariance.",
        )
    if not np.isfinite(matrix).all():
        raise DataError(
            who, needs="a finite covariance", got="NaN or infinity", todo="Remove or replace them."
        )
    if float(np.abs(matrix - matrix.T).max()) > SYMMETRY * float(np.abs(matrix).max()):
        raise DataError(
            who,
            needs="a symmetric covariance",
            got="entries that differ from their mirror images",
            todo="Pass (S + S.T) / 2 if they should be equal.",
        )
    matrix = 0.5 * (matrix + matrix.T)
    bad = np.flatnonzero(matrix.diagonal() <= 0.0)
    if bad.size:
        kind = "a constant column" if matrix[bad[0], bad[0]] == 0.0 else "a negative variance"
        raise DataError(
            who,
            needs="a positive variance of every column",
            got=f"{kind}, number {bad[0]}",
            todo="Drop constant columns first.",
        )
    return matrix


def penalties(who: str, weights: Any, size: int, penalise_diagonal: bool) -> FloatArray:
    """Factors of the strength for every entry; the diagonal has 0 or 1 unless weights say more."""
    if weights is None:
        matrix = np.ones((size, size))
        np.fill_diagonal(matrix, float(penalise_diagonal))
        return matrix
    matrix = np.array(weights, dtype=np.float64)
    if matrix.shape != (size, size):
        raise DataError(
            who,
            needs=f"weights of shape ({size}, {size})",
            got=f"shape {matrix.shape}",
            todo="Pass a weight for every pair of columns.",
        )
    if np.isnan(matrix).any() or (matrix < 0.0).any():
        raise DataError(who, needs="weights >= 0", got="NaN or negative ones", todo="Correct them.")
    if not np.array_equal(matrix, matrix.T):
        raise DataError(
            who,
            needs="symmetric weights (a pair is forbidden, or free, in both directions)",
            got="weights that differ from their mirror images",
            todo="Make them symmetric.",
        )
    if np.isinf(matrix.diagonal()).any():
        raise DataError(
            who,
            needs="finite weights on the diagonal, which is always positive",
            got="infinity",
            todo="Set the diagonal to 0.",
        )
    if not penalise_diagonal:
        np.fill_diagonal(matrix, 0.0)
    return matrix


def rank_covariance(X: FloatArray) -> FloatArray:
    """Correlations of a Gaussian copula from Spearman's rho: ``2 sin(pi rho / 6)``.

    They do not change when a column is transformed monotonically (nonparanormal model; Liu, Han,
    Lafferty, Wasserman 2012). The matrix is moved to the nearest one without negative eigenvalues.
    """
    ranks = np.apply_along_axis(rankdata, 0, X)
    correlation: FloatArray = 2.0 * np.sin(np.pi / 6.0 * np.corrcoef(ranks, rowvar=False))
    values, vectors = np.linalg.eigh(np.atleast_2d(correlation))
    if values[0] >= 0.0:
        return np.atleast_2d(correlation)
    clipped: FloatArray = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = 1.0 / np.sqrt(clipped.diagonal())
    nearest: FloatArray = clipped * scale * scale[:, None]
    return nearest
