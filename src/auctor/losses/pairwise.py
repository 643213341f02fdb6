"""Losses over all (positive, negative) pairs: surrogates of 1 - AUC.

A pair (i, j) weighs ``p_i q_j``, the product of the row weights normalised within each class. The
loss does not change when a constant is added to all scores. Where the target has groups, only pairs
inside a group count; a group has a weight in proportion to that of its rows, and groups without
one of the classes are ignored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from auctor.core.capabilities import CURVED, Evaluation
from auctor.core.checks import check_real
from auctor.core.curvature import Curvature, LowRankCurvature, PairCurvature
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Coupling, Splits
from auctor.core.types import FloatArray, IntArray, PairRows, PairSplit, Target
from auctor.kernels.losses import pairs
from auctor.losses.base import BaseLoss
from auctor.losses.contingency import DOMAIN
from auctor.losses.pointwise import Hinge, SmoothedHinge
from auctor.losses.smoothed import SmoothedByWidth
from auctor.losses.sorted_pairs import (
    Opposing,
    PairSweep,
    SortedClass,
    SortedClasses,
    SortedEvaluation,
    gradient,
    run_both,
    window_curvature,
)


class Pairwise(BaseLoss):
    """A loss over pairs; needs both classes."""

    coupling = Coupling.GLOBAL

    splits = Splits.PAIRS
    shift_invariant = True

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets that are not -1/+1, or have no pair."""
        super().check_target(target)
        for rows, name in zip(target.classes, ("positive", "negative"), strict=True):
            if rows.rows.size == 0:
                raise DataError(f"both classes; got no {name} row with weight. Pass both.")
        groups = target.groups
        if groups is None:
            return
        if groups.shape != target.y.shape or groups.dtype.kind not in "iu":
            raise DataError(
                f"one integer group code per row; got {groups.dtype} of shape {groups.shape}. "
                "Encode the groups first."
            )
        if target.pairs.part.size == 0:
            raise DataError(
                f"a group with both classes; got {np.unique(groups).size} groups, none with a "
                "positive and a negative row. Pass coarser groups, or none."
            )


class PairwiseSquare(Pairwise):
    """Pairwise square loss: mean over pairs of ``(1 - s_i + s_j)^2``, in O(n).

    It depends only on the class means and variances of the scores:
    ``R = (1 - m_pos + m_neg)^2 + v_pos + v_neg``.

    Examples
    --------
    >>> import numpy as np
    >>> PairwiseSquare().value(np.array([1.0, 0.0]), Target(np.array([1.0, -1.0])))
    0.0

    References
    ----------
    Gao et al., One-pass AUC optimization, 2013.
    """

    order = 2
    quadratic = True

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores."""
        pos, neg, part = target.pairs
        mean_pos, mean_neg = (
            pairs.group_means(scores, side.rows, side.share, side.start) for side in (pos, neg)
        )
        # R = miss^2 + v_pos + v_neg, group by group.
        miss = 1.0 - mean_pos + mean_neg
        value, grad = float(part @ (miss * miss)), np.zeros_like(scores)
        for side, mean, shift in ((pos, mean_pos, -miss), (neg, mean_neg, miss)):
            value += pairs.square_slopes(
                scores, side.rows, side.weight, side.start, mean, shift, grad
            )
        return value, grad

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """``2 diag(p, q) - 2 (p q' + q p')``; a sum of such matrices where there are groups."""
        pos, neg, _ = target.pairs
        if target.groups is not None:
            return _complete(scores.shape[0], pos, neg, 2.0)
        return _rank_two(scores.shape[0], pos, neg, 2.0, 2.0)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sum_pos (u + c p)^2/(4p) + sum_neg (u - c q)^2/(4q) - c + c^2/4``, c = -sum_pos u.

        Infinite unless dscores sum to zero in each group and vanish on rows without a pair.
        """
        pos, neg, part = target.pairs
        mass = _balanced(dscores, target.pairs)
        if mass is None:
            return math.inf
        total = 0.0
        for side, sign in ((pos, 1.0), (neg, -1.0)):
            off = dscores[side.rows] + sign * _per_row(mass, side) * side.share
            total += 0.25 * float((off * off / side.weight).sum())
        return total + float((0.25 * mass * mass / part - mass).sum())


