"""Line searches: how far to go along a direction, and whether a step was good enough.

One pass over the data gives the change of the scores along a direction; a trial step then costs
O(n). `backtrack` and `wolfe` are for smooth penalties, `composite` for any penalty,
`first_accepted` for searches with a test of their own, `polishes` for the last digits. `lowest_on`
and `bracket` minimise convex functions with kinks on a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from auctor.core.protocols import Splits
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.intercept import evaluate_at_best_intercept

T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True)
class Trial:
    """Objective and slope at a step along a ray; ``source`` is the point, or the ray to get it."""

    step: float
    value: float
    slope: float
    source: Point | Ray = field(repr=False)

    @cached_property
    def point(self) -> Point:
        """The point, evaluated on first use."""
        return self.source if isinstance(self.source, Point) else self.source.point(self.step)

    def with_best_intercept(self) -> Point:
        """The point with its best intercept; the ray cannot be used afterwards."""
        if isinstance(self.source, Point):
            return self.source.problem.with_best_intercept(self.source)
        return self.source.with_best_intercept(self.step)


class Ray:
    """``J(w + a direction)`` for a smooth penalty.

    If scores are linear in w, a trial takes O(n) operations; otherwise it computes the scores anew.
    With a compact target (rows in shards) a row loss is summed over parts of the rows, so that a
    trial allocates no array of n_rows; the point is evaluated for the accepted trial alone.
    """

    def __init__(self, problem: Problem, point: Point, direction: FloatArray) -> None:
        self.problem, self.origin, self.direction = problem, point, direction
        self._change = problem.score_change(direction) if problem.linear else None
        self._ridge_slope = float((problem.ridge * direction) @ point.w)
        self._ridge_curve = float((problem.ridge * direction) @ direction)
        self._in_parts = (
            isinstance(self._change, np.ndarray)
            and problem.data.target.has_byte_labels
            and problem.loss.splits is Splits.ROWS
        )
        self.start = Trial(0.0, point.value, self._slope(point, 0.0), point)

    def _slope(self, point: Point, step: float) -> float:
        """Derivative of the objective along the ray, at a point of the ray."""
        # d/da J(w + a d) = dR/ds . (X d) + rate (ridge d) . (w + a d)
        if self._change is None:
            loss = float(point.gradient @ self.direction)
        else:
            loss = float(point.dscores @ self._change)
        return loss + point.ridge_rate * (self._ridge_slope + step * self._ridge_curve)

    def at(self, step: float) -> Trial:
        """Evaluate at a step length."""
        if self._in_parts:
            return self._summed(step)
        point = self.point(step)
        return Trial(step, point.value, self._slope(point, step), point)

    def _summed(self, step: float) -> Trial:
        """Value and slope as sums over parts of the rows."""
        problem, change, scores = self.problem, self._change, self.origin.scores
        assert change is not None
        value = slope = 0.0
        for rows, part in problem.data.target.parts():
            loss, dscores = problem.loss.value_grad(_moved(scores[rows], step, change[rows]), part)
            value += loss
            slope += float(dscores @ change[rows])
        problem.counts.evaluations += 1
        penalty = problem.penalty.value(problem.coef(self.origin.w + step * self.direction))
        slope += self._ridge_slope + step * self._ridge_curve
        return Trial(step, value + penalty, slope, self)

    def point(self, step: float) -> Point:
        """The point at a step length."""
        origin, scores = self.origin, None
        if self._change is not None:
            scores = _moved(origin.scores, step, self._change)
        return self.problem.evaluate(origin.w + step * self.direction, scores=scores)

    def with_best_intercept(self, step: float) -> Point:
        """The point at a step length with its best intercept; overwrites the change of scores."""
        assert self._change is not None
        scores, self._change = self._change, NOTHING
        scores *= step
        scores += self.origin.scores
        w = self.origin.w + step * self.direction
        return evaluate_at_best_intercept(self.problem, w, scores)


#: The change of scores of a ray whose array was overwritten.
NOTHING: FloatArray = np.empty(0)


def _moved(scores: FloatArray, step: float, change: FloatArray) -> FloatArray:
    """``scores + step * change`` as a new array, without a second one for the product."""
    moved: FloatArray = step * change
    moved += scores
    return moved


#: Sufficient decrease: least share of the decrease predicted by the slope.
ARMIJO = 1e-4
#: Strong Wolfe condition: largest absolute slope, as a share of the first slope.
WOLFE = 0.9
#: Factor on a step that was too long; the usual halving.
SHRINK = 0.5
#: Halvings before a search gives up: 2^-60 of a step is below the rounding error of the start.
MOST_TRIALS = 60
#: Violation after a step whose decrease is below rounding, as a share of that before it.
POLISHED = 0.9
#: Factor between trials until a minimum is bracketed.
EXPAND = 4.0
#: Most trials of `wolfe` and of `lowest_on`.
MOST_BRACKETED = 40
#: Least distance of a trial of `wolfe` from both ends of the bracket, as a share of its width.
SAFEGUARD = 0.1


def sizes(first: float = 1.0, factor: float = SHRINK, most: int = MOST_TRIALS) -> Iterator[float]:
    """``first * factor^k`` for k = 0, 1, ..., ``most`` of them.

    Examples
    --------
    >>> list(sizes(2.0, most=3))
    [2.0, 1.0, 0.5]
    """
    for _ in range(most):
        yield first
        first *= factor


def first_accepted(
    trial: Callable[[A], T], accepts: Callable[[A, T], bool], steps: Iterable[A]
) -> tuple[A, T] | None:
    """The first step whose trial is accepted, with that trial, or ``None``."""
    for step in steps:
        value = trial(step)
        if accepts(step, value):
            return step, value
        del value  # frees its scores and slopes before the next trial
    return None


def backtrack(
    ray: Ray, step: float = 1.0, *, shrink: float = SHRINK, armijo: float = ARMIJO
) -> Trial | None:
    """Trial at the first ``a = step * shrink^k`` with ``J(a) <= J(0) + armijo a slope``."""
    start = ray.start
    if start.slope >= 0.0:
        return None

    def enough(size: float, trial: Trial) -> bool:
        return trial.value <= start.value + armijo * size * start.slope

    accepted_step = first_accepted(ray.at, enough, sizes(step, shrink))
    return None if accepted_step is None else accepted_step[1]


def exact(ray: Ray, curvature: float) -> Trial | None:
    """Minimum along a ray on which the objective is a parabola; ``curvature`` is its J''."""
    if ray.start.slope >= 0.0 or not curvature > 0.0:
        return None
    return ray.at(-ray.start.slope / curvature)


def composite(
    problem: Problem, point: Point, direction: FloatArray, change: FloatArray, *, sigma: float
) -> Point | None:
    """First halving of a direction with sufficient decrease of loss plus penalty, or ``None``.

    ``change`` is the change of the scores along the direction, so trials take no pass over the
    data. A step of size a must lower the objective by at least ``sigma a`` times the predicted
    decrease ``-(gradient.d + penalty(w + d) - penalty(w))`` (Tseng, Yun, 2009). If the prediction
    is below rounding error, the full step is taken if it lowers the violation of optimality.
    """
    # A prox of step size 0 projects onto the bounds: w + d may be one rounding error outside,
    # where the penalty is infinite.
    full = problem.prox(point.w + direction, 0.0)
    predicted = float(point.gradient @ direction) - point.penalty
    predicted += problem.penalty.value(problem.coef(full))

    def trial(size: float) -> Point:
        w = full if size == 1.0 else point.w + size * direction
        return problem.evaluate(w, scores=_moved(point.scores, size, change))

    if predicted > -ROUNDING * abs(point.value):
        new = trial(1.0)
        return new if polishes(new, point) else None

    def enough(size: float, new: Point) -> bool:
        return new.value <= point.value + sigma * size * predicted

    accepted_step = first_accepted(trial, enough, sizes())
    return None if accepted_step is None else accepted_step[1]


def violations(point: Point) -> FloatArray:
    """Violation of the optimality conditions, per column."""
    problem = point.problem
    return problem.penalty.violation(problem.coef(point.w), problem.coef(point.gradient))


def violation(point: Point) -> float:
    """Euclidean norm of the violation of the optimality conditions over the columns."""
    return float(np.linalg.norm(violations(point)))


def polishes(new: Point, old: Point, measure: Callable[[Point], float] = violation) -> bool:
    """Whether a step improves the point although the objective changes only by rounding error.

    All solvers accept steps in the last digits by this rule: the objective may rise by its rounding
    error if the violation of optimality falls to `POLISHED` times the old one.
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
    # Only three numbers of a trial are kept: its scores may fill much memory.
    # ``low`` has sufficient decrease and a negative slope; a minimum lies between it and ``high``.
    low, high = start, None
    best: _Bound | None = None
    for _ in range(MOST_BRACKETED):
        # A trial: done if it meets both conditions.
        trial = ray.at(step)
        new = _Bound(step, trial.value, trial.slope)
        decreased = new.value <= start.value + ARMIJO * step * start.slope
        if decreased and abs(new.slope) <= -curvature * start.slope:
            return trial
        del trial
        if decreased and (best is None or new.value < best.value):
            best = new
        # The bracket shrinks to the part with the minimum.
        if not decreased or new.value > low.value or new.slope >= 0.0:
            high = new
        else:
            low = new
        if high is None:  # no bracket yet: extrapolate
            step *= EXPAND
            continue
        # Next trial inside the bracket, by interpolation.
        width = high.step - low.step
        if width <= ROUNDING * high.step:
            break
        step = low.step + width * min(max(_interpolate(low, high), SAFEGUARD), 1.0 - SAFEGUARD)
    return None if best is None else ray.at(best.step)


