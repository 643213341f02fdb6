"""A loss at given scores, with work that its value, gradient and curvature share."""

from __future__ import annotations

from typing import ClassVar

from auctor.core.capabilities import CURVED
from auctor.core.curvature import Curvature
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, Target


class Evaluation:
    """A loss at some scores; losses that sort the scores have a subclass that caches the order."""

    #: Whether a later evaluation can reuse a part of this one, so that a problem stores the latest.
    lasting: ClassVar[bool] = False

    def __init__(self, loss: Loss, scores: FloatArray, target: Target) -> None:
        self.loss, self.scores, self.target = loss, scores, target

    def value_grad(self) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        return self.loss.value_grad(self.scores, self.target)

    def curvature(self) -> Curvature:
        """Second derivative in the scores."""
        return CURVED.of(self.loss).curvature(self.scores, self.target)
