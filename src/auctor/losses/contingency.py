"""Max-margin losses of set-level scores with a fixed number of predicted positives.

A labelling flips shares ``b`` in [0, 1] of the rows so that a share ``f`` of the total weight is
predicted positive. With p the normalised row weights, ``p+`` and ``p-`` the class weights, and
``r`` the flips of the average ideal labelling (which predicts positives first)::

    R(s) = max over b of  2 [sum_pos p_i (m+ b_i - s_i (b_i - r+))
                             + sum_neg p_j (m- b_j + s_j (b_j - r-))]

which is an upper bound on the metric's loss of the labelling that predicts the top share f as
positive. Its dual has one variable, the threshold t: the minimum over t of a weighted sum of hinges
of ``t - s_i`` (positives) and ``s_j - t + m+ + m-`` (negatives). So t is a quantile of the scores,
after the margin is added to those of the negatives. At ``f = p+`` all of ``r`` is zero, and R is
that of Joachims (2005). For another f the hinges of one class also have a slope beyond the margin
(`PinballHinge`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import ClassVar, NamedTuple, Self

import numpy as np

from auctor.core.capabilities import CURVED, ByRows
from auctor.core.checks import check_real
from auctor.core.curvature import LowRankCurvature
from auctor.core.errors import DataError, ParameterError, speaks_for_itself
from auctor.core.protocols import Coupling, Splits
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses import thresholds
from auctor.kernels.losses.thresholds import Flips, Threshold
from auctor.losses.base import BaseLoss
from auctor.losses.pointwise import Hinge, PinballHinge
from auctor.losses.smoothed import CentredByWidth

#: Rounding error allowed beyond the domain of a conjugate, relative to the bound.
DOMAIN = 1e-9
#: Sum of the slopes of a shift-invariant loss that is rounding error even if all slopes are zero.
ZERO_SLOPE = 1e-13
#: Difference of shares of the total weight that is rounding error.
SHARE_ERROR = 1e-12


class Contingency(BaseLoss):
    """A loss that depends on the labelling of all rows; it needs both classes."""

    coupling = Coupling.GLOBAL

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets that are not -1/+1 or hold one class only."""
        super().check_target(target)
        for rows, name in zip(target.classes, ("positive", "negative"), strict=True):
            if rows.rows.size == 0:
                raise DataError(f"both classes; got no {name} row with weight. Pass both.")
        if target.groups is not None:
            raise DataError("rows without groups; got groups. Use a loss over pairs, or drop them.")


class Margins(NamedTuple):
    """A metric for a given target: shares of the total weight, margins and ideal flips."""

    top: float  # predicted positive
    positive: float
    margin_pos: float
    margin_neg: float

    @property
    def margin(self) -> float:
        """The margin added to the scores of the negatives, in score units."""
        return self.margin_pos + self.margin_neg

    @property
    def ideal_pos(self) -> float:
        """Share of the positives that the average ideal labelling flips."""
        return max(0.0, 1.0 - self.top / self.positive)

    @property
    def ideal_neg(self) -> float:
        """Share of the negatives that the average ideal labelling flips."""
        return max(0.0, (self.top - self.positive) / (1.0 - self.positive))

    @property
    def floor(self) -> float:
        """The metric's loss of an ideal labelling: the infimum of R."""
        pos = self.positive * self.margin_pos * self.ideal_pos
        return 2.0 * (pos + (1.0 - self.positive) * self.margin_neg * self.ideal_neg)


