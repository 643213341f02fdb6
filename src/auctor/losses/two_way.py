"""The pair hinge of the hardest rows of both classes: a surrogate of the two-way partial AUC."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss
from auctor.losses.contingency import Contingency
from auctor.losses.pairwise import PairwiseHinge


@dataclass(frozen=True)
class TwoWayPairwiseHinge(Contingency):
    """Mean hinge of ``1 - s_i + s_j`` over the lowest positives i and the highest negatives j.

    An upper bound of 1 minus the two-way partial AUC (true positive rate at least ``min_tpr``,
    false positive rate at most ``max_fpr``), divided by its largest value. With p and q the weights
    of positives and negatives, normalised in each class,

        ``R = max sum_ij g_i h_j hinge_ij / ((1 - min_tpr) max_fpr)``

    over ``0 <= g_i <= p_i``, ``sum g = 1 - min_tpr``, ``0 <= h_j <= q_j``, ``sum h = max_fpr``. The
    hinge falls with the score of a positive and rises with that of a negative, so that the maximum
    is at the extreme rows of both classes; as a maximum of convex functions it is convex.
    O(n log n).

    Parameters
    ----------
    max_fpr : float in (0, 1]
    min_tpr : float in [0, 1)
        0 gives `PartialPairwiseHinge`.

    Examples
    --------
    >>> import numpy as np
    >>> target = Target(np.array([1.0, 1.0, -1.0, -1.0]))
    >>> TwoWayPairwiseHinge(0.5, 0.5).value(np.array([0.0, 9.0, 1.0, -5.0]), target)
    2.0

    Notes
    -----
    There is no smoothed form: cutting planes solve it with an l2 penalty, and certify the gap.

    References
    ----------
    Yang, Lu, Lyu, Hu, Two-way partial AUC and its properties, Statistical Methods in Medical
    Research 2019; Yang et al., When all we need is a piece of the pie, ICML 2021.
    """

    max_fpr: float
    min_tpr: float

    smooth = False
    shift_invariant = True

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("max_fpr", self.max_fpr, low=0.0, high=1.0, open_low=True)
        check_real("min_tpr", self.min_tpr, low=0.0, high=1.0, open_high=True)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Loss and a subgradient in the scores."""
        if np.isnan(scores).any():
            return math.nan, np.full_like(scores, math.nan)
        corner = np.zeros_like(scores)
        positive, negative = target.classes
        for side, sign, share in (
            (positive, 1.0, 1.0 - self.min_tpr),
            (negative, -1.0, self.max_fpr),
        ):
            corner[side.rows] = _lowest(sign * scores[side.rows], side.share, share)
        return PairwiseHinge().value_grad(scores, Target(target.y, corner))

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Sum over positives of dscores, at slopes of the loss and at means of such slopes.

        There ``dscores`` are the marginals of a weighting of pairs that is feasible in the maximum,
        and ``R(s) >= sum of weights (1 - s_i + s_j) = -sum_pos dscores + s.dscores``.
        """
        return float(dscores[target.classes.positive.rows].sum())

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(0.3, 0.5), cls(1.0, 0.0), cls(0.05, 0.9)]


def _lowest(values: FloatArray, share: FloatArray, total: float) -> FloatArray:
    """The part of each row's share that is among the lowest ``total``; tied rows have equal parts.

    Examples
    --------
    >>> _lowest(np.array([2.0, 1.0, 2.0]), np.array([0.2, 0.4, 0.4]), 0.7)
    array([0.1, 0.4, 0.2])
    """
    _, level = np.unique(values, return_inverse=True)
    mass = np.bincount(level, weights=share)
    before = np.cumsum(mass) - mass
    part: FloatArray = np.clip((total - before) / np.maximum(mass, np.finfo(float).tiny), 0.0, 1.0)
    return share * part[level]
