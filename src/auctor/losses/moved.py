"""A loss at scores that are moved by a constant per row."""

from __future__ import annotations

from dataclasses import dataclass

from auctor.core.curvature import Curvature
from auctor.core.needs import Splits
from auctor.core.protocols import Loss, Shifts
from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss


@dataclass(frozen=True)
class MovedScores(BaseLoss):
    """A smooth loss at scores moved by a constant per row.

    Parameters
    ----------
    loss : Loss
    shift : (n,) array
        The constants that are added to the scores.
    """

    loss: Loss
    shift: FloatArray

    @property
    def splits(self) -> Splits:
        """It cannot be split: the shift holds one constant for each of all rows."""
        return Splits.NOT

    @property
    def order(self) -> int:
        """0 value only, 1 gradient, 2 curvature."""
        return self.loss.order

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""
        return self.loss.low_rank

    @property
    def shift_invariant(self) -> bool:
        """Whether a constant added to all scores changes nothing."""
        return self.loss.shift_invariant

    def check_target(self, target: Target) -> None:
        """Raise what the wrapped loss raises."""
        self.loss.check_target(target)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        return self.loss.value_grad(scores + self.shift, target)

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""
        return self.loss.curvature(scores + self.shift, target)

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return self.loss.shifts(scores + self.shift, target)

    def infimum(self, target: Target) -> float:
        """Largest known lower bound."""
        return self.loss.infimum(target)
