"""Error and AUC of Gaussian scores with the observed moments, and a check of that model."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_real
from auctor.core.errors import speaks_as
from auctor.core.types import FloatArray
from auctor.kernels.losses import gaussian
from auctor.kernels.losses.gaussian import FLAT
from auctor.metrics.delong import auc_interval
from auctor.metrics.error import confusion_of
from auctor.metrics.inputs import Inputs, validate


class Prediction(NamedTuple):
    """A value predicted by the Gaussian model, and the observed one.

    Attributes
    ----------
    predicted, observed : float
    difference : float
        Predicted minus observed.
    standard_error : float
        Standard error of the observed value; weights count as frequencies.
    """

    predicted: float
    observed: float
    difference: float
    standard_error: float


class Shape(NamedTuple):
    """Third and fourth standardised moment of the scores of a class, both 0 for a Gaussian."""

    skewness: float
    excess_kurtosis: float


class GaussianCheck(NamedTuple):
    """How well class means and variances of the scores predict error and AUC.

    Attributes
    ----------
    error, auc : Prediction
    positive, negative : Shape
        Values far from 0 explain why a prediction is inaccurate.
    """

    error: Prediction
    auc: Prediction
    positive: Shape
    negative: Shape


class _Moments(NamedTuple):
    prior: FloatArray
    mean: FloatArray
    variance: FloatArray
    shapes: tuple[Shape, Shape]


@speaks_as("expected_error")
def expected_error(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    threshold: float = 0.0,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Error rate if the scores of each class were Gaussian with the observed mean and variance.

    ``P+ Phi((t - m+)/sd+) + P- Phi((m- - t)/sd-)`` for the threshold t.

    Parameters
    ----------
    y, scores, weight
        As in `auc`.
    threshold : float
        Scores above it are predicted positive.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    O(n). Variances have the divisor n, as in the loss `ExpectedError`.

    Examples
    --------
    >>> round(expected_error([0, 0, 1, 1], [-3.0, -1.0, 1.0, 3.0]), 4)
    0.0228
    """
    cut = check_real("threshold", threshold)
    return _error(_moments(validate(y, scores, weight)), cut)


@speaks_as("expected_auc")
def expected_auc(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> float:
    """AUC if the scores of each class were Gaussian with the observed mean and variance.

    ``Phi((m+ - m-) / sqrt(v+ + v-))``; one minus the loss `ExpectedAuc`.

    Parameters
    ----------
    y, scores, weight
        As in `auc`.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    O(n).

    Examples
    --------
    >>> round(expected_auc([0, 0, 1, 1], [0.0, 2.0, 1.0, 3.0]), 4)
    0.7602
    """
    return _auc(_moments(validate(y, scores, weight)))


@speaks_as("gaussian_check")
def gaussian_check(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    threshold: float = 0.0,
    weight: npt.ArrayLike | None = None,
) -> GaussianCheck:
    """Compare predicted with observed error and AUC, best on rows not used for training.

    A difference of several standard errors means that the scores of a class are not Gaussian, and
    that a model trained on another loss may be better than one trained on expected error or AUC.

    Parameters
    ----------
    y, scores, threshold, weight
        As in `expected_error`.

    Returns
    -------
    GaussianCheck
        ``error``, ``auc``, ``positive``, ``negative``.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> found = gaussian_check(y, rng.normal(size=2000) + 2 * y, threshold=1.0)
    >>> abs(found.error.difference) < 3 * found.error.standard_error
    True
    """
    cut = check_real("threshold", threshold)
    inputs = validate(y, scores, weight)
    moments = _moments(inputs)
    table = confusion_of(inputs.positive, inputs.scores > cut, inputs.weight)
    rate = (table.fp + table.fn) / sum(table)
    # Binomial standard error of the observed error rate.
    noise = math.sqrt(rate * (1.0 - rate) / sum(table))
    area = auc_interval(inputs.positive, inputs.scores, weight=inputs.weight)
    return GaussianCheck(
        _compared(_error(moments, cut), rate, noise),
        _compared(_auc(moments), area.auc, area.standard_error),
        *moments.shapes,
    )


def _compared(predicted: float, observed: float, noise: float) -> Prediction:
    return Prediction(predicted, observed, predicted - observed, noise)


def _error(moments: _Moments, threshold: float) -> float:
    shifted = moments.mean - threshold
    return float(gaussian.expected_error(moments.prior, shifted, moments.variance).value)


def _auc(moments: _Moments) -> float:
    return 1.0 - float(gaussian.expected_auc(moments.mean, moments.variance).value)


def _moments(inputs: Inputs) -> _Moments:
    """Priors, means, variances and shapes of both classes, the positive one first."""
    positive, scores, weight = inputs
    weight = np.ones(scores.shape[0]) if weight is None else weight
    flat = FLAT * float(np.abs(scores).max())
    prior, mean, variance, shapes = np.empty(2), np.empty(2), np.empty(2), []
    for k, rows in enumerate((positive, ~positive)):
        total = weight[rows].sum()
        share = weight[rows] / total
        prior[k] = total / weight.sum()
        mean[k] = share @ scores[rows]
        apart = scores[rows] - mean[k]
        # A standard deviation at the level of rounding errors is zero.
        size = math.sqrt(float(share @ (apart * apart)))
        size = size if size > flat else 0.0
        variance[k] = size * size
        # Third and fourth standardised moments; a Gaussian has 0 and 3.
        z = apart / size if size else np.zeros_like(apart)
        third, fourth = float(share @ z**3), float(share @ z**4)
        shapes.append(Shape(third, fourth - 3.0 if size else 0.0))
    if abs(mean[0] - mean[1]) < flat:
        mean[1] = mean[0]
    return _Moments(prior, mean, variance, (shapes[0], shapes[1]))
