"""Losses that are sums over rows. Formulas per row; s score, y target, r = s - y."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np

from auctor.core.capabilities import CURVED, Shifted, Shifts
from auctor.core.checks import check_real
from auctor.core.curvature import LowRankCurvature
from auctor.core.errors import speaks_for_itself
from auctor.core.shift import ShiftedScores
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses import logistic
from auctor.kernels.losses import pointwise as kernels
from auctor.kernels.losses.thresholds import next_above, threshold
from auctor.kernels.runtime.parallel import in_parallel
from auctor.losses.base import BaseLoss
from auctor.losses.smoothed import CentredByWidth

T = TypeVar("T")


def on_parts(target: Target, one: Callable[[slice, Target], T]) -> list[T]:
    """Results of a call for each part of the rows, in their order."""

    def call(rows: slice) -> T:
        return one(rows, target.part(rows))

    return in_parallel(partial(call, rows) for rows in target.part_rows())


class LogisticShifts(ShiftedScores):
    """The logistic loss as a function of the constant; one loop gives all derivatives."""

    _last: tuple[float, float] = math.nan, 0.0

    def at(self, t: float) -> Shifted:
        """Value and slope with t added."""
        sums = on_parts(
            self._target,
            lambda rows, part: logistic.shifted(self._scores[rows], part.y, part.share, t),
        )
        value, slope, size, curve = (sum(one) for one in zip(*sums, strict=True))
        self._last = t, curve
        return Shifted(value, slope, size)

    def curve(self, t: float) -> float:
        """Second derivative with t added."""
        if self._last[0] != t:
            self.at(t)
        return self._last[1]


class StepShifts(ShiftedScores):
    """Losses whose slope per row rises by 1 in a single step, of the width of the loss.

    The step of a row is at its target or margin; ``before`` is minus the slope before it. The
    slopes of all rows sum to zero at a weighted quantile of the steps.
    """

    def __init__(
        self, loss: Pointwise, scores: FloatArray, target: Target, before: FloatArray
    ) -> None:
        super().__init__(loss, scores, target)
        self._width, self._before = loss.width, before

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """Constants where the slope of each row steps up, and minus its slope before."""
        return self._target.y - self._scores - self._width * self._before, self._before

    def root(self) -> float | None:
        """The best constant."""
        share = self._target.share
        goal = float(share @ self._before)
        steps = self._target.y - self._scores - self._width * self._before
        if not (0.0 < goal < float(share.sum()) and np.isfinite(steps).all()):
            return None
        root = threshold(steps, share, goal, self._width)
        if self._width == 0.0 and root.mix == 1.0:  # any constant up to the next step is optimal
            return 0.5 * (root.low + next_above(steps, share, root.low))
        return root.low


class Pointwise(BaseLoss):
    """A loss of one score and one target, evaluated by the kernels of its ``kind``."""

    kind: int
    #: Whether its prox has a closed form: its pieces are quadratic or linear.
    closed_prox: ClassVar[bool] = True
    #: Smoothing width in score units.
    width: float = 0.0

    @property
    def param(self) -> float:
        """Shape parameter the kernel takes."""
        return 0.0

    @property
    def _form(self) -> tuple[int, float, float]:
        """The first arguments of every kernel."""
        return self.kind, self.param, self.width

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        grad = np.empty_like(scores)

        def one(rows: slice, part: Target) -> float:
            return kernels.value_grad(*self._form, scores[rows], part.y, part.share, grad[rows])

        return sum(on_parts(target, one)), grad

    def curvature(self, scores: FloatArray, target: Target) -> LowRankCurvature:
        """Second derivative in the scores, a diagonal."""
        if not self.smooth:
            raise CURVED.lacks(self)
        out = np.empty_like(scores)

        def one(rows: slice, part: Target) -> None:
            kernels.curvature(*self._form, scores[rows], part.y, part.share, out[rows])

        on_parts(target, one)
        return LowRankCurvature(out)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``."""

        def one(rows: slice, part: Target) -> float:
            return kernels.conjugate(*self._form, dscores[rows], part.y, part.share)

        return sum(on_parts(target, one))


