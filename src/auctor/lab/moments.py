"""Expected error and AUC of a linear model from the moments of two Gaussian classes."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_matrix, check_real, check_vector
from auctor.core.errors import DataError, speaks, speaks_for_itself
from auctor.core.types import FloatArray
from auctor.kernels.losses import gaussian
from auctor.solvers.gaussian.discriminant import best_for_auc, best_for_error
from auctor.solvers.gaussian.moments import ClassMoments

#: Asymmetry or negative eigenvalue, as a share of the largest entry, that is a rounding error.
SHARE = 1e-10


class Plane(NamedTuple):
    """A hyperplane ``x'coef + intercept = 0`` and what is expected of it, an error or an AUC."""

    coef: FloatArray
    intercept: float
    expected: float


class Moments:
    """Means and covariances of two classes, the positive one first.

    Where the rows of each class are Gaussian, so is every linear score, and error and AUC follow
    from the moments (Ghanbari, Scheinberg, Directly and efficiently optimizing prediction error and
    AUC of linear classifiers, 2018). An evaluation costs O(d^2), whatever the number of rows was.

    Parameters
    ----------
    means : (2, d) array
    covariances : (2, d, d) array
    prior : float in (0, 1)
        Share of the positive class, which the error depends on.
    cross : (d, d) array, optional
        Covariance of a positive with a negative row, ``E (x+ - m+)(x- - m-)'``, where these are
        drawn together, such as both members of a matched pair; 0 by default.

    Examples
    --------
    >>> moments = Moments([[1.0, 0.0], [-1.0, 0.0]], [np.eye(2), np.eye(2)])
    >>> round(moments.error([1.0, 0.0]), 6), round(moments.auc([1.0, 0.0]), 6)
    (0.158655, 0.92135)
    >>> moments.best_for_auc().coef, moments.error_gradient([1.0, 0.0]).round(6)
    (array([1., 0.]), array([0., 0., 0.]))
    """

    @speaks_for_itself
    def __init__(self, means: Any, covariances: Any, prior: float = 0.5, cross: Any = None) -> None:
        means = np.asarray(means, dtype=np.float64)
        if means.ndim != 2 or means.shape[0] != 2:
            raise DataError(
                f"two means, of the positive and of the negative class; got shape {means.shape}. "
                "Pass an array of shape (2, d)."
            )
        d = means.shape[1]
        check_matrix("means", means, columns=d)
        self.prior = check_real("prior", prior, low=0.0, high=1.0, open_low=True, open_high=True)
        parts = [check_matrix("covariances", one, rows=d, columns=d) for one in covariances]
        cross = np.zeros((d, d)) if cross is None else cross
        cross = check_matrix("cross", cross, rows=d, columns=d)
        self.means, self.covariances, self.cross = means, np.array(parts), cross
        # The joint covariance of a pair; without the cross covariance, two blocks.
        joint = np.block([[parts[0], cross], [cross.T, parts[1]]])
        for block in [joint] if cross.any() else parts:
            _check_covariance(block)

    @classmethod
    def of(cls, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """The moments of rows with labels, of which the greater one is positive."""
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        positive = labels == labels.max()
        parts = [rows[positive], rows[~positive]]
        means = [part.mean(axis=0) for part in parts]
        covariances = [np.cov(part.T, ddof=0).reshape(2 * rows.shape[1:]) for part in parts]
        return cls(means, covariances, float(positive.mean()))

    @speaks
    def error(self, w: npt.ArrayLike, intercept: float = 0.0) -> float:
        """Expected error of the sign of ``x'w + intercept``."""
        return self._error(self._checked(w), check_real("intercept", intercept))[0]

    @speaks
    def error_gradient(self, w: npt.ArrayLike, intercept: float = 0.0) -> FloatArray:
        """Derivatives of `error` in w and, last, in the intercept, shape (d + 1,)."""
        return self._error(self._checked(w), check_real("intercept", intercept))[1]

    @speaks
    def auc(self, w: npt.ArrayLike) -> float:
        """Probability that ``x'w`` is larger for a positive than for a negative row."""
        return 1.0 - self._disorder(self._checked(w))[0]

    @speaks
    def auc_gradient(self, w: npt.ArrayLike) -> FloatArray:
        """Derivative of `auc`."""
        return -self._disorder(self._checked(w))[1]

    def best_for_auc(self) -> Plane:
        """The direction of the largest AUC, ``(S+ + S- - C - C')^-1 (m+ - m-)``, of length 1."""
        total = self.covariances.sum(axis=0) - self.cross - self.cross.T
        coef = _unit(best_for_auc(self._of(np.stack([total, np.zeros_like(total)]))))
        return Plane(coef, self._shift(coef), self.auc(coef))

    def best_for_error(self) -> Plane:
        """The hyperplane of the smallest expected error, with a direction of length 1.

        The optimum is ``(t S+ + (1 - t) S-)^-1 (m+ - m-)`` for some t, with the best intercept
        (Anderson and Bahadur, 1962): a search over t as in `auctor.solvers.GaussianDiscriminant`.
        """
        coef = self.best_for_auc().coef
        if coef.any():  # the means differ
            flat, w = best_for_error(self._of(self.covariances))
            coef = _unit(flat.lift(w))
        shift = self._shift(coef)
        return Plane(coef, shift, self.error(coef, shift))

    def _of(self, covariances: FloatArray) -> ClassMoments:
        return ClassMoments(self._priors, self.means, covariances, lambda w: w)

    def _checked(self, w: npt.ArrayLike) -> FloatArray:
        return check_vector("w", w, size=self.means.shape[1])

    def _scores(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means and variances of the scores of both classes, and the products ``S w``."""
        moved = self.covariances @ w
        return self.means @ w, np.maximum(moved @ w, 0.0), moved

    def _shift(self, w: FloatArray) -> float:
        mean, variance, _ = self._scores(w)
        return float(gaussian.best_shift(self._priors, mean, variance))

    @property
    def _priors(self) -> FloatArray:
        return np.array([self.prior, 1.0 - self.prior])

    def _error(self, w: FloatArray, intercept: float) -> tuple[float, FloatArray]:
        """Expected error and its gradient in w and the intercept."""
        mean, variance, moved = self._scores(w)
        found = gaussian.expected_error(self._priors, mean + intercept, variance)
        slope = found.mean @ self.means + 2.0 * found.variance @ moved
        return float(found.value), np.append(slope, found.mean.sum())

    def _disorder(self, w: FloatArray) -> tuple[float, FloatArray]:
        """One minus the AUC and its gradient in w."""
        mean, _, moved = self._scores(w)
        # The difference of a pair has the variance w'(S+ + S- - C - C')w.
        spread = moved.sum(axis=0) - self.cross @ w - self.cross.T @ w
        total = np.array([max(float(spread @ w), 0.0), 0.0])
        found = gaussian.expected_auc(mean, total)
        return float(found.value), found.mean @ self.means + 2.0 * found.variance[0] * spread


def _unit(w: FloatArray) -> FloatArray:
    return w / (float(np.linalg.norm(w)) or 1.0)


def _check_covariance(matrix: FloatArray) -> None:
    """Refuse a matrix that is not symmetric or has a negative eigenvalue."""
    size = SHARE * np.abs(matrix).max(initial=0.0)
    lowest = float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0])
    if np.abs(matrix - matrix.T).max() > size or lowest < -size:
        raise DataError(
            "symmetric covariances without negative eigenvalues; got the smallest eigenvalue "
            f"{lowest:.3g}. Pass E (x - m)(x - m)' of both classes."
        )