class _Bound(NamedTuple):
    """End of a bracket: step, value and slope of a trial, without its point."""

    step: float
    value: float
    slope: float


def _interpolate(low: _Bound, high: _Bound) -> float:
    """Minimiser of the parabola through both values and the slope at ``low``, in [0, 1] units."""
    width = high.step - low.step
    bend = high.value - low.value - low.slope * width
    return -0.5 * low.slope * width / bend if bend > 0.0 else 0.5


#: Trial of `lowest_on`, as a share of the bracket, if the objective is infinite at its far end.
FROM_INFINITE = 0.1
#: Least distance of a trial of `lowest_on` from both ends of the bracket, as a share of its width.
FROM_ENDS = 0.02


class Sloped(Protocol):
    """A trial on a line: its step, and the value and slope of the objective there."""

    @property
    def step(self) -> float:
        """Step from the start of the line, in [0, 1]."""

    @property
    def value(self) -> float:
        """Objective."""

    @property
    def slope(self) -> float:
        """A subgradient of the objective along the line."""


Q = TypeVar("Q", bound=Sloped, covariant=True)


class ConvexLine(Protocol[Q]):
    """A convex objective on a line, with a quadratic penalty of curvature ``curve``."""

    @property
    def start(self) -> Q:
        """Trial at step 0."""

    @property
    def curve(self) -> float:
        """Second derivative of the penalty along the line."""

    def at(self, step: float) -> Q:
        """Trial at a step."""