class KinkedPointwise(CentredByWidth, Pointwise):
    """A pointwise loss with kinks, which a width smooths."""

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Slope of each row: its derivative divided by its weight."""
        out = np.zeros_like(dscores)

        def one(rows: slice, part: Target) -> None:
            np.divide(dscores[rows], part.share, out=out[rows], where=part.share > 0.0)

        on_parts(target, one)
        return out

    def margin(self, target: Target) -> float | None:
        """1 for losses of labels, which have that margin; else ``None``."""
        return 1.0 if self.targets == "binary" else None


class Logistic(Pointwise):
    """Logistic loss ``log(1 + exp(-y s))``, y in {-1, +1}.

    Examples
    --------
    >>> import numpy as np
    >>> round(Logistic().value(np.zeros(2), Target(np.array([1.0, -1.0]))), 6)
    0.693147
    """

    kind = kernels.LOGISTIC
    order = 2
    closed_prox = False

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        grad = np.empty_like(scores)

        def one(rows: slice, part: Target) -> float:
            return logistic.value_grad(scores[rows], part.y, part.share, grad[rows])

        return sum(on_parts(target, one)), grad

    def curvature(self, scores: FloatArray, target: Target) -> LowRankCurvature:
        """Second derivative in the scores, a diagonal."""
        out = np.empty_like(scores)

        def one(rows: slice, part: Target) -> None:
            logistic.curvature(scores[rows], part.share, out[rows])

        on_parts(target, one)
        return LowRankCurvature(out)

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return LogisticShifts(self, scores, target)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``."""

        def one(rows: slice, part: Target) -> float:
            if part.share.all():
                return logistic.conjugate(dscores[rows], part.y, part.share)
            return kernels.conjugate(*self._form, dscores[rows], part.y, part.share)

        return sum(on_parts(target, one))


@dataclass(frozen=True)
class Hinge(KinkedPointwise):
    """Hinge ``max(0, 1 - y s)``; not differentiable at margin 1."""

    kind = kernels.HINGE

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        back = max(self.param, 0.0), max(-self.param, 0.0)
        before = np.where(target.y > 0.0, 1.0 - back[0], back[1])
        return StepShifts(self, scores, target, before)

    def smoothed(self, width: float) -> Hinge | None:
        """The Huberised lower bound, within width/2; ``None`` for a smooth loss."""
        return None if self.smooth else SmoothedHinge(width)


@dataclass(frozen=True)
class SmoothedHinge(Hinge):
    """Huberised hinge: ``0``, ``z^2/(2 width)``, ``z - width/2`` for z = 1 - y s at 0 and width.

    Parameters
    ----------
    width : float > 0
        Length of the quadratic piece, in score units.
    """

    width: float = 0.5

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("width", self.width, low=0.0, open_low=True)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(width=2.0), cls(width=1e-3)]


@dataclass(frozen=True)
class PinballHinge(Hinge):
    """Hinge with a slope beyond the margin for one class: ``max((1 - |tilt|) z, -|tilt| z)``.

    Here z = 1 - y s for rows of that class; for the others it is the hinge ``max(0, z)``. The
    max-margin losses of precision and recall at k have this form for a given threshold.

    Parameters
    ----------
    tilt : float in [-1, 1]
        Slope beyond the margin; a positive tilt is for the positive class, a negative one for the
        negative class.
    width : float >= 0
        Length of the quadratic piece, in score units; 0 for the exact loss.

    References
    ----------
    Huang, Shi, Suykens, Support vector machine classifier with pinball loss, 2014.
    """

    tilt: float = 0.2
    width: float = 0.0

    @speaks_for_itself
    def __post_init__(self) -> None:
        tilt = self.tilt
        check_real("tilt", tilt, low=-1.0, high=1.0)
        check_real("width", self.width, low=0.0)

    @property
    def param(self) -> float:
        """Shape parameter the kernel takes."""
        return self.tilt

    def smoothed(self, width: float) -> PinballHinge | None:
        """A lower bound with quadratic pieces; ``None`` for a smooth loss."""
        return None if self.smooth else PinballHinge(self.tilt, width)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(-0.7), cls(0.3, width=0.5)]


class SquaredHinge(Pointwise):
    """Squared hinge ``1/2 max(0, 1 - y s)^2``."""

    kind = kernels.SQUARED_HINGE
    order = 2


class Exponential(Pointwise):
    """Exponential loss ``exp(-y s)``."""

    kind = kernels.EXPONENTIAL
    order = 2
    closed_prox = False
