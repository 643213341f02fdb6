"""The exact minimiser of a quadratic loss: one linear system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.data_capabilities import GRAM
from auctor.core.linalg import floored, spd_solve
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.hessian import DENSE_ENTRIES, Hessian
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.smooth.conjugate import truncated_cg

#: Relative accuracy of the conjugate gradients; the next step corrects the rest.
CG_ACCURACY = 1e-8
#: Most conjugate-gradient iterations per parameter.
MOST_CG_PER_PARAM = 10


@dataclass(frozen=True)
class Exact:
    """Solve the normal equations of a quadratic loss with a ridge penalty.

    For the pairwise square loss they read ``(S+ + S- + dd' + strength/2) w = d`` with the class
    covariances S and mean difference d: one pass for the moments and a Cholesky factorisation for
    few columns, conjugate gradients with Hessian products for many. Further steps refine the
    solution.

    Parameters
    ----------
    direct : bool, optional
        Whether to factorise the Hessian; chosen by its cost by default.
    """

    direct: bool | None = None

    needs = Need.SMOOTH_LOSS | Need.CURVATURE | Need.QUADRATIC_LOSS | Need.SMOOTH_PENALTY

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> State:
        """State at the starting point."""
        return State(problem.evaluate(w))

    def step(self, problem: Problem, state: State) -> State:
        """Solve for the change that zeroes the gradient."""
        point = state.point
        gradient = problem.total_gradient(point)
        new = problem.evaluate(point.w + self._change(problem, state, gradient))
        new = problem.with_best_intercept(new)
        improved = new.value < point.value
        return State(new if improved else point, stalled=not improved)

    def _change(self, problem: Problem, state: State, gradient: FloatArray) -> FloatArray:
        """Newton step: by a Cholesky factorisation, or by conjugate gradients."""
        hessian = problem.hessian(state.point)
        direct = self.direct
        if direct is None:
            # Parameters up to which the Hessian is formed and factorised.
            direct = problem.n_params <= 1500 and _cheap(problem, hessian)
        if direct:
            return -spd_solve(hessian.matrix())(gradient)
        scale = floored(hessian.diagonal())
        return truncated_cg(
            hessian.matvec,
            gradient,
            lambda v: v / scale,
            rtol=CG_ACCURACY,
            max_iter=MOST_CG_PER_PARAM * problem.n_params,
        ).step


def _cheap(problem: Problem, hessian: Hessian) -> bool:
    """Whether the data can form the Hessian, and at less cost than conjugate gradients have."""
    if hessian.by_pairs:
        small = problem.data.n_rows * problem.n_params <= DENSE_ENTRIES
        return Need.DENSE in problem.provides and small
    data = GRAM.find(problem.data)
    return data is not None and data.gram_passes() <= 2.0 * problem.n_params
