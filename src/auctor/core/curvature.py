"""Second derivatives of a loss in score space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auctor.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class LowRankCurvature:
    """``diag(diagonal) + factors @ core @ factors.T``: the curvature of most losses.

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
    """A sum over pairs of rows, ``sum_k weight_k (e_i - e_j)(e_i - e_j)'``, given by its product.

    Parameters
    ----------
    diagonal : (n,) array
        Diagonal of the part that is a sum over rows, for which integer weights equal repeated rows.
    product : callable
        Product with a vector of score changes.
    partners : callable, optional
        ``partners(rows)`` draws for each of these rows, none of which has a zero in ``diagonal``,
        another row that it is paired with, in proportion to the weight of the pair. ``None`` where
        the curvature is not a sum over pairs.
    """

    diagonal: FloatArray
    product: Callable[[FloatArray], FloatArray]
    partners: Callable[[IntArray], IntArray] | None = None

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes, or with the columns of a matrix of them."""
        return self.product(v)


Curvature = LowRankCurvature | PairCurvature
