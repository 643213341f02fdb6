"""What the quadratic models share: eliminating the intercept, and Gram matrices that grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class InterceptRow:
    """The intercept's row ``(side', corner)`` of a model's matrix ``[[A, side], [side', corner]]``.

    Minimised over the intercept, the model depends on the change z of the weights alone. Its matrix
    is the Schur complement ``A - side side' / corner``, its gradient ``g - side slope / corner``,
    and the best change of the intercept is ``-(slope + side' z) / corner``, where ``slope`` is the
    derivative in the intercept. A corner of 0 stands for a model without intercept or without
    curvature along it: the intercept then stays as it is.
    """

    side: FloatArray
    corner: float

    @classmethod
    def absent(cls, size: int) -> InterceptRow:
        """The row of a model of ``size`` weights without intercept."""
        return cls(np.zeros(size), 0.0)

    @property
    def present(self) -> bool:
        """Whether there is an intercept to eliminate."""
        return self.corner > 0.0

    def of(self, index: IntArray) -> InterceptRow:
        """The row of the model over some of the weights."""
        return InterceptRow(self.side[index], self.corner)

    def taken(self) -> FloatArray:
        """What elimination subtracts from the diagonal of the matrix."""
        return self.side * (self.side / self.corner) if self.present else np.zeros_like(self.side)

    def eliminate(self, matrix: FloatArray) -> None:
        """Turn the matrix over the weights into its Schur complement, in place."""
        if self.present:
            matrix -= np.outer(self.side, self.side / self.corner)

    def gradient(self, gradient: FloatArray, slope: float) -> FloatArray:
        """The gradient in the weights when the intercept follows them."""
        return gradient - self.side * (slope / self.corner) if self.present else gradient

    def change(self, moved: FloatArray, slope: float = 0.0) -> float:
        """The intercept's best change beside the change ``moved`` of the weights."""
        return -(slope + float(self.side @ moved)) / self.corner if self.present else 0.0


def grown_gram(gram: FloatArray, products: FloatArray) -> FloatArray:
    """A Gram matrix with more columns at its end.

    ``products`` has a row for every column, the old ones first, and a column for every new one.
    """
    old, size = gram.shape[0], products.shape[0]
    grown = np.empty((size, size))
    grown[:old, :old] = gram
    grown[:, old:] = products
    grown[old:, :old] = products[:old].T
    return grown