def lowest_on(line: ConvexLine[Q], first: float, accuracy: float) -> tuple[Q, Q]:
    """The lowest trial on a line, to an accuracy, and the nearest trial beyond the minimum.

    Both are the start if the objective does not fall from there, and the end (step 1) if it still
    falls there. A tangent of the loss plus the exact quadratic of the penalty is a lower bound of
    the objective; the next trial is at the minimum of the maximum of the two bounds that bracket
    the minimum.
    """
    low = high = best = line.start
    step = first
    for _ in range(MOST_BRACKETED):
        if high.slope < 0.0:  # still falling: expand
            if high.step == 1.0:
                break
            low, high, step = high, line.at(step), min(EXPAND * step, 1.0)
            trial = high
        else:
            at = FROM_INFINITE
            if math.isfinite(high.value):
                at, bound = _lower_model(low, high, line.curve)
                if best.value - bound <= accuracy:
                    break
            at = min(max(at, FROM_ENDS), 1.0 - FROM_ENDS)
            trial = line.at(low.step + at * (high.step - low.step))
            low, high = (trial, high) if trial.slope < 0.0 else (low, trial)
        best = trial if trial.value < best.value else best
    return best, high if math.isfinite(high.value) else best


def _lower_model(low: Sloped, high: Sloped, curve: float) -> tuple[float, float]:
    """Minimiser (as a share of the interval) and minimum of the maximum of two parabolas."""
    width = high.step - low.step
    left, right, bend = low.slope * width, high.slope * width, curve * width * width
    # Both have the same curvature, so they cross once; the left one is higher before that.
    apart = right - left - bend
    at = (low.value - high.value + right - 0.5 * bend) / apart if apart > 0.0 else 0.5
    if bend > 0.0:
        at = max(min(at, -left / bend), 1.0 - right / bend)
    at = min(max(at, 0.0), 1.0)
    from_left = low.value + left * at + 0.5 * bend * at * at
    from_right = high.value - right * (1.0 - at) + 0.5 * bend * (1.0 - at) ** 2
    return at, max(from_left, from_right)


def bracket(at: Callable[[float], Q], accuracy: float) -> tuple[Q, Q]:
    """Two trials around the minimum of a convex function whose tangents cross within ``accuracy``.

    Unlike `lowest_on`, the search starts at 0, goes to either side without an end, and is for both
    tangents: together they bound the function from below. Both trials are the start if the slope is
    0 there, and have slopes of one sign if no finite step changes it.
    """
    low = high = here = at(0.0)
    # First trial of `bracket` beside the start, in the unit of its steps (scores).
    stride = 1e-2
    while math.isfinite(stride) and low.slope * high.slope > 0.0:
        low, high = (at(-stride), low) if here.slope > 0.0 else (high, at(stride))
        stride *= EXPAND
    for k in range(MOST_TRIALS):
        if not low.slope < 0.0 < high.slope:
            break
        share, bound = _lower_model(low, high, 0.0)
        least = min(low.value, high.value)
        # The crossing of the tangents; every third trial bisects, so that the bracket shrinks.
        step = low.step + (share if k % 3 < 2 else 0.5) * (high.step - low.step)
        enough = max(accuracy, ROUNDING * abs(least))
        if least - bound <= enough or not low.step < step < high.step:
            break
        middle = at(step)
        low, high = (middle, high) if middle.slope < 0.0 else (low, middle)
    return low, high
