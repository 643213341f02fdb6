"""Checks of covariance matrices and penalty weights; correlations and rank correlations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from auctor.core.errors import DataError
from auctor.core.types import FloatArray, IntArray

#: Largest difference of two entries that should be equal, as a share of the largest entry.
SYMMETRY = 1e-8


def check_covariance(S: Any) -> FloatArray:
    """The covariance as a symmetric float64 matrix; an error unless its diagonal is positive.

    The result may be the argument itself, and must not be changed in place.
    """
    try:
        matrix = np.ascontiguousarray(S, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"a covariance of numbers; got {type(S).__name__}. Pass an array."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise DataError(
            f"a square covariance matrix; got shape {matrix.shape}. Pass rows to fit, or their "
            "covariance to fit_covariance."
        )
    if not np.isfinite(matrix).all():
        raise DataError("a finite covariance; got NaN or infinity. Remove or replace them.")
    # Rounding asymmetry is averaged out; larger asymmetry is an error.
    uneven = float(np.abs(matrix - matrix.T).max())
    if uneven > SYMMETRY * float(np.abs(matrix).max()):
        raise DataError(
            "a symmetric covariance; got entries that differ from their mirror images. Pass (S + "
            "S.T) / 2 if they should be equal."
        )
    if uneven > 0.0:
        matrix = 0.5 * (matrix + matrix.T)
    bad = np.flatnonzero(matrix.diagonal() <= 0.0)
    if bad.size:
        kind = "a constant column" if matrix[bad[0], bad[0]] == 0.0 else "a negative variance"
        raise DataError(
            f"a positive variance of every column; got {kind}, number {bad[0]}. Drop constant ones."
        )
    return matrix


class Penalties(NamedTuple):
    """Penalties of the entries of a precision matrix, or factors of a strength.

    Parameters
    ----------
    pairs : (p, p) or (1, 1) array
        One for every pair of variables, or one for all; infinity forbids an edge. The diagonal is
        ignored.
    diagonal : (p,) array
        Penalties of the diagonal entries.
    """

    pairs: FloatArray
    diagonal: FloatArray

    @property
    def full(self) -> FloatArray:
        """Penalties of all pairs as a read-only p x p view."""
        size = self.diagonal.shape[0]
        return np.broadcast_to(self.pairs, (size, size))

    def times(self, strength: float) -> Penalties:
        """Factors times a strength; a forbidden pair stays forbidden at any strength."""
        forbidden = np.isinf(self.pairs)
        pairs = strength * np.where(forbidden, 0.0, self.pairs)
        pairs[forbidden] = np.inf
        return Penalties(pairs, strength * self.diagonal)

    def inside(self, group: IntArray) -> FloatArray:
        """Penalties of the pairs inside a group of variables."""
        if self.pairs.shape[0] == 1 or group.size == self.pairs.shape[0]:
            return self.pairs
        return self.pairs[np.ix_(group, group)]


def penalty_factors(weights: Any, size: int, penalise_diagonal: bool) -> Penalties:
    """Factors of the strength from the parameters ``weights`` and ``penalise_diagonal``."""
    if weights is None:
        return Penalties(np.ones((1, 1)), np.full(size, float(penalise_diagonal)))
    try:
        matrix = np.ascontiguousarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"`weights` to be None, 'adaptive' or numbers; got {weights!r:.60}. Pass one of these."
        ) from error
    if matrix.shape != (size, size):
        raise DataError(
            f"weights of shape ({size}, {size}); got shape {matrix.shape}. Pass one for every pair."
        )
    if np.isnan(matrix).any() or (matrix < 0.0).any():
        raise DataError(
            "`weights` >= 0; got NaN or negative ones. Use 0 to free a pair, infinity to forbid it."
        )
    # Weights must be exactly symmetric: name the first pair that is not.
    uneven = np.argwhere(matrix != matrix.T)
    if uneven.size:
        i, j = uneven[0]
        both = {float(matrix[i, j]), float(matrix[j, i])} == {0.0, np.inf}
        got = "both free (0) and forbidden (infinity)" if both else "given two different weights"
        raise DataError(
            f"symmetric weights: a pair is forbidden, or free, in both directions; got columns {i} "
            f"and {j} {got}. Pass the same weight for both."
        )
    if np.isinf(matrix.diagonal()).any():
        raise DataError(
            "finite weights on the diagonal, which is always positive; got infinity. Set it to 0."
        )
    diagonal = matrix.diagonal().copy() if penalise_diagonal else np.zeros(size)
    return Penalties(matrix, diagonal)


def rank_covariance(X: FloatArray) -> FloatArray:
    """Correlations of a Gaussian copula from Spearman's rho: ``2 sin(pi rho / 6)``.

    They do not change when a column is transformed monotonically (nonparanormal model; Liu, Han,
    Lafferty, Wasserman 2012). Negative eigenvalues are set to zero.
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


def normal_scores(X: FloatArray) -> FloatArray:
    """Ranks of every column as standard normal quantiles, scaled to unit variance."""
    ranks = np.apply_along_axis(rankdata, 0, X)
    scores: FloatArray = ndtri(ranks / (X.shape[0] + 1.0))
    scores /= np.sqrt(np.mean(scores * scores, axis=0))
    return scores
