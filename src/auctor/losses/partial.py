"""The pair hinge over the highest-scoring negatives: a surrogate of 1 - partial AUC."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.capabilities import CURVED
from auctor.core.checks import check_real
from auctor.core.curvature import PairCurvature
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Splits
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses import pairs, partial
from auctor.losses.base import BaseLoss
from auctor.losses.pairwise import SortedPairwise, allocate_windows, arrays
from auctor.losses.smoothed import SmoothedByWidth
from auctor.losses.sorted_pairs import (
    Opposing,
    PairSweep,
    SortedClasses,
    gradient,
    window_curvature,
)


@dataclass(frozen=True)
class PartialPairwiseHinge(SmoothedByWidth, SortedPairwise):
    """Mean over positives and the top share of negatives of the hinge of ``1 - s_i + s_j``.

    An upper bound of 1 minus the partial AUC over false positive rates in [0, max_fpr], divided by
    ``max_fpr`` so that it lies in [0, 1]. With ``psi_j`` the mean over positives of the pair hinge
    of negative j and q the weights of the negatives,

        ``R = max sum_j g_j psi_j / max_fpr  over  0 <= g_j <= q_j, sum_j g_j = max_fpr``

    because psi increases with the score. As a maximum of convex functions it is convex. The
    smoothed form smooths the pair hinge over ``width`` and subtracts
    ``width/(2 max_fpr) (sum_j g_j^2/q_j - max_fpr^2)`` in the maximum; each of the two changes the
    value by at most width/2. O(n log n).

    Parameters
    ----------
    max_fpr : float in (0, 1]
        Largest false positive rate; 1 gives `PairwiseHinge`.
    width : float >= 0
        Smoothing width in score units; 0 is the exact loss.

    Examples
    --------
    >>> import numpy as np
    >>> target = Target(np.array([1.0, -1.0, -1.0]))
    >>> PartialPairwiseHinge(0.5).value(np.array([0.0, 1.0, -5.0]), target)
    2.0

    References
    ----------
    Narasimhan, Agarwal, SVMpAUC-tight, 2013.
    """

    max_fpr: float
    width: float = 0.0

    splits = Splits.NOT

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("max_fpr", self.max_fpr, low=0.0, high=1.0, open_low=True)
        check_real("width", self.width, low=0.0)

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets that are not -1/+1, hold one class only, or have groups."""
        super().check_target(target)
        if target.groups is not None:
            raise DataError("one ranking of all rows; got groups. Drop them, or use PairwiseHinge.")

    def sorted_value_grad(
        self, scores: FloatArray, classes: SortedClasses
    ) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores, whose classes are sorted."""
        sweep = self._swept(classes)
        if any(np.isnan(side.classes.own.values).any() for side in (sweep.pos, sweep.neg)):
            return math.nan, np.full_like(scores, math.nan)
        spread = float(sweep.share @ (sweep.part - self.max_fpr) ** 2)
        value = float(sweep.neg.classes.own.weight @ sweep.level)
        value -= 0.5 * self.width / self.max_fpr * spread
        # Equal parts are feasible and not penalised, so the maximum is at least the plain mean.
        value = max(value, float(sweep.share @ sweep.level))
        return value, gradient(scores, sweep.pos, sweep.neg)

    def _swept(self, classes: SortedClasses) -> _Top:
        first, second = classes
        slope, low, high = allocate_windows(second.own.rows.size)
        level, part = np.empty(slope.size), np.empty(slope.size)
        pairs.hinge_windows(*arrays(second), self.width, slope, low, high, level)
        share = second.own.share
        partial.top_share(level, second.own.values, share, self.max_fpr, self.width, part)
        # Negatives are weighted by their part in the top; the positives see them in reverse order.
        top = share * part / self.max_fpr
        second = Opposing(second.own._replace(share=top, weight=top), second.other)
        down = top[::-1].copy()
        first = Opposing(first.own, first.other._replace(share=down, weight=down))
        neg = PairSweep(second, 0.0, slope, low, high)
        slope, low, high = allocate_windows(first.own.rows.size)
        value = pairs.hinge_windows(*arrays(first), self.width, slope, low, high, None)
        return _Top(PairSweep(first, value, slope, low, high), neg, level, part, share)

    def sorted_curvature(self, scores: FloatArray, classes: SortedClasses) -> PairCurvature:
        """Generalised Hessian: that of the pairs, plus that of the choice of the top negatives.

        A change v of the scores changes the level of negative j by ``d_j``. The second part is the
        variance of d over the negatives that are partly in the top, times their weight/width.
        """
        if not self.smooth:
            raise CURVED.lacks(self)
        pos, neg, _, part, share = self._swept(classes)
        tied = window_curvature(scores.shape[0], pos, neg, 1.0 / self.width)
        # Negatives that are partly in the top: their parts change with the levels.
        free = np.where((part > 0.0) & (part < 1.0), share, 0.0) / (self.max_fpr * self.width)
        total = float(free.sum())
        if total == 0.0:
            return PairCurvature(tied.diagonal, tied.product, None)
        some = int(free.argmax())
        own, other = pos.classes.own, neg.classes.own
        diagonal = tied.diagonal.copy()
        diagonal[other.rows] += neg.slope**2 * free

        def column(v: FloatArray) -> FloatArray:
            # Change of the level of each negative, d_j = slope_j v_j - sum_i of slopes times v_i.
            moved = neg.slope * v[other.rows]
            moved -= self._slopes(neg, neg.classes.other.share * v[neg.classes.other.rows])
            moved -= moved[some]  # equal changes then cancel exactly
            # Deviation of d from its mean over these negatives, pulled back to the scores.
            force = free * (moved - float(free @ moved) / total)
            out = np.zeros_like(v)
            out[other.rows] = neg.slope * force
            out[own.rows] = -own.weight * self._slopes(pos, force[::-1].copy())
            return out

        def product(v: FloatArray) -> FloatArray:
            if v.ndim == 1:
                return tied.product(v) + column(v)
            return tied.product(v) + np.column_stack([column(c) for c in v.T])

        return PairCurvature(diagonal, product, None)

    def _slopes(self, side: PairSweep, c: FloatArray) -> FloatArray:
        """Sums of c times the slopes of the smoothed hinge, for the rows of one class."""
        own, other = side.classes
        out = np.empty(own.rows.size)
        partial.slope_sums(own.values, other.values, c, side.low, side.high, self.width, out)
        return out

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Sum over positives of dscores, for the exact loss.

        ``R = max sum_ij h_ij (1 - s_i + s_j)`` over ``0 <= h_ij <= p_i g_j / max_fpr`` with g
        feasible. A gradient of a smoothed form is the marginal ``u`` of a feasible h. As
        ``-sum h = sum_pos u`` for every h with that marginal, this is the conjugate there.
        """
        if self.smooth:
            return None
        return float(dscores[target.pairs.positive.rows].sum())

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(0.3), cls(1.0), cls(0.3, width=0.5), cls(0.05, width=2.0), cls(1.0, width=0.5)]


class _Top(NamedTuple):
    """Sweeps of both classes, the negatives weighted by their part in the top."""

    pos: PairSweep
    neg: PairSweep
    level: FloatArray  # mean pair hinge of each negative
    part: FloatArray  # how much of it is in the top
    share: FloatArray  # its weight among all negatives
