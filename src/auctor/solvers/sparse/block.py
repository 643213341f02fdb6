"""Block coordinate descent on second-order models: the solver for group penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import BlockSpec, FloatArray, IntArray
from auctor.kernels.linalg.columns import combine, dots
from auctor.problem import Point, Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.solvers.base import State
from auctor.solvers.line_search import composite
from auctor.solvers.sparse.models.blocks import (
    Base,
    ByColumns,
    ByMatrix,
    GrowingGram,
    Inner,
    WorkingSet,
)
from auctor.solvers.sparse.models.shared import InterceptRow
from auctor.solvers.sparse.proximal import first_step
from auctor.solvers.sparse.subspace import StepControl, SubspaceNewton, SubspaceState
from auctor.solvers.specs import blocks_of

#: Sweeps expected of the first step, before any has been seen; set by hand.
FIRST_SWEEPS = 10
#: Sweeps expected of all steps together, for a loss with constant curvature; set by hand.
KEPT_SWEEPS = 50
#: Rows per column from which the matrix of all columns is made from rows.
TALL = 20
#: The working set holds at least this many blocks, and twice those that are not zero.
FEWEST_BLOCKS = 16
#: Share of all columns from which they are moved together.
CROWDED = 0.8
#: Curvature along the gradient over a column's own, below which columns count as uncorrelated.
UNCORRELATED = 6.0


@dataclass(frozen=True)
class BlockState(State):
    """The point, the Gram matrix shared between steps, the inner accuracy and the latest sweeps.

    ``control`` is that of steps over all columns together.
    """

    gram: GrowingGram | None
    fraction: float
    sweeps: int = FIRST_SWEEPS
    control: StepControl | None = None


@dataclass(frozen=True)
class BlockCoordinateDescent:
    """Group by group on second-order models of the loss, with line searches in score space.

    Each step takes a quadratic model of the loss, and a working set of the groups that are not zero
    and those that violate optimality most, and sweeps over these. A group of up to 64 columns is
    minimised exactly in its own eigenvectors, a larger one (or one with an l1 part) by majorised
    steps on its own matrix. The intercept is eliminated exactly. With few columns K in the working
    set their matrix is formed and a sweep costs O(K^2); otherwise a sweep reads these columns
    twice. Slow sweeps are extrapolated. One further pass over the data per step gives the gradient
    of all groups; tall data are only ever read by rows. Where nearly all columns of dense data are
    in the model, steps of `SubspaceNewton` move them together.

    Parameters
    ----------
    fraction : float in (0, 1)
        Accuracy of an inner problem relative to the largest violation of the outer one.
    max_sweeps : int
        Sweeps per step.
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

    def __post_init__(self) -> None:
        who = type(self).__name__
        for name in ("fraction", "sigma"):
            value = getattr(self, name)
            check_real(who, name, value, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int(who, "max_sweeps", self.max_sweeps, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BlockState:
        """State at the starting point."""
        return BlockState(problem.with_best_intercept(problem.evaluate(w)), None, self.fraction)

    def step(self, problem: Problem, state: BlockState) -> BlockState:
        """One model, its inexact minimiser, one line search."""
        point = state.point
        spec = blocks_of(problem)
        violation = block_violation(problem, spec, point)
        if not violation.any():
            return replace(state, stalled=True)
        control = crowded_control(problem, spec, state, violation)
        if control is not None:
            together = SubspaceNewton(fewest=problem.n_columns)
            new = together.step(problem, SubspaceState(point, control, self.fraction))
            if new.point is not point:
                return replace(state, point=new.point, control=new.control)
        working = WorkingSet.of(spec, self._working_set(problem, spec, point, violation))
        inner, shared = self._model(problem, state, working)
        tol = state.fraction * float(violation[working.blocks].max())
        sweeps = inner.run(self.max_sweeps, tol)
        found = self._search(problem, point, working, inner)
        if found is None:
            tight = state.fraction < 1e-6
            return replace(state, gram=shared, fraction=0.01 * state.fraction, stalled=tight)
        return BlockState(
            problem.with_best_intercept(found), shared, self.fraction, sweeps, state.control
        )

    def _working_set(
        self, problem: Problem, spec: BlockSpec, point: Point, violation: FloatArray
    ) -> IntArray:
        """Blocks that are not zero or free, and the worst violators up to twice as many."""
        w = problem.coef(point.w)[spec.indices] != 0.0
        inside = np.add.reduceat(w, spec.indptr[:-1].astype(np.int64)) > 0
        inside |= (spec.weight == 0.0) & (spec.l1 == 0.0)
        room = max(FEWEST_BLOCKS, 2 * int(inside.sum())) - int(inside.sum())
        rest = np.flatnonzero(~inside & (violation > 0.0))
        if rest.size > room:
            rest = rest[np.argpartition(-violation[rest], room - 1)[:room]]
        return np.sort(np.concatenate((np.flatnonzero(inside), rest)))

    def _model(
        self, problem: Problem, state: BlockState, working: WorkingSet
    ) -> tuple[Inner, GrowingGram | None]:
        """The model over the columns of the working set, and what of it is worth keeping."""
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
            dots(*problem.data.columns(), working.chosen, h, intercept.side)
        base = Base(point, problem.coef(point.w)[working.chosen], h, intercept)
        if not is_tall(problem) and not use_matrix(problem, working, state):
            return ByColumns(problem, problem.data.columns(), working, base), shared
        if shared is None:
            shared = GrowingGram.empty(problem.n_columns)
        shared, gram = shared.submatrix(problem, h, working.chosen)
        return ByMatrix(problem, working, base, gram), shared if quadratic else None

    def _search(
        self, problem: Problem, point: Point, working: WorkingSet, inner: Inner
    ) -> Point | None:
        """First of steps 1, 1/2, ... with sufficient decrease, at no further pass."""
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
            combine(*problem.data.columns(), working.chosen, change, np.ones(moved.size), moved)
        return composite(problem, point, direction, moved, sigma=self.sigma)


def is_tall(problem: Problem) -> bool:
    """Whether the matrix of all columns is best made from rows, and columns never read."""
    tall = problem.data.n_rows >= TALL * problem.n_columns
    return tall and problem.n_params <= FACTOR_PARAMS and Need.GRAM in problem.provides


def crowded_control(
    problem: Problem, spec: BlockSpec, state: BlockState, violation: FloatArray
) -> StepControl | None:
    """How fast to go on the subspace, if nearly all columns matter and rows can tell them apart.

    At 0 the columns that violate optimality count, if they are nearly uncorrelated: if the
    curvature along the gradient is not much more than that of a column.
    """
    n, d, point = problem.data.n_rows, problem.n_columns, state.point
    if is_tall(problem) or n < d or problem.data.n_entries < 0.3 * n * d:
        return None
    busy = int(np.count_nonzero(problem.coef(point.w)))
    start = busy == 0
    if start:
        busy = int(np.diff(spec.indptr.astype(np.int64))[violation > 0.0].sum())
    if busy < CROWDED * d:
        return None
    if state.control is not None:
        return state.control
    length = first_step(problem, point)
    if start:
        mean = float(problem.coef(problem.hessian(point).diagonal()).mean())
        if UNCORRELATED * mean * length < 1.0:
            return None
    return StepControl(length)


def use_matrix(problem: Problem, working: WorkingSet, state: BlockState) -> bool:
    """Whether forming the matrix of the working set costs less than reading its columns again.

    With a entries per column, K columns and S sweeps: a K^2 multiply-adds (an eighth of that in
    time through BLAS) and K^2 per sweep, against 2 a K per sweep (slower when scattered). S is
    what the step before took.
    """
    columns, size, sweeps = problem.data.columns(), working.chosen.size, state.sweeps
    if problem.loss.quadratic:
        sweeps = max(KEPT_SWEEPS, 4 * sweeps)
        if state.gram is not None:
            size = state.gram.chosen.size + int((state.gram.slot[working.chosen] < 0).sum())
    entries = columns.indptr[working.chosen + 1] - columns.indptr[working.chosen]
    each = float(entries.sum()) / max(1, working.chosen.size)
    dense = each >= 0.3 * problem.data.n_rows
    build, slow = (each / 8.0, 2.0) if dense else (each, 4.0)
    return size * (build + sweeps) <= slow * each * sweeps


def block_violation(problem: Problem, spec: BlockSpec, point: Point) -> FloatArray:
    """Distance of each block's gradient to optimality."""
    gradient = problem.coef(point.gradient)
    violation = problem.penalty.violation(problem.coef(point.w), gradient)
    squares = violation[spec.indices] ** 2
    out: FloatArray = np.sqrt(np.add.reduceat(squares, spec.indptr[:-1].astype(np.int64)))
    return out


def row_curvature(problem: Problem, point: Point) -> FloatArray:
    """Curvature of the rows; where it is 0 a little, so that no step is without bound."""
    h = problem.loss.curvature(point.scores, problem.data.target).diagonal
    top = float(h.max(initial=0.0))
    share = problem.data.target.share
    if top == 0.0:
        return share
    return np.where((h > 0.0) | (share == 0.0), h, 1e-3 * top)
