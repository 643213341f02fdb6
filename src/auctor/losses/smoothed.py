"""Losses with kinks that a width smooths, and losses of moved scores."""

from __future__ import annotations

from dataclasses import replace

from auctor.core.capabilities import CURVED, Shifts
from auctor.core.curvature import Curvature
from auctor.core.protocols import Loss, Splits
from auctor.core.shift import shifts_of
from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss


class MovedScores(BaseLoss):
    """A smooth loss at scores moved by a constant per row.

    Parameters
    ----------
    shift : (n,) array
        The constants that are added to the scores.
    """

    splits = Splits.NOT  # it has one constant for each of all rows
    exchangeable = False  # for the same reason

    def __init__(self, loss: Loss, shift: FloatArray) -> None:
        self.loss, self.shift = loss, shift
        self.order, self.shift_invariant = loss.order, loss.shift_invariant
        self.weights = loss.weights

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""
        return self.loss.low_rank

    def check_target(self, target: Target) -> None:
        """Raise what the wrapped loss raises."""
        self.loss.check_target(target)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        return self.loss.value_grad(scores + self.shift, target)

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""
        return CURVED.of(self.loss).curvature(scores + self.shift, target)

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return shifts_of(self.loss, scores + self.shift, target)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """That of the loss, less what the constants add to the product with the scores."""
        value = self.loss.conjugate(dscores, target)
        return None if value is None else value - float(dscores @ self.shift)

    def infimum(self, target: Target) -> float:
        """Largest known lower bound."""
        return self.loss.infimum(target)


class SmoothedByWidth(BaseLoss):
    """A loss with kinks at width 0, which a positive width smooths.

    A subclass is a dataclass with the parameter ``width``, the length of its quadratic pieces in
    score units.
    """

    width: float = 0.0

    @property
    def smooth(self) -> bool:  # type: ignore[override]  # a fact that depends on a parameter
        """Whether the gradient is continuous."""
        return self.width > 0.0

    @property
    def order(self) -> int:  # type: ignore[override]
        """0 value only, 1 gradient, 2 curvature."""
        return 2 if self.smooth else 1

    def smoothed(self, width: float) -> BaseLoss | None:
        """The same loss with a width, a lower bound of it; ``None`` for a smooth loss."""
        return None if self.smooth else replace(self, width=width)  # type: ignore[type-var]


class CentredByWidth(SmoothedByWidth):
    """A loss smoothed by a width, whose smoothing can be centred at given slopes."""

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes.

        The smoothed loss at scores shifted by ``width * centre(u)`` penalises the distance of its
        slopes from u instead of their size.
        """
        raise NotImplementedError

    def smoothed_around(self, width: float, slopes: FloatArray, target: Target) -> BaseLoss | None:
        """The smoothed form that penalises the distance of its slopes from the given ones.

        Its error goes to zero as the slopes converge, at any width. ``None`` for a smooth loss.
        """
        loss = self.smoothed(width)
        return None if loss is None else MovedScores(loss, width * self.centre(slopes, target))
