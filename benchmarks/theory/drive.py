"""Run a solver step by step until a test holds, counting what it did."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from auctor.minimise import minimise
from auctor.problem import Point, Problem
from auctor.solvers import ProximalNewton
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.models.lowrank import survey


@dataclass(frozen=True)
class Run:
    """Work until the test held (``reached``) or the iterations ran out."""

    reached: bool
    iterations: int
    evaluations: int
    passes: float
    seconds: float
    coordinate_steps: int
    backtracks: int
    free: int
    values: list[float]
    point: Point


def drive(
    problem: Problem,
    solver: object,
    done: Callable[[Point], bool],
    *,
    most: int = 2000,
    w0: np.ndarray | None = None,
    seed: int = 0,
) -> Run:
    """States of a solver; what ``done`` itself evaluates is not counted. CPU seconds, one thread.

    ``free`` is the sum over iterations of the coordinates that might move.
    """
    counts = problem.counts
    spent, free = 0.0, 0
    with threadpool_limits(1):
        clock, passes, evaluations = time.process_time(), counts.passes, counts.evaluations
        state = solver.init(problem, problem.start(w0), np.random.default_rng(seed))
        spent += time.process_time() - clock
        values = [state.point.value]
        while True:
            before = counts.passes, counts.evaluations
            reached = done(state.point)
            counts.passes, counts.evaluations = before
            if reached or len(values) > most or getattr(state, "stalled", False):
                break
            clock = time.process_time()
            state = solver.step(problem, state)
            spent += time.process_time() - clock
            values.append(state.point.value)
            free += getattr(state, "free", 0)
    return Run(
        reached,
        len(values) - 1,
        counts.evaluations - evaluations,
        counts.passes - passes,
        spent,
        getattr(state, "coordinate_steps", 0),
        getattr(state, "backtracks", 0),
        free,
        values,
        state.point,
    )


def optimum(problem: Problem) -> float:
    """The least value, to rounding."""
    found = minimise(
        problem, ProximalNewton(), tol=1e-13, max_iter=500, max_seconds=30.0, on_failure="ignore"
    )
    return float(found.value)


def within(best: float, rel: float = 1e-8) -> Callable[[Point], bool]:
    """Relative suboptimality, Tang (5.7.3)."""
    return lambda point: point.value - best <= rel * abs(best)


def steepest(problem: Problem, point: Point) -> float:
    """Largest entry of the minimum-norm subgradient."""
    return float(np.abs(survey(point, spec_of(problem)).steepest).max())
