"""A point near the zero model, which gives all rows the same score, that ranks the rows."""

from __future__ import annotations

import numpy as np

from auctor.problem import Point, Problem
from auctor.solvers.choose import Role, choose
from auctor.solvers.kinked.smoothing import FIRST_WIDTH, null_unit, smoothed_problem
from auctor.solvers.line_search import first_accepted, sizes

#: Most steps of the smoothed solve that gives the direction away from the zero model.
DIRECTION_STEPS = 10
#: Largest rise of the objective above the zero model's, as a share of it, of a point near it.
LARGEST_RISE = 1e-6
#: Factor on the step from the zero model until the objective is low enough.
STEP_DECREASE = 0.25
#: Most such factors: the last step is 4e-12 of the first.
MOST_DECREASES = 20


def point_near_zero(problem: Problem, zero: Point, rng: np.random.Generator) -> Point | None:
    """A point near the zero model, in the direction of the minimiser of a widely smoothed loss."""
    # A few steps on the widely smoothed problem give the direction.
    smoothed = smoothed_problem(problem, FIRST_WIDTH * null_unit(problem))
    solver = choose(smoothed, role=Role.SMOOTHED)
    state = solver.init(smoothed, zero.w, rng)
    for _ in range(DIRECTION_STEPS):
        state = solver.step(smoothed, state)
        if state.stalled:
            break
    change, scores = state.point.w - zero.w, state.point.scores - zero.scores

    # Shorten the step until the objective is low enough.
    def trial(share: float) -> Point:
        return problem.evaluate(zero.w + share * change, scores=zero.scores + share * scores)

    def low(share: float, point: Point) -> bool:
        limit = zero.value + LARGEST_RISE * abs(zero.value)
        return point.value <= limit and bool(problem.coef(point.w).any())

    found = first_accepted(trial, low, sizes(1.0, STEP_DECREASE, most=MOST_DECREASES))
    return None if found is None else found[1]
