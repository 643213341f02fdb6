"""A network that solves Poisson's equation on a square, as residuals at the points of a grid.

The equation is ``u_xx + u_yy = f`` on the unit square with given boundary values, and has the exact
solution ``u = exp(-x) (x + y^3)``. The network is multiplied by ``x(1-x) y(1-y)`` and added to a
function with the boundary values, so that these hold for all weights (Lagaris, Likas, Fotiadis,
1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_int, check_vector
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray
from auctor.lab.maps.activations import Activation, activation

#: Points per side of the grid on which errors are measured, boundary included; steps of 0.01.
TEST_POINTS = 101


class NetworkWeights(NamedTuple):
    """Output weights, weights of x and of y, and offsets of the hidden units."""

    v: FloatArray
    wx: FloatArray
    wy: FloatArray
    u: FloatArray


def exact(x: FloatArray, y: FloatArray) -> FloatArray:
    """The solution of the equation."""
    value: FloatArray = np.exp(-x) * (x + y**3)
    return value


def _boundary(x: FloatArray, y: FloatArray) -> FloatArray:
    """A function that equals the solution on the boundary of the square."""
    e = np.exp(-1.0)
    left, right = y**3, (1.0 + y**3) * e
    bottom, top = x * np.exp(-x), (x + 1.0) * np.exp(-x)
    corners_below = x * e
    corners_above = (1.0 - x) + 2.0 * x * e
    value: FloatArray = (
        (1.0 - x) * left
        + x * right
        + (1.0 - y) * (bottom - corners_below)
        + y * (top - corners_above)
    )
    return value


@dataclass(frozen=True)
class PoissonNetwork:
    """Residuals of Poisson's equation for a network with one hidden layer.

    Parameters
    ----------
    units : int >= 1
        Number of hidden units, of four weights each.
    activation : {"tanh", "sigmoid"}
    points : int >= 1
        Points per side of the interior grid at which the residuals are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.lab import least_squares
    >>> equation = PoissonNetwork()
    >>> start = np.random.default_rng(0).normal(size=equation.size)
    >>> found = least_squares.solve(equation.residuals, start, equation.jacobian, slope=1e-4)
    >>> bool(equation.largest_error(found.x) < 1e-4)
    True
    """

    units: int = 10
    activation: str = "tanh"
    points: int = 5

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("units", self.units, low=1)
        check_int("points", self.points, low=1)
        activation(self.activation)

    @property
    def size(self) -> int:
        """Number of weights."""
        return 4 * self.units

    @cached_property
    def _s(self) -> Activation:
        return activation(self.activation)

    @cached_property
    def grid(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates x and y of the interior grid points."""
        inside = np.arange(1, self.points + 1) / (self.points + 1)
        x, y = np.meshgrid(inside, inside, indexing="ij")
        return x.ravel(), y.ravel()

    @cached_property
    def _fixed(self) -> FloatArray:
        """Laplacian of the boundary function, less the right-hand side, at the grid."""
        x, y = self.grid
        e = np.exp(-x)
        xx = (1.0 - y) * (x - 2.0) * e + y * (x - 1.0) * e
        yy = 6.0 * y * (1.0 - x) + 6.0 * x * y * np.exp(-1.0)
        fixed: FloatArray = xx + yy - e * (x - 2.0 + y**3 + 6.0 * y)
        return fixed

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Factors of N, N_x, N_y and N_xx + N_yy in the residuals, at the grid."""
        x, y = self.grid
        hx, hy = x * (1.0 - x), y * (1.0 - y)
        return (-2.0 * (hx + hy), 2.0 * (1.0 - 2.0 * x) * hy, 2.0 * hx * (1.0 - 2.0 * y), hx * hy)

    @speaks_for_itself
    def unpack(self, w: FloatArray) -> NetworkWeights:
        """The parts of a weight vector."""
        return NetworkWeights(*check_vector("w", w, size=self.size).reshape(4, -1))

    def _hidden(self, weights: NetworkWeights, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._s.value(np.outer(x, weights.wx) + np.outer(y, weights.wy) + weights.u)

    def residuals(self, w: FloatArray) -> FloatArray:
        """``u_xx + u_yy - f`` of the trial solution at every point of the grid."""
        weights = self.unpack(w)
        v, wx, wy, _ = weights
        s0 = self._hidden(weights, *self.grid)
        s1, s2 = self._s.first(s0), self._s.second(s0)
        n, nx, ny, nn = self._factors
        left: FloatArray = (
            self._fixed
            + n * (s0 @ v)
            + nx * (s1 @ (v * wx))
            + ny * (s1 @ (v * wy))
            + nn * (s2 @ (v * (wx * wx + wy * wy)))
        )
        return left

    def jacobian(self, w: FloatArray) -> FloatArray:
        """Derivatives of the residuals by the weights, (grid points, weights)."""
        weights = self.unpack(w)
        v, wx, wy, _ = weights
        x, y = (part[:, None] for part in self.grid)
        n, nx, ny, nn = (part[:, None] for part in self._factors)
        s0 = self._hidden(weights, *self.grid)
        s1, s2, s3 = self._s.first(s0), self._s.second(s0), self._s.third(s0)
        squares = wx * wx + wy * wy
        by_v = n * s0 + (nx * wx + ny * wy) * s1 + nn * squares * s2
        # By the argument of a unit; weights of x and y also enter through N_x, N_y, N_xx, N_yy.
        by_u = v * (n * s1 + (nx * wx + ny * wy) * s2 + nn * squares * s3)
        by_wx = x * by_u + v * (nx * s1 + 2.0 * nn * wx * s2)
        by_wy = y * by_u + v * (ny * s1 + 2.0 * nn * wy * s2)
        return np.hstack((by_v, by_wx, by_wy, by_u))

    def solution(self, w: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
        """The trial solution at some points; exact on the boundary for all weights."""
        weights = self.unpack(w)
        inside = x * (1.0 - x) * y * (1.0 - y)
        value: FloatArray = _boundary(x, y) + inside * (self._hidden(weights, x, y) @ weights.v)
        return value

    def errors(self, w: FloatArray) -> FloatArray:
        """Differences from the exact solution on a grid of 101 by 101 points."""
        side = np.linspace(0.0, 1.0, TEST_POINTS)
        x, y = (part.ravel() for part in np.meshgrid(side, side, indexing="ij"))
        return self.solution(w, x, y) - exact(x, y)

    def largest_error(self, w: FloatArray) -> float:
        """Largest absolute error on a grid of 101 by 101 points."""
        return float(np.abs(self.errors(w)).max())
