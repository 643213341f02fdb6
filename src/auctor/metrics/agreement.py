"""What an error rate says about an AUC, and which of two measures tells more.

AUC given a number of errors: Cortes, Mohri, AUC optimization vs. error rate minimization, 2003.
Consistency and discriminancy of two measures: Huang, Ling, Using AUC and accuracy in evaluating
learning algorithms, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_int, check_vector
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.types import FloatArray

#: Values of a measure that differ by less are equal: rounding errors of sums of shares.
EQUAL = 1e-12


class AucAtError(NamedTuple):
    """Mean and standard deviation of the AUC over the rankings with some number of errors."""

    mean: float
    deviation: float


class Agreement(NamedTuple):
    """Counts of the ordered pairs of rankings that two measures f and g tell apart.

    ``same`` pairs are ordered the same way by both (R), ``opposite`` pairs the other way (S); f
    alone tells ``first`` pairs apart (P), g alone ``second`` ones (Q).
    """

    same: int
    opposite: int
    first: int
    second: int

    @property
    def consistency(self) -> float:
        """Share of the pairs that both tell apart on which they agree; NaN without such pairs."""
        both = self.same + self.opposite
        return self.same / both if both else math.nan

    @property
    def discriminancy(self) -> float:
        """Pairs that f alone tells apart for each that g alone does; infinite if there is none."""
        return self.first / self.second if self.second else math.inf

    @property
    def first_is_better(self) -> bool:
        """Whether f is consistent with g and tells more apart, ``C > 1/2`` and ``D > 1``."""
        return self.consistency > 0.5 and self.discriminancy > 1.0


@speaks_as("auc_at_error")
def auc_at_error(n_positive: int, n_negative: int, errors: int) -> AucAtError:
    """AUC that is expected of a classifier with some errors, if nothing else is known of it.

    A classifier predicts the top t rows positive and makes k errors, x of them positives below the
    threshold: every ranking with k errors at some threshold is equally likely. With m positives and
    n negatives the mean is ``1 - k / (m + n) - (n - m)^2 (m + n + 1) / (4 m n) * (k / (m + n) -
    A / B)``, with ``A = sum_{x < k} C(m + n, x)`` and ``B = sum_{x <= k} C(m + n + 1, x)``.

    Parameters
    ----------
    n_positive, n_negative : int >= 1
    errors : int in [0, smaller of the two]

    Returns
    -------
    AucAtError
        ``mean`` and ``deviation``.

    Notes
    -----
    O(errors), in whole numbers: the variance is summed over x, given which positives and negatives
    on each side of the threshold are in random order. For equal classes the mean is the accuracy.

    Examples
    --------
    >>> auc_at_error(5, 5, 3).mean
    0.7
    >>> [round(value, 4) for value in auc_at_error(3, 7, 3)]
    [0.5772, 0.1979]
    """
    m = check_int("n_positive", n_positive, low=1)
    n = check_int("n_negative", n_negative, low=1)
    k = check_int("errors", errors)
    if k > min(m, n):
        raise ParameterError(
            f"`errors` of at most {min(m, n)}, the rows of the smaller class; got {k}. Beyond it a "
            "constant prediction makes fewer."
        )
    # x positives are below the threshold, and y = k - x negatives above it. Given x, a side with a
    # positives and b negatives has C(a + b, a) orders.
    total, first, second = 0, 0.0, 0.0
    orders = [math.comb(m + k - 2 * x, k - x) * math.comb(n - k + 2 * x, x) for x in range(k + 1)]
    total = sum(orders)
    for x, count in enumerate(orders):
        mean, variance = _given_missed(m, n, x, k - x)
        share = count / total  # of whole numbers, which may be too large for floats
        first += share * mean
        second += share * (variance + mean * mean)
    return AucAtError(first, math.sqrt(max(second - first * first, 0.0)))


def _given_missed(m: int, n: int, x: int, y: int) -> tuple[float, float]:
    """Mean and variance of the AUC with x positives below and y negatives above the threshold.

    Pairs across the threshold are known; on each side the pairs in order are a Mann-Whitney
    statistic of a and b rows, with mean ``a b / 2`` and variance ``a b (a + b + 1) / 12``.
    """
    above, below = (m - x) * y, x * (n - y)
    mean = ((m - x) * (n - y) + 0.5 * (above + below)) / (m * n)
    spread = (above * (m - x + y + 1) + below * (x + n - y + 1)) / 12.0
    return mean, spread / (m * n) ** 2


@speaks_as("agreement")
def agreement(first: npt.ArrayLike, second: npt.ArrayLike) -> Agreement:
    """How well two measures agree on the same rankings, and which one tells more of them apart.

    Parameters
    ----------
    first, second : (n,) array_like
        Values of the measures f and g on n rankings, models or samples; greater is better in both.

    Returns
    -------
    Agreement
        ``same``, ``opposite``, ``first``, ``second``, ``consistency``, ``discriminancy``.

    Notes
    -----
    O(n + c^2) for c distinct pairs of values. Each pair of rankings is counted once, in the order
    in which one of the measures prefers the first of the two.

    Examples
    --------
    >>> found = agreement([0.9, 0.8, 0.7, 0.7], [0.8, 0.8, 0.6, 0.7])
    >>> found.consistency, found.discriminancy
    (1.0, 1.0)
    """
    f = check_vector("first", first)
    g = check_vector("second", second, size=f.size)
    if f.size < 2:
        raise DataError(f"values on at least two rankings; got {f.size}. Pass more of them.")
    pairs, counts = np.unique(np.column_stack((_levels(f), _levels(g))), axis=0, return_counts=True)
    same = opposite = only_first = only_second = 0
    for k, (a, b) in enumerate(pairs):  # every pair of distinct values once: those after it
        by_f, by_g = np.sign(pairs[k + 1 :, 0] - a), np.sign(pairs[k + 1 :, 1] - b)
        times = int(counts[k]) * counts[k + 1 :]
        same += int(times[by_f * by_g > 0].sum())
        opposite += int(times[by_f * by_g < 0].sum())
        only_first += int(times[by_g == 0].sum())
        only_second += int(times[by_f == 0].sum())
    return Agreement(same, opposite, only_first, only_second)


def _levels(values: FloatArray) -> npt.NDArray[np.int64]:
    """Ranks of the values; those that differ by rounding errors are equal."""
    order = np.argsort(values, kind="stable")
    rises = np.diff(values[order]) > EQUAL * max(1.0, float(np.abs(values).max()))
    levels = np.empty(values.size, dtype=np.int64)
    levels[order] = np.concatenate(([0], np.cumsum(rises)))
    return levels


@speaks_as("agreement_on_rankings")
def agreement_on_rankings(
    first: Callable[[Any, FloatArray], float],
    second: Callable[[Any, FloatArray], float],
    n_positive: int,
    n_negative: int,
) -> Agreement:
    """`agreement` of two metrics over all rankings of some positives and negatives.

    Parameters
    ----------
    first, second : callable
        ``metric(y, scores)``, greater is better. Scores are distinct, and positive for as many
        rows as there are positives, which are the predicted ones.
    n_positive, n_negative : int >= 1

    Notes
    -----
    Evaluates both on ``C(n_positive + n_negative, n_positive)`` rankings: for small numbers.

    Examples
    --------
    >>> from auctor.metrics import auc, error_rate
    >>> found = agreement_on_rankings(auc, lambda y, s: 1.0 - error_rate(y, s), 3, 3)
    >>> found
    Agreement(same=113, opposite=1, first=62, second=4)
    >>> found.first_is_better
    True
    """
    m = check_int("n_positive", n_positive, low=1)
    n = check_int("n_negative", n_negative, low=1)
    scores = m - 0.5 - np.arange(m + n, dtype=np.float64)
    values = []
    for places in combinations(range(m + n), m):
        y = np.zeros(m + n)
        y[list(places)] = 1.0
        values.append((first(y, scores), second(y, scores)))
    found = np.array(values)
    return agreement(found[:, 0], found[:, 1])