class PairwiseExponential(Pairwise):
    """Mean over pairs of ``exp(-(s_i - s_j))``, in O(n): a product of two sums.

    Examples
    --------
    >>> import numpy as np
    >>> PairwiseExponential().value(np.zeros(2), Target(np.array([1.0, -1.0])))
    1.0

    References
    ----------
    Rudin, Schapire, Margin-based ranking and an equivalence between AdaBoost and RankBoost, 2009.
    """

    order = 2
    low_rank = True

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores."""
        pos, neg, part = target.pairs
        (up, log_pos), (down, log_neg), size = _tilted(scores, target.pairs)
        grad = np.zeros_like(scores)
        # Slope of row i: its own exponential times the sum over the other class, in logs.
        with np.errstate(over="ignore"):
            grad[pos.rows] = -np.exp(log_pos + _per_row(down + np.log(part), pos))
            grad[neg.rows] = np.exp(log_neg + _per_row(up + np.log(part), neg))
        return float(size.sum()), grad

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """``R (diag(u, v) - u v' - v u')`` with u, v the shares tilted by the scores."""
        pos, neg, part = target.pairs
        (up, log_pos), (down, log_neg), size = _tilted(scores, target.pairs)
        sides = []
        # Normalised by the own class for the low-rank part; times the other class for the diagonal.
        for side, logs, own, other in ((pos, log_pos, up, down), (neg, log_neg, down, up)):
            share = np.exp(logs - _per_row(own, side))
            with np.errstate(over="ignore"):
                weight = np.exp(logs + _per_row(other + np.log(part), side))
            sides.append(side._replace(share=share, weight=weight))
        if target.groups is not None:
            return _complete(scores.shape[0], sides[0], sides[1], 1.0)
        return _rank_two(scores.shape[0], sides[0], sides[1], 1.0, float(size[0]))

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sum_pos |u| log(|u|/p) + sum_neg u log(u/q) - c log c - c``, c = sum_neg u.

        Infinite unless dscores sum to zero in each group, are at most 0 on positives, at least 0
        on negatives and vanish on rows without a pair.
        """
        pos, neg, part = target.pairs
        mass = _balanced(dscores, target.pairs)
        if mass is None:
            return math.inf
        total = scipy.special.rel_entr(-dscores[pos.rows], pos.weight).sum()
        total += scipy.special.rel_entr(dscores[neg.rows], neg.weight).sum()
        return float(total - scipy.special.rel_entr(mass, part).sum() - mass.sum())


class SortedPairwise(Pairwise):
    """A loss whose sums over pairs are sweeps over the sorted scores of both classes."""

    #: Margin that is added to the scores of the negatives before both classes are sorted.
    raised: ClassVar[float] = 1.0

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """The loss at some scores; reuses the sorted order of ``near`` if the scores are equal."""
        return SortedEvaluation(self, scores, target, near)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores."""
        classes = SortedClasses.of(scores, target, self.raised)
        return self.sorted_value_grad(scores, classes)

    def curvature(self, scores: FloatArray, target: Target) -> PairCurvature:
        """Second derivative in the scores."""
        return self.sorted_curvature(scores, SortedClasses.of(scores, target, self.raised))

    def sorted_value_grad(
        self, scores: FloatArray, classes: SortedClasses
    ) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores, whose classes are sorted."""
        raise NotImplementedError

    def sorted_curvature(self, scores: FloatArray, classes: SortedClasses) -> PairCurvature:
        """Second derivative in the scores, whose classes are sorted."""
        raise CURVED.lacks(self)


