"""Trust-region Newton with preconditioned conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.hessian import RowParts
from auctor.solvers.base import State
from auctor.solvers.line_search import ROUNDING, Ray, Trial, polishes, wolfe
from auctor.solvers.smooth.conjugate import Truncated, truncated_cg

#: Damping after the first step that went wrong, as a share of the rows' total curvature.
FIRST_DAMPING = 1e-3
#: Damping below which there is none, in the same unit.
LEAST_DAMPING = 1e-6
#: Factor of the damping after a step the model predicted badly or well (More, 1978, uses 2 to 10).
DAMPING_FACTOR = 4.0


@dataclass(frozen=True)
class NewtonState(State):
    """The point and the damping of the next step; ``parts`` is what Hessians leave to the next."""

    damping: float = 0.0
    parts: RowParts = field(default_factory=RowParts)


@dataclass(frozen=True)
class Newton:
    """Truncated Newton steps in a trust region, each CG product one fused pass over the data.

    The preconditioner is a factorised Hessian where parameters are few (then a step may be exact)
    and its diagonal where they are many. A step that overshoots is cut back along its direction in
    score space, at no further pass over the data, and those after it are damped (Levenberg and
    Marquardt's form of a trust region) by the variances of the columns, as if the curvature were
    spread over all rows: columns whose rows have none where the step starts may meet some.

    Parameters
    ----------
    forcing : float in (0, 1)
        Loosest relative accuracy of a linear solve; it tightens as the gradient falls.
    max_cg : int
        Products per step.

    References
    ----------
    More, The Levenberg-Marquardt algorithm: implementation and theory, 1978; Lin, More, Newton's
    method for large bound-constrained optimization problems, 1999.
    """

    forcing: float = 0.1
    max_cg: int = 500

    needs = Need.SMOOTH_LOSS | Need.CURVATURE | Need.SMOOTH_PENALTY

    def __post_init__(self) -> None:
        who = "Newton"
        check_real(who, "forcing", self.forcing, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int(who, "max_cg", self.max_cg, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> NewtonState:
        """State at the starting point."""
        return NewtonState(problem.with_best_intercept(problem.evaluate(w)))

    def step(self, problem: Problem, state: NewtonState) -> NewtonState:
        """One trust-region step."""
        point = state.point
        gradient = problem.total_gradient(point)
        cut = self._solve(problem, state, gradient)
        predicted = 0.5 * float((cut.residual - gradient) @ cut.step)
        if not predicted > 0.0:
            # A flat model (every pair or row on a linear piece): search along the gradient.
            return self._moved(
                problem, replace(state, damping=0.0), wolfe(Ray(problem, point, -gradient))
            )
        ray = Ray(problem, point, cut.step)
        full = ray.at(1.0)
        if predicted <= ROUNDING * abs(point.value):
            return self._last_digits(problem, state, full)
        ratio = (point.value - full.value) / predicted
        adjusted = replace(state, damping=_adjusted(state.damping, ratio))
        if ratio > 0.25:
            return self._moved(problem, adjusted, full)
        return self._moved(problem, adjusted, wolfe(ray, curvature=0.1))

    @staticmethod
    def _moved(problem: Problem, state: NewtonState, trial: Trial | None) -> NewtonState:
        if trial is None:
            return replace(state, stalled=True)
        return replace(state, point=problem.with_best_intercept(trial.point))

    @staticmethod
    def _last_digits(problem: Problem, state: NewtonState, full: Trial) -> NewtonState:
        """Where the objective no longer resolves a step, the gradient judges it."""
        new = problem.with_best_intercept(full.point)

        def slope(point: Point) -> float:
            return float(np.linalg.norm(problem.total_gradient(point)))

        if polishes(new, state.point, slope):
            return replace(state, point=new)
        return replace(state, stalled=True)

    def _solve(self, problem: Problem, state: NewtonState, gradient: FloatArray) -> Truncated:
        """The minimum of the damped model, exact where the preconditioner is."""
        hessian = problem.hessian(state.point, state.parts)
        if state.damping:
            hessian = hessian.damped(state.damping * problem.spread)
        precondition, exact = hessian.preconditioner()
        if exact:
            p = -precondition(gradient)
            return Truncated(p, np.zeros_like(p))
        rtol = min(self.forcing, math.sqrt(float(np.linalg.norm(gradient))))
        return truncated_cg(hessian.matvec, gradient, precondition, rtol=rtol, max_iter=self.max_cg)


def _adjusted(damping: float, ratio: float) -> float:
    """For the next step, by how well the model predicted this one."""
    if ratio < 0.25:
        return max(DAMPING_FACTOR * damping, FIRST_DAMPING)
    if ratio < 0.75:
        return damping
    less = DAMPING_FACTOR if ratio < 1.2 else DAMPING_FACTOR * DAMPING_FACTOR
    return damping / less if damping > LEAST_DAMPING else 0.0
