"""Accelerated proximal gradient, and the steps of proximal gradient methods."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import SHRINK, first_accepted, sizes


def first_step(problem: Problem, point: Point) -> float:
    """First trial step: the inverse curvature along the gradient; 1 if that is unknown."""
    largest = float(np.abs(point.gradient).max(initial=0.0))
    if problem.loss.order < 2 or not 0.0 < largest < math.inf:
        return 1.0
    # Scaled, because data up to 1e100 are allowed, and their fourth power overflows.
    along = point.gradient / largest
    curve = float(along @ (problem.hessian(point).matvec(along) - problem.ridge * along))
    step = float(along @ along) / curve if 0.0 < curve < math.inf else 1.0
    return step if step > 0.0 else 1.0


def proximal_step(problem: Problem, source: Point, step: float) -> Point | None:
    """``p = prox(v - step grad)`` if ``F(p) <= Q_step(p, v)``, else ``None``.

    Q is the quadratic upper model of the loss at ``source`` plus the penalty, so the test compares
    the losses alone.
    """
    gradient = source.gradient
    w = problem.prox(source.w - step * gradient, step)
    change = w - source.w
    new = problem.evaluate(w)
    model = source.loss + float(gradient @ change) + float(change @ change) / (2.0 * step)
    return new if new.loss <= model + ROUNDING * abs(model) else None


def first_proximal_step(
    source: Point, length: float, shrink: float = SHRINK
) -> tuple[float, Point] | None:
    """The first of the step sizes ``length shrink^k`` that `proximal_step` accepts, and its point.

    ``None`` if all are rejected.
    """
    accepted_step = first_accepted(
        lambda size: proximal_step(source.problem, source, size),
        lambda _, point: point is not None,
        sizes(length, shrink),
    )
    if accepted_step is None or accepted_step[1] is None:
        return None
    return accepted_step[0], accepted_step[1]


def check_steps(shrink: float, growth: float) -> None:
    """Raise ``ParameterError`` for step factors outside their range."""
    check_real("shrink", shrink, low=0.0, high=1.0, open_low=True, open_high=True)
    check_real("growth", growth, low=1.0)


@dataclass(frozen=True)
class FistaState(State):
    """The latest two points, the momentum counter, the step length and the extrapolated point."""

    previous: Point
    t: float
    length: float


class Extrapolated(NamedTuple):
    """A trial of Fista: momentum counter and factor, extrapolated point, point if accepted."""

    t: float
    momentum: float
    source: Point
    point: Point | None


@dataclass(frozen=True)
class Fista:
    """Accelerated proximal gradient with backtracking and adaptive restart.

    Two passes over the data per accepted step: extrapolated scores are combinations of known ones.

    Parameters
    ----------
    shrink : float in (0, 1)
        Factor on the step after a failed trial.
    growth : float >= 1
        Factor on the step after every accepted one; the momentum accounts for it as in
        Scheinberg, Goldfarb and Bai.
    restart : bool
        Reset the momentum when it points uphill; False is the original O(1/k^2) method.

    References
    ----------
    Beck, Teboulle, 2009; Scheinberg, Goldfarb, Bai, Fast first-order methods for composite convex
    optimization with backtracking, 2014; O'Donoghue, Candes, Adaptive restart, 2015.
    """

    shrink: float = 0.5
    growth: float = 1.1
    restart: bool = True

    needs = Need.SMOOTH_LOSS | Need.PROX

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_steps(self.shrink, self.growth)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> FistaState:
        """State at the starting point."""
        point = feasible(problem, w)
        return FistaState(point, point, 0.0, first_step(problem, point))

    def step(self, problem: Problem, state: FistaState) -> FistaState:
        """One backtracked proximal step from the extrapolated point."""
        x, before = state.point, state.previous

        def trial(step: float) -> Extrapolated:
            # t depends on the ratio of steps, so a failed step moves the extrapolated point too.
            t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * (state.length / step) * state.t**2))
            momentum = (state.t - 1.0) / t if state.t else 0.0
            source = extrapolate(problem, x, before, momentum)
            return Extrapolated(t, momentum, source, proximal_step(problem, source, step))

        # Step size.
        accepted_step = first_accepted(
            trial, lambda _, one: one.point is not None, sizes(state.length, self.shrink)
        )
        if accepted_step is None:
            return FistaState(x, x, 0.0, state.length, stalled=True)
        step, (t, momentum, source, new) = accepted_step
        assert new is not None
        if np.array_equal(new.w, x.w) and momentum == 0.0:
            return FistaState(x, x, 0.0, step, dual=source, stalled=True)
        # Restart where the momentum points uphill.
        if self.restart and float((source.w - new.w) @ (new.w - x.w)) > 0.0:
            t = 0.0
        return FistaState(new, x, t, step * self.growth, dual=source)


def extrapolate(problem: Problem, x: Point, before: Point, momentum: float) -> Point:
    """The point ``x + momentum (x - before)``; its scores take no pass over the data."""
    if momentum == 0.0:
        return x
    return problem.evaluate(
        x.w + momentum * (x.w - before.w), scores=x.scores + momentum * (x.scores - before.scores)
    )


def feasible(problem: Problem, w: FloatArray) -> Point:
    """The starting point, or its prox if the penalty is infinite there."""
    point = problem.evaluate(w)
    return point if math.isfinite(point.penalty) else problem.evaluate(problem.prox(w, 1.0))
