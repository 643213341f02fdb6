"""Error and AUC of Gaussian scores, as functions of class means and variances.

Arrays have the positive class first: ``prior``, ``mean`` and ``variance`` have shape (2,) or
(2, k) for k models at once. A variance of zero stands for its limit; the results are never NaN for
finite input.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from auctor.core.types import FloatArray

#: Standard deviations beyond which a Gaussian has no mass in double precision.
FAR = 40.0
#: Smallest variance of a class, as a share of the squared spread of both.
NARROW = 1e-20
#: Standard deviations below this fraction of the largest score count as zero.
FLAT = 1e-13


class Slopes(NamedTuple):
    """A value and its derivatives in both means and both variances."""

    value: FloatArray
    mean: FloatArray
    variance: FloatArray


def expected_error(prior: FloatArray, mean: FloatArray, variance: FloatArray) -> Slopes:
    """``P+ Phi(-m+/sd+) + P- Phi(m-/sd-)``: the error of the sign of Gaussian scores."""
    sign = np.array([-1.0, 1.0]).reshape(2, *(1,) * (mean.ndim - 1))
    prior = prior.reshape(sign.shape)
    ratio, inverse = _standardised(sign * mean, variance)
    slope = sign * prior * _density(ratio) * inverse
    value = (prior * scipy.special.ndtr(ratio)).sum(axis=0)
    return Slopes(value, slope, -0.5 * slope * mean * inverse * inverse)


def expected_auc(mean: FloatArray, variance: FloatArray) -> Slopes:
    """``Phi((m- - m+)/sqrt(v+ + v-))``: one minus the AUC of Gaussian scores."""
    apart, total = mean[1] - mean[0], variance[0] + variance[1]
    ratio, inverse = _standardised(apart, total)
    slope = _density(ratio) * inverse
    spread = -0.5 * slope * apart * inverse * inverse
    return Slopes(scipy.special.ndtr(ratio), np.stack([-slope, slope]), np.stack([spread, spread]))


def best_shift(prior: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """The constant to add to Gaussian scores so that their sign has the smallest error.

    The two weighted densities cross at the roots of a quadratic. The threshold is the root above
    which the positive class is more likely, unless always predicting the larger class is better.
    """
    apart = mean[0] - mean[1]
    size = np.abs(apart) + np.sqrt(variance[0]) + np.sqrt(variance[1])
    unit = np.where(size > 0.0, size, 1.0)
    gap = apart / unit
    inverse = 1.0 / np.maximum(variance / unit / unit, NARROW)
    # The log ratio of the weighted densities is a z^2 + b z + c, with z measured from the mean of
    # the class with the smaller variance: the threshold is often close to that mean, and measured
    # from elsewhere it would lose digits.
    narrow = inverse[0] > inverse[1]
    with np.errstate(all="ignore"):
        a = 0.5 * (inverse[1] - inverse[0])
        wide = np.where(narrow, inverse[1], inverse[0])
        b = wide * gap
        odds = np.log(prior[0]) - np.log(prior[1]) + 0.5 * np.log(inverse[0] / inverse[1])
        c = odds + np.where(narrow, 0.5, -0.5) * wide * gap * gap
        root = np.sqrt(b * b - 4.0 * a * c)
        cross = np.where(b > 0.0, -2.0 * c / (b + root), (root - b) / (2.0 * a))
    known = np.isfinite(cross)
    shift = -np.where(narrow, mean[0], mean[1]) - np.where(known, cross, 0.0) * unit
    error = expected_error(prior, mean + shift, variance).value
    known &= error < np.minimum(prior[0], prior[1])
    # A shift beyond all scores, so that all have the same sign.
    all_one = np.where(prior[0] >= prior[1], FAR, -FAR) * unit - 0.5 * (mean[0] + mean[1])
    return np.asarray(np.where(known, shift, all_one))


def _standardised(mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``mean / sd`` and ``1 / sd``, the latter 0 where the variance is 0."""
    flat = variance <= 0.0
    inverse = np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, variance)))
    limit = np.where(mean == 0.0, 0.0, np.copysign(np.inf, mean))
    # NaN stays NaN: a comparison with it is false.
    return np.where(flat, limit, mean * inverse), inverse


def _density(ratio: FloatArray) -> FloatArray:
    """Standard normal density."""
    with np.errstate(over="ignore"):  # the density of a very large ratio is zero
        return np.asarray(np.exp(-0.5 * ratio * ratio) / np.sqrt(2.0 * np.pi))
