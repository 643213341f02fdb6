"""A loss whose scores are stored on the workers: what all kinds have in common."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from auctor.core.capabilities import (
    CENTRABLE,
    COMPILED,
    CURVED,
    SHIFTABLE,
    THRESHOLDED,
    Capability,
    Evaluation,
    Shifts,
)
from auctor.core.curvature import Curvature
from auctor.core.protocols import Loss, Splits
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.shift import ShiftedScores
from auctor.core.types import FloatArray, Target
from auctor.data.placed import PlacedRows
from auctor.data.sharded import Sharded
from auctor.data.shards import compact
from auctor.data.spread import Leaf, PerShard, Spread
from auctor.losses.base import BaseLoss


class PlacedLoss(BaseLoss):
    """A loss whose scores are stored on the workers, with the facts of the loss itself.

    Parameters
    ----------
    inner : Loss
        The loss itself.
    parts : Leaf, optional
        Labels and weights as stored on the workers; sent to them by default.
    shift : Spread, optional
        Vector added to the scores.
    """

    def __init__(
        self, inner: Loss, rows: PlacedRows, parts: Leaf | None = None, shift: Spread | None = None
    ) -> None:
        self.inner, self.rows, self.shift = inner, rows, shift
        self.holder = rows.holder
        self._parts = parts
        self.coupling, self.order = inner.coupling, inner.order
        self.smooth, self.convex, self.quadratic = inner.smooth, inner.convex, inner.quadratic
        self.shift_invariant = inner.shift_invariant
        self.scale_invariant = inner.scale_invariant
        self.weights, self.exchangeable = inner.weights, inner.exchangeable

    def offers(self, capability: Capability[Loss, Any]) -> bool:
        """What the loss offers, but for forms that need the rows in this process."""
        if capability in (COMPILED, THRESHOLDED):
            return False
        return capability is SHIFTABLE or capability.has(self.inner)

    @property
    def splits(self) -> Splits:
        """How it can be computed from parts of the rows."""
        return self.inner.splits

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""
        return self.inner.low_rank

    def check_target(self, target: Target) -> None:
        """Raise what the loss itself raises."""
        self.inner.check_target(target)

    def infimum(self, target: Target) -> float:
        """Largest known lower bound of the loss."""
        return self.inner.infimum(target)

    def response(self, scores: FloatArray) -> FloatArray:
        """Prediction in the units of the target."""
        return self.inner.response(scores)

    def __repr__(self) -> str:
        return repr(self.inner)

    @staticmethod
    def pays(rows: Sharded) -> bool:
        """Whether less travels than all scores and slopes."""
        return True

    @property
    def parts(self) -> Leaf:
        """Labels and weights as stored on the workers; sent once for every target."""
        if self._parts is None:
            self._parts = self._sent_parts()
        return self._parts

    def _sent_parts(self) -> Leaf:
        """Send labels, weights and the shards' shares of the weight to the workers."""
        target = self.rows.target
        y, weight = self._labels(target)
        # Weight of every shard, as a share of all rows.
        totals = [float(one.sum()) for one in weight.parts] if weight else self.holder.lengths
        shares = [one / max(sum(totals), SMALLEST_DIVISOR) for one in totals]
        return self.holder.keep("placed_rows", y, weight, PerShard(shares))

    def _labels(self, target: Target) -> tuple[PerShard, PerShard | None]:
        y, weight = compact(target.y), target.weight
        return self.holder.split(y), None if weight is None else self.holder.split(weight)

    def _like(self, inner: Loss | None, shift: Spread | None = None) -> PlacedLoss | None:
        """Another loss of the same kind on the same rows."""
        return None if inner is None else type(self)(inner, self.rows, self.parts, shift)

    def _there(self, values: FloatArray) -> Spread:
        """A vector over the rows as stored on the workers; a numpy array is sent to them."""
        if isinstance(values, Spread):
            return values
        return Spread(self.holder, self.holder.sent(values))

    def _at(self, scores: FloatArray) -> Spread:
        """The scores with the shift added, stored on the workers until they are replaced."""
        there = self._there(scores)
        there.persist()
        moved: Spread = there if self.shift is None else there + self.shift
        return moved

    # --- the protocols of losses ----------------------------------------------------------------

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        value, slopes = self._evaluated(self._at(scores))
        return value, as_array(slopes)

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""
        return self._curved(self._at(scores), target)

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """The loss at some scores; the workers reuse nothing of the last evaluation."""
        return Evaluation(self, scores, target)

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return ShiftedScores(self, as_array(self._there(scores)), target)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``, or ``None`` when there is no closed form."""
        return None if self.shift is not None else self._conjugate(self._there(dscores), target)

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """C such that ``gradient.s + C`` is below the unsmoothed loss; ``None`` if unknown."""
        return None if self.shift is not None else self._tangent(self._there(scores), target)

    def smoothed(self, width: float) -> PlacedLoss | None:
        """A smooth lower bound within O(width), or ``None``."""
        return None if self.shift is not None else self._like(self.inner.smoothed(width))

    def smoothed_around(
        self, width: float, slopes: FloatArray, target: Target
    ) -> PlacedLoss | None:
        """The smoothed form that penalises the distance of its slopes from given ones."""
        shift: Spread = width * Spread(self.holder, self._centre(self._there(slopes), target))
        return self._like(self.inner.smoothed(width), shift.persist())

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes."""
        return as_array(Spread(self.holder, self._centre(self._there(dscores), target)))

    def margin(self, target: Target) -> float | None:
        """The margin of the loss in score units; ``None`` if it has none."""
        return CENTRABLE.of(self.inner).margin(target)

    # --- overridden by each kind of loss --------------------------------------------------------

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        raise NotImplementedError

    def _curved(self, scores: Spread, target: Target) -> Curvature:
        return CURVED.of(self.inner).curvature(np.asarray(scores), target)

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        return self.inner.conjugate(np.asarray(slopes), target)

    def _tangent(self, scores: Spread, target: Target) -> float | None:
        return self.inner.tangent(np.asarray(scores), target)

    def _centre(self, slopes: Spread, target: Target) -> Leaf:
        raise NotImplementedError


def as_array(vector: Spread) -> FloatArray:
    """A vector on the workers, with the type of an array: solvers compute with it like with one."""
    return cast(FloatArray, vector)


def value_and_slopes(loss: PlacedLoss, kept: Leaf) -> tuple[float, Spread]:
    """The value of an evaluation stored on the workers, and its gradient in the scores."""
    answers = loss.holder.ask("summary", kept)
    value, total, size = np.sum([one[:3] for one in answers], axis=0)
    known = {"total": float(total), "size": float(size)}
    return float(value), Spread(loss.holder, Leaf(kept.references, "slopes"), known)
