"""Proximal Newton with working sets: the default for most losses with an l1-type penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.problem import PathMemory, Point, Problem, WarmStart
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.solvers.base import State
from auctor.solvers.line_search import composite
from auctor.solvers.sparse.history import GradientHistory
from auctor.solvers.sparse.models.columns import Descent, SharedColumns, Store, descend
from auctor.solvers.sparse.models.matrix import MatrixModel, chosen_model, full_model
from auctor.solvers.sparse.proximal import feasible
from auctor.solvers.sparse.screening import proven_zero
from auctor.solvers.specs import spec_of

#: Columns are gathered on their own while they hold less than this share of all entries.
GATHER_SHARE = 0.25
#: Up to this many dense columns are worth a matrix.
GRAM_COLUMNS = 1500
#: Passes over the data above which a matrix is expensive to make anew; set by hand.
DEAR = 2.0
#: Passes above which it is very expensive; set by hand.
VERY_DEAR = 20.0
#: A matrix is kept while the curvature of the rows moves by less than this share of it, where a new
#: one would be very expensive; set by hand, like the three below.
DEAREST_DRIFT = 0.5
#: The same on a path, where the next point needs the matrix too.
PATH_DRIFT = 0.2
#: The same where a new matrix would be expensive.
DEAR_DRIFT = 0.1
#: The same everywhere else.
CHEAP_DRIFT = 0.01
#: Share of the summed violation that a step on a kept matrix may leave, or the matrix is made anew;
#: where that would be very expensive. Set by hand.
DEAREST_SLOW = 0.7
#: The same everywhere else.
SLOW = 0.3
#: After a step on a matrix of sampled rows that leaves more than this share, all rows are taken.
SAMPLED_SLOW = 0.5
#: Share of the columns in the working set from which a matrix takes them all, for dense data.
DENSE_SHARE = 0.5
#: The same for sparse data, where all columns cost one reading of the rows.
SPARSE_SHARE = 0.25
#: A working set of dense columns takes in at least this many violating ones at a time.
MOST_NEW = 60
#: Share of the gap asked for that minimising a model may leave.
MODEL_SHARE = 0.1
#: Up to this many dense entries a path makes a copy by columns.
COPIED_ENTRIES = 1 << 26


@dataclass
class Shared:
    """What the solves of a path share: the latest matrix, and gradients of earlier points."""

    model: MatrixModel | None = None
    history: GradientHistory | None = None


@dataclass(frozen=True)
class ProximalNewtonState(State):
    """The point, the columns and the model at hand, inner tolerance and the shuffling state.

    ``whole`` says that matrices of sampled rows have turned out to be too rough.
    """

    store: Store | None
    model: MatrixModel | None
    inner_tol: float
    random: Array
    proven: Array  # columns known to be zero at the optimum
    whole: bool = False


@dataclass(frozen=True)
class ProximalNewton:
    """Coordinate descent on second-order models of the loss, with line searches in score space.

    The working set is the support and the columns that violate optimality. With few or dense
    columns the model is a matrix over it: the Hessian of all rows where that is cheap, otherwise of
    sampled rows, or pairs of them, until these prove too rough; it is kept, and grown, while the
    curvature of the rows changes little, between the points of a path too. With many sparse ones,
    residuals are updated column by column; only columns of the working set are ever transposed
    while they are a minority, and those that the duality gap proves to be zero leave it for good.
    On a path with many columns, gradients of earlier points enclose the gradient of a new one, and
    columns which are certain to stay at 0 are not computed.

    Parameters
    ----------
    sigma : float in (0, 1)
        Sufficient decrease.
    max_sweeps : int >= 1
        Inner sweeps per step.

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

    def __post_init__(self) -> None:
        who = "ProximalNewton"
        check_real(who, "sigma", self.sigma, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int(who, "max_sweeps", self.max_sweeps, low=1)

    def init(
        self, problem: Problem, w: FloatArray, rng: np.random.Generator
    ) -> ProximalNewtonState:
        """State at the starting point, with what earlier solves of a path have left."""
        memory = problem.memory or PathMemory()
        start = memory.warm_start
        if start is not None and np.array_equal(start.w, w) and np.isfinite(start.scores).all():
            point = problem.evaluate(w, scores=start.scores)
            point = point if math.isfinite(point.value) else feasible(problem, w)
        else:
            point = feasible(problem, w)
        random = rng.integers(1, 2**63, size=1).astype(np.uint64)
        state = ProximalNewtonState(
            point=self._left(problem, problem.with_best_intercept(point)),
            store=memory.part(SharedColumns).store,
            model=memory.part(Shared).model,
            inner_tol=np.inf,
            random=random,
            proven=np.zeros(problem.n_columns, dtype=bool),
        )
        return state

    @staticmethod
    def _left(problem: Problem, point: Point) -> Point:
        """The point, left to the next solve of a path.

        With many columns it gets a gradient that took less than a pass, see `GradientHistory`.
        """
        memory = problem.memory
        if memory is None:
            return point
        memory.warm_start = WarmStart(point.w, point.scores)
        if not _has_history(problem):
            return point
        columns, shared = memory.part(SharedColumns), memory.part(Shared)
        if columns.store is None or columns.store.index is not None:
            columns.store = Store(problem.data.columns(), None)
        if shared.history is None:
            shared.history = GradientHistory(problem)
        return shared.history.attach(problem, point, columns.store)

    def step(self, problem: Problem, state: ProximalNewtonState) -> ProximalNewtonState:
        """One model, its inexact minimiser, one line search."""
        point = state.point
        violation = problem.penalty.violation(problem.coef(point.w), problem.coef(point.gradient))
        chosen = self._working_set(problem, point, violation)
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        by_matrix = few or (dense and chosen.size <= GRAM_COLUMNS) or _only_matrices(problem)
        model_step = self._by_matrix if by_matrix else self._by_columns
        found, state = model_step(problem, state, violation, chosen)
        new = composite(problem, point, found.direction, found.change, sigma=self.sigma)
        if new is None:
            return _after_failure(state, by_matrix, violation)
        new = self._left(problem, problem.with_best_intercept(new))
        if by_matrix:
            state = _judged(problem, state, new, violation)
        return replace(state, point=new)

    @staticmethod
    def _working_set(problem: Problem, point: Point, violation: FloatArray) -> IntArray:
        """The support and the columns that violate optimality, or the worst of those.

        Where columns are few or dense at most `MOST_NEW` come in, or twice the support; unless most
        of a few dense ones are wanted, which one matrix then holds.
        """
        active = problem.coef(point.w) != 0.0
        worst = np.where(active, 0.0, violation)
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        whole = few and dense and np.count_nonzero(violation) > DENSE_SHARE * problem.n_columns
        if (few or dense) and not whole:
            most = max(MOST_NEW, 2 * int(np.count_nonzero(active)))
            if np.count_nonzero(worst) > most:
                return np.flatnonzero(active | (worst >= np.partition(worst, -most)[-most]))
        return np.flatnonzero(active | (worst > 0.0))

    def _by_matrix(
        self,
        problem: Problem,
        state: ProximalNewtonState,
        violation: FloatArray,
        chosen: IntArray,
    ) -> tuple[Descent, ProximalNewtonState]:
        """Direction and change of the scores from a matrix model, and the state with that model."""
        point, spec = state.point, spec_of(problem)
        model = self._model(problem, state, spec, chosen)
        if problem.memory is not None:
            problem.memory.part(Shared).model = model
        worst = float(violation.max())
        tol = min(max(0.01 * worst, self._enough(problem, point)), 0.3 * worst)
        direction, change = model.descend(
            problem, point, spec, max_sweeps=10 * self.max_sweeps, tol=tol
        )
        if change is None:
            change = problem.score_change(direction)
        return Descent(direction, change, 0), replace(state, model=model)

    @staticmethod
    def _enough(problem: Problem, point: Point) -> float:
        """A violation that leaves a small share of the gap asked for, where one is known."""
        goal = None if problem.memory is None else problem.memory.target_gap
        size = float(np.abs(problem.coef(point.w)).sum())
        return 0.0 if goal is None or size == 0.0 else MODEL_SHARE * goal / size

    @staticmethod
    def _model(
        problem: Problem, state: ProximalNewtonState, spec: SeparableSpec, chosen: IntArray
    ) -> MatrixModel:
        """The model at hand while it fits the point, else a new one."""
        point, old, d = state.point, state.model, problem.n_columns
        hessian, path = problem.hessian(point), problem.memory is not None
        if old is not None:
            old = old.at(hessian, _drift(old, path))
        if old is not None and old.covers(chosen, d):
            return old
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        if few and path:
            # Columns near the threshold come along: they are the next ones wanted.
            near = np.abs(problem.coef(point.gradient)) > 0.8 * spec.l1
            near[chosen] = True
            chosen = np.flatnonzero(near)
        most = d * (DENSE_SHARE if dense else SPARSE_SHARE)
        if few and (chosen.size > most or hessian.sampled or hessian.by_pairs):
            return full_model(problem, point, hessian, whole=state.whole)
        if old is not None and old.lines is not None:
            return old.grown(problem, point, chosen)
        return chosen_model(problem, point, hessian, chosen)

    def _by_columns(
        self,
        problem: Problem,
        state: ProximalNewtonState,
        violation: FloatArray,
        chosen: IntArray,
    ) -> tuple[Descent, ProximalNewtonState]:
        """Direction by residual updates over a working set, and the state with its columns."""
        point, spec = state.point, spec_of(problem)
        store = state.store
        if store is None or not store.covers(chosen, problem.n_columns):
            # Columns near the threshold come along: the next working set is then at hand.
            near = np.abs(problem.coef(point.gradient)) > 0.8 * spec.l1
            near[chosen] = True
            store = self._gather(problem, np.flatnonzero(near))
            if problem.memory is not None:
                problem.memory.part(SharedColumns).store = store
        at_zero = problem.coef(point.w)[chosen] == 0.0
        candidates = chosen[at_zero & ~state.proven[chosen]]
        proven = state.proven.copy()
        proven[candidates] = proven_zero(problem, point, spec, store, candidates)
        chosen = chosen[~(at_zero & proven[chosen])]
        tol = min(state.inner_tol, 0.3 * float(violation.sum()))
        found = descend(
            problem, point, spec, store, chosen,
            max_sweeps=self.max_sweeps, tol=tol, random=state.random,
        )  # fmt: skip
        easier = 0.25 * tol if found.sweeps == 1 else tol
        return found, replace(state, store=store, inner_tol=easier, proven=proven)

    @staticmethod
    def _gather(problem: Problem, wanted: IntArray) -> Store:
        """The wanted columns alone while they are few, else all columns."""
        part = problem.data.some_columns(wanted, GATHER_SHARE)
        if part is None:
            return Store(problem.data.columns(), None)
        return Store(part, wanted)


def _after_failure(
    state: ProximalNewtonState, by_matrix: bool, violation: FloatArray
) -> ProximalNewtonState:
    """The state after a search that found no step: a better model, or a better minimiser of it."""
    model = state.model
    if by_matrix and model is not None and not model.fresh:
        return replace(state, model=None)
    if by_matrix and model is not None and model.sampled:
        return replace(state, model=None, whole=True)
    tight = by_matrix or state.inner_tol <= 1e-12 * float(violation.sum())
    return replace(state, inner_tol=0.01 * state.inner_tol, stalled=tight)


def _judged(
    problem: Problem, state: ProximalNewtonState, new: Point, violation: FloatArray
) -> ProximalNewtonState:
    """The state without its matrix where that has turned out to be too old or too rough."""
    model = state.model
    if model is None or (model.fresh and not model.sampled):
        return state
    left = problem.penalty.violation(problem.coef(new.w), problem.coef(new.gradient))
    before, after = float(violation.sum()), float(left.sum())
    slow = DEAREST_SLOW if model.cost > VERY_DEAR else SLOW
    if not model.fresh and after > slow * before:
        return replace(state, model=None)
    if model.fresh and after > SAMPLED_SLOW * before:
        return replace(state, model=None, whole=True)
    return state


def _drift(model: MatrixModel, path: bool) -> float:
    """How far the curvature of the rows may have moved for a matrix to be kept."""
    if model.cost > VERY_DEAR:
        return DEAREST_DRIFT
    if path:
        return PATH_DRIFT
    return DEAR_DRIFT if model.cost > DEAR else CHEAP_DRIFT


def _has_history(problem: Problem) -> bool:
    """Whether gradients of earlier points of a path are worth keeping.

    With few columns a gradient is cheap; with many, a copy by columns must fit.
    """
    if problem.n_params <= FACTOR_PARAMS or not problem.certifiable or _only_matrices(problem):
        return False
    return not _is_dense(problem) or problem.data.n_entries <= COPIED_ENTRIES


def _only_matrices(problem: Problem) -> bool:
    """Whether the data give matrices of some columns, but not the columns themselves."""
    return Need.COLUMNS not in problem.provides


def _is_dense(problem: Problem) -> bool:
    """Whether every entry is stored."""
    return problem.data.n_entries == problem.data.n_rows * problem.n_columns
