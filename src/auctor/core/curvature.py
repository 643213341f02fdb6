"""Second derivatives of a loss in score space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from auctor.core.types import FloatArray, IntArray

#: Draws for each of some rows another row that it is paired with.
Partners = Callable[[IntArray], IntArray]


class Curvature(Protocol):
    """``M + factors @ core @ factors.T``, where M couples no rows, or only pairs of them."""

    by_pairs: ClassVar[bool]  # whether M couples pairs of rows; otherwise it is diag(diagonal)

    @property
    def diagonal(self) -> FloatArray:
        """Diagonal of M, not negative."""

    @property
    def factors(self) -> FloatArray | None:
        """A few columns, one entry per row; ``None`` if there is no low-rank part."""

    @property
    def core(self) -> FloatArray | None:
        """A symmetric matrix; ``None`` if there is no low-rank part."""

    @property
    def partners(self) -> Partners | None:
        """Draws the partners of rows, in proportion to the weights of pairs; else ``None``."""

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes."""

    def without_factors(self, v: FloatArray) -> FloatArray:
        """``M @ v``: the product without the low-rank part."""

    def scaled(self, factor: float) -> Curvature:
        """The curvature times a positive number."""


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

    by_pairs: ClassVar[bool] = False
    partners: ClassVar[None] = None

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes."""
        out = self.diagonal * v
        if self.factors is not None and self.core is not None:
            out += self.factors @ (self.core @ (self.factors.T @ v))
        return out

    def without_factors(self, v: FloatArray) -> FloatArray:
        """The diagonal part of the product with a vector of score changes."""
        return self.diagonal * v

    def scaled(self, factor: float) -> LowRankCurvature:
        """The curvature times a positive number."""
        core = None if self.core is None else factor * self.core
        return LowRankCurvature(factor * self.diagonal, self.factors, core)


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
    partners: Partners | None = None

    by_pairs: ClassVar[bool] = True
    factors: ClassVar[None] = None
    core: ClassVar[None] = None

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a vector of score changes, or with the columns of a matrix of them."""
        return self.product(v)

    def without_factors(self, v: FloatArray) -> FloatArray:
        """The product itself: there is no low-rank part."""
        return self.product(v)

    def scaled(self, factor: float) -> PairCurvature:
        """The curvature times a positive number."""
        return PairCurvature(
            factor * self.diagonal, lambda v: factor * self.product(v), self.partners
        )
