"""Non-linear least squares: the solver loop and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np

from auctor.core.checks import check_int, check_real, check_vector
from auctor.core.errors import DataError, speaks_as
from auctor.core.types import FloatArray
from auctor.lab.least_squares.methods import LevenbergMarquardt, MethodState, Moved
from auctor.lab.least_squares.residuals import Function, Residuals, Values


class FitStatus(Enum):
    """How a solve ended; the value is the sentence a user reads."""

    CONVERGED = "The gradient is within the tolerance, or the residuals are rounding errors."
    SETTLED = "No step lowers the sum of squares by more than rounding error."
    MAX_ITER = "The limit on steps was reached before the tolerance was met."


class Method(Protocol):
    """A method of non-linear least squares."""

    def init(self, values: Values) -> MethodState:
        """State at the start."""

    def step(self, values: Values, state: MethodState) -> Moved:
        """One step."""


@dataclass(frozen=True)
class LeastSquaresFit:
    """The result of a least-squares solve.

    Attributes
    ----------
    x : (d,) array
    value : float
        Half the sum of squares at x. Check it even if the gradient is small: a network whose units
        are saturated has no gradient and a large residual.
    slope : float
        Norm of ``J'r`` at x, without unknowns that are held at a bound.
    residuals : (n,) array
    status : FitStatus
    n_iter : int
        Number of trial steps.
    evaluations, jacobians : int
        Number of calls of the two functions.
    values : tuple of float
        Half the sum of squares at the start and after every step.
    """

    x: FloatArray
    value: float
    slope: float
    residuals: FloatArray = field(repr=False)
    status: FitStatus
    n_iter: int
    evaluations: int
    jacobians: int
    values: tuple[float, ...] = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the tolerance is met, or the sum of squares can fall no further."""
        return self.status is not FitStatus.MAX_ITER


@speaks_as("least_squares.solve")
def solve(
    residuals: Function,
    x0: Any,
    jacobian: Function,
    *,
    method: Method | None = None,
    lower: Any = None,
    upper: Any = None,
    tol: float = 1e-8,
    slope: float = 0.0,
    max_iter: int = 200,
) -> LeastSquaresFit:
    """Minimise half the sum of squares of ``residuals(x)``.

    Parameters
    ----------
    residuals : callable
        ``residuals(x)``, a vector. A step to a point at which it is not finite is rejected.
    x0 : (d,) array
        Starting point, inside the bounds.
    jacobian : callable
        ``jacobian(x)``, of shape (residuals, unknowns); either may be the larger.
    method : LevenbergMarquardt, GaussNewton or SteepestDescent, optional
        `LevenbergMarquardt` by default.
    lower, upper : (d,) arrays or numbers, optional
        Bounds; only `LevenbergMarquardt` supports them.
    tol : float >= 0
        Largest cosine of the angle between the residuals and a column of the Jacobian to reach, so
        that the units of residuals and unknowns do not matter.
    slope : float >= 0
        Norm of ``J'r`` that is enough as well, in the units of the problem.
    max_iter : int >= 0
        Largest number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(4.0)
    >>> y = 2.0 * np.exp(-0.5 * t)
    >>> found = solve(
    ...     lambda x: x[0] * np.exp(-x[1] * t) - y,
    ...     [1.0, 1.0],
    ...     lambda x: np.stack((np.exp(-x[1] * t), -x[0] * t * np.exp(-x[1] * t)), axis=1),
    ... )
    >>> found.x.round(8), found.status.name
    (array([2. , 0.5]), 'CONVERGED')
    """
    start = check_vector("x0", x0).copy()
    check_real("tol", tol, low=0.0)
    check_real("slope", slope, low=0.0)
    most = check_int("max_iter", max_iter)
    # Checks at the starting point, before any step.
    box = _bounds(start, lower, upper)
    function = Residuals(residuals, jacobian, *box)
    values = function.at(start)
    if not np.isfinite(values.value):
        raise DataError("finite residuals at x0; got NaN or infinity. Pass another x0.")
    maker = LevenbergMarquardt() if method is None else method
    state, trace, status = maker.init(values), [values.value], FitStatus.MAX_ITER
    # Test the gradient before each step; the last round only tests.
    for _ in range(most + 1):
        if values.cosine <= tol or values.slope <= slope or values.vanish:
            status = FitStatus.CONVERGED
            break
        if len(trace) > most:
            break
        values, state, stuck = maker.step(values, state)
        if stuck:
            status = FitStatus.SETTLED
            break
        trace.append(values.value)
    return LeastSquaresFit(
        x=values.x,
        value=values.value,
        slope=values.slope,
        residuals=values.residuals,
        status=status,
        n_iter=len(trace) - 1,
        evaluations=function.evaluations,
        jacobians=function.jacobians,
        values=tuple(trace),
    )


def _bounds(start: FloatArray, lower: Any, upper: Any) -> tuple[FloatArray, FloatArray]:
    """Bounds as arrays; an error unless the start is between them."""
    low = np.full(start.size, -np.inf if lower is None else lower, dtype=np.float64)
    high = np.full(start.size, np.inf if upper is None else upper, dtype=np.float64)
    if not (low <= high).all():
        j = int(np.argmax(~(low <= high)))
        raise DataError(
            f"`lower` <= `upper`; got {low[j]:g} and {high[j]:g} for unknown {j}. Swap or widen "
            "these bounds."
        )
    if ((start < low) | (start > high)).any():
        j = int(np.argmax((start < low) | (start > high)))
        raise DataError(
            f"a start inside the bounds; got x0[{j}] = {start[j]:g} outside [{low[j]:g}, "
            f"{high[j]:g}]. Move x0 inside, or widen the bounds."
        )
    return low, high
