"""Gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import IncompatibleError, speaks_for_itself
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import ARMIJO, Ray, backtrack, exact


@dataclass(frozen=True)
class GradientDescent:
    """Steepest descent with Armijo backtracking from a unit step.

    Accepts the first step ``a = beta^k`` with ``J(w - a g) <= J(w) - armijo a |g|^2``.

    Parameters
    ----------
    beta : float in (0, 1)
        Factor on the step after a rejected trial.
    armijo : float in (0, 1)
        Least share of the decrease predicted by the slope. Near 1/2, steps are shorter and zig-zag
        less, which is faster on ill-conditioned problems.
    exact : bool
        Whether to step to the minimum along the gradient, which has a closed form for quadratic
        losses.

    References
    ----------
    Ghanbari, Optimization algorithms for machine learning problems, 2019, Algorithm 12 (the sign
    of the Armijo test is corrected).
    """

    beta: float = 0.5
    armijo: float = ARMIJO
    exact: bool = False

    needs = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("beta", self.beta, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real("armijo", self.armijo, low=0.0, high=1.0, open_low=True, open_high=True)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> State:
        """State at the starting point."""
        if self.exact and not problem.loss.quadratic:
            raise IncompatibleError(
                f"a quadratic loss; got {problem.described}. Leave `exact` False.",
                part="GradientDescent(exact=True)",
            )
        return State(problem.evaluate(w))

    def step(self, problem: Problem, state: State) -> State:
        """One line search along the negative gradient."""
        point = state.point
        gradient = problem.total_gradient(point)
        ray = Ray(problem, point, -gradient)
        if self.exact:
            trial = exact(ray, float(gradient @ problem.hessian(point).matvec(gradient)))
        else:
            trial = backtrack(ray, shrink=self.beta, armijo=self.armijo)
        return State(point, stalled=True) if trial is None else State(trial.with_best_intercept())
