"""The max-margin loss of average precision."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.types import FloatArray, IntArray, Target
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.losses import average_precision as kernels
from auctor.losses.contingency import Contingency

#: Relative difference up to which weights of a class count as equal.
EQUAL = 1e-9


@dataclass(frozen=True)
class AveragePrecision(Contingency):
    """Max-margin loss of 1 - average precision, an upper bound of it.

    With ``AP`` the average precision of a ranking of the rows, P and N the numbers of positives and
    negatives,

        ``R(s) = max over rankings of 1 - AP + 2/(P N) sum (s_j - s_i)``

    where the sum is over the pairs that the ranking puts in the wrong order, negative j above
    positive i. It is convex, piecewise linear and does not change with a constant added to all
    scores; at scores that rank every positive above every negative by a wide margin it is 0.

    Weights must be equal within each class (class weights): a negative then counts as a multiple of
    a positive in every precision, as in `auctor.metrics.average_precision`. Ties need no rule: the
    maximum takes the worst order of tied rows. O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> AveragePrecision().value(np.zeros(3), Target(np.array([1.0, -1.0, -1.0])))
    0.6666666666666666

    Notes
    -----
    There is no smoothed form: cutting planes solve it with an l2 penalty, and certify the gap.

    References
    ----------
    Yue, Finley, Radlinski, Joachims, A support vector method for optimizing average precision,
    2007; Mohapatra, Rolinek, Jawahar, Kolmogorov, Kumar, Efficient optimization for rank-based loss
    functions, 2018.
    """

    weights = "class"
    smooth = False
    shift_invariant = True

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets with one class only, with groups, or with different weights in a class."""
        super().check_target(target)
        for rows, name in zip(target.classes, ("positive", "negative"), strict=True):
            if np.ptp(rows.share) > EQUAL * rows.share.max():
                raise DataError(
                    f"equal weights within each class; got several among the {name} rows. Use "
                    "`surrogate='logistic'`, class weights, or no sample weights."
                )

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Loss and a subgradient in the scores."""
        grad = np.zeros_like(scores)
        if np.isnan(scores).any():
            grad.fill(math.nan)
            return math.nan, grad
        positive, negative = target.classes
        pos, neg = (_falling(scores, side.rows) for side in (positive, negative))
        # Weight of a negative in units of a positive's: class weights only, as `check_target`
        # ensures.
        weight = negative.total / neg.size / (positive.total / pos.size)
        place = np.empty(neg.size, dtype=np.int64)
        kernels.worst_places(scores[pos], scores[neg], weight, place)
        pos_slope, neg_slope = np.empty(pos.size), np.empty(neg.size)
        missing = kernels.ranking_slopes(place, weight, pos.size, pos_slope, neg_slope)
        grad[pos], grad[neg] = pos_slope, neg_slope
        # The slopes sum to 0, so scores may be relative to any one; that reduces rounding errors.
        middle = float(scores[pos[-1]])
        return missing + float(grad @ (scores - middle)), grad


def _falling(scores: FloatArray, rows: IntArray) -> IntArray:
    """Rows in the order of descending score."""
    return rows[ascending_order(-scores[rows])]
