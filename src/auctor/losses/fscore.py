"""Max-margin loss of 1 - F-beta, exact in O(n log n), with a smoothed form.

A labelling with false negatives of weight B and false positives of weight C has
``F = (1 + beta^2) (m - B) / ((1 + beta^2) m - B + C)``, m the weight of the positives, all as
shares of the total. ``F <= phi`` is linear in the flips, so the loss is the maximum over one
number, phi, of knapsack problems with one multiplier each. Smoothing each knapsack problem by a
quadratic term, and the maximum over a grid of phi by log-sum-exp, gives a smooth lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.capabilities import CURVED, Shifted, Shifts
from auctor.core.checks import check_real
from auctor.core.curvature import PairCurvature
from auctor.core.errors import speaks_for_itself
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.shift import ShiftedScores
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.losses import fscore
from auctor.losses.base import BaseLoss
from auctor.losses.contingency import DOMAIN, Contingency
from auctor.losses.smoothed import SmoothedByWidth

#: Below this ``1 + beta^2`` is 1 to 12 digits, and F-beta is precision.
SMALLEST_BETA = 1e-6
#: Above this ``1 + beta^2`` is ``beta^2`` to 12 digits, and F-beta is recall.
LARGEST_BETA = 1e6
#: Curvature that is a difference of two terms counts as zero up to this share of them.
NO_CURVATURE = 1e-13
#: Distance beyond its ends up to which a value counts as on a ramp, in widths; above rounding.
EDGE = 1e-9
#: Part of the width for the ramps of the knapsack problems, whose curvature limits solvers.
RAMP_PART = 0.75
#: Part of the width for the error of the grid of levels, and as much for that of the log-sum-exp.
LEVEL_PART = 0.125
#: Fewest halvings of the grid of levels of F.
FEWEST_HALVINGS = 3
#: Weight of a level, as a share of all, below which it is left out.
LIGHTEST_LEVEL = 1e-18


@dataclass(frozen=True)
class FBeta(SmoothedByWidth, Contingency):
    """Max-margin loss of 1 - F-beta, an upper bound of it at the threshold 0.

    ``max over labellings z of 1 - F(z) + sum_i p_i s_i (z_i - y_i)``, p the normalised weights.

    Parameters
    ----------
    beta : float in [1e-6, 1e6]
        Weight of recall against precision.
    width : float >= 0
        Largest distance of the smoothed form below the exact one, which has width 0.
    whole : bool
        Flip whole rows only, as SVM-perf does. Otherwise rows may be flipped in part, so that
        integer weights equal repeated rows; the two differ by at most
        ``(1 + beta^2) p^2 / (4 beta^6 m^2)``, p the share of the heaviest negative and m that of
        all positives. Width 0 only, and without a smoothed form: for cutting planes.

    Examples
    --------
    >>> import numpy as np
    >>> FBeta().value(np.zeros(2), Target(np.array([1.0, -1.0])))
    1.0

    References
    ----------
    Joachims, A support vector method for multivariate performance measures, 2005.
    """

    beta: float = 1.0
    width: float = 0.0
    whole: bool = False

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("beta", self.beta, low=SMALLEST_BETA, high=LARGEST_BETA)
        check_real("width", self.width, low=0.0, high=0.0 if self.whole else math.inf)

    @property
    def factor(self) -> float:
        """``1 + beta^2``."""
        return 1.0 + self.beta * self.beta

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Loss and its gradient (a subgradient for width 0) in the scores."""
        grad = np.zeros_like(scores)
        pos, neg = _ordered(scores, target)
        if np.isnan(pos.value[[0, -1]]).any() or np.isnan(neg.value[[0, -1]]).any():
            grad.fill(np.nan)
            return math.nan, grad
        value, flip_pos, flip_neg = (self._smoothed if self.smooth else self._exact)(pos, neg)
        grad[pos.rows] = -2.0 * pos.share * flip_pos
        grad[neg.rows] = 2.0 * neg.share * flip_neg
        return value, grad

    def _exact(self, pos: _Class, neg: _Class) -> tuple[float, FloatArray, FloatArray]:
        """Value, and flipped shares of the positives and of the negatives."""
        value, b, c, part = fscore.worst_labelling(
            pos.value, pos.share, -neg.value, neg.share, self.factor, self.whole
        )
        flip_pos, flip_neg = np.zeros_like(pos.value), np.zeros_like(neg.value)
        flip_pos[:b] = 1.0
        flip_neg[:c] = 1.0
        if part > 0.0:
            flip_neg[c] = part
        return value, flip_pos, flip_neg

    def _smoothed(self, pos: _Class, neg: _Class) -> tuple[float, FloatArray, FloatArray]:
        """Value, and flipped shares of positives and negatives: weighted means over levels of F."""
        mixture = _Mixture.of(self, pos.side, neg.side)
        flip_pos = _ramps(pos, mixture.up * mixture.mu, mixture.weight, mixture.ramp)
        flip_neg = _ramps(neg, mixture.phi * mixture.mu, mixture.weight, mixture.ramp)
        return mixture.value, flip_pos, flip_neg

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores, which are sorted once."""
        if not np.isfinite(scores).all():
            return ShiftedScores(self, scores, target)
        return _FBetaShifts(self, *_ordered(scores, target))

    def curvature(self, scores: FloatArray, target: Target) -> PairCurvature:
        """Generalised Hessian of the smoothed form; a product takes O(n) after a sort."""
        if not self.smooth:
            raise CURVED.lacks(self)
        pos, neg = _ordered(scores, target)
        return level_curvature(scores.shape[0], pos, neg, _Mixture.of(self, pos.side, neg.side))

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """An upper bound, tight at gradients of the exact loss; infinite for flips outside [0, 1].

        The flips that ``dscores`` stands for are decomposed by their level sets into labellings.
        Their mean 1 - F is a lower bound on minus the conjugate.
        """
        if self.smooth or self.whole:
            return None
        share = target.share
        positive = target.y > 0.0
        mass = np.where(positive, -0.5 * dscores, 0.5 * dscores)
        slack = DOMAIN * np.maximum(share, float(share.max()) * DOMAIN)
        if not ((mass >= -slack) & (mass <= share + slack)).all():
            return math.inf
        flip = np.clip(mass / np.where(share > 0.0, share, 1.0), 0.0, 1.0)
        return -_mean_loss(flip, share, positive, self.factor)

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """Mean of 1 - F over the labellings (with fractional flips) that the gradient averages."""
        if not self.smooth or not np.isfinite(scores).all():
            return None
        pos, neg = (kind.side for kind in _ordered(scores, target))
        mixture = _Mixture.of(self, pos, neg)
        missed, false = mixture.table[fscore.FLIPPED : fscore.ON_RAMP]
        hit = self.factor * np.maximum(pos.mass[-1] - missed, 0.0)
        misses = np.maximum((self.factor - 1.0) * missed + false, SMALLEST_DIVISOR)
        return float(mixture.weight @ (misses / (hit + misses)))

    def infimum(self, target: Target) -> float:
        """The true labelling has the loss 0; smoothing lowers it by at most the width."""
        return -self.width

    def smoothed(self, width: float) -> FBeta | None:
        """A smooth lower bound within width; ``None`` if it is smooth, or flips only whole rows."""
        return None if self.smooth or self.whole else replace(self, width=width)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(2.0), cls(0.5), cls(1.0, width=0.5), cls(2.0, width=2.0)]


class _Class(NamedTuple):
    """One class: its rows with ascending values (scores, negated for negatives) and shares."""

    rows: IntArray
    value: FloatArray
    share: FloatArray

    @property
    def side(self) -> fscore.RampSums:
        """The values prepared for sums of ramps and hinges."""
        return fscore.ramp_sums(self.value, self.share)


class _Mixture(NamedTuple):
    """Value of a weighted mean of levels of F, its levels and their weights."""

    value: float
    table: FloatArray
    weight: FloatArray
    factor: float
    ramp: float
    temperature: float

    @classmethod
    def of(cls, loss: FBeta, pos: fscore.RampSums, neg: fscore.RampSums) -> _Mixture:
        """Levels of F with a non-negligible weight at these scores."""
        ramp = RAMP_PART * loss.width
        fine = max(FEWEST_HALVINGS, math.ceil(math.log2(1.0 / LEVEL_PART / loss.width)))
        entropy = math.log(2.0**fine + 1.0)
        temperature = LEVEL_PART * loss.width / entropy
        table = fscore.levels(pos, neg, loss.factor, ramp, fine, temperature)
        top = float(table[:, fscore.VALUE].max())
        weight = np.exp((table[:, fscore.VALUE] - top) / temperature)
        total = float(weight.sum())
        heavy = weight > LIGHTEST_LEVEL * total
        value = top + temperature * (math.log(total) - entropy)
        return cls(
            value, table[heavy].T.copy(), weight[heavy] / total, loss.factor, ramp, temperature
        )

    @property
    def mu(self) -> FloatArray:
        """Multipliers of the constraints F <= phi."""
        mu: FloatArray = self.table[fscore.MU]
        return mu

    @property
    def phi(self) -> FloatArray:
        """Levels of F: the coefficient of a false positive in the constraint."""
        phi: FloatArray = self.table[fscore.PHI]
        return phi

    @property
    def up(self) -> FloatArray:
        """The coefficient of a false negative in the constraint."""
        return self.factor - self.phi

    def soft(self, bend: FloatArray) -> FloatArray:
        """Weights over the curvatures of the levels in their multipliers; 0 where mu is 0."""
        free = (self.mu > 0.0) & (bend > 0.0)
        return np.where(free, self.weight / np.where(free, bend, 1.0), 0.0)


class _FBetaShifts:
    """F-beta as a function of a constant added to all scores."""

    def __init__(self, loss: FBeta, pos: _Class, neg: _Class) -> None:
        self._loss, self._pos, self._neg = loss, pos, neg
        self._sides = pos.side, neg.side
        self._last: tuple[float, _Mixture] | None = None

    def at(self, t: float) -> Shifted:
        """Value and slope with t added."""
        if not self._loss.smooth:
            return self._exact(t)
        mixture = self._mixture(t)
        flipped = 2.0 * (mixture.table[fscore.FLIPPED : fscore.ON_RAMP] @ mixture.weight)
        return Shifted(mixture.value, float(flipped[1] - flipped[0]), float(flipped.sum()))

    def _exact(self, t: float) -> Shifted:
        loss, pos, neg = self._loss, self._pos, self._neg
        value, b, c, part = fscore.worst_labelling(
            pos.value + t, pos.share, t - neg.value, neg.share, loss.factor, loss.whole
        )
        down, up = 2.0 * float(self._sides[0].mass[b]), 2.0 * float(self._sides[1].mass[c])
        if part > 0.0:
            up += 2.0 * part * float(neg.share[c])
        return Shifted(value, up - down, up + down)

    def _mixture(self, t: float) -> _Mixture:
        if self._last is None or self._last[0] != t:
            pos, neg = self._sides
            moved = pos._replace(value=pos.value + t), neg._replace(value=neg.value - t)
            self._last = t, _Mixture.of(self._loss, *moved)
        return self._last[1]

    def root(self) -> float | None:
        """``None``: there is no closed form."""
        return None

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """``None``: the slopes of rows do not change separately."""
        return None

    def curve(self, t: float) -> float:
        """Second derivative with t added: `level_curvature` summed over all its entries."""
        if not self._loss.smooth:
            return 0.0
        mixture = self._mixture(t)
        flipped_pos, flipped_neg, bent_pos, bent_neg = mixture.table[fscore.FLIPPED :]
        up, phi, weight = mixture.up, mixture.phi, mixture.weight
        # The multipliers adapt to t, which reduces the curvature of each level: bent - soft
        # along^2.
        along = up * bent_pos - phi * bent_neg
        soft = mixture.soft(up * up * bent_pos + phi * phi * bent_neg)
        bent = float(weight @ (bent_pos + bent_neg))
        levels = bent - float(soft @ (along * along))
        # Variance of the slopes of the levels, over the temperature.
        slope = 2.0 * (flipped_neg - flipped_pos)
        apart = slope - weight @ slope
        own = (2.0 / mixture.ramp) * levels if levels > NO_CURVATURE * bent else 0.0
        return own + float(weight @ (apart * apart)) / mixture.temperature


def _ordered(scores: FloatArray, target: Target) -> tuple[_Class, _Class]:
    total = sum(rows.total for rows in target.classes)
    classes = []
    for rows, sign in zip(target.classes, (1.0, -1.0), strict=True):
        value = sign * scores[rows.rows]
        order = ascending_order(value)
        share = rows.share[order] * (rows.total / total)
        classes.append(_Class(rows.rows[order], value[order], share))
    return classes[0], classes[1]


def _ramps(side: _Class, at: FloatArray, weight: FloatArray, width: float) -> FloatArray:
    """``sum_k weight_k ramp((at_k - value) / width)`` for every value; O(n + k log k)."""
    order = np.argsort(at)
    out = np.empty_like(side.value)
    fscore.mixed_ramps(side.value, at[order], weight[order], width, out)
    return out


def level_curvature(n_rows: int, pos: _Class, neg: _Class, mixture: _Mixture) -> PairCurvature:
    """Second derivatives of ``T log sum_k exp(level_k / T)``, T the temperature.

    With w_k the weights and g_k the gradients of the levels, they are the mean of the levels' own
    second derivatives plus ``(mean of g_k g_k' - g g') / T``. A level is the minimum over its
    multiplier of a sum of smoothed hinges, so its second derivative is a diagonal less a rank-one
    matrix.
    """
    weight, width, stiff = mixture.weight, mixture.ramp, 2.0 / mixture.ramp
    none = np.zeros_like(weight)
    class_curvatures, bend = [], none
    for kind, cost, sign in ((pos, mixture.up, 1.0), (neg, mixture.phi, -1.0)):
        at = cost * mixture.mu
        # Scores at the end of a ramp (all scores of the zero model are) count as on it.
        first = np.searchsorted(kind.value, at - (1.0 + EDGE) * width, side="right")
        last = np.maximum(np.searchsorted(kind.value, at + EDGE * width, side="left"), first)
        ramps = fscore.Ramps(kind.value, at, first, last, width)
        own = stiff * kind.share * fscore.row_sums(ramps, weight, none)
        class_curvatures.append(
            fscore.ClassCurvature(kind.rows, sign * kind.share, own, cost, ramps)
        )
        bend = bend + cost * cost * fscore.level_sums(ramps, kind.share)[0]
    soft = stiff * mixture.soft(bend)

    def product(v: FloatArray) -> FloatArray:
        columns = np.ascontiguousarray(np.atleast_2d(v.T))
        out = fscore.curvature_products(
            columns, class_curvatures[0], class_curvatures[1], weight, soft, mixture.temperature
        )
        return out[0] if v.ndim == 1 else out.T

    diagonal = np.zeros(n_rows)
    for side in class_curvatures:
        diagonal[side.rows] = np.maximum(side.own, 0.0)  # non-negative but for rounding errors
    return PairCurvature(diagonal, product)


def _mean_loss(flip: FloatArray, share: FloatArray, positive: Array, factor: float) -> float:
    """Mean of 1 - F over labellings whose average is ``flip``; the largest of three decompositions.

    The positives are flipped in the order of their level sets, one labelling per level. The
    negatives are flipped in the opposite order (few where many positives are, as near the optimum),
    in the same order, or equally at every level.
    """
    f_pos, p, f_neg, q = flip[positive], share[positive], flip[~positive], share[~positive]
    m = float(p.sum())
    up = np.argsort(f_pos)
    level = np.concatenate(([0.0], f_pos[up], [1.0]))
    length = np.diff(level)
    flipped = np.concatenate((np.cumsum(p[up][::-1])[::-1], [0.0]))  # above each level
    order = np.argsort(f_neg)
    f_neg, q = f_neg[order], q[order]
    below = np.concatenate(([0.0], np.cumsum(q * f_neg)))
    above = np.concatenate((np.cumsum(q[::-1])[::-1], [0.0]))
    some = length > 0.0
    length, flipped = length[some], flipped[some]

    def between(levels: FloatArray) -> FloatArray:
        """Flipped mass of the negatives between successive levels, per unit of level."""
        at = np.searchsorted(f_neg, levels)
        area = below[at] + levels * above[at]
        part: FloatArray = np.abs(np.diff(area))[some] / length
        return part

    whole = np.full_like(length, below[-1])
    best = -math.inf
    for c in (between(1.0 - level), between(level), whole):
        loss = 1.0 - factor * (m - flipped) / (factor * m - flipped + c)
        best = max(best, float(length @ loss))
    return best
