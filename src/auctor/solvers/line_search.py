"""The objective along a direction: one pass over the data, then O(n) per trial step."""

from __future__ import annotations

from dataclasses import dataclass, field

from auctor.core.types import FloatArray
from auctor.problem import Point, Problem


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
    """``J(w + a direction)`` for a smooth penalty; scores move linearly, so trials are cheap."""

    def __init__(self, problem: Problem, point: Point, direction: FloatArray) -> None:
        self.problem, self.origin, self.direction = problem, point, direction
        self._change = problem.score_change(direction)
        self._ridge_slope = float((problem.ridge * direction) @ point.w)
        self._ridge_curve = float((problem.ridge * direction) @ direction)
        self.start = Trial(0.0, point, self._slope(point, 0.0))

    def _slope(self, point: Point, step: float) -> float:
        loss = float(point.dscores @ self._change)
        return loss + point.ridge_rate * (self._ridge_slope + step * self._ridge_curve)

    def at(self, step: float) -> Trial:
        """Evaluate at a step length."""
        origin = self.origin
        point = self.problem.evaluate(
            origin.w + step * self.direction, scores=origin.scores + step * self._change
        )
        return Trial(step, point, self._slope(point, step))


#: Sufficient decrease and curvature constants of the Wolfe conditions.
ARMIJO, WOLFE = 1e-4, 0.9


def backtrack(ray: Ray, step: float = 1.0, *, shrink: float = 0.5) -> Trial | None:
    """First of ``step * shrink^k`` with ``J <= J(0) + c step slope``, or ``None``."""
    start = ray.start
    if start.slope >= 0.0:
        return None
    for _ in range(60):
        trial = ray.at(step)
        if trial.value <= start.value + ARMIJO * step * start.slope:
            return trial
        step *= shrink
    return None


def wolfe(ray: Ray, step: float = 1.0, *, curvature: float = WOLFE) -> Trial | None:
    """A step meeting the strong Wolfe conditions, by bracketing and safeguarded interpolation.

    Falls back to the best decrease found when rounding blocks the conditions.
    """
    start = ray.start
    if start.slope >= 0.0:
        return None
    low, high = start, None
    best: Trial | None = None
    for _ in range(40):
        trial = ray.at(step)
        decreased = trial.value <= start.value + ARMIJO * step * start.slope
        if decreased and (best is None or trial.value < best.value):
            best = trial
        if decreased and abs(trial.slope) <= -curvature * start.slope:
            return trial
        if not decreased or trial.value > low.value or trial.slope >= 0.0:
            high = trial
        else:
            low = trial
        if high is None:
            step *= 4.0
            continue
        width = high.step - low.step
        if width <= 1e-14 * high.step:
            break
        step = low.step + width * min(max(_interpolate(low, high), 0.1), 0.9)
    return best


def _interpolate(low: Trial, high: Trial) -> float:
    """Where, as a fraction of the interval, the parabola through value, slope, value is lowest."""
    width = high.step - low.step
    bend = high.value - low.value - low.slope * width
    return -0.5 * low.slope * width / bend if bend > 0.0 else 0.5