class ThresholdLoss(CentredByWidth, Contingency):
    """A loss whose dual variable is one threshold; a subclass defines its margins."""

    splits = Splits.THRESHOLD
    low_rank = True
    shift_invariant = True

    def margins(self, target: Target) -> Margins:
        """Shares and margins for a target."""
        raise NotImplementedError

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Loss and its gradient (a subgradient for width 0) in the scores; O(n)."""
        margins = self.margins(target)
        u, at = self._solve(scores, target, margins)
        if at is None:
            return math.nan, np.full_like(scores, np.nan)
        value, grad = self.around_threshold(u, target.wide_y, target.share, at, margins)
        return margins.floor + value, grad

    def around_threshold(
        self, u: FloatArray, y: FloatArray, share: FloatArray, at: Threshold, margins: Margins
    ) -> tuple[float, FloatArray]:
        """Terms of some rows, with raised scores u, in the loss and its gradient."""
        grad = np.empty_like(u)
        rest = margins.ideal_pos, 1.0 - margins.ideal_neg
        return thresholds.threshold_loss(u, y, share, *at, self.width, *rest, grad), grad

    def raised(self, scores: FloatArray, y: FloatArray, margins: Margins) -> FloatArray:
        """Scores with the margin added to those of the negatives."""
        u = np.empty_like(scores)
        thresholds.augment(scores, y, margins.margin - self.width, u)
        return u

    def curvature(self, scores: FloatArray, target: Target) -> LowRankCurvature:
        """Generalised Hessian ``2/width (diag(a) - a a'/sum a)``, a the weights on the ramp."""
        if not self.smooth:
            raise CURVED.lacks(self)
        u, at = self._solve(scores, target, self.margins(target))
        # Without rows on the ramp the loss is locally linear.
        active = np.zeros_like(scores)
        total = 0.0
        if at is not None:
            total = thresholds.on_ramp(u, target.share, at.low, self.width, active)
        stiff = 2.0 / self.width
        core = np.array([[-stiff / total if total > 0.0 else 0.0]])
        return LowRankCurvature(stiff * active, active[:, None], core)

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Flips that the slopes stand for: negative for positives, positive for negatives."""
        return self.centre_of(dscores, target.y, target.share, self.margins(target))

    def centre_of(
        self, dscores: FloatArray, y: FloatArray, share: FloatArray, margins: Margins
    ) -> FloatArray:
        """`centre` for some of the rows; their shares are relative to all rows."""
        positive = y > 0.0
        toward = np.where(positive, -dscores, dscores)
        # dscores = 2 y (ideal - flip) share, solved for the flip.
        ideal = np.where(positive, margins.ideal_pos, margins.ideal_neg)
        mass = np.asarray(share * ideal + 0.5 * toward)
        flips = np.divide(mass, share, out=np.zeros_like(mass), where=share > 0.0)
        return np.where(positive, -flips, flips)

    def margin(self, target: Target) -> float | None:
        """The margin added to the scores of the negatives."""
        return self.margins(target).margin

    def by_rows(self, target: Target) -> ByRows:
        """The exact loss as a sum over rows with an unpenalised intercept, the threshold."""
        margins = self.margins(target)
        tilt = margins.ideal_pos or -margins.ideal_neg
        loss = PinballHinge(tilt) if tilt else Hinge()
        return ByRows(loss, 2.0 / margins.margin, margins.margin, margins.floor)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Minus the metric's part of R at the flips that ``dscores`` stands for.

        It is infinite where a flip is outside [0, 1]. Gradients of smoothed forms, their convex
        combinations and their multiples in [0, 1] are inside.
        """
        if self.smooth:
            return None
        margins, share = self.margins(target), target.share
        flips = self.flips_of(dscores, target.wide_y, share, margins, float(share.max()))
        return self.conjugate_of_flips(flips, margins)

    def flips_of(
        self, dscores: FloatArray, y: FloatArray, share: FloatArray, margins: Margins, most: float
    ) -> Flips:
        """Flips that the slopes of some rows stand for; ``most`` is the largest share of a row."""
        ideal = margins.ideal_pos, margins.ideal_neg
        return thresholds.flips(dscores, y, share, ideal, DOMAIN, most)

    def conjugate_of_flips(self, flips: Flips, margins: Margins) -> float | None:
        """The conjugate at slopes that stand for these flips."""
        if self.smooth:
            return None
        # The slopes of a shift-invariant loss sum to zero.
        if flips.outside or not abs(flips.slope) <= DOMAIN * flips.size + ZERO_SLOPE:
            return math.inf
        return -2.0 * (margins.margin_pos * flips.positive + margins.margin_neg * flips.negative)

    def infimum(self, target: Target) -> float:
        """The metric's loss of an ideal labelling, less the effect of smoothing."""
        m = self.margins(target)
        spread = m.positive * m.ideal_pos**2 + (1.0 - m.positive) * m.ideal_neg**2
        return m.floor - self.width * spread

    def threshold(self, scores: FloatArray, target: Target) -> float:
        """Decision threshold: half the margin below the optimal t, mid-way where t is an interval.

        Examples
        --------
        >>> import numpy as np
        >>> Prbep().threshold(np.array([3.0, 1.0]), Target(np.array([1.0, -1.0])))
        2.0
        """
        margins, share = self.margins(target), target.share
        u = np.empty_like(scores)
        thresholds.augment(scores, target.wide_y, margins.margin, u)
        low, below, tied = thresholds.quantile(u, share, 1.0 - margins.top)
        # The goal is reached exactly between two scores: every t between them is optimal.
        high = low
        if abs(below + tied - (1.0 - margins.top)) <= SHARE_ERROR:
            high = thresholds.next_above(u, share, low)
        return 0.5 * (low + high) - 0.5 * margins.margin

    def _solve(
        self, scores: FloatArray, target: Target, margins: Margins
    ) -> tuple[FloatArray, Threshold | None]:
        """Raised scores and the threshold of their top share, ``None`` if any score is NaN."""
        u = np.empty_like(scores)
        if thresholds.augment(scores, target.wide_y, margins.margin - self.width, u):
            return u, None
        return u, thresholds.threshold(u, target.share, 1.0 - margins.top, self.width)


def _class_weights(target: Target) -> tuple[float, float]:
    """Total weight, and the positives' share of it."""
    positive, negative = (rows.total for rows in target.classes)
    return positive + negative, positive / (positive + negative)


@dataclass(frozen=True)
class Prbep(ThresholdLoss):
    """Max-margin loss of 1 - precision at the break-even point, where precision equals recall.

    As many rows are predicted positive as there are positives. It is the hinge loss of a linear
    SVM with a free bias and margin ``n / (2 n+)``; its value at constant scores is
    ``min(1, n- / n+)``.

    Parameters
    ----------
    width : float >= 0
        Length of the quadratic piece, in score units; 0 is the exact loss.

    Examples
    --------
    >>> import numpy as np
    >>> Prbep().value(np.zeros(3), Target(np.array([1.0, -1.0, -1.0])))
    1.0

    References
    ----------
    Joachims, A support vector method for multivariate performance measures, 2005; Zhang, Saha,
    Vishwanathan, Smoothing multivariate performance measures, JMLR 2012.
    """

    width: float = 0.0

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("width", self.width, low=0.0)

    def margins(self, target: Target) -> Margins:
        """Shares and margins for a target."""
        _, positive = _class_weights(target)
        return Margins(positive, positive, 0.5 / positive, 0.0)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(width=0.5), cls(width=2.0)]


