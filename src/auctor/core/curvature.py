"""Second derivatives of a loss in score space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auctor.core.types import FloatArray, IntArray


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
class PairCurvature:
    """A sum over pairs of rows, ``sum_k weight_k (e_i - e_j)(e_i - e_j)'``, known by its product.

    Parameters
    ----------
    diagonal : (n,) array
        Of the part that adds up over rows, so that weights are repetitions.
    product : callable
        Product with a vector of score changes.
    draw : callable, optional
        ``draw(size)`` samples pairs in proportion to their weight: rows i, rows j, weights.
        ``None`` where the curvature holds more than pairs.
    """

    diagonal: FloatArray
    product: Callable[[FloatArray], FloatArray]
    draw: Callable[[int], tuple[IntArray, IntArray, FloatArray]] | None = None

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes, or with the columns of a matrix of them."""
        return self.product(v)


Curvature = LowRankCurvature | PairCurvature
