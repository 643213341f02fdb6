"""Methods of non-linear least squares: steepest descent, Gauss-Newton, Levenberg-Marquardt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.types import FloatArray
from auctor.lab.least_squares.linear import solve_svd
from auctor.lab.least_squares.residuals import Values
from auctor.lab.least_squares.trust_region import RADIUS_SHARE, trust_step
from auctor.solvers.line_search import first_accepted, sizes

#: Most trials of a line search: 0.9^306 is 1e-14, below the rounding error of any step.
LINE_SEARCH_TRIALS = 306
#: Length of a step, relative to x, that is rounding error: machine epsilon.
STEP_ROUNDING = float(np.finfo(np.float64).eps)
#: Ratio of the actual to the predicted decrease below which the trust region shrinks.
BAD = 0.25
#: Ratio of the actual to the predicted decrease above which the trust region grows.
GOOD = 0.75
#: Factor on the radius when the trust region shrinks.
SMALLER = 0.25
#: Factor on the radius when the trust region grows.
LARGER = 2.0


class Moved(NamedTuple):
    """Result of a step: the new values, the method's state, and whether no step is possible."""

    values: Values
    state: MethodState
    stuck: bool = False


@dataclass(frozen=True)
class MethodState:
    """What a method carries between steps; only trust regions use it.

    Parameters
    ----------
    radius : float
        Largest length of a step, in units of ``scale``.
    scale : (d,) array
        Units of the unknowns.
    """

    radius: float = 0.0
    scale: FloatArray = field(default_factory=lambda: np.ones(0))


