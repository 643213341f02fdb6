"""Proximal Newton with working sets: the default for most losses with an l1-type penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.data_capabilities import COLUMNS
from auctor.core.errors import speaks_for_itself
from auctor.core.rng import kernel_state
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.problem import Point, Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.problem.memory import WarmStart
from auctor.problem.needs import Need
from auctor.solvers.base import State, memory_of, spec_of
from auctor.solvers.line_search import composite, violations
from auctor.solvers.sparse.history import GradientHistory
from auctor.solvers.sparse.models.columns import ColumnStep, Store, descend
from auctor.solvers.sparse.models.matrix import MatrixModel, chosen_model, full_model
from auctor.solvers.sparse.proximal import feasible
from auctor.solvers.sparse.screening import proven_zero

#: Dense columns up to which their Hessian is formed.
GRAM_COLUMNS = 1500
#: Violations after a step, as a share of those before, from which an old Hessian is replaced.
SLOW = 0.3
#: Working set, as a share of the columns, above which the Hessian of dense data holds all columns.
DENSE_SHARE = 0.5
#: Working set, as a share of the columns, above which the Hessian of sparse data holds all columns.
SPARSE_SHARE = 0.25
#: Violating columns that a working set of dense columns may add at a time, if its support is small.
MOST_NEW = 60
#: Accuracy of a model's minimiser, as a share of the target gap.
MODEL_SHARE = 0.1
#: Accuracy of a Hessian model, as a share of the largest violation.
MODEL_ACCURACY = 0.01
#: Least accuracy of any model, as a share of the violation.
ROUGHEST_ACCURACY = 0.3
#: Sweeps over a matrix in the time of a sweep over columns.
MATRIX_SWEEPS = 10
#: Gradient of a column, as a share of its l1, from which it is added to a model or a copy.
NEARLY_ACTIVE = 0.8
#: Factor on the inner tolerance if one sweep was enough.
TOLERANCE_DECREASE = 0.25
#: Factor on the inner tolerance after a failed line search.
FAILURE_DECREASE = 0.01
#: Inner tolerance, as a share of the violations, at which a failed line search means a stall.
FINEST_TOLERANCE = 1e-12


@dataclass(frozen=True)
class ProximalNewtonState(State):
    """The point, the copied columns, the latest model, the inner tolerance and the random state.

    ``whole`` says that Hessians of sampled rows have turned out to be too inaccurate.
    """

    store: Store | None
    model: MatrixModel | None
    inner_tol: float
    random: Array
    proven: Array  # columns known to be zero at the optimum
    whole: bool = False


@dataclass(frozen=True)
class ProximalNewton:
    """Coordinate descent on quadratic models of the loss, with line searches on the scores.

    The working set is the support and the columns that violate optimality. For few or dense columns
    the model is the Hessian over it: of all rows if that is cheap, otherwise of sampled rows, or
    pairs of them, until these are too inaccurate. It is reused, and extended by new columns, while
    the curvature of the rows changes little, also between the points of a path. For many sparse
    columns, residuals are updated column by column; only columns of the working set are transposed
    while they are a minority, and columns that the duality gap proves to be zero are removed. On a
    path with many columns, gradients of earlier points bound the gradient of a new one, and entries
    of columns that are certain to stay at 0 are not computed.

    Parameters
    ----------
    sigma : float in (0, 1)
        Least share of the predicted decrease in a line search.
    max_sweeps : int >= 1
        Largest number of inner sweeps per step.

    References
    ----------
    Yuan, Ho, Lin, An improved GLMNET for l1-regularized logistic regression, 2012; Lee, Sun,
    Saunders, Proximal Newton-type methods, 2014.
    """

    sigma: float = 0.01
    max_sweeps: int = 100

    needs = (
        Need.SMOOTH_LOSS
        | Need.CURVATURE
        | Need.MATRIX_CURVATURE
        | Need.SEPARABLE_PENALTY
        | Need.MATRIX_COLUMNS
    )

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("sigma", self.sigma, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int("max_sweeps", self.max_sweeps, low=1)

    def init(
        self, problem: Problem, w: FloatArray, rng: np.random.Generator
    ) -> ProximalNewtonState:
        """State at the starting point, with the model and columns of earlier solves on a path."""
        memory = memory_of(problem)
        start = memory.warm_start
        if start is not None and np.array_equal(start.w, w) and np.isfinite(start.scores).all():
            point = problem.evaluate(w, scores=start.scores)
            point = point if math.isfinite(point.value) else feasible(problem, w)
        else:
            point = feasible(problem, w)
        random = kernel_state(rng)
        state = ProximalNewtonState(
            point=self._stored(problem, problem.with_best_intercept(point)),
            store=memory.columns,
            model=memory.model,
            inner_tol=np.inf,
            random=random,
            proven=np.zeros(problem.n_columns, dtype=bool),
        )
        return state

    @staticmethod
    def _stored(problem: Problem, point: Point) -> Point:
        """The point, stored as the warm start of the next solve along a path.

        With many columns its gradient comes from `GradientHistory`, for less than a pass.
        """
        if problem.memory is None:
            return point
        memory = memory_of(problem)
        memory.warm_start = WarmStart(point.w, point.scores)
        if not _has_history(problem):
            return point
        if memory.columns is None or memory.columns.index is not None:
            memory.columns = Store(COLUMNS.of(problem.data).columns(), None)
        if memory.history is None:
            memory.history = GradientHistory(problem)
        return memory.history.attach(problem, point, memory.columns)

    def step(self, problem: Problem, state: ProximalNewtonState) -> ProximalNewtonState:
        """One quadratic model, its approximate minimiser, and one line search."""
        point = state.point
        # Working set.
        violation = violations(point)
        columns = self._working_set(problem, point, violation)
        # A Hessian over the working set if it is small or dense; otherwise residual updates.
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        by_matrix = few or (dense and columns.size <= GRAM_COLUMNS) or _only_matrices(problem)
        # Descent direction.
        model_step = self._by_matrix if by_matrix else self._by_columns
        proposal, state = model_step(problem, state, violation, columns)
        # Step size.
        new = composite(problem, point, proposal.direction, proposal.change, sigma=self.sigma)
        if new is None:
            return _after_failure(state, by_matrix, violation)
        # Intercept, and what the step says about the model.
        new = self._stored(problem, problem.with_best_intercept(new))
        if by_matrix:
            state = _without_poor_model(problem, state, new, violation)
        return replace(state, point=new)

    @staticmethod
    def _working_set(problem: Problem, point: Point, violation: FloatArray) -> IntArray:
        """The support and the columns that violate optimality, or the worst of those.

        If columns are few or dense, at most `MOST_NEW` columns, or twice the support, are added;
        except that most of a few dense columns are all taken, as one Hessian then holds them all.
        """
        active = problem.coef(point.w) != 0.0
        worst = np.where(active, 0.0, violation)
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        whole = few and dense and np.count_nonzero(violation) > DENSE_SHARE * problem.n_columns
        if (few or dense or _only_matrices(problem)) and not whole:
            most = max(MOST_NEW, 2 * int(np.count_nonzero(active)))
            if np.count_nonzero(worst) > most:
                return np.flatnonzero(active | (worst >= np.partition(worst, -most)[-most]))
        return np.flatnonzero(active | (worst > 0.0))

    def _by_matrix(
        self, problem: Problem, state: ProximalNewtonState, violation: FloatArray, columns: IntArray
    ) -> tuple[ColumnStep, ProximalNewtonState]:
        """Direction and change of the scores from a Hessian model, and the state with the model."""
        point, spec = state.point, spec_of(problem)
        model = self._model(problem, state, spec, columns)
        memory_of(problem).model = model
        # Inner tolerance: a share of the violation, but not finer than the target gap needs.
        worst = float(violation.max())
        enough = self._tolerance_for_gap(problem, point)
        tol = min(max(MODEL_ACCURACY * worst, enough), ROUGHEST_ACCURACY * worst)
        direction, change = model.descend(
            problem, point, spec, max_sweeps=MATRIX_SWEEPS * self.max_sweeps, tol=tol
        )
        if change is None:
            change = problem.score_change(direction)
        return ColumnStep(direction, change, 0), replace(state, model=model)

    @staticmethod
    def _tolerance_for_gap(problem: Problem, point: Point) -> float:
        """Violation that leaves a share `MODEL_SHARE` of the target gap; 0 if that is unknown."""
        target_gap = None if problem.memory is None else problem.memory.target_gap
        size = float(np.abs(problem.coef(point.w)).sum())
        return 0.0 if target_gap is None or size == 0.0 else MODEL_SHARE * target_gap / size

    @staticmethod
    def _model(
        problem: Problem, state: ProximalNewtonState, spec: SeparableSpec, columns: IntArray
    ) -> MatrixModel:
        """The last model if it is still accurate at the point, otherwise a new one."""
        point, old, d = state.point, state.model, problem.n_columns
        hessian, path = problem.hessian(point), problem.memory is not None
        # Reuse the last Hessian if the curvature of the rows has hardly changed.
        if old is not None:
            old = old.at(hessian, _drift(old, path))
        if old is not None and old.covers(columns, d):
            return old
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        if few and path:
            # Add columns whose gradient is near l1: the next points of the path will need them.
            near = np.abs(problem.coef(point.gradient)) > NEARLY_ACTIVE * spec.l1
            near[columns] = True
            columns = np.flatnonzero(near)
        # A Hessian of all columns, of new columns added to the last, or of the working set.
        most = d * (DENSE_SHARE if dense else SPARSE_SHARE)
        if few and (columns.size > most or hessian.sampled or hessian.by_pairs):
            return full_model(problem, point, hessian, whole=state.whole)
        if old is not None and old.lines is not None:
            return old.grown(problem, point, columns)
        return chosen_model(problem, point, hessian, columns)

    def _by_columns(
        self, problem: Problem, state: ProximalNewtonState, violation: FloatArray, columns: IntArray
    ) -> tuple[ColumnStep, ProximalNewtonState]:
        """Direction by residual updates over a working set, and the state with its columns."""
        point, spec = state.point, spec_of(problem)
        store = state.store
        if store is None or not store.covers(columns, problem.n_columns):
            # Add columns whose gradient is near l1: the next working sets will need them.
            near = np.abs(problem.coef(point.gradient)) > NEARLY_ACTIVE * spec.l1
            near[columns] = True
            store = self._gather(problem, np.flatnonzero(near))
            memory_of(problem).columns = store
        # Screening: columns at zero that the duality gap proves to be zero leave the working set.
        at_zero = problem.coef(point.w)[columns] == 0.0
        candidates = columns[at_zero & ~state.proven[columns]]
        proven = state.proven.copy()
        proven[candidates] = proven_zero(problem, point, spec, store, candidates)
        columns = columns[~(at_zero & proven[columns])]
        tol = min(state.inner_tol, ROUGHEST_ACCURACY * float(violation.sum()))
        # Descent direction: sweeps over the working set.
        descent = descend(
            problem, point, spec, store, columns,
            max_sweeps=self.max_sweeps, tol=tol, random=state.random,
        )  # fmt: skip
        # One sweep was enough: the inner tolerance was too loose.
        easier = TOLERANCE_DECREASE * tol if descent.sweeps == 1 else tol
        return descent, replace(state, store=store, inner_tol=easier, proven=proven)

    @staticmethod
    def _gather(problem: Problem, wanted: IntArray) -> Store:
        """A copy of the wanted columns if they are few, otherwise all columns."""
        data = COLUMNS.of(problem.data)
        # Share of all entries below which the columns of a working set are copied on their own.
        part = data.some_columns(wanted, 0.25)
        if part is None:
            return Store(data.columns(), None)
        return Store(part, wanted)


def _after_failure(
    state: ProximalNewtonState, by_matrix: bool, violation: FloatArray
) -> ProximalNewtonState:
    """The state after a failed line search: with no model, or with a tighter inner tolerance."""
    model = state.model
    if by_matrix and model is not None and not model.fresh:
        return replace(state, model=None)
    if by_matrix and model is not None and model.sampled:
        return replace(state, model=None, whole=True)
    tight = by_matrix or state.inner_tol <= FINEST_TOLERANCE * float(violation.sum())
    return replace(state, inner_tol=FAILURE_DECREASE * state.inner_tol, stalled=tight)


def _without_poor_model(
    problem: Problem, state: ProximalNewtonState, new: Point, violation: FloatArray
) -> ProximalNewtonState:
    """The state, without its Hessian if the last step showed that to be too old or inaccurate."""
    model = state.model
    if model is None or (model.fresh and not model.sampled):
        return state
    left = violations(new)
    before, after = float(violation.sum()), float(left.sum())
    if not after > SLOW * before:
        return state
    # A new Hessian that was too inaccurate is of sampled rows: the next one is of all rows.
    return replace(state, model=None, whole=model.fresh or state.whole)


def _drift(model: MatrixModel, path: bool) -> float:
    """Relative change of the rows' curvature up to which a model is reused."""
    if path:
        return 0.2
    # A Hessian that costs more than two passes is kept for longer.
    return 0.1 if model.cost > 2.0 else 0.01


def _has_history(problem: Problem) -> bool:
    """Whether to store gradients of earlier points of a path.

    With few columns a gradient is cheap; with many, a copy by columns must fit into memory.
    """
    if problem.n_params <= FACTOR_PARAMS or not problem.certifiable or _only_matrices(problem):
        return False
    # Dense entries up to which a path makes a copy by columns: 512 MB.
    return not _is_dense(problem) or problem.n_entries <= (1 << 26)


def _only_matrices(problem: Problem) -> bool:
    """Whether the data give Hessians of some columns, but not the columns themselves."""
    return Need.COLUMNS not in problem.provides


def _is_dense(problem: Problem) -> bool:
    """Whether every entry is stored."""
    return problem.n_entries == problem.data.n_rows * problem.n_columns
