"""Line searches: how far to go along a direction, and whether a step was good enough.

One pass over the data gives the change of the scores along a direction; a trial step then costs
O(n). `backtrack` and `wolfe` are for smooth penalties, `composite` for any penalty,
`first_accepted` for searches with a test of their own, `polishes` for the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from auctor.core.types import FloatArray
from auctor.problem import Point, Problem

T = TypeVar("T")


@dataclass(frozen=True)
class Trial:
    """A point on a ray with the slope of the objective there."""

    step: float
    point: Point = field(repr=False)
    slope: float

    @property
    def value(self) -> float:
        """Objective at the trial."""
        return self.point.value


class Ray:
    """``J(w + a direction)`` for a smooth penalty.

    Trials are cheap where scores move linearly; where they do not, each evaluates them anew.
    """

    def __init__(self, problem: Problem, point: Point, direction: FloatArray) -> None:
        self.problem, self.origin, self.direction = problem, point, direction
        self._change = problem.score_change(direction) if problem.linear else None
        self._ridge_slope = float((problem.ridge * direction) @ point.w)
        self._ridge_curve = float((problem.ridge * direction) @ direction)
        self.start = Trial(0.0, point, self._slope(point, 0.0))

    def _slope(self, point: Point, step: float) -> float:
        if self._change is None:
            loss = float(point.gradient @ self.direction)
        else:
            loss = float(point.dscores @ self._change)
        return loss + point.ridge_rate * (self._ridge_slope + step * self._ridge_curve)

    def at(self, step: float) -> Trial:
        """Evaluate at a step length."""
        origin, scores = self.origin, None
        if self._change is not None:
            scores = step * self._change
            scores += origin.scores  # in place: the change of many rows is large
        point = self.problem.evaluate(origin.w + step * self.direction, scores=scores)
        return Trial(step, point, self._slope(point, step))


#: Share of the decrease that a slope promises which must come true (Nocedal, Wright, section 3.1).
ARMIJO = 1e-4
#: Share of the first slope that may be left in absolute value (the same, strong Wolfe conditions).
WOLFE = 0.9
#: Factor of a step that was too long; the usual halving.
SHRINK = 0.5
#: Halvings before a search gives up: 2^-60 of a step is below the rounding of its start.
MOST_TRIALS = 60
#: Change of the objective, relative to it, that rounding hides: about fifty units in the last
#: place, which is what a mean over many rows loses. Below it the violation decides.
ROUNDING = 1e-14
#: Share of the violation of optimality that such a step may leave; ends steps that only wander.
POLISHED = 0.9


def sizes(first: float = 1.0, shrink: float = SHRINK, most: int = MOST_TRIALS) -> Iterator[float]:
    """``first * shrink^k`` for k = 0, 1, ..., ``most`` of them.

    Examples
    --------
    >>> list(sizes(2.0, most=3))
    [2.0, 1.0, 0.5]
    """
    for _ in range(most):
        yield first
        first *= shrink


def first_accepted(
    trial: Callable[[float], T], accepts: Callable[[float, T], bool], steps: Iterable[float]
) -> tuple[float, T] | None:
    """The first step whose trial is accepted, with that trial, or ``None``."""
    for step in steps:
        found = trial(step)
        if accepts(step, found):
            return step, found
    return None


def backtrack(
    ray: Ray, step: float = 1.0, *, shrink: float = SHRINK, armijo: float = ARMIJO
) -> Trial | None:
    """First of ``step * shrink^k`` with ``J <= J(0) + c step slope``, or ``None``."""
    start = ray.start
    if start.slope >= 0.0:
        return None

    def enough(size: float, trial: Trial) -> bool:
        return trial.value <= start.value + armijo * size * start.slope

    found = first_accepted(ray.at, enough, sizes(step, shrink))
    return None if found is None else found[1]


def exact(ray: Ray, curvature: float) -> Trial | None:
    """The minimum along a ray on which the objective is a parabola of a known second derivative."""
    if ray.start.slope >= 0.0 or not curvature > 0.0:
        return None
    return ray.at(-ray.start.slope / curvature)


def composite(
    problem: Problem,
    point: Point,
    direction: FloatArray,
    change: FloatArray,
    *,
    sigma: float,
) -> Point | None:
    """First halving of a direction with sufficient decrease of loss plus penalty, or ``None``.

    ``change`` is that of the scores along the direction, so trials take no pass. The decrease is
    measured by ``sigma`` times ``gradient.d + penalty(w + d) - penalty(w)`` (Tseng, Yun, 2009).
    Where that is lost in rounding, the full step is taken if it lowers the violation.
    """
    # A prox without a step: one rounding outside a bound would cost infinity.
    ahead = problem.prox(point.w + direction, 0.0)
    promised = float(point.gradient @ direction) - point.penalty
    promised += problem.penalty.value(problem.coef(ahead))

    def trial(size: float) -> Point:
        w = ahead if size == 1.0 else point.w + size * direction
        return problem.evaluate(w, scores=point.scores + size * change)

    if promised > -ROUNDING * abs(point.value):
        new = trial(1.0)
        return new if polishes(new, point) else None

    def enough(size: float, new: Point) -> bool:
        return new.value <= point.value + sigma * size * promised

    found = first_accepted(trial, enough, sizes())
    return None if found is None else found[1]


def violation(point: Point) -> float:
    """Length of the violation of optimality over the columns."""
    problem = point.problem
    gradient = problem.coef(point.gradient)
    return float(np.linalg.norm(problem.penalty.violation(problem.coef(point.w), gradient)))


def polishes(new: Point, old: Point, measure: Callable[[Point], float] = violation) -> bool:
    """Whether a change too small for objective values to tell lowers the violation.

    The one rule for the last digits: the objective may rise by its rounding, if the violation of
    optimality falls to `POLISHED` of what it was.
    """
    if not new.value <= old.value + ROUNDING * abs(old.value):
        return False
    return measure(new) < POLISHED * measure(old)


def wolfe(ray: Ray, step: float = 1.0, *, curvature: float = WOLFE) -> Trial | None:
    """A step meeting the strong Wolfe conditions, by bracketing and safeguarded interpolation.

    Falls back to the best decrease found when rounding blocks the conditions.
    """
    start = _Bound(0.0, ray.start.value, ray.start.slope)
    if start.slope >= 0.0:
        return None
    # Trials are forgotten but for three numbers: their scores may be of many rows.
    low, high = start, None
    best: _Bound | None = None
    for _ in range(40):
        trial = ray.at(step)
        new = _Bound(step, trial.value, trial.slope)
        decreased = new.value <= start.value + ARMIJO * step * start.slope
        if decreased and abs(new.slope) <= -curvature * start.slope:
            return trial
        del trial
        if decreased and (best is None or new.value < best.value):
            best = new
        if not decreased or new.value > low.value or new.slope >= 0.0:
            high = new
        else:
            low = new
        if high is None:
            step *= 4.0
            continue
        width = high.step - low.step
        if width <= 1e-14 * high.step:
            break
        step = low.step + width * min(max(_interpolate(low, high), 0.1), 0.9)
    return None if best is None else ray.at(best.step)


class _Bound(NamedTuple):
    """A trial without its point."""

    step: float
    value: float
    slope: float


def _interpolate(low: _Bound, high: _Bound) -> float:
    """Where, as a fraction of the interval, the parabola through value, slope, value is lowest."""
    width = high.step - low.step
    bend = high.value - low.value - low.slope * width
    return -0.5 * low.slope * width / bend if bend > 0.0 else 0.5
