"""A user's residuals and Jacobian with checks and counters, and their values at a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.errors import DataError, speaks
from auctor.core.rounding import ROUNDING
from auctor.core.types import Array, FloatArray

#: A user's residuals or Jacobian.
Function = Callable[[FloatArray], Any]


class Residuals:
    """Half the sum of squares of a vector function, with bounds.

    Parameters
    ----------
    residuals : callable
        ``residuals(x)`` is a vector, always of the same length.
    jacobian : callable
        ``jacobian(x)`` has its derivatives: one row per residual, one column per unknown.
    lower, upper : (d,) array
        Bounds; infinite entries mean no bound.
    """

    def __init__(
        self, residuals: Function, jacobian: Function, lower: FloatArray, upper: FloatArray
    ) -> None:
        self._residuals, self._jacobian = residuals, jacobian
        self.lower, self.upper = lower, upper
        self.bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        self.evaluations = 0
        self.jacobians = 0
        self.size: int | None = None

    @speaks
    def at(self, x: FloatArray) -> Values:
        """Residuals at a point."""
        self.evaluations += 1
        # A trial step may overflow: its value is then infinite and the step is rejected.
        with np.errstate(over="ignore", invalid="ignore"):
            r = np.asarray(self._residuals(x), dtype=np.float64)
        if r.ndim != 1 or (self.size is not None and r.size != self.size):
            wanted = "a vector" if self.size is None else f"{self.size} residuals as at the start"
            raise DataError(
                wanted,
                got=f"an array of shape {r.shape}",
                todo="Return one number per residual at every point.",
            )
        self.size = r.size
        value = 0.5 * float(r @ r) if np.isfinite(r).all() else np.inf
        return Values(self, x, r, value)

    @speaks
    def jacobian_at(self, x: FloatArray) -> FloatArray:
        """Derivatives at a point."""
        self.jacobians += 1
        J = np.ascontiguousarray(self._jacobian(x), dtype=np.float64)
        if J.shape != (self.size, x.size):
            raise DataError(
                f"a Jacobian of shape ({self.size}, {x.size}); got shape {J.shape}. Return one row "
                "per residual and one column per unknown."
            )
        if not np.isfinite(J).all():
            raise DataError(
                "a finite Jacobian; got NaN or infinity. Add bounds that exclude points without "
                "derivatives."
            )
        return J


@dataclass(frozen=True)
class Values:
    """A point with its residuals; the Jacobian is computed on first use."""

    function: Residuals = field(repr=False)
    x: FloatArray
    residuals: FloatArray = field(repr=False)
    value: float

    @cached_property
    def jacobian(self) -> FloatArray:
        """Derivatives of the residuals."""
        return self.function.jacobian_at(self.x)

    @cached_property
    def gradient(self) -> FloatArray:
        """``J'r``."""
        gradient: FloatArray = self.jacobian.T @ self.residuals
        return gradient

    @cached_property
    def held(self) -> Array:
        """True for unknowns at a bound that the gradient pushes them against."""
        low = (self.x <= self.function.lower) & (self.gradient > 0.0)
        return low | ((self.x >= self.function.upper) & (self.gradient < 0.0))

    @cached_property
    def slope(self) -> float:
        """Norm of the gradient over the unknowns that are not held at a bound."""
        return float(np.linalg.norm(np.where(self.held, 0.0, self.gradient)))

    @property
    def cosine(self) -> float:
        """Largest cosine of the angle between the residuals and the column of a free unknown."""
        lengths = np.linalg.norm(self.jacobian, axis=0) * np.linalg.norm(self.residuals)
        slopes = np.abs(np.where(self.held, 0.0, self.gradient))
        return float(np.divide(slopes, lengths, out=slopes, where=lengths > 0.0).max(initial=0.0))

    @property
    def vanish(self) -> bool:
        """Whether the residuals are no larger than what rounding x changes them by."""
        rounding = ROUNDING * float(np.linalg.norm(np.abs(self.jacobian) @ np.abs(self.x)))
        return float(np.linalg.norm(self.residuals)) <= rounding

    def model(self, p: FloatArray) -> float:
        """Half the sum of squares of the linear model ``r + J p``."""
        moved = self.residuals + self.jacobian @ p
        return 0.5 * float(moved @ moved)