class Windowed(SortedPairwise):
    """A loss whose sums over pairs are sweeps of a window over the sorted scores."""

    def sorted_value_grad(
        self, scores: FloatArray, classes: SortedClasses
    ) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores, whose classes are sorted."""
        pos, neg = self._swept(scores, classes, windows=False)
        if any(np.isnan(side.classes.own.values).any() for side in (pos, neg)):
            return math.nan, np.full_like(scores, math.nan)
        return pos.value, gradient(scores, pos, neg)

    def _swept(
        self, scores: FloatArray, classes: SortedClasses, windows: bool = True
    ) -> tuple[PairSweep, PairSweep]:
        first, second = classes
        size = scores.shape[0]
        return run_both(
            lambda: self._sweep(first, windows), lambda: self._sweep(second, windows), size
        )

    def _sweep(self, classes: Opposing, windows: bool) -> PairSweep:
        raise NotImplementedError


class PairwiseSquaredHinge(Windowed):
    """Mean over pairs of ``max(0, 1 - s_i + s_j)^2``; O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> PairwiseSquaredHinge().value(np.array([0.0, 1.0]), Target(np.array([1.0, -1.0])))
    4.0

    References
    ----------
    Lee, Lin, Large-scale linear rankSVM, 2014.
    """

    order = 2

    def _sweep(self, classes: Opposing, windows: bool) -> PairSweep:
        slope, low, high = allocate_windows(classes.own.rows.size, windows)
        value = pairs.square_windows(*arrays(classes), slope, low, high)
        return PairSweep(classes, value, slope, low, high)

    def sorted_curvature(self, scores: FloatArray, classes: SortedClasses) -> PairCurvature:
        """Generalised Hessian; the second derivative of a pair with ``z > 0`` is 2."""
        return window_curvature(scores.shape[0], *self._swept(scores, classes), 2.0)


@dataclass(frozen=True)
class PairwiseHinge(SmoothedByWidth, Windowed):
    """Mean over pairs of the hinge of ``1 - s_i + s_j``, smoothed over ``width``; O(n log n).

    ``H(z) = 0`` for z <= 0, ``z^2/(2 width)`` up to width, ``z - width/2`` beyond; width 0 is the
    exact hinge, an upper bound of 1 - AUC.

    Parameters
    ----------
    width : float >= 0
        Length of the quadratic piece, in score units.

    Examples
    --------
    >>> import numpy as np
    >>> PairwiseHinge().value(np.zeros(2), Target(np.array([1.0, -1.0])))
    1.0

    References
    ----------
    Zhang, Saha, Vishwanathan, Smoothing multivariate performance measures, JMLR 2012.
    """

    width: float = 0.0

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("width", self.width, low=0.0)

    @property
    def per_pair(self) -> Hinge:
        """The loss of one pair: the hinge of the difference of its scores."""
        return SmoothedHinge(self.width) if self.smooth else Hinge()

    @property
    def pair_square(self) -> PairwiseSquare:
        """The square loss of the same pairs, whose curvature is constant and of low rank."""
        return PairwiseSquare()

    def _sweep(self, classes: Opposing, windows: bool) -> PairSweep:
        slope, low, high = allocate_windows(classes.own.rows.size, windows)
        value = pairs.hinge_windows(*arrays(classes), self.width, slope, low, high, None)
        return PairSweep(classes, value, slope, low, high)

    def sorted_curvature(self, scores: FloatArray, classes: SortedClasses) -> PairCurvature:
        """Generalised Hessian; a pair with ``0 < z < width`` has the second derivative 1/width."""
        if not self.smooth:
            raise CURVED.lacks(self)
        return window_curvature(scores.shape[0], *self._swept(scores, classes), 1.0 / self.width)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Sum over positives of dscores, for the exact hinge.

        Valid at any gradient of a smoothed form: such a gradient is the marginal of pair weights in
        [0, 1], where the conjugate of the exact hinge is this sum.
        """
        if self.smooth:
            return None
        return self.conjugate_of_total(float(dscores[target.pairs.positive.rows].sum()))

    def conjugate_of_total(self, total: float) -> float | None:
        """The conjugate, given the sum of dscores over the positives."""
        return None if self.smooth else total

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(width=0.5), cls(width=2.0)]


