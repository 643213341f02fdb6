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

#: Damping after the first badly predicted step, in units of the columns' variances. Set by hand;
#: constants.md: from 2.5e-4 to 0.004 passes change by less than 4 % (10 cases).
FIRST_DAMPING = 1e-3
#: Damping below which it is set to zero, in units of the columns' variances. Source: constants.md:
#: 1e-8 changes nothing, 1e-4 takes 1.14 times the CPU seconds (1 case).
LEAST_DAMPING = 1e-6
#: Factor by which the damping grows after a badly predicted step and shrinks after a well predicted
#: one (More, 1978, uses 2 to 10). Set by hand; constants.md: from 1.75 to 13 passes change by less
#: than 4 % (9 cases).
DAMPING_FACTOR = 4.0
#: Bytes for the residuals that a linear solve on shards reorthogonalises, so that the order of sums
#: does not change the solution: 400 residuals of 10,000 columns, 4 of a million. Source:
#: benchmarks/results/scale.md, F-beta with l2 in one block and in shards.
RESIDUAL_BYTES = 64 << 20
#: Ratio of the actual to the predicted decrease below which a step is shortened and later ones are
#: damped more. Source: Nocedal and Wright, Numerical optimization, algorithm 4.1.
POOR_RATIO = 0.25
#: Ratio of the actual to the predicted decrease from which later steps are damped less. Source:
#: Nocedal and Wright, Numerical optimization, algorithm 4.1.
GOOD_RATIO = 0.75
#: Ratio of the actual to the predicted decrease from which the damping shrinks twice: the model was
#: too cautious. Set by hand.
BETTER_RATIO = 1.2
#: Strong Wolfe condition of the search along a poor step, as a share of the first slope. Source:
#: Nocedal and Wright, Numerical optimization, section 3.1.
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
        gradient = problem.total_gradient(point)
        cut = self._solve(problem, state, gradient)
        # Decrease of the model: -g.p - p.Hp/2, with H p = -g - residual.
        predicted = 0.5 * float((cut.residual - gradient) @ cut.step)
        if not predicted > 0.0:
            # No curvature (every pair or row is on a linear piece): search along the gradient.
            return self._moved(
                problem, replace(state, damping=0.0), wolfe(Ray(problem, point, -gradient))
            )
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
    return 0 if in_memory else RESIDUAL_BYTES // (BYTES_PER_PARAM * problem.n_params)


def _adjusted(damping: float, ratio: float) -> float:
    """Damping of the next step; ``ratio`` is the actual decrease over the predicted one."""
    if ratio < POOR_RATIO:
        return max(DAMPING_FACTOR * damping, FIRST_DAMPING)
    if ratio < GOOD_RATIO:
        return damping
    less = DAMPING_FACTOR if ratio < BETTER_RATIO else DAMPING_FACTOR * DAMPING_FACTOR
    return damping / less if damping > LEAST_DAMPING else 0.0
