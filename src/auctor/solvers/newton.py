"""Trust-region Newton with preconditioned conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.conjugate import Truncated, truncated_cg
from auctor.solvers.ray import Ray, Trial, wolfe


@dataclass(frozen=True)
class NewtonState:
    """The point, the trust radius in the preconditioner's norm, the first gradient's norm."""

    point: Point
    radius: float
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

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> NewtonState:
        """State at the starting point."""
        return NewtonState(problem.evaluate(w), math.inf)

    def step(self, problem: Problem, state: NewtonState) -> NewtonState:
        """One trust-region step."""
        point = state.point
        gradient = problem.total_gradient(point)
        cut = self._solve(problem, point, gradient, state.radius)
        predicted = 0.5 * float((cut.residual - gradient) @ cut.step)
        if not predicted > 0.0:
            # A flat model (every pair or row on a linear piece): search along the gradient.
            trial = wolfe(Ray(problem, point, -gradient))
            return self._moved(problem, state, trial, math.inf)
        ray = Ray(problem, point, cut.step)
        full = ray.at(1.0)
        ratio = (point.value - full.value) / predicted
        if ratio > 0.25:
            radius = max(state.radius, 3.0 * cut.length) if ratio > 0.75 else state.radius
            return self._moved(problem, state, full, radius)
        trial = wolfe(ray, curvature=0.1)
        shrunk = 0.5 * cut.length if trial is None else max(0.5, trial.step) * cut.length
        return self._moved(problem, state, trial, shrunk)

    @staticmethod
    def _moved(
        problem: Problem, state: NewtonState, trial: Trial | None, radius: float
    ) -> NewtonState:
        if trial is None:
            return NewtonState(state.point, radius, stalled=True)
        return NewtonState(problem.centred(trial.point), radius)

    def _solve(
        self, problem: Problem, point: Point, gradient: FloatArray, radius: float
    ) -> Truncated:
        hessian = problem.hessian(point)
        precondition, exact = hessian.preconditioner()
        if exact:
            p = -precondition(gradient)
            length = math.sqrt(max(-float(gradient @ p), 0.0))
            if length <= radius:
                return Truncated(p, np.zeros_like(p), length, False)
            # Against its own inverse CG takes one step, which the region cuts short.
            shrink = radius / length
            return Truncated(shrink * p, (shrink - 1.0) * gradient, radius, True)
        first = float(np.linalg.norm(gradient))
        rtol = min(self.forcing, math.sqrt(first))
        return truncated_cg(
            hessian.matvec, gradient, precondition, radius=radius, rtol=rtol, max_iter=self.max_cg
        )
