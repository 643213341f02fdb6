"""Gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.solvers.base import State
from auctor.solvers.line_search import Ray, backtrack


@dataclass(frozen=True)
class GradientDescent:
    """Steepest descent with Armijo backtracking from a unit step.

    Accepts the first step ``a = beta^k`` with ``J(w - a g) <= J(w) - 1e-4 a |g|^2``.

    Parameters
    ----------
    beta : float in (0, 1)
        Shrink factor.

    References
    ----------
    Ghanbari, Optimization algorithms for machine learning problems, 2019, Algorithm 12 (the sign
    of the Armijo test is corrected).
    """

    beta: float = 0.5

    needs = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY

    def __post_init__(self) -> None:
        who = "GradientDescent"
        check_real(who, "beta", self.beta, low=0.0, high=1.0, open_low=True, open_high=True)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> State:
        """State at the starting point."""
        return State(problem.evaluate(w))

    def step(self, problem: Problem, state: State) -> State:
        """One line search along the negative gradient."""
        point = state.point
        trial = backtrack(Ray(problem, point, -problem.total_gradient(point)), shrink=self.beta)
        return State(point, stalled=True) if trial is None else State(problem.centred(trial.point))
