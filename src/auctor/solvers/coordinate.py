"""Coordinate descent for quadratic losses: lasso and elastic net."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int
from auctor.core.needs import Need
from auctor.core.types import Array, Columns, FloatArray, SeparableSpec
from auctor.hessian import FACTOR_PARAMS
from auctor.kernels import coordinate
from auctor.problem import Point, Problem
from auctor.solvers.proximal import feasible
from auctor.solvers.proximal_newton import UNPENALISED


@dataclass(frozen=True)
class CoordinateState:
    """The point, the Gram matrix if it is formed, columns if not, and the shuffling state."""

    point: Point
    gram: FloatArray | None
    columns: Columns | None
    random: Array
    stalled: bool = False
    dual: Point | None = None


@dataclass(frozen=True)
class CoordinateDescent:
    """Exact minimisation over one coefficient at a time.

    The update of a coordinate with curvature a and gradient g is
    ``soft(w - g/a, l1/a) / (1 + l2/a)``. With a Gram matrix an update costs the number of columns,
    with residuals the length of its column.

    Parameters
    ----------
    gram : bool, optional
        Form the Gram matrix; by default when columns are few.
    sweeps : int
        Sweeps between two looks at the duality gap.

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

    def __post_init__(self) -> None:
        check_int("CoordinateDescent", "sweeps", self.sweeps, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> CoordinateState:
        """State at the starting point, with the Gram matrix or the columns."""
        point = problem.centred(feasible(problem, w))
        formed = problem.n_params <= FACTOR_PARAMS if self.gram is None else self.gram
        gram, columns = None, None
        if formed:
            hessian = problem.hessian(point)
            gram = hessian.matrix()
            gram[np.diag_indices_from(gram)] -= problem.ridge
        else:
            columns = problem.data.columns()
        random = rng.integers(1, 2**63, size=1).astype(np.uint64)
        return CoordinateState(point, gram, columns, random)

    def step(self, problem: Problem, state: CoordinateState) -> CoordinateState:
        """A few sweeps over all coordinates."""
        point = state.point
        spec = problem.penalty.separable(problem.n_columns)
        assert spec is not None
        change = np.zeros(problem.n_params)
        if state.gram is not None:
            padded = SeparableSpec(*map(problem.join, spec, UNPENALISED))
            coordinate.descend_matrix(
                state.gram, point.gradient, point.w, *padded, change, self.sweeps, 0.0
            )
        else:
            assert state.columns is not None
            change = self._by_columns(problem, state, spec)
        new = problem.centred(problem.evaluate(point.w + change))
        better = new.value < point.value
        return replace(state, point=new if better else point, stalled=not better)

    def _by_columns(
        self, problem: Problem, state: CoordinateState, spec: SeparableSpec
    ) -> FloatArray:
        point, d, columns = state.point, problem.n_columns, state.columns
        assert columns is not None
        hessian = problem.hessian(point)
        factors, core = hessian.low_rank()
        h, chosen = hessian.row_curvature, np.arange(d)
        rows = np.ascontiguousarray(factors[:d])
        curvature, change = np.zeros(d), np.zeros(d)
        coordinate.column_curvatures(*columns, h, chosen, curvature)
        curvature += ((rows @ core) * rows).sum(axis=1)
        _, shift, work = coordinate.descend_columns(
            *columns, h, problem.coef(point.gradient), curvature, problem.coef(point.w), *spec,
            rows, core, problem.has_intercept, chosen, change,
            np.zeros(h.shape[0]), self.sweeps, 0.0, state.random,
        )  # fmt: skip
        problem.counts.passes += work / max(1, problem.data.n_entries)
        return problem.join(change, shift)
