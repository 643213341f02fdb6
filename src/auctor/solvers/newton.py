"""Trust-region Newton with preconditioned conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.conjugate import Truncated, truncated_cg
from auctor.solvers.ray import Ray, Trial, wolfe

#: Decreases below this share of the objective drown in its rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class NewtonState:
    """The point, the trust radius in the preconditioner's norm, the damping of exact steps."""

    point: Point
    radius: float = math.inf
    damping: float = 0.0
    stalled: bool = False
    dual: Point | None = None


@dataclass(frozen=True)
class Newton:
    """Truncated Newton steps in a trust region, each CG product one fused pass over the data.

    The preconditioner is a factorised Hessian where parameters are few (then a step is nearly
    exact) and its diagonal where they are many. A step that overshoots is cut back along its
    direction in score space, at no further pass over the data.

    Parameters
    ----------
    forcing : float in (0, 1)
        Loosest relative accuracy of a linear solve; it tightens as the gradient falls.
    max_cg : int
        Products per step.

    References
    ----------
    Lin, More, Newton's method for large bound-constrained optimization problems, 1999;
    Steihaug, 1983.
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
        return NewtonState(problem.centred(problem.evaluate(w)))

    def step(self, problem: Problem, state: NewtonState) -> NewtonState:
        """One trust-region step."""
        point = state.point
        gradient = problem.total_gradient(point)
        cut, exact = self._solve(problem, state, gradient)
        predicted = 0.5 * float((cut.residual - gradient) @ cut.step)
        if not predicted > 0.0:
            # A flat model (every pair or row on a linear piece): search along the gradient.
            return self._moved(problem, NewtonState(point), wolfe(Ray(problem, point, -gradient)))
        ray = Ray(problem, point, cut.step)
        full = ray.at(1.0)
        if predicted <= ROUNDING * abs(point.value):
            return self._last_digits(problem, state, full, gradient)
        ratio = (point.value - full.value) / predicted
        adjusted = self._adjusted(state, cut.length, ratio, exact)
        if ratio > 0.25:
            return self._moved(problem, adjusted, full)
        return self._moved(problem, adjusted, wolfe(ray, curvature=0.1))

    @staticmethod
    def _adjusted(state: NewtonState, length: float, ratio: float, exact: bool) -> NewtonState:
        """Radius and damping for the next step, by how well the model predicted this one."""
        if ratio < 0.25:
            damping = max(10.0 * state.damping, 1e-3) if exact else 0.0
            return replace(state, radius=0.5 * length, damping=damping)
        if ratio > 0.75:
            damping = 0.1 * state.damping if state.damping > 1e-5 else 0.0
            return replace(state, radius=max(state.radius, 3.0 * length), damping=damping)
        return state

    @staticmethod
    def _moved(problem: Problem, state: NewtonState, trial: Trial | None) -> NewtonState:
        if trial is None:
            return replace(state, stalled=True)
        return replace(state, point=problem.centred(trial.point))

    @staticmethod
    def _last_digits(
        problem: Problem, state: NewtonState, full: Trial, gradient: FloatArray
    ) -> NewtonState:
        """Where the objective no longer resolves a step, the gradient judges it."""
        new = problem.centred(full.point)
        shorter = np.linalg.norm(problem.total_gradient(new)) < np.linalg.norm(gradient)
        return replace(state, point=new) if shorter else replace(state, stalled=True)

    def _solve(
        self, problem: Problem, state: NewtonState, gradient: FloatArray
    ) -> tuple[Truncated, bool]:
        """The step, and whether it comes from an exact (damped) factorisation."""
        hessian = problem.hessian(state.point)
        precondition, exact = hessian.preconditioner(state.damping)
        if exact:
            p = -precondition(gradient)
            length = math.sqrt(max(-float(gradient @ p), 0.0))
            return Truncated(p, np.zeros_like(p), length, False), True
        rtol = min(self.forcing, math.sqrt(float(np.linalg.norm(gradient))))
        cut = truncated_cg(
            hessian.matvec,
            gradient,
            precondition,
            radius=state.radius,
            rtol=rtol,
            max_iter=self.max_cg,
        )
        return cut, False
