"""A loss at scores that are moved by a constant per row."""

from __future__ import annotations

from auctor.core.capabilities import CURVED, Shifts
from auctor.core.curvature import Curvature
from auctor.core.needs import Splits
from auctor.core.protocols import Loss
from auctor.core.shift import shifts_of
from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss


class MovedScores(BaseLoss):
    """A smooth loss at scores moved by a constant per row.

    Parameters
    ----------
    loss : Loss
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
