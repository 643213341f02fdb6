"""Block coordinate descent on second-order models: the solver for group penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.capabilities import CURVED
from auctor.core.checks import check_int, check_real
from auctor.core.data_capabilities import COLUMNS
from auctor.core.errors import speaks_for_itself
from auctor.core.types import BlockSpec, FloatArray, IntArray
from auctor.kernels.linalg.columns import combine, dots
from auctor.problem import Point, Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.problem.needs import Need
from auctor.solvers.base import State, blocks_of
from auctor.solvers.line_search import composite, violations
from auctor.solvers.sparse.models.blocks import (
    Base,
    BlockModel,
    ByColumns,
    ByMatrix,
    GrowingGram,
    WorkingSet,
)
from auctor.solvers.sparse.models.shared import InterceptRow
from auctor.solvers.sparse.screening import worst_violators

#: Sweeps that the first step is expected to take.
FIRST_SWEEPS = 10
#: Sweeps that all steps together are expected to take, for a loss of constant curvature.
KEPT_SWEEPS = 50
#: Rows per column from which the Gram matrix of all columns is formed in one pass over the rows.
TALL = 20
#: Accuracy, as a share of the outer violation, at which a failed step means a stall.
FINEST_FRACTION = 1e-6
#: Factor on that accuracy after a failed step.
FRACTION_DECREASE = 0.01
#: Share of stored entries from which columns count as dense.
DENSE = 0.3
#: Multiply-adds that BLAS makes in the time of one of a sweep.
BLAS_SPEED = 8.0
#: Curvature of rows without any, as a share of the largest: it bounds the steps.
LEAST_CURVATURE = 1e-3


@dataclass(frozen=True)
class BlockState(State):
    """The point, the Gram matrix shared between steps, the inner accuracy and the latest sweeps."""

    gram: GrowingGram | None
    fraction: float
    sweeps: int = FIRST_SWEEPS


@dataclass(frozen=True)
class BlockCoordinateDescent:
    """Block coordinate descent on quadratic models of the loss, with line searches on the scores.

    Each step takes a quadratic model of the loss, and a working set of the groups that are nonzero
    and those that violate optimality most, and sweeps over these. A group of up to 64 columns is
    minimised exactly in the basis of its eigenvectors, a larger one (or one with an l1 penalty) by
    majorised steps. The intercept is eliminated exactly. If the working set has few columns K,
    their Gram matrix is formed and a sweep costs O(K^2); otherwise a sweep reads these columns
    twice. Slow sweeps are extrapolated. One further pass over the data per step gives the gradient
    of all groups; tall data are only read by rows.

    Parameters
    ----------
    fraction : float in (0, 1)
        Accuracy of an inner problem relative to the largest violation of the outer one.
    max_sweeps : int
        Largest number of sweeps per step.
    sigma : float in (0, 1)
        Sufficient decrease of the line search.

    References
    ----------
    Yuan, Lin, 2006; Tseng, Yun, A coordinate gradient descent method for nonsmooth separable
    minimization, 2009; Qin, Scheinberg, Goldfarb, Efficient block-coordinate descent algorithms
    for the group lasso, 2013.
    """

    fraction: float = 0.1
    max_sweeps: int = 200
    sigma: float = 0.01

    needs = Need.SMOOTH_LOSS | Need.CURVATURE | Need.ROW_LOSS | Need.BLOCK_PENALTY | Need.COLUMNS

    @speaks_for_itself
    def __post_init__(self) -> None:
        for name in ("fraction", "sigma"):
            value = getattr(self, name)
            check_real(name, value, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int("max_sweeps", self.max_sweeps, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BlockState:
        """State at the starting point."""
        return BlockState(problem.with_best_intercept(problem.evaluate(w)), None, self.fraction)

    def step(self, problem: Problem, state: BlockState) -> BlockState:
        """One quadratic model, its approximate minimiser, and one line search."""
        point = state.point
        spec = blocks_of(problem)
        violation = block_violation(spec, point)
        if not violation.any():
            return replace(state, stalled=True)
        # Working set.
        working = WorkingSet.of(spec, self._working_set(problem, spec, point, violation))
        # Descent direction: sweeps over the blocks of the model.
        inner, shared = self._model(problem, state, working)
        tol = state.fraction * float(violation[working.blocks].max())
        sweeps = inner.run(self.max_sweeps, tol)
        # Step size.
        next_point = self._search(problem, point, working, inner)
        if next_point is None:
            # No step was found: solve the next model more accurately, or stop.
            tight = state.fraction < FINEST_FRACTION
            fraction = FRACTION_DECREASE * state.fraction
            return replace(state, gram=shared, fraction=fraction, stalled=tight)
        return BlockState(problem.with_best_intercept(next_point), shared, self.fraction, sweeps)

    def _working_set(
        self, problem: Problem, spec: BlockSpec, point: Point, violation: FloatArray
    ) -> IntArray:
        """Nonzero and unpenalised blocks, and the worst violators up to as many again."""
        w = problem.coef(point.w)[spec.indices] != 0.0
        inside = np.add.reduceat(w, spec.indptr[:-1].astype(np.int64)) > 0
        inside |= (spec.weight == 0.0) & (spec.l1 == 0.0)
        # Least number of blocks in the working set, which holds up to twice as many as are nonzero.
        limit = max(16, 2 * int(inside.sum())) - int(inside.sum())
        inside[worst_violators(violation, inside, limit)] = True
        return np.flatnonzero(inside)

    def _model(
        self, problem: Problem, state: BlockState, working: WorkingSet
    ) -> tuple[BlockModel, GrowingGram | None]:
        """The model over the working set, and the Gram matrix to share with the next step."""
        point, shared = state.point, state.gram
        quadratic = problem.loss.quadratic
        h = row_curvature(problem, point)
        intercept = InterceptRow.absent(working.chosen.size)
        if is_tall(problem):
            if shared is None or not quadratic:
                shared = GrowingGram.whole(problem, h)
            assert shared.intercept is not None
            intercept = shared.intercept.of(working.chosen)
        elif problem.has_intercept:
            intercept = replace(intercept, corner=float(h.sum()))
            dots(*COLUMNS.of(problem.data).columns(), working.chosen, h, intercept.side)
        base = Base(point, problem.coef(point.w)[working.chosen], h, intercept)
        if not is_tall(problem) and not use_matrix(problem, working, state):
            return ByColumns(problem, COLUMNS.of(problem.data).columns(), working, base), shared
        if shared is None:
            shared = GrowingGram.empty(problem.n_columns)
        shared, gram = shared.submatrix(problem, h, working.chosen)
        return ByMatrix(problem, working, base, gram), shared if quadratic else None

    def _search(
        self, problem: Problem, point: Point, working: WorkingSet, inner: BlockModel
    ) -> Point | None:
        """First of the steps 1, 1/2, ... with sufficient decrease, or None; one pass if tall."""
        # The direction on all columns; the eliminated intercept moves along.
        base = inner.base
        change = inner.z - base.w
        intercept = base.intercept.change(change)
        coef = np.zeros(problem.n_columns)
        coef[working.chosen] = change
        direction = problem.join(coef, intercept)
        if is_tall(problem):
            moved = problem.score_change(direction)
        else:
            moved = np.full(problem.data.n_rows, intercept)
            columns = COLUMNS.of(problem.data).columns()
            combine(*columns, working.chosen, change, np.ones(moved.size), moved)
        return composite(problem, point, direction, moved, sigma=self.sigma)


def is_tall(problem: Problem) -> bool:
    """Whether the Gram matrix of all columns is formed from rows, and columns are never read."""
    tall = problem.data.n_rows >= TALL * problem.n_columns
    return tall and problem.n_params <= FACTOR_PARAMS and Need.GRAM in problem.provides


def use_matrix(problem: Problem, working: WorkingSet, state: BlockState) -> bool:
    """Whether forming the Gram matrix of the working set costs less than sweeps over its columns.

    With a entries per column, K columns and S sweeps, the Gram matrix takes a K^2 multiply-adds
    (with BLAS an eighth of that time) and K^2 per sweep; sweeps over columns take 2 a K each
    (twice the time for sparse columns). S is the number of sweeps of the last step.
    """
    columns, size, sweeps = COLUMNS.of(problem.data).columns(), working.chosen.size, state.sweeps
    if problem.loss.quadratic:
        sweeps = max(KEPT_SWEEPS, 4 * sweeps)
        if state.gram is not None:
            size = state.gram.chosen.size + int((state.gram.slot[working.chosen] < 0).sum())
    entries = columns.indptr[working.chosen + 1] - columns.indptr[working.chosen]
    each = float(entries.sum()) / max(1, working.chosen.size)
    dense = each >= DENSE * problem.data.n_rows
    build, slow = (each / BLAS_SPEED, 2.0) if dense else (each, 4.0)
    return size * (build + sweeps) <= slow * each * sweeps


def block_violation(spec: BlockSpec, point: Point) -> FloatArray:
    """Norm of the violation of the optimality conditions in each block."""
    squares = violations(point)[spec.indices] ** 2
    out: FloatArray = np.sqrt(np.add.reduceat(squares, spec.indptr[:-1].astype(np.int64)))
    return out


def row_curvature(problem: Problem, point: Point) -> FloatArray:
    """Curvature of the rows; zeros are raised to a share of the largest, which bounds the steps."""
    h = CURVED.of(problem.loss).curvature(point.scores, problem.data.target).diagonal
    largest = float(h.max(initial=0.0))
    share = problem.data.target.share
    if largest == 0.0:
        return share
    return np.where((h > 0.0) | (share == 0.0), h, LEAST_CURVATURE * largest)