def allocate_windows(size: int, windows: bool = True) -> tuple[FloatArray, IntArray, IntArray]:
    """Empty arrays for slopes and, if a curvature needs them, for the bounds of windows."""
    many = size if windows else 0
    return np.empty(size), np.empty(many, dtype=np.int64), np.empty(many, dtype=np.int64)


def arrays(
    classes: Opposing,
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray, IntArray]:
    """The first arguments of every sweep."""
    own, other = classes
    return own.values, own.weight, own.starts, other.values, other.share, other.starts


def _sums(x: FloatArray, side: PairRows) -> FloatArray:
    """Sum over the rows of each group."""
    if not side.group.size:
        return np.array([x.sum()])
    sums: FloatArray = np.bincount(side.group, x, minlength=side.start.size - 1).astype(float)
    return sums


def _per_row(x: FloatArray, side: PairRows) -> FloatArray:
    """Repeat the value of each group for each of its rows."""
    return x[side.group] if side.group.size else np.broadcast_to(x, side.rows.shape)


_Tilt = tuple[FloatArray, FloatArray]


def _tilted(scores: FloatArray, split: PairSplit) -> tuple[_Tilt, _Tilt, FloatArray]:
    """Logs of ``p e^-s`` by group (summed) and by row, those of ``q e^s``, and loss by group."""
    tilts = []
    for side, sign in ((split.positive, -1.0), (split.negative, 1.0)):
        logs = sign * scores[side.rows] + np.log(side.share)
        # Subtract the largest exponent of each group: no overflow.
        top = np.maximum.reduceat(logs, side.start[:-1])
        total = _sums(np.exp(logs - _per_row(top, side)), side)
        tilts.append((top + np.log(total), logs))
    up, down = tilts
    with np.errstate(over="ignore"):
        return up, down, np.exp(up[0] + down[0] + np.log(split.part))


def _balanced(dscores: FloatArray, split: PairSplit) -> FloatArray | None:
    """``-sum_pos u = sum_neg u`` by group; ``None`` if they differ or other rows are non-zero."""
    own, other = dscores[split.positive.rows], dscores[split.negative.rows]
    size = float(np.abs(dscores).sum())
    inside = float(np.abs(own).sum() + np.abs(other).sum())
    up, down = _sums(own, split.positive), _sums(other, split.negative)
    if np.abs(up + down).max() > DOMAIN * size or inside < (1.0 - DOMAIN) * size:
        return None
    mass: FloatArray = 0.5 * (down - up)
    return mass


def _rank_two(
    n_rows: int, pos: PairRows, neg: PairRows, scale: float, stiffness: float
) -> LowRankCurvature:
    """``scale diag(weights) - stiffness (p q' + q p')``: curvature of all pairs of one group."""
    columns = np.zeros((2, n_rows))
    columns[0, pos.rows], columns[1, neg.rows] = pos.share, neg.share
    diagonal = np.zeros(n_rows)
    diagonal[pos.rows], diagonal[neg.rows] = scale * pos.weight, scale * neg.weight
    core = np.array([[0.0, -stiffness], [-stiffness, 0.0]])
    return LowRankCurvature(diagonal, columns.T, core)


def _complete(n_rows: int, pos: PairRows, neg: PairRows, stiffness: float) -> PairCurvature:
    """Curvature of equal stiffness for all pairs of each group."""
    first, second = (SortedClass(c.rows, c.share, c.share, c.weight, c.start) for c in (pos, neg))

    # The window of every row is all rows of the other class in its group.
    def swept(own: SortedClass, other: SortedClass, group: IntArray) -> PairSweep:
        classes = Opposing(own, other)
        return PairSweep(classes, 0.0, own.share, other.starts[group], other.starts[group + 1])

    one, two = swept(first, second, pos.group), swept(second, first, neg.group)
    return window_curvature(n_rows, one, two, stiffness)
