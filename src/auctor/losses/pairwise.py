"""Losses over all (positive, negative) pairs: surrogates of 1 - AUC.

A pair (i, j) weighs ``p_i q_j``, the product of the row weights normalised within each class, and
enters through the margin ``z = 1 - s_i + s_j``. Adding a constant to all scores changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_real
from auctor.core.curvature import LowRankCurvature, PairCurvature
from auctor.core.errors import DataError
from auctor.core.needs import Coupling
from auctor.core.types import FloatArray, IntArray, Target
from auctor.kernels import pairs
from auctor.kernels.sorting import ascending_order
from auctor.losses.base import BaseLoss


class Pairwise(BaseLoss):
    """A loss over pairs; needs both classes."""

    coupling = Coupling.GLOBAL

    @property
    def shift_invariant(self) -> bool:
        """Whether a constant added to all scores changes nothing."""
        return True

    def check_target(self, target: Target) -> None:
        """Refuse targets that are not -1/+1 or hold one class only."""
        super().check_target(target)
        for rows, name in zip(target.classes, ("positive", "negative"), strict=True):
            if rows.rows.size == 0:
                raise DataError(
                    f"{type(self).__name__} needs both classes; got no {name} row with weight. "
                    "Pass data with two classes."
                )


class PairwiseSquare(Pairwise):
    """Pairwise square loss: mean over pairs of ``(1 - s_i + s_j)^2``, in O(n).

    It depends on the class means and variances of the scores alone:
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

    @property
    def order(self) -> int:
        """0 value only, 1 gradient, 2 curvature."""
        return 2

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is constant."""
        return True

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores."""
        (pos, p, _), (neg, q, _) = target.classes
        s_pos, s_neg = scores[pos], scores[neg]
        mean_pos, mean_neg = float(p @ s_pos), float(q @ s_neg)
        dev_pos, dev_neg = s_pos - mean_pos, s_neg - mean_neg
        miss = 1.0 - mean_pos + mean_neg
        value = miss * miss + float(p @ (dev_pos * dev_pos)) + float(q @ (dev_neg * dev_neg))
        grad = np.zeros_like(scores)
        grad[pos] = 2.0 * p * (dev_pos - miss)
        grad[neg] = 2.0 * q * (dev_neg + miss)
        return value, grad

    def curvature(self, scores: FloatArray, target: Target) -> LowRankCurvature:
        """``2 diag(p, q) - 2 (p q' + q p')``."""
        (pos, p, _), (neg, q, _) = target.classes
        columns = np.zeros((2, scores.shape[0]))
        columns[0, pos] = p
        columns[1, neg] = q
        core = np.array([[0.0, -2.0], [-2.0, 0.0]])
        return LowRankCurvature(2.0 * (columns[0] + columns[1]), columns.T, core)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sum_pos (u + c p)^2/(4p) + sum_neg (u - c q)^2/(4q) - c + c^2/4``, c = -sum_pos u.

        Infinite unless dscores sum to zero and vanish on rows without weight.
        """
        (pos, p, _), (neg, q, _) = target.classes
        size = float(np.abs(dscores).sum())
        u_pos, u_neg = dscores[pos], dscores[neg]
        weighed = float(np.abs(u_pos).sum() + np.abs(u_neg).sum())
        if abs(float(dscores.sum())) > 1e-9 * size or weighed < (1.0 - 1e-9) * size:
            return math.inf
        c = 0.5 * float(u_neg.sum() - u_pos.sum())
        spread = float(((u_pos + c * p) ** 2 / p).sum() + ((u_neg - c * q) ** 2 / q).sum())
        return 0.25 * spread - c + 0.25 * c * c


@dataclass(frozen=True)
class PairwiseHinge(Pairwise):
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

    def __post_init__(self) -> None:
        check_real("PairwiseHinge", "width", self.width, low=0.0)

    @property
    def smooth(self) -> bool:
        """Whether the gradient is continuous."""
        return self.width > 0.0

    @property
    def order(self) -> int:
        """0 value only, 1 gradient, 2 curvature."""
        return 2 if self.smooth else 1

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores."""
        value, pos, neg = _sweep(scores, target, self.width)
        grad = np.zeros_like(scores)
        grad[pos.rows] = -pos.share * pos.slope
        grad[neg.rows] = neg.share * neg.slope
        return value, grad

    def curvature(self, scores: FloatArray, target: Target) -> PairCurvature:
        """Generalised Hessian: pairs with ``0 < z < width`` are springs of stiffness 1/width."""
        if not self.smooth:
            raise self._lacks("curvature")
        _, pos, neg = _sweep(scores, target, self.width)
        diagonal = np.zeros_like(scores)
        for own, other in ((pos, neg), (neg, pos)):
            mass = np.concatenate(([0.0], np.cumsum(other.share)))
            diagonal[own.rows] = own.share * (mass[own.high] - mass[own.low]) / self.width

        def product(v: FloatArray) -> FloatArray:
            flat = v if v.ndim == 2 else v[:, None]
            out = np.zeros_like(flat)
            for own, other in ((pos, neg), (neg, pos)):
                part = np.empty((own.rows.size, flat.shape[1]))
                pairs.window_product(
                    own.low, own.high, flat[own.rows], flat[other.rows], other.share, part
                )
                out[own.rows] = own.share[:, None] * part / self.width
            return out if v.ndim == 2 else out[:, 0]

        return PairCurvature(diagonal, product, lambda size: _draw(pos, neg, self.width, size))

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Sum over positives of dscores for the exact hinge, at any gradient of a smoothed form.

        Such a gradient is a marginal of pair weights in [0, 1], where this is the conjugate.
        """
        if self.smooth:
            return None
        return float(dscores[target.classes.positive.rows].sum())

    def smoothed(self, width: float) -> PairwiseHinge | None:
        """The Huberised form below it, within width/2; a smooth loss needs none."""
        return None if self.smooth else PairwiseHinge(width)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(width=0.5), cls(width=2.0)]


class _Side(NamedTuple):
    """One class by ascending score: slope of each row and its window in the other class."""

    rows: IntArray
    share: FloatArray
    slope: FloatArray
    low: IntArray
    high: IntArray


def _sweep(scores: FloatArray, target: Target, width: float) -> tuple[float, _Side, _Side]:
    """Sort each class and sweep it against the other; value, positives, negatives."""
    (pos, p, _), (neg, q, _) = target.classes
    a, t = scores[pos] - 1.0, scores[neg]
    up_pos, up_neg = ascending_order(a), ascending_order(t)
    a, p, t, q = a[up_pos], p[up_pos], t[up_neg], q[up_neg]
    value, slope, low, high = _windows(a, p, t, q, width)
    first = _Side(pos[up_pos], p, slope, low, high)
    # From the negatives' side z = (-a) - (-t): the same sweep on negated, reversed arrays.
    t_down, q_down, a_down, p_down = (np.ascontiguousarray(x[::-1]) for x in (-t, q, -a, p))
    _, slope, low, high = _windows(t_down, q_down, a_down, p_down, width)
    if np.isnan(a[-1]) or np.isnan(t[-1]):
        value = np.nan  # NaN sorts last, where the sweep may not look
    m = a.size
    second = _Side(neg[up_neg], q, slope[::-1], m - high[::-1], m - low[::-1])
    return value, first, second


def _draw(pos: _Side, neg: _Side, width: float, size: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Systematic sample of the pairs inside the windows, in proportion to their weight."""
    mass = np.concatenate(([0.0], np.cumsum(neg.share)))
    weight = pos.share * (mass[pos.high] - mass[pos.low])
    below = np.concatenate(([0.0], np.cumsum(weight)))
    total = below[-1]
    at = (np.arange(size) + 0.5) * (total / size)
    i = np.minimum(np.searchsorted(below, at, side="right") - 1, pos.rows.size - 1)
    # Multiples of the golden ratio spread the partners evenly over the windows.
    inside = (np.arange(size) * 0.6180339887498949) % 1.0
    within = mass[pos.low[i]] + inside * (mass[pos.high[i]] - mass[pos.low[i]])
    j = np.minimum(np.searchsorted(mass, within, side="right") - 1, neg.rows.size - 1)
    return pos.rows[i], neg.rows[j], np.full(size, total / (size * width))


def _windows(
    a: FloatArray, p: FloatArray, t: FloatArray, q: FloatArray, width: float
) -> tuple[float, FloatArray, IntArray, IntArray]:
    slope = np.empty(a.size)
    low, high = np.empty(a.size, dtype=np.int64), np.empty(a.size, dtype=np.int64)
    return pairs.hinge_windows(a, p, t, q, width, slope, low, high), slope, low, high