class LineSearch(ABC):
    """Base class: steps along a direction, shortened until the sum of squares falls enough."""

    armijo: float
    shrink: float

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("armijo", self.armijo, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real("shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)

    @abstractmethod
    def direction(self, values: Values) -> FloatArray:
        """Search direction at a point."""

    @speaks_for_itself
    def init(self, values: Values) -> MethodState:
        """Empty state; an error if there are bounds, which a line search would not respect."""
        if values.function.bounded:
            raise ParameterError(
                "unknowns without bounds; got bounds. Use LevenbergMarquardt, which respects them."
            )
        return MethodState()

    def step(self, values: Values, state: MethodState) -> Moved:
        """The first step size with the sufficient decrease ``armijo * size * slope``."""
        p = self.direction(values)
        slope = float(values.gradient @ p)

        def enough(size: float, trial: Values) -> bool:
            return trial.value < values.value + self.armijo * size * slope

        found = first_accepted(
            lambda size: values.function.at(values.x + size * p),
            enough,
            sizes(1.0, self.shrink, LINE_SEARCH_TRIALS),
        )
        return Moved(values, state, stuck=True) if found is None else Moved(found[1], state)


@dataclass(frozen=True)
class SteepestDescent(LineSearch):
    """Steps along the negative gradient: cheap, but slow for an ill-conditioned Jacobian.

    Parameters
    ----------
    armijo : float in (0, 1)
        Least share of the decrease predicted by the slope.
    shrink : float in (0, 1)
        Factor on a step that was too long.
    """

    armijo: float = 0.1
    shrink: float = 0.9

    def direction(self, values: Values) -> FloatArray:
        """``-J'r``."""
        return -values.gradient


@dataclass(frozen=True)
class GaussNewton(LineSearch):
    """Steps to the minimum of the linear model ``|J p + r|``; the shortest if it has several.

    Fast if residuals are small or nearly linear. With fewer residuals than unknowns a full step can
    be so long that it ends where the residuals are flat; then check the value reached, not only the
    gradient, or use `LevenbergMarquardt`.

    Parameters
    ----------
    armijo : float in (0, 1)
        Least share of the decrease predicted by the slope. Values near 1/2 reject the exact step on
        a linear problem, whose decrease is exactly half the predicted one.
    shrink : float in (0, 1)
        Factor on a step that was too long.
    """

    armijo: float = 0.01
    shrink: float = 0.9

    def direction(self, values: Values) -> FloatArray:
        """The shortest minimiser of the model."""
        return -solve_svd(values.jacobian, values.residuals)


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Steps to the minimum of the linear model inside a trust region.

    The step is exact (one SVD of the Jacobian), so any rank is allowed, also with fewer residuals
    than unknowns. Bounds are respected: unknowns that the gradient pushes against a bound stay
    there, and the steps of the others are clipped to theirs.

    Parameters
    ----------
    largest_radius : float > 0, optional
        Largest radius of the trust region; None is no limit.
    first_radius : float > 0, optional
        Radius of the first step; by default the length of x, or where x is 0 twice that of the step
        to the minimum of the first model.
    accept : float in [0, 1/4)
        Least ratio of the actual to the predicted decrease of an accepted step.
    scale_columns : bool
        Measure lengths in units of the largest length so far of every column of the Jacobian (More,
        1978), so that the units of the unknowns and of the residuals do not matter.

    References
    ----------
    More, The Levenberg-Marquardt algorithm: implementation and theory, 1978.
    """

    largest_radius: float | None = None
    first_radius: float | None = None
    accept: float = 0.1
    scale_columns: bool = True

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("accept", self.accept, low=0.0, high=0.25, open_high=True)
        for name in ("largest_radius", "first_radius"):
            if getattr(self, name) is not None:
                check_real(name, getattr(self, name), low=0.0, open_low=True)

    def init(self, values: Values) -> MethodState:
        """State with the first radius and scale."""
        scale = np.ones(values.x.size)
        if self.scale_columns:
            lengths = np.linalg.norm(values.jacobian, axis=0)
            # A column of zeros has the unit of the others until its length is known.
            scale = np.where(lengths > 0.0, lengths, lengths.max(initial=0.0) or 1.0)
        first = self.first_radius
        if first is None:
            first = float(np.linalg.norm(scale * values.x))
        if first == 0.0:
            whole = solve_svd(values.jacobian / scale, values.residuals)
            first = LARGER * float(np.linalg.norm(whole)) or 1.0
        return MethodState(min(first, self._limit), scale)

    @property
    def _limit(self) -> float:
        return np.inf if self.largest_radius is None else self.largest_radius

    def step(self, values: Values, state: MethodState) -> Moved:
        """One trial step; the ratio of actual to predicted decrease sets the next radius."""
        p, length = self._trial(values, state)
        predicted = values.value - values.model(p)
        tiny = length <= STEP_ROUNDING * float(np.linalg.norm(state.scale * values.x))
        if not predicted > 0.0:
            # A step that was clipped to bounds may rise; a shorter one is closer to the gradient.
            shorter = replace(state, radius=SMALLER * state.radius)
            return Moved(values, shorter, stuck=tiny or not values.function.bounded)
        trial = values.function.at(values.x + p)
        ratio = (values.value - trial.value) / predicted
        radius = state.radius
        if ratio < BAD:
            radius *= SMALLER
        elif ratio > GOOD and length >= (1.0 - RADIUS_SHARE) * radius:
            radius = min(LARGER * radius, self._limit)
        adjusted = replace(state, radius=radius)
        if not ratio > self.accept:
            return Moved(values, adjusted, stuck=tiny)
        # Column scales never decrease (More, 1978).
        if self.scale_columns:
            lengths = np.linalg.norm(trial.jacobian, axis=0)
            adjusted = replace(adjusted, scale=np.maximum(state.scale, lengths))
        return Moved(trial, adjusted)

    @staticmethod
    def _trial(values: Values, state: MethodState) -> tuple[FloatArray, float]:
        """The step, clipped to the bounds, and its length in units of ``scale``."""
        scale, free = state.scale, ~values.held
        p = np.zeros(values.x.size)
        found = trust_step(values.jacobian[:, free] / scale[free], values.residuals, state.radius)
        p[free] = found.p / scale[free]
        function = values.function
        if function.bounded:
            p = np.clip(values.x + p, function.lower, function.upper) - values.x
        return p, float(np.linalg.norm(scale * p))
