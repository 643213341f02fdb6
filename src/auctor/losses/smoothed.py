"""Losses with kinks that a width smooths."""

from __future__ import annotations

from dataclasses import replace

from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss
from auctor.losses.moved import MovedScores


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
