"""Kernel functions of two rows that are functions of their inner product and lengths.

Each is ``final(scale <x, z> + offset(|x|^2) + offset(|z|^2))``, so that a block of values is one
matrix product and one pass over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.types import Array, FloatArray


@runtime_checkable
class KernelFunction(Protocol):
    """A function of two rows whose matrix is positive semi-definite."""

    @property
    def scale(self) -> float:
        """Factor of the inner product."""

    def offset(self, squares: FloatArray) -> FloatArray:
        """Term of a row with this squared length, for each row."""

    def final(self, values: Array) -> None:
        """Apply the outer function to the sums, in place."""


@dataclass(frozen=True)
class Linear:
    """Linear kernel ``<x, z>``."""

    scale = 1.0

    def offset(self, squares: FloatArray) -> FloatArray:
        """Zeros: the linear kernel has no such term."""
        return np.zeros_like(squares)

    def final(self, values: Array) -> None:
        """No change: the kernel is the inner product itself."""


@dataclass(frozen=True)
class Rbf:
    """Gaussian kernel ``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    gamma : float > 0
    """

    gamma: float

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("gamma", self.gamma, low=0.0, open_low=True)

    @property
    def scale(self) -> float:
        """Factor of the inner product."""
        return 2.0 * self.gamma

    def offset(self, squares: FloatArray) -> FloatArray:
        """Minus gamma times the squared length."""
        return -self.gamma * squares

    def final(self, values: Array) -> None:
        """The exponential."""
        np.exp(values, out=values)


@dataclass(frozen=True)
class Polynomial:
    """Polynomial kernel ``(gamma <x, z> + coef0)^degree``.

    Parameters
    ----------
    gamma : float > 0
    degree : int >= 1
    coef0 : float >= 0
        A negative one would not give positive semi-definite kernel matrices.
    """

    gamma: float
    degree: int = 3
    coef0: float = 0.0

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("gamma", self.gamma, low=0.0, open_low=True)
        check_int("degree", self.degree, low=1)
        check_real("coef0", self.coef0, low=0.0)

    @property
    def scale(self) -> float:
        """Factor of the inner product."""
        return self.gamma

    def offset(self, squares: FloatArray) -> FloatArray:
        """Half of ``coef0`` for each row, as both rows' terms are added."""
        return np.full_like(squares, 0.5 * self.coef0)

    def final(self, values: Array) -> None:
        """The power."""
        np.power(values, self.degree, out=values)
