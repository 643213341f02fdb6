"""Coordinate descent for quadratic losses: lasso and elastic net."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int
from auctor.core.data_capabilities import COLUMNS
from auctor.core.errors import speaks_for_itself
from auctor.core.rng import kernel_state
from auctor.core.types import Array, FloatArray, IntArray
from auctor.problem import Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.problem.needs import Need
from auctor.solvers.base import State, spec_of
from auctor.solvers.line_search import polishes
from auctor.solvers.sparse.models.columns import Store, descend, descend_on_matrix
from auctor.solvers.sparse.proximal import feasible
from auctor.solvers.sparse.screening import proven_zero


@dataclass(frozen=True)
class CoordinateState(State):
    """The point, the Gram matrix if formed, the random state and the columns not screened out."""

    gram: FloatArray | None
    random: Array
    left: IntArray


@dataclass(frozen=True)
class CoordinateDescent:
    """Exact minimisation over one coefficient at a time.

    The update of a coordinate with curvature a and gradient g is
    ``soft(w - g/a, l1/a) / (1 + l2/a)``. With a Gram matrix an update costs the number of columns,
    with residuals the length of its column.

    Parameters
    ----------
    gram : bool, optional
        Whether to form the Gram matrix; by default for few columns.
    sweeps : int
        Sweeps per step, between two evaluations of the duality gap.

    References
    ----------
    Friedman, Hastie, Tibshirani, Regularization paths for generalized linear models via coordinate
    descent, 2010.
    """

    gram: bool | None = None
    sweeps: int = 10

    needs = (
        Need.SMOOTH_LOSS
        | Need.QUADRATIC_LOSS
        | Need.LOW_RANK_CURVATURE
        | Need.SEPARABLE_PENALTY
        | Need.COLUMNS
    )

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("sweeps", self.sweeps, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> CoordinateState:
        """State at the starting point, with the Gram matrix if it is used."""
        point = problem.with_best_intercept(feasible(problem, w))
        formed = problem.n_params <= FACTOR_PARAMS if self.gram is None else self.gram
        gram = None
        if formed:
            hessian = problem.hessian(point)
            gram = hessian.matrix()
            gram[np.diag_indices_from(gram)] -= problem.ridge
        random = kernel_state(rng)
        return CoordinateState(point, gram, random, np.arange(problem.n_columns))

    def step(self, problem: Problem, state: CoordinateState) -> CoordinateState:
        """A few sweeps over the coordinates that the duality gap has not proved to be zero."""
        point, left = state.point, state.left
        spec = spec_of(problem)
        if state.gram is not None:
            change = descend_on_matrix(
                state.gram, point.gradient, point.w, spec, max_sweeps=self.sweeps, tol=0.0
            )[0]
        else:
            store = Store(COLUMNS.of(problem.data).columns(), None)
            screened = proven_zero(problem, point, spec, store, left)
            left = left[~screened | (point.w[left] != 0.0)]
            change = descend(
                problem, point, spec, store, left,
                max_sweeps=self.sweeps, tol=0.0, random=state.random,
            ).direction  # fmt: skip
        # A prox of step size 0 projects onto the bounds: w may be one rounding error outside,
        # where the penalty is infinite.
        new = problem.with_best_intercept(problem.evaluate(problem.prox(point.w + change, 0.0)))
        better = new.value < point.value or polishes(new, point)
        return replace(state, point=new if better else point, stalled=not better, left=left)
