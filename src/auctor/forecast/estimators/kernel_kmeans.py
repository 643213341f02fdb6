"""Kernel k-means with scikit-learn's API."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, speaks, warn
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.matrices import dense_array
from auctor.forecast.clusters import Clusters, filled, indicator, lloyd, symmetric_factor
from auctor.kernel.parameters import kernel_width
from auctor.kernel.points import squared_lengths
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.linear.estimators.base import check_columns

#: Most rows, whose kernel matrix is stored (3.2 GB).
MOST_ROWS = 20_000


class KernelKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of rows around means in the feature space of a Gaussian kernel.

    Minimises ``sum_i |phi(x_i) - c(i)|^2`` by Lloyd's steps, or its relaxation ``|K - G G'|^2``
    over ``G >= 0``, whose rows are memberships.

    Parameters
    ----------
    n_clusters : int >= 1
    algorithm : {"lloyd", "nmf"}
    gamma : {"scale", "auto"} or float > 0
        Width of ``exp(-gamma |x - z|^2)``, as in `KernelClassifier`.
    precomputed : bool
        Whether X holds kernel values: of the training rows with themselves, or of new rows with
        them; those of a row with itself then count as 1 in `predict`.
    temperature : float > 0
        Soft memberships are the softmax of minus the squared distances over it and over their mean.
    n_init : int >= 1
        Starts, of which the best is kept.
    max_iter : int >= 1
    tol : float > 0
        Largest violation of the optimality conditions of "nmf", over the largest kernel value.
    random_state : int, optional

    Attributes
    ----------
    labels_ : (n,) int array
    objective_ : float
        Sum of squared distances from the centres, or ``|K - G G'|^2``.
    factor_ : (n, n_clusters) array
        G of "nmf".
    n_iter_ : int

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = KernelKMeans(2).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    def __init__(
        self, n_clusters: int = 3, *, algorithm: str = "lloyd", gamma: float | str = "scale",
        precomputed: bool = False, temperature: float = 0.1, n_init: int = 4, max_iter: int = 300,
        tol: float = 1e-3, random_state: Any = 0,
    ) -> None:  # fmt: skip
        self.n_clusters, self.algorithm, self.gamma = n_clusters, algorithm, gamma
        self.precomputed, self.temperature, self.n_init = precomputed, temperature, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.precomputed
        return tags

    @speaks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of rows; labels are ignored."""
        self._check()
        rows = np.asarray(dense_array(as_matrix(X)), np.float64)
        check_columns(self, X, reset=True)
        n = len(rows)
        if self.n_clusters > n or n > MOST_ROWS:
            raise DataError(
                f"at least as many rows as `n_clusters`, {self.n_clusters}, and at most "
                f"{MOST_ROWS:,}; got {n:,}. Pass other rows."
            )
        if self.precomputed:
            _check_square(rows)
            K = rows
        else:
            self.gamma_ = kernel_width(self.gamma, rows, None)
            self.rows_ = rows
            K = _gauss(rows, rows, self.gamma_)
        with quiet_blas():
            self._fit(K, as_rng(self.random_state))
        return self

    def _check(self) -> None:
        check_int("n_clusters", self.n_clusters, low=1)
        check_choice("algorithm", self.algorithm, ("lloyd", "nmf"))
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_real("gamma", self.gamma, low=0.0, open_low=True)
        for name in ("temperature", "tol"):
            check_real(name, getattr(self, name), low=0.0, open_low=True)
        check_int("n_init", self.n_init, low=1)
        check_int("max_iter", self.max_iter, low=1)

    def _fit(self, K: FloatArray, rng: np.random.Generator) -> None:
        k, best = self.n_clusters, np.inf
        for _ in range(self.n_init):
            if self.algorithm == "lloyd":
                labels, objective, n_iter = lloyd(K, k, rng, self.max_iter)
                late = n_iter == self.max_iter and n_iter > 1
            else:
                factor = symmetric_factor(K, k, rng, self.max_iter, self.tol)
                objective = float(np.linalg.norm(K - factor.G @ factor.G.T) ** 2)
                labels, n_iter = filled(factor.G.argmax(axis=1), k, K), factor.n_iter
                late = factor.violation > self.tol
            if objective < best:
                best, self.labels_, self.n_iter_, stopped = objective, labels, n_iter, late
                if self.algorithm == "nmf":
                    self.factor_ = factor.G
        if stopped:
            warn(
                ConvergenceWarning(
                    does=f"stopped after {self.max_iter} iterations. Increase `max_iter` or `tol`."
                )
            )
        self.objective_ = best
        self.centres_ = Clusters.of(K, indicator(self.labels_, k))
        apart = self.centres_.distances(K, np.diagonal(K))
        self.spread_ = float(apart.mean()) or 1.0

    @speaks
    def transform(self, X: Any) -> FloatArray:
        """Squared distances in feature space of rows from the centres."""
        check_is_fitted(self)
        rows = np.asarray(dense_array(as_matrix(X)), np.float64)
        check_columns(self, X, reset=False)
        cross = rows if self.precomputed else _gauss(rows, self.rows_, self.gamma_)
        return self.centres_.distances(cross, np.ones(len(rows)))

    @speaks
    def predict(self, X: Any) -> IntArray:
        """The nearest centre of rows."""
        labels: IntArray = self.transform(X).argmin(axis=1)
        return labels

    @speaks
    def memberships(self, X: Any) -> FloatArray:
        """Soft memberships of rows, which sum to 1."""
        return softmax(self.transform(X), self.temperature * self.spread_)


def softmax(apart: FloatArray, temperature: float) -> FloatArray:
    """Softmax of minus the distances over the temperature."""
    score = (apart.min(axis=1, keepdims=True) - apart) / temperature
    weight: FloatArray = np.exp(score)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight


def _check_square(K: FloatArray) -> None:
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"a square kernel matrix; got shape {K.shape}. Pass that among training rows."
        )


def _gauss(one: FloatArray, two: FloatArray, gamma: float) -> FloatArray:
    apart = squared_lengths(one)[:, None] - 2.0 * one @ two.T + squared_lengths(two)
    values: FloatArray = np.exp(-gamma * np.maximum(apart, 0.0))
    return values
