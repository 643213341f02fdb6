"""A loss over rows, of which every worker evaluates its own."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.capabilities import Shifted, Shifts
from auctor.core.curvature import Curvature, LowRankCurvature
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, Target
from auctor.data.spread import Leaf, Spread
from auctor.problem.placed_loss import PlacedLoss, as_array, value_and_slopes
from auctor.problem.placed_threshold import placed_threshold


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


class PlacedShifts:
    """A loss over rows as a function of a constant added to all scores, by sums over workers."""

    def __init__(self, loss: Loss, parts: Leaf, scores: Spread) -> None:
        self._loss, self._parts, self._scores = loss, parts, scores.persist()
        self._holder = scores.holder
        self._last: tuple[float, Shifted, float] | None = None

    def _evaluated(self, t: float) -> tuple[float, Shifted, float]:
        """The constant, value and slope there, and curvature; the last answer is cached."""
        if self._last is None or self._last[0] != t:
            curved = self._loss.order >= 2
            answers = self._holder.ask(
                "row_shifted", self._loss, self._parts, self._scores, t, curved
            )
            value, slope, size, curve = np.sum(answers, axis=0)
            shifted = Shifted(float(value), float(slope), float(size))
            self._last = t, shifted, float(curve)
        return self._last

    def at(self, t: float) -> Shifted:
        """Value and slope with t added to all scores."""
        return self._evaluated(t)[1]

    def curve(self, t: float) -> float:
        """Second derivative with t added to all scores; 0 if the loss has none."""
        return self._evaluated(t)[2]

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """None: the steps of the rows stay on the workers."""
        return None

    def root(self) -> float | None:
        """The best constant: a quantile of the rows' kinks, if every row has exactly one."""
        loss, parts, holder = self._loss, self._parts, self._holder
        if loss.smooth:
            return None  # a root search needs fewer numbers from the workers
        kept = holder.keep("row_steps", loss, parts, self._scores)
        answers = holder.ask("steps_summary", kept)
        if any(one is None for one in answers):
            return None
        goal, mass, _ = np.sum(answers, axis=0)
        if not (0.0 < goal < mass and all(finite for _, _, finite in answers)):
            return None
        steps = Spread(holder, Leaf(kept.references, "values"))
        root = placed_threshold(steps, parts, float(goal), 0.0)
        if root is None or root.mix != 1.0:
            return None if root is None else root.low
        above = min(holder.ask("next_above", steps, parts, root.low))
        return 0.5 * (root.low + (above if math.isfinite(above) else root.low))


def _known_sum(answers: list[float | None]) -> float | None:
    """The sum of the workers' answers; ``None`` if one of them is ``None``."""
    known = [one for one in answers if one is not None]
    return float(sum(known)) if len(known) == len(answers) else None
