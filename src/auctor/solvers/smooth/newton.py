"""Trust-region Newton with preconditioned conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.data_capabilities import ROWS
from auctor.core.errors import speaks_for_itself
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.hessian import RowSampling
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import Ray, Trial, polishes, wolfe
from auctor.solvers.smooth.conjugate import Truncated, truncated_cg

#: Factor on the damping after a badly, or by its inverse after a well, predicted step.
DAMPING_FACTOR = 4.0
#: Ratio of the actual to the predicted decrease below which later steps are damped more.
POOR_RATIO = 0.25
#: Ratio of the actual to the predicted decrease from which later steps are damped less.
GOOD_RATIO = 0.75
#: Ratio of the actual to the predicted decrease from which the damping shrinks twice.
BETTER_RATIO = 1.2
#: Strong Wolfe condition of the search along a poor step, as a share of the first slope.
POOR_STEP_SLOPE = 0.1
#: Bytes of a stored residual and its image, per parameter.
BYTES_PER_PARAM = 16


@dataclass(frozen=True)
class NewtonState(State):
    """The point, the damping of the next step, and parts of the last Hessian for reuse."""

    damping: float = 0.0
    parts: RowSampling = field(default_factory=RowSampling)


@dataclass(frozen=True)
class Newton:
    """Truncated Newton steps in a trust region, each CG product one fused pass over the data.

    The preconditioner is a factorised Hessian for few parameters (a step may then be exact) and the
    diagonal of the Hessian for many. A step that overshoots is shortened by a line search on the
    scores, which takes no further pass over the data. Later steps are then damped (the
    Levenberg-Marquardt form of a trust region) by the variances of the columns: rows without
    curvature at the current point may have some at the next one.

    Parameters
    ----------
    forcing : float in (0, 1)
        Largest relative tolerance of the linear solves; it tightens as the gradient falls.
    max_cg : int
        Largest number of conjugate-gradient products per step.

    References
    ----------
    More, The Levenberg-Marquardt algorithm: implementation and theory, 1978; Lin, More, Newton's
    method for large bound-constrained optimization problems, 1999.
    """

    forcing: float = 0.1
    max_cg: int = 500

    needs = Need.SMOOTH_LOSS | Need.CURVATURE | Need.SMOOTH_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("forcing", self.forcing, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int("max_cg", self.max_cg, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> NewtonState:
        """State at the starting point."""
        return NewtonState(problem.with_best_intercept(problem.evaluate(w)))

    def step(self, problem: Problem, state: NewtonState) -> NewtonState:
        """One trust-region step."""
        point = state.point
        # Descent direction, by conjugate gradients.
        gradient = problem.total_gradient(point)
        cut = self._solve(problem, state, gradient)
        # Decrease of the model: -g.p - p.Hp/2, with H p = -g - residual.
        predicted = 0.5 * float((cut.residual - gradient) @ cut.step)
        if not predicted > 0.0:
            # No curvature (every pair or row is on a linear piece): search along the gradient.
            return self._moved(
                problem, replace(state, damping=0.0), wolfe(Ray(problem, point, -gradient))
            )
        # Step size.
        ray = Ray(problem, point, cut.step)
        full = ray.at(1.0)
        if predicted <= ROUNDING * abs(point.value):
            return self._last_digits(problem, state, full)
        # Trust-region ratio: accept good steps, search along the others.
        ratio = (point.value - full.value) / predicted
        adjusted = replace(state, damping=_adjusted(state.damping, ratio))
        if ratio > POOR_RATIO:
            return self._moved(problem, adjusted, full)
        return self._moved(problem, adjusted, wolfe(ray, curvature=POOR_STEP_SLOPE))

    @staticmethod
    def _moved(problem: Problem, state: NewtonState, trial: Trial | None) -> NewtonState:
        """The state at a trial with its best intercept; stalled if there is no trial."""
        if trial is None:
            return replace(state, stalled=True)
        return replace(state, point=trial.with_best_intercept())

    @staticmethod
    def _last_digits(problem: Problem, state: NewtonState, full: Trial) -> NewtonState:
        """Accept a step below the objective's rounding error if the gradient norm falls."""
        new = full.with_best_intercept()

        def slope(point: Point) -> float:
            return float(np.linalg.norm(problem.total_gradient(point)))

        if polishes(new, state.point, slope):
            return replace(state, point=new)
        return replace(state, stalled=True)

    def _solve(self, problem: Problem, state: NewtonState, gradient: FloatArray) -> Truncated:
        """Minimiser of the damped quadratic model; exact if the preconditioner is exact."""
        hessian = problem.hessian(state.point, state.parts)
        if state.damping:
            hessian = hessian.damped(state.damping * problem.spread)
        precondition, exact = hessian.preconditioner()
        if exact:
            p = -precondition(gradient)
            return Truncated(p, np.zeros_like(p))
        rtol = min(self.forcing, math.sqrt(float(np.linalg.norm(gradient))))
        return truncated_cg(
            hessian.matvec,
            gradient,
            precondition,
            rtol=rtol,
            max_iter=self.max_cg,
            reorthogonalise=min(self.max_cg, _stored_residuals(problem)),
        )


def _stored_residuals(problem: Problem) -> int:
    """Residuals to reorthogonalise: none if rows are in memory, where a product takes less time."""
    in_memory = ROWS.has(problem.data)
    # Bytes for the residuals that a linear solve on shards reorthogonalises.
    return 0 if in_memory else (64 << 20) // (BYTES_PER_PARAM * problem.n_params)


def _adjusted(damping: float, ratio: float) -> float:
    """Damping of the next step; ``ratio`` is the actual decrease over the predicted one."""
    if ratio < POOR_RATIO:
        # Damping after the first badly predicted step, in units of the columns' variances.
        return max(DAMPING_FACTOR * damping, 1e-3)
    if ratio < GOOD_RATIO:
        return damping
    less = DAMPING_FACTOR if ratio < BETTER_RATIO else DAMPING_FACTOR * DAMPING_FACTOR
    # Damping below which it is set to zero, in units of the columns' variances.
    return damping / less if damping > 1e-6 else 0.0
