"""Defaults that a new loss inherits; it defines `value_grad` and what its order requires."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from auctor.core.capabilities import LOSS
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Coupling, Splits
from auctor.core.types import FloatArray, Target


class BaseLoss:
    """A convex, smooth loss of order 1 unless a subclass says otherwise.

    Conventions: scores and targets have shape (n,); the value is a weighted **mean** (over rows or
    over pairs), so weights may have any positive sum.
    """

    #: Whether it is a sum over rows or ties rows together (pairs, sets).
    coupling: Coupling = Coupling.ROW
    #: "binary": targets are -1/+1; "real": targets are any numbers.
    targets: ClassVar[str] = "binary"
    #: "row": any weights; "class": weights must be equal within each class.
    weights: str = "row"
    #: Whether the loss does not depend on the order of the rows.
    exchangeable: bool = True
    #: 0 value only, 1 gradient, 2 curvature.
    order: int = 1
    #: Whether the gradient is continuous.
    smooth: bool = True
    #: Whether it is convex in the scores.
    convex: bool = True
    #: Whether the curvature is constant.
    quadratic: bool = False
    #: Whether a constant added to all scores does not change it.
    shift_invariant: bool = False
    #: Whether a positive factor on all scores does not change it (unless they are constant).
    scale_invariant: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def splits(self) -> Splits:
        """How it can be computed from parts of the rows."""
        return Splits.ROWS if self.coupling is Coupling.ROW else Splits.NOT

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""
        return self.coupling is Coupling.ROW or self.quadratic

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Raise ``DataError`` if the target is outside the domain of the loss."""
        if self.targets == "binary" and not (np.abs(target.y) == 1.0).all():
            raise DataError(
                f"targets encoded as -1 and +1; got {np.unique(target.y)[:4]}. Encode labels first."
            )

    def value(self, scores: FloatArray, target: Target) -> float:
        """Weighted mean loss."""
        return self.value_grad(scores, target)[0]

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        raise LOSS.lacks(self, "a loss with a gradient")

    def infimum(self, target: Target) -> float:
        """Largest known lower bound of R over all scores."""
        return 0.0

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``; unknown."""
        return None

    def smoothed(self, width: float) -> BaseLoss | None:
        """A smooth lower bound within O(width); it has none."""
        return None

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """A plane below the loss that a smoothed loss smooths; unknown."""
        return None

    def response(self, scores: FloatArray) -> FloatArray:
        """Prediction in the units of the target (the inverse link)."""
        return scores

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances that the conformance kit tests; include non-default parameters."""
        return [cls()]
