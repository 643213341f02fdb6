"""Features whose inner products approximate a Gaussian kernel, as scikit-learn transformers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import speaks
from auctor.core.linalg import RANK_SHARE
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.data import as_matrix
from auctor.data.matrices import dense_array
from auctor.kernel.parameters import kernel_width
from auctor.kernel.points import squared_lengths
from auctor.linear.estimators.base import check_columns


class _KernelFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class: rows in, features of ``exp(-gamma |x - z|^2)`` out."""

    gamma: float | str
    random_state: Any
    _n_features_out: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @speaks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows; labels are ignored."""
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_real("gamma", self.gamma, low=0.0, open_low=True)
        rows = as_matrix(X)
        check_columns(self, X, reset=True)
        self.gamma_ = kernel_width(self.gamma, rows, None)
        self._fit(rows, as_rng(self.random_state))
        return self

    @speaks
    def transform(self, X: Any) -> FloatArray:
        """Features of rows, an array with a column per feature."""
        check_is_fitted(self)
        rows = as_matrix(X)
        check_columns(self, X, reset=False)
        return self._features(rows)

    @speaks
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features: that of the class in lower case, and a number."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{k}" for k in range(self._n_features_out)], dtype=object)

    def _fit(self, rows: Any, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _features(self, rows: Any) -> FloatArray:
        raise NotImplementedError


class RandomFeatures(_KernelFeatures):
    """Cosines of random projections (Rahimi, Recht, 2007), for ``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    n_features : int >= 1
        The error of the kernel falls like ``1 / sqrt(n_features)``.
    gamma : {"scale", "auto"} or float > 0
        As in `auctor.KernelClassifier`.
    random_state : int, optional

    Examples
    --------
    >>> features = RandomFeatures(5000, gamma=1.0).fit_transform([[0.0], [1.0]])
    >>> bool(abs(features[0] @ features[1] - np.exp(-1.0)) < 0.03)
    True
    """

    def __init__(
        self, n_features: int = 200, gamma: float | str = "scale", random_state: Any = 0
    ) -> None:
        self.n_features, self.gamma, self.random_state = n_features, gamma, random_state

    @classmethod
    def examples(cls) -> list[RandomFeatures]:
        """Instances the conformance kit tests."""
        return [cls(), cls(2000, gamma=0.3, random_state=3)]

    def _fit(self, rows: Any, rng: np.random.Generator) -> None:
        self._n_features_out = check_int("n_features", self.n_features, low=1)
        directions = rng.normal(size=(rows.shape[1], self.n_features))
        self.directions_ = np.sqrt(2.0 * self.gamma_) * directions
        self.phase_ = rng.uniform(0.0, 2.0 * np.pi, size=self.n_features)

    def _features(self, rows: Any) -> FloatArray:
        # E 2 cos(a.x + b) cos(a.z + b) is the kernel for normal a and uniform b.
        angle = dense_array(rows @ self.directions_) + self.phase_
        features: FloatArray = np.sqrt(2.0 / self._n_features_out) * np.cos(angle)
        return features


class Nystroem(_KernelFeatures):
    """Nystroem features (Williams, Seeger, 2001), for ``exp(-gamma |x - z|^2)``.

    Inner products are exact between landmarks, which are drawn from the rows of `fit`; with all
    rows as landmarks, between all rows.

    Parameters
    ----------
    n_landmarks : int >= 1
        All rows if there are no more than that.
    gamma : {"scale", "auto"} or float > 0
        As in `auctor.KernelClassifier`.
    random_state : int, optional

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> features = Nystroem(gamma=1.0).fit_transform(X)
    >>> np.allclose(features @ features.T, np.exp(-((X - X.T) ** 2)))
    True
    """

    def __init__(
        self, n_landmarks: int = 200, gamma: float | str = "scale", random_state: Any = 0
    ) -> None:
        self.n_landmarks, self.gamma, self.random_state = n_landmarks, gamma, random_state

    @classmethod
    def examples(cls) -> list[Nystroem]:
        """Instances the conformance kit tests."""
        return [cls(gamma=1.0), cls(1000, gamma=0.2)]

    def _fit(self, rows: Any, rng: np.random.Generator) -> None:
        count = min(check_int("n_landmarks", self.n_landmarks, low=1), rows.shape[0])
        drawn = np.sort(rng.choice(rows.shape[0], count, replace=False))
        self.landmarks_ = dense_array(rows[drawn])
        # K(Z, Z)^(-1/2) on the numerically positive eigenvalues.
        values, vectors = eigh(self._kernel(self.landmarks_))
        kept = values > RANK_SHARE * values[-1]
        self.root_ = vectors[:, kept] / np.sqrt(values[kept])
        self._n_features_out = int(kept.sum())

    def _features(self, rows: Any) -> FloatArray:
        features: FloatArray = self._kernel(rows) @ self.root_
        return features

    def _kernel(self, rows: Any) -> FloatArray:
        """Kernel values of rows with the landmarks."""
        apart = -2.0 * dense_array(rows @ self.landmarks_.T)
        apart += squared_lengths(rows)[:, None] + squared_lengths(self.landmarks_)
        kernel: FloatArray = np.exp(-self.gamma_ * np.maximum(apart, 0.0))
        return kernel
