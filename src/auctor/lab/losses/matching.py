"""Max-margin loss of a ranking measure by matching rows with positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Coupling
from auctor.core.types import FloatArray, IntArray, Target
from auctor.lab.losses.table import check_equal_weights
from auctor.losses.base import BaseLoss


@dataclass(frozen=True)
class MatchingLoss(BaseLoss):
    """Max-margin loss of 1 - NDCG: the most violated ranking is a matching of rows and positions.

    ``max over permutations p of 1 - NDCG(p) + sum_i s_i (c(p_i) - c(q_i))`` with ``c(k) = k^-1/4``
    for position k and q the order by relevance, averaged over ties. The target is the relevance of
    each row; rows of a group are ranked among themselves, and groups count equally. A linear
    assignment for each group, O(m^3) for m rows: for short lists. `Bmrm` minimises it with a
    certified gap.

    References
    ----------
    Le, Smola, Direct optimization of ranking measures, 2007.

    Examples
    --------
    >>> target = Target(np.array([2.0, 0.0, 1.0]))
    >>> abs(MatchingLoss().value(np.array([9.0, -9.0, 0.0]), target)) < 1e-12
    True
    >>> MatchingLoss().value(np.array([-9.0, 9.0, 0.0]), target) > 1.0
    True
    """

    coupling = Coupling.GLOBAL
    targets = "real"
    smooth = False
    shift_invariant = True
    weights = "class"  # a list has no rows in part

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse negative relevances, and weights."""
        if target.y.min() < 0.0 or target.y.max() > 60.0:
            raise DataError(
                f"relevances from 0 to 60; got {target.y.min():g} to {target.y.max():g}. Rescale y."
            )
        check_equal_weights(target)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Loss and a subgradient in the scores."""
        grad = np.zeros_like(scores)
        if np.isnan(scores).any():
            return float("nan"), np.full_like(scores, np.nan)
        codes = np.zeros(target.n_rows) if target.groups is None else target.groups
        used = target.share > 0.0
        lists = [np.flatnonzero(used & (codes == one)) for one in np.unique(codes[used])]
        value = 0.0
        for rows in lists:
            own, grad[rows] = _one_list(scores[rows], target.y[rows])
            value += own
        return value / len(lists), grad / len(lists)


def _one_list(scores: FloatArray, relevance: FloatArray) -> tuple[float, FloatArray]:
    """Loss and subgradient of one list."""
    place = np.arange(1.0, scores.size + 1.0)
    weight, discount = place**-0.25, 1.0 / np.log2(place + 1.0)
    gain = np.exp2(relevance) - 1.0
    by_relevance: IntArray = np.argsort(-relevance, kind="stable")
    ideal = float(np.sort(gain)[::-1] @ discount)
    share = gain / ideal if ideal > 0.0 else np.zeros_like(gain)
    # Entry (i, k): what row i at position k adds to the maximum.
    rows, places = linear_sum_assignment(
        np.outer(scores, weight) - np.outer(share, discount), maximize=True
    )
    slope = np.empty_like(scores)
    slope[rows] = weight[places]
    # Rows of equal relevance share their positions in the order by relevance.
    _, tied, sizes = np.unique(-relevance, return_inverse=True, return_counts=True)
    slope -= (np.bincount(tied[by_relevance], weight) / sizes)[tied]
    lost = (1.0 if ideal > 0.0 else 0.0) - float(share[rows] @ discount[places])
    return lost + float(slope @ scores), slope
