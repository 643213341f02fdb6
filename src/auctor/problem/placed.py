"""Losses evaluated by the workers, if the rows are on other machines.

`place` decides by the loss and its target alone. With n rows, of which P are of the rarer class,
and W shards:

* rows in this process, or so few that sending all scores is faster than more calls (2 n below
  ``gather_below`` of the engine): scores come to this process and their gradient goes back, 2 n
  numbers per evaluation;
* a loss over rows: every worker evaluates its part of the rows;
* a loss over pairs, without groups, if ``3 W P < 2 n``: the scores of the rarer class go to all
  workers, each of which evaluates the pairs with its own rows of the other class;
* a loss around a threshold (precision at k, break-even point): sums over the workers find the
  threshold, then every worker evaluates its part of the rows;
* everything else: scores come to this process and their gradient goes back.

All give the same numbers up to the rounding errors of sums.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, cast

import numpy as np

from auctor.core.capabilities import (
    CENTRABLE,
    CURVED,
    PAIRED,
    TANGENTIAL,
    Shifts,
    conjugate,
    smoothed,
)
from auctor.core.curvature import Curvature, LowRankCurvature, PairCurvature
from auctor.core.evaluation import Evaluation
from auctor.core.needs import Offers, Splits
from auctor.core.protocols import Data, Loss
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.shift import ShiftedScores
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data.on_rows import PARTED
from auctor.data.placed import PlacedRows
from auctor.data.sharded import Sharded
from auctor.data.shards import compact
from auctor.data.spread import Leaf, PerShard, Spread, ordered_sum
from auctor.kernels.losses.thresholds import Flips
from auctor.losses.base import BaseLoss
from auctor.problem.placed_threshold import PlacedShifts, placed_threshold

#: Numbers sent per row of the rarer class and shard: its score, partial derivative and derivative.
PER_RARE = 3


def place(loss: Loss, data: Data) -> tuple[Loss, Data]:
    """Loss and data for a problem: evaluated by the workers if the rule above says so."""
    if isinstance(loss, PlacedLoss):
        return loss, loss.rows
    rows = data.rows if isinstance(data, PlacedRows) else data
    if not isinstance(rows, Sharded) or 2 * rows.n_rows < rows.workers.gather_below:
        return loss, rows
    kind = KINDS.get(loss.splits)
    if kind is None or not kind.pays(rows):
        return loss, rows
    found = kind(loss, data if isinstance(data, PlacedRows) else PlacedRows(rows))
    return found, found.rows


def unplaced(loss: Loss) -> Loss:
    """The loss itself, to be evaluated in this process."""
    return loss.inner if isinstance(loss, PlacedLoss) else loss


def named(part: object) -> str:
    """The class name of a loss or of data, without the wrapper for workers."""
    if isinstance(part, PlacedLoss):
        return type(part.inner).__name__
    return type(part.rows if isinstance(part, PlacedRows) else part).__name__


def constant_scores(data: Data, value: float) -> FloatArray:
    """The same score for every row, stored where the rows are."""
    if isinstance(data, PlacedRows):
        return data.constant(value)
    return np.full(data.n_rows, value)


class PlacedLoss(BaseLoss):
    """A loss whose scores are stored on the workers, with the facts of the loss itself.

    Parameters
    ----------
    inner : Loss
        The loss itself.
    rows : PlacedRows
    parts : Leaf, optional
        Labels and weights as stored on the workers; sent to them by default.
    shift : Spread, optional
        Vector added to the scores.
    """

    def __init__(
        self,
        inner: Loss,
        rows: PlacedRows,
        parts: Leaf | None = None,
        shift: Spread | None = None,
    ) -> None:
        self.inner, self.rows, self.shift = inner, rows, shift
        self.holder = rows.holder
        self._parts = parts
        self.coupling, self.order = inner.coupling, inner.order
        self.smooth, self.convex, self.quadratic = inner.smooth, inner.convex, inner.quadratic
        self.shift_invariant = inner.shift_invariant
        self.scale_invariant = inner.scale_invariant
        self.weights, self.exchangeable = inner.weights, inner.exchangeable
        # Compiled loops over rows, and the form over rows, need rows in this process.
        self.offers = inner.offers & ~(Offers.COMPILED | Offers.THRESHOLD) | Offers.SHIFTS

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
        return None if self.shift is not None else self._like(smoothed(self.inner, width))

    def smoothed_around(
        self, width: float, slopes: FloatArray, target: Target
    ) -> PlacedLoss | None:
        """The smoothed form that penalises the distance of its slopes from given ones."""
        shift: Spread = width * Spread(self.holder, self._centre(self._there(slopes), target))
        return self._like(smoothed(self.inner, width), shift.persist())

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
        return conjugate(self.inner, np.asarray(slopes), target)

    def _tangent(self, scores: Spread, target: Target) -> float | None:
        return TANGENTIAL.of(self.inner).tangent(np.asarray(scores), target)

    def _centre(self, slopes: Spread, target: Target) -> Leaf:
        raise NotImplementedError


class PlacedSum(PlacedLoss):
    """A loss over rows: every worker evaluates its own rows."""

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        return value_and_slopes(self, self.holder.keep("row_loss", self.inner, self.parts, scores))

    def _curved(self, scores: Spread, target: Target) -> Curvature:
        kept = self.holder.keep("row_curvature", self.inner, self.parts, scores)
        return LowRankCurvature(as_array(Spread(self.holder, kept)))

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return PlacedShifts(self.inner, self.parts, self._at(scores))

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        return _known_sum(self.holder.ask("row_conjugate", self.inner, self.parts, slopes))

    def _tangent(self, scores: Spread, target: Target) -> float | None:
        return _known_sum(self.holder.ask("row_tangent", self.inner, self.parts, scores))

    def _centre(self, slopes: Spread, target: Target) -> Leaf:
        return self.holder.keep("row_centre", self.inner, self.parts, slopes)


class PlacedPairs(PlacedLoss):
    """A loss over pairs: all workers get the scores of the rarer class."""

    @property
    def per_pair(self) -> Loss:
        """The row loss of a pair."""
        return PAIRED.of(self.inner).per_pair

    @property
    def pair_square(self) -> Loss:
        """The square loss of the same pairs."""
        return PAIRED.of(self.inner).pair_square

    @staticmethod
    def pays(rows: Sharded) -> bool:
        """Whether less travels than all scores and slopes."""
        target = rows.target
        rare = min(side.rows.size for side in target.classes)
        few = PER_RARE * len(rows.holder.lengths) * rare < 2 * rows.n_rows
        return target.groups is None and few and rare > 0

    @cached_property
    def _rare(self) -> float:
        positive, negative = self.rows.target.classes
        return 1.0 if positive.rows.size <= negative.rows.size else -1.0

    @cached_property
    def _rare_ends(self) -> IntArray:
        """Cumulative numbers of rows of the rarer class per shard, without the last."""
        rare = self.holder.split(self.rows.target.y == self._rare)
        return np.cumsum([np.count_nonzero(one) for one in rare.parts])[:-1]

    def _sent_parts(self) -> Leaf:
        """Send labels, weights, shares, and the weights of all rows of the rarer class."""
        target, rare = self.rows.target, self._rare
        y, weight = self._labels(target)
        if weight is None:
            totals = [float(np.count_nonzero(one == -rare)) for one in y.parts]
            given = None
        else:
            both = zip(y.parts, weight.parts, strict=True)
            totals = [float(weights[one == -rare].sum()) for one, weights in both]
            given = np.asarray(target.weight)[target.y == rare]
        shares = PerShard([one / sum(totals) for one in totals])
        n_rare = int(np.count_nonzero(target.y == rare))
        return self.holder.keep("placed_pairs", y, weight, shares, rare, n_rare, given)

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        """Value and slopes; every worker gets the scores of the rarer class."""
        found = self.holder.keep(
            "pair_loss", self.inner, self.parts, scores, self._gathered(scores)
        )
        return self._joined(found)

    def _gathered(self, values: Spread) -> FloatArray:
        return np.concatenate(self.holder.ask("rare_values", self.parts, values))

    def _joined(self, found: Leaf) -> tuple[float, Spread]:
        """The value, and the derivatives of both classes, each on the worker that has the row."""
        # Sum the partial derivatives of the rarer class, and send each worker those of its rows.
        answers = self.holder.ask("summary", found)
        value, total, size = np.sum([one[:3] for one in answers], axis=0)
        rare = ordered_sum([one[3] for one in answers])
        own = Leaf(found.references, "slopes")
        mine = PerShard(np.split(rare, self._rare_ends))
        kept = self.holder.keep("joined", self.parts, own, mine)
        known = {
            "total": float(total + rare.sum()),
            "size": float(size + np.abs(rare).sum()),
        }
        return float(value), Spread(self.holder, kept, known)

    def _curved(self, scores: Spread, target: Target) -> Curvature:
        """The curvature of the pairs, with its products computed by the workers."""
        if self.inner.low_rank:  # solvers use its few factors, so it is computed here
            return super()._curved(scores, target)
        # The curvature stays on the workers; a product sends the rarer class's entries only.
        curvature = self.holder.keep(
            "pair_curvature", self.inner, self.parts, scores, self._gathered(scores)
        )
        diagonal = self._joined(self.holder.keep("pair_diagonal", curvature, self.parts, scores))[1]

        def product(v: FloatArray) -> FloatArray:
            change = self._there(v)
            found = self.holder.keep(
                "pair_product", curvature, self.parts, change, self._gathered(change)
            )
            return as_array(self._joined(found)[1])

        return PairCurvature(as_array(diagonal), product, None)

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        """The conjugate from the total slope of a class, if the loss offers that form."""
        loss = PAIRED.find(self.inner)
        if loss is None:
            return super()._conjugate(slopes, target)
        if loss.conjugate_of_total(0.0) is None:
            return None
        total = self.holder.total("class_total", self.parts, slopes, self._rare > 0.0)
        return loss.conjugate_of_total(float(total))


class PlacedThreshold(PlacedLoss):
    """A loss around a threshold of the scores, which is found by sums over the workers."""

    @cached_property
    def _margins(self) -> Any:
        return PARTED.of(self.inner).margins(self.rows.target)

    @cached_property
    def _largest_share(self) -> float:
        return float(self.rows.target.share.max())

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        """Value and slopes around the threshold; NaN if a score is NaN."""
        inner, margins = PARTED.of(self.inner), self._margins
        # Scores plus margins, the threshold by sums over workers, then a sum over rows.
        raised = Spread(self.holder, self.holder.keep("raised", inner, self.parts, scores, margins))
        at = placed_threshold(raised, self.parts, 1.0 - margins.top, inner.width)
        if at is None:
            nowhere: Spread = scores * math.nan
            return math.nan, nowhere
        kept = self.holder.keep("threshold_loss", inner, self.parts, raised, at, margins)
        value, slopes = value_and_slopes(self, kept)
        return margins.floor + value, slopes

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        """The conjugate from sums of label flips over the workers; None if smoothed."""
        inner = PARTED.of(self.inner)
        if inner.smooth:
            return None
        sums = self.holder.ask(
            "threshold_flips", inner, self.parts, slopes, self._margins, self._largest_share
        )
        positive, negative, slope, size, outside = np.sum(sums, axis=0)
        flips = Flips(positive, negative, slope, size, int(outside))
        return inner.conjugate_of_flips(flips, self._margins)

    def _centre(self, slopes: Spread, target: Target) -> Leaf:
        return self.holder.keep("threshold_centre", self.inner, self.parts, slopes, self._margins)


KINDS: dict[Splits, type[PlacedLoss]] = {
    Splits.ROWS: PlacedSum,
    Splits.PAIRS: PlacedPairs,
    Splits.THRESHOLD: PlacedThreshold,
}


def as_array(vector: Spread) -> FloatArray:
    """A vector on the workers, with the type of an array: solvers compute with it like with one."""
    return cast(FloatArray, vector)


def value_and_slopes(loss: PlacedLoss, kept: Leaf) -> tuple[float, Spread]:
    """The value of an evaluation stored on the workers, and its gradient in the scores."""
    answers = loss.holder.ask("summary", kept)
    value, total, size = np.sum([one[:3] for one in answers], axis=0)
    known = {"total": float(total), "size": float(size)}
    return float(value), Spread(loss.holder, Leaf(kept.references, "slopes"), known)


def _known_sum(answers: list[float | None]) -> float | None:
    """The sum of the workers' answers; ``None`` if one of them is ``None``."""
    known = [one for one in answers if one is not None]
    return float(sum(known)) if len(known) == len(answers) else None
