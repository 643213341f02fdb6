"""Confidence intervals of an AUC and tests of the difference of two, by DeLong's method."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import speaks_as
from auctor.core.types import FloatArray
from auctor.kernels.linalg.sorting import ascending_order, split, twice_mass_below
from auctor.metrics.inputs import Inputs, validate
from auctor.metrics.roc import area


class AucInterval(NamedTuple):
    """An AUC with its confidence interval."""

    auc: float
    low: float
    high: float
    standard_error: float


class AucComparison(NamedTuple):
    """Difference of two AUCs on the same rows."""

    difference: float
    standard_error: float
    p_value: float


class _Placements(NamedTuple):
    """For each row: weighted share of the other class with which it is correctly ordered."""

    pos: FloatArray
    neg: FloatArray
    pos_weight: FloatArray
    neg_weight: FloatArray


@speaks_as("auc_interval")
def auc_interval(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    level: float = 0.95,
    method: str = "delong",
    weight: npt.ArrayLike | None = None,
) -> AucInterval:
    """AUC with a confidence interval for the AUC of the population.

    ``SE^2 = Var(V_pos) / n_pos + Var(V_neg) / n_neg``, where the placement ``V`` of a row is the
    share of the other class it is correctly ordered with (ties one half). The interval is
    ``logit AUC -+ z SE / (AUC (1 - AUC))`` mapped back, so that it stays inside [0, 1].

    Parameters
    ----------
    y, scores
        As in `auc`.
    level : float
        Coverage, in (0, 1).
    method : {"delong"}
        How the standard error is estimated.
    weight : (n,) array_like, optional
        Frequencies: a row of weight 2 stands for two equal rows, hence doubling every weight
        narrows the interval.

    Returns
    -------
    AucInterval
        ``auc``, ``low``, ``high``, ``standard_error``.

    Notes
    -----
    O(n). Three cases in which DeLong's estimate does not apply:

    * AUC exactly 1: the standard error is 0 and ``low`` is ``((1 - level) / 2)^(1/m)``, m the
      smaller class. That is the exact binomial bound on m disjoint pairs, all ordered correctly.
      AUC exactly 0 mirrors it.
    * A class of total weight below 2 has no variance to estimate; the largest possible one,
      ``AUC (1 - AUC)``, is used instead, which is conservative.
    * All placements equal, as with constant scores: the interval has length zero.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44; Sun and Xu (2014), IEEE Signal
    Processing Letters 21.

    Examples
    --------
    >>> result = auc_interval([0, 0, 0, 1, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0, 6.0])
    >>> [round(value, 3) for value in result]
    [0.889, 0.261, 0.995, 0.157]
    """
    level = check_real("level", level, low=0.0, high=1.0, open_low=True, open_high=True)
    check_choice("method", method, ("delong",))
    inputs = validate(y, scores, weight)
    value = area(inputs)
    v = _placements(inputs)
    # A perfect ranking (or its reverse) has no variance: an exact binomial bound instead.
    if value in (0.0, 1.0):
        smaller = min(v.pos_weight.sum(), v.neg_weight.sum())
        bound = (0.5 * (1.0 - level)) ** (1.0 / max(smaller, 1.0))
        low, high = (bound, 1.0) if value == 1.0 else (0.0, 1.0 - bound)
        return AucInterval(value, float(low), float(high), 0.0)
    limit = value * (1.0 - value)
    error = math.sqrt(
        _variance_of_mean(v.pos, v.pos_weight, value, limit)
        + _variance_of_mean(v.neg, v.neg_weight, value, limit)
    )
    # Normal interval on the logit scale: the delta method divides the error by AUC (1 - AUC).
    reach = NormalDist().inv_cdf(0.5 * (1.0 + level)) * error / limit
    centre = math.log(value) - math.log1p(-value)
    return AucInterval(value, float(expit(centre - reach)), float(expit(centre + reach)), error)


@speaks_as("compare_auc")
def compare_auc(
    y: npt.ArrayLike,
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    *,
    weight: npt.ArrayLike | None = None,
) -> AucComparison:
    """Test whether two scores of the same rows have the same AUC (DeLong, paired, two-sided).

    ``z = (AUC_a - AUC_b) / SE``, with SE as in `auc_interval` from the differences of the
    placements of each row, so that the correlation of the two scores is accounted for.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive; both must occur.
    scores_a, scores_b : (n,) array_like
        Finite scores of the same rows.
    weight : (n,) array_like, optional
        Frequencies, as in `auc_interval`.

    Returns
    -------
    AucComparison
        ``difference`` (a minus b), ``standard_error``, ``p_value``. When the standard error is zero
        the p value is 1 for equal AUCs and NaN otherwise: the placements do not vary, so there is
        no noise to compare the difference with.

    Notes
    -----
    O(n). A class of total weight below 2 is given the largest possible variance,
    ``1 - difference^2``.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> result = compare_auc(y, [1, 2, 4, 3, 5, 6], [4, 2, 3, 1, 5, 6])
    >>> [round(value, 3) for value in result]
    [0.222, 0.248, 0.371]
    """
    a = validate(y, scores_a, weight)
    b = validate(y, scores_b, weight)
    difference = area(a) - area(b)
    va, vb = _placements(a), _placements(b)
    # Paired: the placements of a row under both scores are subtracted before the variance is taken.
    limit = 1.0 - difference**2
    error = math.sqrt(
        _variance_of_mean(va.pos - vb.pos, va.pos_weight, difference, limit)
        + _variance_of_mean(va.neg - vb.neg, va.neg_weight, difference, limit)
    )
    if error == 0.0:
        return AucComparison(difference, 0.0, 1.0 if difference == 0.0 else math.nan)
    p_value = math.erfc(abs(difference) / error / math.sqrt(2.0))
    return AucComparison(difference, error, p_value)


def _placements(inputs: Inputs) -> _Placements:
    """Placements in the order of the rows, by one merge of each sorted class with the other."""
    weight = np.ones(inputs.scores.shape[0]) if inputs.weight is None else inputs.weight
    pos, neg = split(inputs.positive, inputs.scores)
    pos_weight, neg_weight = split(inputs.positive, weight)
    pos_order, neg_order = ascending_order(pos), ascending_order(neg)
    # mass[k] is the weight of the k lowest scores of a class, for the merge with the other class.
    pos_mass = np.concatenate(([0.0], np.cumsum(pos_weight[pos_order])))
    neg_mass = np.concatenate(([0.0], np.cumsum(neg_weight[neg_order])))
    below_pos = twice_mass_below(pos, pos_order, neg[neg_order], neg_mass)
    below_neg = twice_mass_below(neg, neg_order, pos[pos_order], pos_mass)
    return _Placements(
        below_pos / (2.0 * neg_mass[-1]),
        1.0 - below_neg / (2.0 * pos_mass[-1]),
        pos_weight,
        neg_weight,
    )


def _variance_of_mean(
    values: FloatArray, frequency: FloatArray, mean: float, limit: float
) -> float:
    """Unbiased estimate of the variance of the mean, or its ``limit`` below two observations."""
    n = float(frequency.sum())
    if n < 2.0:
        return limit / max(n, 1.0)
    return float(frequency @ (values - mean) ** 2) / (n - 1.0) / n
