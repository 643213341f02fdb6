"""Features whose inner products approximate a Gaussian kernel, for non-linear models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from auctor.core.checks import check_int, check_real
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.linalg import RANK_SHARE
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray


@dataclass(frozen=True)
class RandomFeatures:
    """Cosines of random projections (Rahimi, Recht, 2007), for ``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    n_features : int >= 1
        The error of the kernel falls like ``1 / sqrt(n_features)``.
    gamma : float > 0
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> features = RandomFeatures(5000).transform([[0.0], [1.0]])
    >>> bool(abs(features[0] @ features[1] - np.exp(-1.0)) < 0.03)
    True
    """

    n_features: int = 200
    gamma: float = 1.0
    seed: int = 0

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("n_features", self.n_features, low=1)
        check_real("gamma", self.gamma, low=0.0, open_low=True)

    @classmethod
    def examples(cls) -> list[RandomFeatures]:
        """Instances the conformance kit tests."""
        return [cls(), cls(2000, gamma=0.3, seed=3)]

    @speaks_for_itself
    def transform(self, X: Any) -> FloatArray:
        """Features of rows; tables with as many columns get the same projections."""
        rows, rng = _rows(X), as_rng(self.seed)
        directions = rng.normal(size=(rows.shape[1], self.n_features))
        phase = rng.uniform(0.0, 2.0 * np.pi, size=self.n_features)
        # E 2 cos(a.x + b) cos(a.z + b) is the kernel for normal a and uniform b.
        angle = np.sqrt(2.0 * self.gamma) * (rows @ directions) + phase
        features: FloatArray = np.sqrt(2.0 / self.n_features) * np.cos(angle)
        return features


@dataclass(frozen=True)
class Nystroem:
    """Nystroem features (Williams, Seeger, 2001), for ``exp(-gamma |x - z|^2)``.

    Inner products are exact between landmarks; with all rows as landmarks, between all rows.

    Parameters
    ----------
    landmarks : (m, d) array
        Usually some of the training rows.
    gamma : float > 0

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> features = Nystroem(X).transform(X)
    >>> np.allclose(features @ features.T, np.exp(-((X - X.T) ** 2)))
    True
    """

    landmarks: Any
    gamma: float = 1.0

    @speaks_for_itself
    def __post_init__(self) -> None:
        _rows(self.landmarks)
        check_real("gamma", self.gamma, low=0.0, open_low=True)

    @classmethod
    def examples(cls) -> list[Nystroem]:
        """Instances the conformance kit tests."""
        rows = np.random.default_rng(0).normal(size=(20, 3))
        return [cls(rows), cls(np.repeat(rows, 2, axis=0), gamma=0.2)]

    @speaks_for_itself
    def transform(self, X: Any) -> FloatArray:
        """Features of rows: ``K(X, Z) K(Z, Z)^(-1/2)``."""
        marks, rows = _rows(self.landmarks), _rows(X)
        if rows.shape[1] != marks.shape[1]:
            raise DataError(
                f"rows with {marks.shape[1]} columns, as the landmarks",
                got=f"{rows.shape[1]}",
                todo="Pass the same columns.",
            )
        # K(Z, Z)^(-1/2) on the numerically positive eigenvalues.
        values, vectors = eigh(self._kernel(marks, marks))
        kept = values > RANK_SHARE * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        features: FloatArray = self._kernel(rows, marks) @ root
        return features

    def _kernel(self, one: FloatArray, two: FloatArray) -> FloatArray:
        kernel: FloatArray = np.exp(-self.gamma * cdist(one, two, "sqeuclidean"))
        return kernel


def _rows(X: Any) -> FloatArray:
    """A finite float64 matrix with at least one entry."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise DataError(
            "a finite matrix of rows and columns",
            got=f"shape {rows.shape}" if rows.ndim != 2 or rows.size == 0 else "NaN or infinity",
            todo="Pass such an array.",
        )
    return rows
