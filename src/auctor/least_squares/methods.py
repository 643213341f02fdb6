"""How one step of a non-linear least-squares solve is made: Gauss-Newton, Levenberg-Marquardt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import ParameterError
from auctor.core.types import FloatArray
from auctor.least_squares.linear import solve_svd
from auctor.least_squares.residuals import Values
from auctor.least_squares.trust_region import RADIUS_SHARE, trust_step
from auctor.solvers.line_search import first_accepted, sizes

#: Trials of a line search: 0.9^306 is 1e-14, below the rounding of any step.
MOST_TRIALS = 306
#: Length of a step, as a share of that of x, that rounding hides.
ROUNDING = float(np.finfo(np.float64).eps)
#: A step that came out worse than this share of its promise makes the region smaller (Nocedal,
#: Wright, section 4.1).
BAD = 0.25
#: One that came out better than this, at the edge of the region, makes it larger (the same).
GOOD = 0.75
#: Factor of a region that was too large (the same).
SMALLER = 0.25
#: Factor of one that was too small (the same).
LARGER = 2.0
#: First radius, as a share of the largest.
FIRST = 0.4


class Moved(NamedTuple):
    """Where a step led: the new values, what the method keeps, and whether it is stuck."""

    values: Values
    state: State
    stuck: bool = False


@dataclass(frozen=True)
class State:
    """What a method keeps between steps: nothing, unless it has a trust region.

    Parameters
    ----------
    radius : float
        Largest length of a step, in units of ``scale``.
    scale : (d,) array, optional
        Units of the unknowns.
    """

    radius: float = 0.0
    scale: FloatArray | None = None


class LineSearch(ABC):
    """Steps along a direction, cut back until the sum of squares falls enough."""

    armijo: float
    shrink: float

    def __post_init__(self) -> None:
        who = type(self).__name__
        check_real(who, "armijo", self.armijo, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real(who, "shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)

    @abstractmethod
    def direction(self, values: Values) -> FloatArray:
        """Where to go."""

    def init(self, values: Values) -> State:
        """Refuse bounds, which a line search would walk out of."""
        if values.function.bounded:
            raise ParameterError(
                type(self).__name__,
                needs="unknowns without bounds",
                got="bounds",
                todo="Use LevenbergMarquardt, which keeps them.",
            )
        return State()

    def step(self, values: Values, state: State) -> Moved:
        """The first step size that keeps ``armijo`` of what the slope promises."""
        p = self.direction(values)
        slope = float(values.gradient @ p)

        def enough(size: float, trial: Values) -> bool:
            return trial.value < values.value + self.armijo * size * slope

        found = first_accepted(
            lambda size: values.function.at(values.x + size * p),
            enough,
            sizes(1.0, self.shrink, MOST_TRIALS),
        )
        return Moved(values, state, stuck=True) if found is None else Moved(found[1], state)


@dataclass(frozen=True)
class SteepestDescent(LineSearch):
    """Steps along the negative gradient: cheap, and slow where the Jacobian is ill-conditioned.

    Parameters
    ----------
    armijo : float in (0, 1)
        Share of the decrease promised by the slope that a step must keep.
    shrink : float in (0, 1)
        Factor of a step that was too long.
    """

    armijo: float = 0.1
    shrink: float = 0.9

    def direction(self, values: Values) -> FloatArray:
        """``-J'r``."""
        return -values.gradient


@dataclass(frozen=True)
class GaussNewton(LineSearch):
    """Steps to the minimum of the linear model ``|J p + r|``, the shortest where it has many.

    Quick where residuals are small or nearly linear. With fewer residuals than unknowns a full step
    can be so long that it leaves the region where the residuals have slopes; then look at the value
    reached and not only at the gradient, or take `LevenbergMarquardt`.

    Parameters
    ----------
    armijo : float in (0, 1)
        Share of the decrease promised by the slope that a step must keep. Values near 1/2 refuse
        the exact step on a linear problem, which keeps exactly that.
    shrink : float in (0, 1)
        Factor of a step that was too long.
    """

    armijo: float = 0.01
    shrink: float = 0.9

    def direction(self, values: Values) -> FloatArray:
        """The shortest minimiser of the model."""
        return -solve_svd(values.jacobian, values.residuals)


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Steps to the minimum of the linear model inside a region in which it can be trusted.

    The step is exact (one SVD of the Jacobian), so that any rank and fewer residuals than unknowns
    are allowed. Bounds are kept: unknowns that the gradient pushes against a bound stay there, and
    steps of the others end at theirs.

    Parameters
    ----------
    largest_radius : float > 0
        Longest step ever allowed.
    first_radius : float > 0, optional
        Of the first step; two fifths of the largest by default.
    accept : float in [0, 1/4)
        Share of the promised decrease that a step must keep to be taken.
    scale_columns : bool
        Measure steps in units of the largest length that every column of the Jacobian has had
        (More, 1978), so that the units of the unknowns do not matter.

    References
    ----------
    More, The Levenberg-Marquardt algorithm: implementation and theory, 1978.
    """

    largest_radius: float = 10.0
    first_radius: float | None = None
    accept: float = 0.1
    scale_columns: bool = False

    def __post_init__(self) -> None:
        who = "LevenbergMarquardt"
        check_real(who, "largest_radius", self.largest_radius, low=0.0, open_low=True)
        check_real(who, "accept", self.accept, low=0.0, high=0.25, open_high=True)
        if self.first_radius is not None:
            check_real(who, "first_radius", self.first_radius, low=0.0, open_low=True)

    def init(self, values: Values) -> State:
        """The first region."""
        first = FIRST * self.largest_radius if self.first_radius is None else self.first_radius
        scale = None
        if self.scale_columns:
            lengths = np.linalg.norm(values.jacobian, axis=0)
            scale = np.where(lengths > 0.0, lengths, 1.0)
        return State(min(first, self.largest_radius), scale)

    def step(self, values: Values, state: State) -> Moved:
        """One trial step; it is taken, and the region changed, by how well the model did."""
        p, length = self._trial(values, state)
        promised = values.value - values.model(p)
        tiny = length <= ROUNDING * float(np.linalg.norm(values.x))
        if not promised > 0.0:
            # A step that bounds have cut may climb; a shorter one is nearer to the gradient.
            shorter = replace(state, radius=SMALLER * state.radius)
            return Moved(values, shorter, stuck=tiny or not values.function.bounded)
        trial = values.function.at(values.x + p)
        ratio = (values.value - trial.value) / promised
        radius = state.radius
        if ratio < BAD:
            radius *= SMALLER
        elif ratio > GOOD and length >= (1.0 - RADIUS_SHARE) * radius:
            radius = min(LARGER * radius, self.largest_radius)
        adjusted = replace(state, radius=radius)
        if not ratio > self.accept:
            return Moved(values, adjusted, stuck=tiny)
        if state.scale is not None:
            lengths = np.linalg.norm(trial.jacobian, axis=0)
            adjusted = replace(adjusted, scale=np.maximum(state.scale, lengths))
        return Moved(trial, adjusted)

    @staticmethod
    def _trial(values: Values, state: State) -> tuple[FloatArray, float]:
        """The step, inside the bounds, and the length it has in the units of the region."""
        scale = np.ones(values.x.size) if state.scale is None else state.scale
        free = ~values.held
        p = np.zeros(values.x.size)
        found = trust_step(values.jacobian[:, free] / scale[free], values.residuals, state.radius)
        p[free] = found.p / scale[free]
        function = values.function
        if function.bounded:
            p = np.clip(values.x + p, function.lower, function.upper) - values.x
        return p, float(np.linalg.norm(scale * p))
