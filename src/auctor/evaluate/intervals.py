"""95 % confidence intervals of the headline numbers, in O(n); a seed makes them repeatable."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import t

from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.metrics.error import Confusion
from auctor.metrics.sweep import Sweep

#: Confidence level of the intervals.
LEVEL = 0.95
#: Standard deviations from the centre of a normal interval to its ends: 1.96.
REACH = NormalDist().inv_cdf(0.5 * (1.0 + LEVEL))
#: Number of bootstrap samples: a standard error is then accurate to 1 / sqrt(2 * 500) = 3 %.
DRAWS = 500
#: Largest number of groups of neighbouring scores in the bootstrap.
MAX_GROUPS = 500

DELONG = "DeLong"
WILSON = "Wilson"
FOLDS = "t interval over the folds"
BOOTSTRAP = f"stratified bootstrap, {DRAWS} samples"


class Estimate(NamedTuple):
    """A number with its 95 % confidence interval and the name of the method behind it."""

    value: float
    low: float
    high: float
    method: str


class RankingErrors(NamedTuple):
    """Bootstrap standard errors of two metrics of a whole ranking."""

    average_precision: float
    prbep: float


def wilson(hits: float, trials: float) -> Estimate:
    """A share with Wilson's interval; without trials NaN, with the interval [0, 1].

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson(8, 10)[:3]]
    [0.8, 0.4902, 0.9433]
    """
    if trials == 0.0:
        return Estimate(math.nan, 0.0, 1.0, WILSON)
    share, extra = hits / trials, REACH**2 / trials
    centre = (share + 0.5 * extra) / (1.0 + extra)
    half = math.sqrt(share * (1.0 - share) * extra + 0.25 * extra**2) / (1.0 + extra)
    low = 0.0 if hits == 0.0 else max(0.0, centre - half)
    high = 1.0 if hits == trials else min(1.0, centre + half)
    return Estimate(share, low, high, WILSON)


def around(value: float, error: float, trials: float) -> Estimate:
    """Interval from a bootstrap standard error, symmetric in the log-odds.

    A value of 0 or 1 has no standard error; its interval is Wilson's for ``trials``.

    Examples
    --------
    >>> [round(bound, 3) for bound in around(0.9, 0.03, 100)[:3]]
    [0.9, 0.824, 0.945]
    """
    if value in (0.0, 1.0):
        return wilson(value * trials, trials)._replace(method=WILSON)
    odds = math.log(value) - math.log1p(-value)
    reach = REACH * error / (value * (1.0 - value))  # d log-odds = d value / (value (1 - value))
    return Estimate(value, float(expit(odds - reach)), float(expit(odds + reach)), BOOTSTRAP)


def over_folds(values: FloatArray, top: float = 1.0) -> Estimate:
    """Mean over the folds of cross-validation, with a t interval; NaN values are left out.

    The interval is cut at 0 and at ``top``, the least and the greatest value of the metric.

    Because training sets overlap, the variance of the mean of J values is taken as their variance
    times ``1 / J + 1 / (J - 1)``, after Nadeau and Bengio (2003).

    Examples
    --------
    >>> [round(bound, 3) for bound in over_folds(np.array([0.8, 0.9, 0.85, 0.85]))[:3]]
    [0.85, 0.751, 0.949]
    """
    known = values[~np.isnan(values)]
    count = known.size
    if count < 2:
        value = float(known[0]) if count else math.nan
        return Estimate(value, math.nan, math.nan, FOLDS)
    mean, error = float(known.mean()), float(known.std(ddof=1))
    reach = float(t.ppf(0.5 * (1.0 + LEVEL), count - 1)) * error
    reach *= math.sqrt(1.0 / count + 1.0 / (count - 1))
    return Estimate(mean, max(0.0, mean - reach), min(top, mean + reach), FOLDS)


def spread(s: Sweep, seed: int) -> RankingErrors:
    """Standard errors over bootstrap samples, drawn from each class separately.

    If more than ``MAX_GROUPS`` scores are distinct, neighbouring scores are grouped, in geometric
    steps from the top; a sample is then one multinomial draw of counts per group.
    """
    rng = as_rng(seed)
    pos, neg = _groups(s)
    drawn_pos = rng.multinomial(int(s.positives), pos / s.positives, size=DRAWS)
    drawn_neg = rng.multinomial(int(s.negatives), neg / s.negatives, size=DRAWS)
    tp, depth = drawn_pos.cumsum(axis=1), (drawn_pos + drawn_neg).cumsum(axis=1)
    average = (drawn_pos * (tp / np.maximum(depth, 1))).sum(axis=1) / s.positives
    pairs = zip(_from_zero(depth), _from_zero(tp), strict=True)
    values = [np.interp(s.positives, d, t) for d, t in pairs]
    return RankingErrors(float(average.std(ddof=1)), float(np.std(values, ddof=1)) / s.positives)


def fbeta_error(table: Confusion, beta: float, seed: int) -> float:
    """Bootstrap standard error of F-beta at a threshold, where counts are binomial."""
    rng = as_rng(seed)
    positives, negatives = table.tp + table.fn, table.fp + table.tn
    tp = rng.binomial(int(positives), table.tp / positives, size=DRAWS)
    fp = rng.binomial(int(negatives), table.fp / negatives, size=DRAWS)
    share = 1.0 / (1.0 + beta * beta)
    below = tp + (1.0 - share) * (positives - tp) + share * fp
    values = np.divide(tp, below, out=np.zeros(DRAWS), where=tp > 0)
    return float(values.std(ddof=1))


def _groups(s: Sweep) -> tuple[FloatArray, FloatArray]:
    """Counts of positives and negatives in groups of neighbouring scores, highest first."""
    depth = s.depth[1:]
    last = np.arange(depth.shape[0])
    if depth.shape[0] > MAX_GROUPS:
        wanted = np.geomspace(1.0, depth[-1], MAX_GROUPS)
        last = np.unique(np.searchsorted(depth, wanted).clip(max=depth.shape[0] - 1))
    return np.diff(s.tp[1:][last], prepend=0.0), np.diff(s.fp[1:][last], prepend=0.0)


def _from_zero(rows: FloatArray) -> FloatArray:
    """Cumulative counts with a zero before the first column."""
    return np.pad(rows, ((0, 0), (1, 0)))
