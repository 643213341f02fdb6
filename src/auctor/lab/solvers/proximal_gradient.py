"""Proximal gradient with backtracking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.sparse.proximal import check_steps, feasible, first_proximal_step, first_step


@dataclass(frozen=True)
class ProximalState(State):
    """The point and the step length."""

    length: float


@dataclass(frozen=True)
class ProximalGradient:
    """Proximal gradient with backtracking.

    Parameters
    ----------
    shrink : float in (0, 1)
        Factor on the step after a failed trial.
    growth : float >= 1
        Factor on the step after every accepted one; with 1 steps never grow.

    References
    ----------
    Beck, Teboulle, A fast iterative shrinkage-thresholding algorithm, 2009 (ISTA).
    """

    shrink: float = 0.5
    growth: float = 1.2

    needs = Need.SMOOTH_LOSS | Need.PROX

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_steps(self.shrink, self.growth)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ProximalState:
        """State at the starting point."""
        point = feasible(problem, w)
        return ProximalState(point, first_step(problem, point))

    def step(self, problem: Problem, state: ProximalState) -> ProximalState:
        """One backtracked proximal step."""
        found = first_proximal_step(state.point, state.length, self.shrink)
        if found is None:
            return ProximalState(state.point, state.length, stalled=True)
        length, new = found
        stalled = np.array_equal(new.w, state.point.w)
        return ProximalState(new, length * self.growth, stalled=stalled)
