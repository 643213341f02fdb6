"""Defaults that a new loss inherits; it defines `value_grad` and what its order requires."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from auctor.core.curvature import Curvature
from auctor.core.errors import DataError, IncompatibleError
from auctor.core.evaluation import Evaluation
from auctor.core.needs import Coupling, Splits
from auctor.core.protocols import ByRows, Loss, Shifts
from auctor.core.shift import ShiftedScores
from auctor.core.types import FloatArray, Target


class BaseLoss:
    """A convex, smooth loss of order 1 unless a subclass says otherwise.

    Conventions: scores and targets have shape (n,); the value is a weighted **mean** (over rows or
    over pairs), so weights may have any positive sum.
    """

    #: Whether it is a sum over rows or ties rows together (pairs, sets).
    coupling: ClassVar[Coupling] = Coupling.ROW
    #: "binary": targets are -1/+1; "real": targets are any numbers.
    targets: ClassVar[str] = "binary"
    #: "row": any weights; "class": weights must be equal within each class.
    weights: ClassVar[str] = "row"
    #: Whether the loss does not depend on the order of the rows.
    exchangeable: ClassVar[bool] = True
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
    #: Whether smoothing can be centred at given slopes, by `centre`.
    supports_centring: bool = False
    #: Code of the compiled row loss; ``None`` if there is none.
    kind: int | None = None
    #: Whether `by_rows` is available: it is a row loss for a given threshold.
    has_row_form: bool = False

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

    def check_target(self, target: Target) -> None:
        """Raise ``DataError`` if the target is outside the domain of the loss."""
        if self.targets == "binary" and not (np.abs(target.y) == 1.0).all():
            raise DataError(
                f"{type(self).__name__}",
                needs="targets encoded as -1 and +1",
                got=f"{np.unique(target.y)[:4]}",
                todo="Encode the labels first.",
            )

    def value(self, scores: FloatArray, target: Target) -> float:
        """Weighted mean loss."""
        return self.value_grad(scores, target)[0]

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        raise self._lacks("a gradient")

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""
        raise self._lacks("curvature")

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """The loss at some scores; ``near`` is the latest evaluation of a problem.

        A loss that sorts the scores reuses the order of ``near`` if it is at the same scores.
        """
        return Evaluation(self, scores, target)

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return ShiftedScores(self, scores, target)

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``, or ``None`` when there is no closed form."""
        return None

    def infimum(self, target: Target) -> float:
        """Largest known lower bound of R over all scores."""
        return 0.0

    def smoothed(self, width: float) -> BaseLoss | None:
        """A smooth lower bound within O(width), or ``None``."""
        return None

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """C with ``grad.s + C`` below the loss that this one smooths, grad being its gradient here.

        ``None`` where the conjugate of that loss is known exactly, or this loss smooths none.
        """
        return None

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes.

        The smoothed loss at scores shifted by ``width * centre(u)`` penalises the distance of its
        slopes from u instead of their size.
        """
        raise self._lacks("centre for smoothing")

    def smoothed_around(self, width: float, slopes: FloatArray, target: Target) -> BaseLoss | None:
        """The smoothed form that penalises the distance of its slopes from the given ones.

        Its error goes to zero as the slopes converge, at any width. ``None`` where there is no
        smoothed form.
        """
        from auctor.losses.moved import MovedScores  # it derives from this class

        loss = self.smoothed(width)
        return None if loss is None else MovedScores(loss, width * self.centre(slopes, target))

    @property
    def per_pair(self) -> Loss | None:
        """The row loss of score differences whose mean over pairs this loss is, or ``None``."""
        return None

    def by_rows(self, target: Target) -> ByRows:
        """The row loss whose intercept is the threshold of the scores."""
        raise self._lacks("form over rows")

    def margin(self, target: Target) -> float | None:
        """The margin of the loss in score units; ``None`` if it has none."""
        return None

    def response(self, scores: FloatArray) -> FloatArray:
        """Prediction in the units of the target (the inverse link)."""
        return scores

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances that the conformance kit tests; include non-default parameters."""
        return [cls()]

    def _lacks(self, what: str) -> IncompatibleError:
        return IncompatibleError(
            f"{type(self).__name__} has order {self.order}; it has no {what}. "
            "Use a solver that does not need it."
        )


class SmoothedByWidth(BaseLoss):
    """A loss with kinks at width 0, which a positive width smooths.

    A subclass has ``width`` as a parameter: the length of the quadratic pieces, in score units.
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
