"""Losses of Gaussian scores: expected error, expected AUC, and a convex form of the latter.

All depend only on the class means m and variances v of the scores, in O(n). `ExpectedError` and
`ExpectedAuc` do not change when the scores are scaled, so only the direction of w matters. They are
not convex; a ridge is added variance (see `Problem`), and they take no other penalty. The minimiser
of `GaussianAuc` has the direction of the best expected AUC, and it works with every penalty.
"""

from __future__ import annotations

import numpy as np

from auctor.core.curvature import Curvature
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Splits
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses import gaussian
from auctor.kernels.losses.gaussian import FLAT, Slopes
from auctor.losses.pairwise import Pairwise, PairwiseSquare


class GaussianAuc(PairwiseSquare):
    """``((1 - m_pos + m_neg)^2 + v_pos + v_neg) / 2``: a convex loss for the best expected AUC.

    With ``L2(strength)`` its minimiser has the direction ``(S+ + S- + strength I)^-1 (mu+ - mu-)``
    of greatest expected AUC under Gaussian scores, where S and mu are the class covariances and
    means and ``strength`` acts as shrinkage. Other penalties give sparse or grouped versions, all
    with a certificate. It is half the pairwise square loss, so that the ridge is ``strength``. The
    loss ``v/2 - (m_pos - m_neg)`` has a minimiser of the same direction, but no finite infimum.

    Examples
    --------
    >>> import numpy as np
    >>> GaussianAuc().value(np.array([1.0, 0.5]), Target(np.array([1.0, -1.0])))
    0.125
    """

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Value and its gradient in the scores."""
        value, grad = super().value_grad(scores, target)
        return 0.5 * value, 0.5 * grad

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """``diag(p, q) - (p q' + q p')``; a sum of such matrices where there are groups."""
        return super().curvature(scores, target).scaled(0.5)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Half the pairwise square's conjugate at twice the argument."""
        whole = super().conjugate(2.0 * dscores, target)
        return None if whole is None else 0.5 * whole


class OfMoments(Pairwise):
    """A scale-invariant loss that depends only on the class means and variances."""

    splits = Splits.NOT
    convex = False
    scale_invariant = True

    def of_moments(self, prior: FloatArray, mean: FloatArray, variance: FloatArray) -> Slopes:
        """The loss and its derivatives in the moments; the positive class comes first."""
        raise NotImplementedError

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Value and its gradient in the scores."""
        return self.value_grad_rate(scores, target, 0.0)[:2]

    def value_grad_rate(
        self, scores: FloatArray, target: Target, spread: float
    ) -> tuple[float, FloatArray, float]:
        """Value with ``spread`` added to both variances, its gradient, its derivative in spread."""
        unit = _largest(scores, target)
        mean, parts = _deviations(scores / unit, target)
        variance = np.array(
            [rows.share @ (part * part) for rows, part in zip(target.classes, parts, strict=True)]
        )
        # Differences at the level of rounding errors are exact ties.
        variance[variance < FLAT * FLAT] = 0.0
        if abs(mean[0] - mean[1]) < FLAT:
            mean[1] = mean[0]
        total = variance + spread / unit / unit
        value, by_mean, by_variance = self.of_moments(_priors(target), mean, total)
        grad = np.zeros_like(scores)
        for rows, part, m, v in zip(target.classes, parts, by_mean, by_variance, strict=True):
            grad[rows.rows] = rows.share * (m + 2.0 * v * part) / unit
        return float(value), grad, float(by_variance.sum()) / unit / unit


class ExpectedAuc(OfMoments):
    """One minus the AUC of Gaussian scores: ``Phi((m_neg - m_pos) / sqrt(v_pos + v_neg))``.

    Scale invariant and not convex. Its default solver, `GaussianDiscriminant`, has the closed form
    ``(S+ + S- + strength I)^-1 (mu+ - mu-)``.

    Examples
    --------
    >>> import numpy as np
    >>> scores, y = np.array([1.0, 3.0, 0.0, 2.0]), np.array([1.0, 1.0, -1.0, -1.0])
    >>> round(ExpectedAuc().value(scores, Target(y)), 4)
    0.2398

    References
    ----------
    Ghanbari, Optimization algorithms for machine learning problems, 2019, Theorem 20 (the sign is
    corrected).
    """

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets that hold one class, or groups."""
        super().check_target(target)
        if target.groups is not None:
            raise DataError(
                "rows without groups; got groups. Use GaussianAuc, which compares inside groups."
            )

    def of_moments(self, prior: FloatArray, mean: FloatArray, variance: FloatArray) -> Slopes:
        """The loss and its derivatives in the moments."""
        return gaussian.expected_auc(mean, variance)


class ExpectedError(OfMoments):
    """Error rate of Gaussian scores: ``P+ Phi(-m_pos/sd_pos) + P- Phi(m_neg/sd_neg)``.

    Row weights enter the priors P, so costs can be given as weights. Scale invariant and not
    convex. Its default solver, `GaussianDiscriminant`, is a search over one number.

    Examples
    --------
    >>> import numpy as np
    >>> scores, y = np.array([1.0, 3.0, -1.0, -3.0]), np.array([1.0, 1.0, -1.0, -1.0])
    >>> round(ExpectedError().value(scores, Target(y)), 4)
    0.0228

    References
    ----------
    Ghanbari, Optimization algorithms for machine learning problems, 2019, Theorem 16.
    """

    shift_invariant = False

    def of_moments(self, prior: FloatArray, mean: FloatArray, variance: FloatArray) -> Slopes:
        """The loss and its derivatives in the moments."""
        return gaussian.expected_error(prior, mean, variance)

    def best_shift(self, scores: FloatArray, target: Target, spread: float = 0.0) -> float:
        """The constant to add to all scores for the smallest loss, in closed form."""
        unit = _largest(scores, target)
        mean, parts = _deviations(scores / unit, target)
        variance = np.array(
            [rows.share @ (part * part) for rows, part in zip(target.classes, parts, strict=True)]
        )
        variance += spread / unit / unit
        return unit * float(gaussian.best_shift(_priors(target), mean, variance))


def _deviations(scores: FloatArray, target: Target) -> tuple[FloatArray, list[FloatArray]]:
    """Class means of the scores, and the deviations from them."""
    mean, parts = np.empty(2), []
    for k, rows in enumerate(target.classes):
        part = scores[rows.rows]
        mean[k] = rows.share @ part
        part = part - mean[k]
        rest = float(rows.share @ part)  # rounding error of a mean far from zero
        mean[k] += rest
        parts.append(part - rest)
    return mean, parts


def _largest(scores: FloatArray, target: Target) -> float:
    """Largest absolute score among rows with weight; 1 where all are zero."""
    largest = max(float(np.abs(scores[rows.rows]).max()) for rows in target.classes)
    return largest or 1.0


def _priors(target: Target) -> FloatArray:
    totals = np.array([rows.total for rows in target.classes])
    return np.asarray(totals / totals.sum())
