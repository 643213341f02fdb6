"""Proximal Newton with working sets: the default for most losses with an l1-type penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.problem import Goal, Known, Point, Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.solvers.sparse.history import Anchors, with_gradient
from auctor.solvers.sparse.models.columns import Descent, Store, descend
from auctor.solvers.sparse.models.lines import in_one_call, minimise_over
from auctor.solvers.sparse.models.matrix import MatrixModel, chosen_model, full_model
from auctor.solvers.sparse.proximal import feasible
from auctor.solvers.sparse.screening import proven_zero

#: Columns are gathered on their own while they hold less than this share of all entries.
GATHER_SHARE = 0.25
#: Up to this many dense columns are worth a matrix.
GRAM_COLUMNS = 1500
#: A matrix that costs more passes than these is dear, or very dear, to make anew.
DEAR, VERY_DEAR = 2.0, 20.0
#: A matrix is kept while the curvature of the rows moves by less than this share: where a new one
#: is very dear, on a path, where a new one is dear, and else.
DEAREST_DRIFT, PATH_DRIFT, DEAR_DRIFT, CHEAP_DRIFT = 0.5, 0.2, 0.1, 0.01
#: A kept matrix must bring the summed violation below this share of what it was; the first where a
#: new one is very dear.
DEAREST_SLOW, SLOW = 0.7, 0.3
#: After a step on a matrix of sampled rows that leaves more than this share, all rows are taken.
SAMPLED_SLOW = 0.5
#: With more than this share of the columns wanted, a matrix takes them all.
DENSE_SHARE, SPARSE_SHARE = 0.5, 0.25
#: A working set of dense columns takes in at least this many violating ones at a time.
MOST_NEW = 60
#: Columns whose gradient is above this share of the threshold are taken along on a path.
NEAR = 0.9
#: Share of the gap asked for that a minimisation over such columns may leave; of the largest
#: violation, where no gap is asked for.
GOAL_SHARE, INNER = 0.2, 0.05
#: An estimated gap below this share of the one asked for is worth a pass to know it.
SURE = 0.7
#: Share of the gap asked for that minimising a model may leave.
MODEL_SHARE = 0.1
#: Up to this many dense entries a path makes a copy by columns.
COPIED_ENTRIES = 1 << 26
#: Relative error of a value.
ROUNDING = 2e-15


@dataclass(frozen=True)
class ProximalNewtonState:
    """The point, the columns and the model at hand, inner tolerance and the shuffling state.

    ``whole`` says that matrices of sampled rows have turned out to be too rough.
    """

    point: Point
    store: Store | None
    model: MatrixModel | None
    inner_tol: float
    random: Array
    proven: Array  # columns known to be zero at the optimum
    whole: bool = False
    stalled: bool = False
    dual: Point | None = None


@dataclass(frozen=True)
class ProximalNewton:
    """Coordinate descent on second-order models of the loss, with line searches in score space.

    The working set is the support and the columns that violate optimality. With few or dense
    columns the model is a matrix over it: the Hessian of all rows where that is cheap, otherwise of
    sampled rows, or pairs of them, until these prove too rough; it is kept, and grown, while the
    curvature of the rows changes little, between the points of a path too. With many sparse ones,
    residuals are updated column by column; only columns of the working set are ever transposed
    while they are a minority, and those that the duality gap proves to be zero leave it for good.
    On a path, gradients of earlier points enclose the gradient of a new one: often that is enough
    for a certificate, and columns which are certain to rest at 0 are not computed. A small problem
    over the working set is minimised in one call.

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
        | Need.COLUMNS
    )

    def __post_init__(self) -> None:
        who = "ProximalNewton"
        check_real(who, "sigma", self.sigma, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int(who, "max_sweeps", self.max_sweeps, low=1)

    def init(
        self, problem: Problem, w: FloatArray, rng: np.random.Generator
    ) -> ProximalNewtonState:
        """State at the starting point."""
        kept = {} if problem.kept is None else problem.kept
        known = kept.get(Known)
        if known is not None and np.array_equal(known.w, w) and np.isfinite(known.scores).all():
            point = problem.evaluate(w, scores=known.scores)
            point = point if math.isfinite(point.value) else feasible(problem, w)
        else:
            point = feasible(problem, w)
        point = problem.centred(point)
        random = rng.integers(1, 2**63, size=1).astype(np.uint64)
        store, model = kept.get(Store), kept.get(MatrixModel)
        proven = np.zeros(problem.n_columns, dtype=bool)
        state = ProximalNewtonState(point, store, model, np.inf, random, proven)
        if problem.kept is None or not problem.certifiable or not _columns_fit(problem):
            self._leave(problem, point)
            return state
        return self._on_path(problem, state)

    def _on_path(self, problem: Problem, state: ProximalNewtonState) -> ProximalNewtonState:
        """The state, improved by what earlier points of a path tell before any pass."""
        assert problem.kept is not None
        kept, point = problem.kept, state.point
        if Anchors not in kept:
            kept[Anchors] = Anchors(problem)
        anchors: Anchors = kept[Anchors]
        if problem.n_params > FACTOR_PARAMS:
            if state.store is None:
                kept[Store] = Store(problem.data.columns(), None)
                state = replace(state, store=kept[Store])
            point = self._over_near(problem, point, anchors)
            self._leave(problem, point)
            return replace(state, point=point)
        self._leave(problem, point)
        if not len(anchors) or Need.UNBOUNDED not in problem.provides:
            return state
        promise = anchors.promise(problem, point)
        if min(promise.bound, promise.gap / SURE) <= kept[Goal].gap:
            return state
        rough = with_gradient(problem, replace(point), promise.pulled)
        ahead = self.step(problem, replace(state, point=rough))
        return state if ahead.point is rough else ahead

    def _over_near(self, problem: Problem, point: Point, anchors: Anchors) -> Point:
        """The minimiser over the columns that are wanted or nearly so, where these are few."""
        active = problem.coef(point.w) != 0.0
        if not len(anchors) or not in_one_call(problem, 1 + int(np.count_nonzero(active))):
            return point
        assert problem.kept is not None
        spec = problem.penalty.separable(problem.n_columns)
        assert spec is not None
        near = np.abs(anchors.estimate(point.dscores).pulled) > NEAR * spec.l1
        index = np.flatnonzero(near | active)
        if not in_one_call(problem, index.size):
            return point
        new = minimise_over(
            problem, point, index, goal=GOAL_SHARE * problem.kept[Goal].gap, least=0.0,
            sigma=self.sigma, max_sweeps=10 * self.max_sweeps,
        )  # fmt: skip
        return new if new.value <= point.value else point

    @staticmethod
    def _leave(problem: Problem, point: Point) -> None:
        """Leave a point to the next solve of a path; with many columns, give it a gradient.

        It takes no pass, but is exact where it matters.
        """
        kept = problem.kept
        if kept is None:
            return
        kept[Known] = Known(point.w, point.scores)
        anchors: Anchors | None = kept.get(Anchors)
        if anchors is not None and problem.n_params > FACTOR_PARAMS:
            with_gradient(problem, point, anchors.gradient(problem, point, kept[Store]))
        elif anchors is not None:
            anchors.follow(problem, point)

    def step(self, problem: Problem, state: ProximalNewtonState) -> ProximalNewtonState:
        """One model, its inexact minimiser, one line search."""
        point = state.point
        spec = problem.penalty.separable(problem.n_columns)
        assert spec is not None
        violation = problem.penalty.violation(problem.coef(point.w), problem.coef(point.gradient))
        few, dense = problem.n_params <= FACTOR_PARAMS, _is_dense(problem)
        most_at_once = DENSE_SHARE * problem.n_columns
        limited = few or dense
        if few and dense and np.count_nonzero(violation) > most_at_once:
            limited = False
        chosen = self._working_set(problem, point, violation, MOST_NEW if limited else None)
        if dense and not few and in_one_call(problem, chosen.size):
            least = INNER * float(violation.max())
            small = minimise_over(
                problem, point, chosen, goal=0.0, least=least, sigma=self.sigma,
                max_sweeps=10 * self.max_sweeps,
            )  # fmt: skip
            if small.value < point.value:
                self._leave(problem, small)
                return replace(state, point=small)
        by_matrix = few or (dense and chosen.size <= GRAM_COLUMNS)
        if by_matrix:
            direction, change, state = self._by_matrix(problem, state, spec, violation, chosen)
        else:
            found, state = self._by_columns(problem, state, spec, violation, chosen)
            direction, change = found.direction, found.change
        new = self._search(problem, point, direction, change)
        if new is None:
            if by_matrix and state.model is not None and not state.model.fresh:
                return replace(state, model=None)
            if by_matrix and state.model is not None and state.model.sampled:
                return replace(state, model=None, whole=True)
            tight = by_matrix or state.inner_tol <= 1e-12 * float(violation.sum())
            return replace(state, inner_tol=0.01 * state.inner_tol, stalled=tight)
        new = problem.centred(new)
        self._leave(problem, new)
        model = state.model
        if by_matrix and model is not None and (model.sampled or not model.fresh):
            left = problem.penalty.violation(problem.coef(new.w), problem.coef(new.gradient))
            before, after = float(violation.sum()), float(left.sum())
            slow = DEAREST_SLOW if model.cost > VERY_DEAR else SLOW
            if not model.fresh and after > slow * before:
                state = replace(state, model=None)
            elif model.fresh and after > SAMPLED_SLOW * before:
                state = replace(state, model=None, whole=True)
        return replace(state, point=new)

    @staticmethod
    def _working_set(
        problem: Problem, point: Point, violation: FloatArray, most: int | None
    ) -> IntArray:
        """The support and the columns that violate optimality, or the worst ``most`` of those.

        The limit grows with the support.
        """
        active = problem.coef(point.w) != 0.0
        worst = np.where(active, 0.0, violation)
        if most is not None:
            most = max(most, 2 * int(np.count_nonzero(active)))
            if np.count_nonzero(worst) > most:
                return np.flatnonzero(active | (worst >= np.partition(worst, -most)[-most]))
        return np.flatnonzero(active | (worst > 0.0))

    def _by_matrix(
        self,
        problem: Problem,
        state: ProximalNewtonState,
        spec: SeparableSpec,
        violation: FloatArray,
        chosen: IntArray,
    ) -> tuple[FloatArray, FloatArray, ProximalNewtonState]:
        """Direction and change of the scores from a matrix model, and the state with that model."""
        point = state.point
        model = self._model(problem, state, spec, chosen)
        if problem.kept is not None:
            problem.kept[MatrixModel] = model
        worst = float(violation.max())
        tol = min(max(0.01 * worst, self._enough(problem, point)), 0.3 * worst)
        direction, change = model.descend(
            problem, point, spec, max_sweeps=10 * self.max_sweeps, tol=tol
        )
        if change is None:
            change = problem.score_change(direction)
        return direction, change, replace(state, model=model)

    @staticmethod
    def _enough(problem: Problem, point: Point) -> float:
        """A violation that leaves a small share of the gap asked for, where one is known."""
        goal = None if problem.kept is None else problem.kept.get(Goal)
        size = float(np.abs(problem.coef(point.w)).sum())
        return 0.0 if goal is None or size == 0.0 else MODEL_SHARE * goal.gap / size

    @staticmethod
    def _model(
        problem: Problem, state: ProximalNewtonState, spec: SeparableSpec, chosen: IntArray
    ) -> MatrixModel:
        """The model at hand while it fits the point, else a new one."""
        point, old, d = state.point, state.model, problem.n_columns
        hessian, path = problem.hessian(point), problem.kept is not None
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
        spec: SeparableSpec,
        violation: FloatArray,
        chosen: IntArray,
    ) -> tuple[Descent, ProximalNewtonState]:
        """Direction by residual updates over a working set, and the state with its columns."""
        point = state.point
        store = state.store
        if store is None or not store.covers(chosen, problem.n_columns):
            # Columns near the threshold come along: the next working set is then at hand.
            near = np.abs(problem.coef(point.gradient)) > 0.8 * spec.l1
            near[chosen] = True
            store = self._gather(problem, np.flatnonzero(near))
            if problem.kept is not None:
                problem.kept[Store] = store
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

    def _search(
        self, problem: Problem, point: Point, direction: FloatArray, change: FloatArray
    ) -> Point | None:
        """First halving with sufficient decrease of loss plus penalty."""
        # A prox without a step: one rounding outside a bound would cost infinity.
        ahead = problem.prox(point.w + direction, 0.0)
        promised = float(point.gradient @ direction)
        promised += problem.penalty.value(problem.coef(ahead)) - point.penalty
        noise = ROUNDING * abs(point.value)
        if promised > -noise:
            return self._polish(problem, point, ahead, point.scores + change)
        length = 1.0
        for _ in range(40):
            w = ahead if length == 1.0 else point.w + length * direction
            new = problem.evaluate(w, scores=point.scores + length * change)
            if new.value <= point.value + self.sigma * length * promised:
                return new
            length *= 0.5
        return None

    @staticmethod
    def _polish(problem: Problem, point: Point, w: FloatArray, scores: FloatArray) -> Point | None:
        """A step too small for values to tell: taken if it lowers the violation."""
        new = problem.evaluate(w, scores=scores)
        if not new.value <= point.value + ROUNDING * abs(point.value):
            return None
        after, before = (
            problem.penalty.violation(problem.coef(p.w), problem.coef(p.gradient)).sum()
            for p in (new, point)
        )
        return new if after < before else None


def _drift(model: MatrixModel, path: bool) -> float:
    """How far the curvature of the rows may have moved for a matrix to be kept."""
    if model.cost > VERY_DEAR:
        return DEAREST_DRIFT
    if path:
        return PATH_DRIFT
    return DEAR_DRIFT if model.cost > DEAR else CHEAP_DRIFT


def _columns_fit(problem: Problem) -> bool:
    """Whether a path may copy the data by columns, which it does where there are many."""
    few = problem.n_params <= FACTOR_PARAMS
    return few or not _is_dense(problem) or problem.data.n_entries <= COPIED_ENTRIES


def _is_dense(problem: Problem) -> bool:
    """Whether every entry is stored."""
    return problem.data.n_entries == problem.data.n_rows * problem.n_columns