@dataclass(frozen=True)
class AtK(ThresholdLoss):
    """Base class of the losses of precision and recall at k.

    Parameters
    ----------
    k : int >= 1 or float in (0, 1]
        Amount predicted positive: that much weight (a number of rows, if they have no weights), or
        that fraction of the total weight. It may exceed the weight of the positives.
    width : float >= 0
        Length of the quadratic piece, in score units; 0 is the exact loss.
    """

    k: int | float
    width: float = 0.0

    #: Whether the loss is 1 - precision, else 1 - recall.
    precision: ClassVar[bool]

    @speaks_for_itself
    def __post_init__(self) -> None:
        k = self.k
        real = isinstance(k, Real) and not isinstance(k, bool)
        if not real or not (k >= 1 if isinstance(k, Integral) else 0.0 < k <= 1.0):
            raise ParameterError(
                f"`k` to be an integer of at least 1 or a fraction in (0, 1]; got {k!r}. Pass a "
                "number of rows or a fraction of them."
            )
        check_real("width", self.width, low=0.0)

    def check_target(self, target: Target) -> None:
        """Refuse targets with one class only, and a k above the total weight."""
        super().check_target(target)
        self.margins(target)

    @speaks_for_itself
    def margins(self, target: Target) -> Margins:
        """Shares and margins for a target."""
        total, positive = _class_weights(target)
        top = self.k / total if isinstance(self.k, Integral) else float(self.k)
        if top > 1.0 + SHARE_ERROR:
            raise DataError(
                f"`k` of at most the total weight of the rows, {total:g}; got {self.k}. Pass a "
                "smaller k or a fraction in (0, 1]."
            )
        top = min(top, 1.0)
        if self.precision:
            return Margins(top, positive, 0.0, 0.5 / top)
        return Margins(top, positive, 0.5 / positive, 0.0)

    def per_row(self, total: float) -> Self:
        """The loss with an integer k, of rows of weight ``total``, as a share of them.

        A k above ``total`` is left as it is: training refuses it.
        """
        counts = isinstance(self.k, Integral) and self.k <= total
        return replace(self, k=float(self.k / total)) if counts else self

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(0.2), cls(0.2, width=0.5), cls(0.6), cls(0.6, width=2.0)]


@dataclass(frozen=True)
class PrecisionAtK(AtK):
    """Max-margin loss of 1 - precision among the top k, an upper bound of it.

    Parameters
    ----------
    k : int >= 1 or float in (0, 1]
        Weight predicted positive (rows, if they have no weights), or its fraction of the total.
    width : float >= 0
        Length of the quadratic piece, in score units; 0 is the exact loss.

    Examples
    --------
    >>> import numpy as np
    >>> PrecisionAtK(1).value(np.array([2.0, 0.0, 0.0]), Target(np.array([1.0, -1.0, -1.0])))
    0.0
    """

    precision = True


@dataclass(frozen=True)
class RecallAtK(AtK):
    """Max-margin loss of 1 - recall of the top k, an upper bound of it.

    Parameters
    ----------
    k : int >= 1 or float in (0, 1]
        Weight predicted positive (rows, if they have no weights), or its fraction of the total.
    width : float >= 0
        Length of the quadratic piece, in score units; 0 is the exact loss.

    Examples
    --------
    >>> import numpy as np
    >>> RecallAtK(2).value(np.array([5.0, 0.0, 0.0]), Target(np.array([1.0, -1.0, -1.0])))
    0.0
    """

    precision = False
