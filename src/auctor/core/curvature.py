"""Second derivatives of a loss in score space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auctor.core.types import FloatArray


@dataclass(frozen=True)
class LowRankCurvature:
    """``diag(diagonal) + factors @ core @ factors.T``: what most losses have.

    Parameters
    ----------
    diagonal : (n,) array
        Non-negative.
    factors : (n, k) array, optional
        A few columns; ``None`` for a loss that is a sum over rows.
    core : (k, k) array, optional
        Symmetric.
    """

    diagonal: FloatArray
    factors: FloatArray | None = None
    core: FloatArray | None = None

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes."""
        out = self.diagonal * v
        if self.factors is not None and self.core is not None:
            out += self.factors @ (self.core @ (self.factors.T @ v))
        return out


@dataclass(frozen=True)
class OperatorCurvature:
    """Curvature known only by its product, with the diagonal for preconditioning."""

    diagonal: FloatArray
    product: Callable[[FloatArray], FloatArray]

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes."""
        return self.product(v)


Curvature = LowRankCurvature | OperatorCurvature
