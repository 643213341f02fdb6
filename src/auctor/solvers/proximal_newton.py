"""Proximal Newton with working sets: the default for row losses with an l1-type penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import Array, Columns, FloatArray, IntArray, SeparableSpec
from auctor.hessian import FACTOR_PARAMS
from auctor.kernels import coordinate
from auctor.problem import Point, Problem
from auctor.solvers.proximal import feasible

#: Columns are gathered on their own while they hold less than this share of all entries.
GATHER_SHARE = 0.25


@dataclass(frozen=True)
class Store:
    """Compressed columns at hand: all of them, or those of ``index``."""

    columns: Columns
    index: IntArray | None

    def covers(self, chosen: IntArray, d: int) -> bool:
        """Whether all chosen columns are here."""
        if self.index is None:
            return True
        here = np.zeros(d, dtype=bool)
        here[self.index] = True
        return bool(here[chosen].all())


@dataclass(frozen=True)
class ProximalNewtonState:
    """The point, columns at hand, inner tolerance and the shuffling state."""

    point: Point
    store: Store | None
    inner_tol: float
    random: Array
    stalled: bool = False
    dual: Point | None = None


@dataclass(frozen=True)
class ProximalNewton:
    """Coordinate descent on second-order models of the loss, with line searches in score space.

    With few columns the model is a matrix: the Hessian of all rows where that is cheap, of sampled
    rows otherwise. With many, residuals are updated column by column over a working set: the
    support and the columns that violate optimality; only these columns are ever transposed while
    they are a minority.

    Parameters
    ----------
    sigma : float in (0, 1)
        Sufficient decrease.
    max_sweeps : int
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
        | Need.LOW_RANK_CURVATURE
        | Need.SEPARABLE_PENALTY
        | Need.COLUMNS
    )

    def init(
        self, problem: Problem, w: FloatArray, rng: np.random.Generator
    ) -> ProximalNewtonState:
        """State at the starting point."""
        point = problem.centred(feasible(problem, w))
        random = rng.integers(1, 2**63, size=1).astype(np.uint64)
        return ProximalNewtonState(point, None, np.inf, random)

    def step(self, problem: Problem, state: ProximalNewtonState) -> ProximalNewtonState:
        """One model, its inexact minimiser, one line search."""
        point = state.point
        spec = problem.penalty.separable(problem.n_columns)
        assert spec is not None
        violation = problem.penalty.violation(problem.coef(point.w), problem.coef(point.gradient))
        if problem.n_params <= FACTOR_PARAMS:
            direction = self._by_matrix(problem, point, spec, violation)
            change = problem.score_change(direction)
        else:
            direction, change, state = self._by_columns(problem, state, spec, violation)
        new = self._search(problem, point, direction, change)
        if new is None:
            tight = state.inner_tol <= 1e-12 * float(violation.sum())
            return replace(state, inner_tol=0.01 * state.inner_tol, stalled=tight)
        return replace(state, point=problem.centred(new))

    def _by_matrix(
        self, problem: Problem, point: Point, spec: SeparableSpec, violation: FloatArray
    ) -> FloatArray:
        """Direction from a matrix model over all columns."""
        matrix = problem.hessian(point).model_matrix()
        matrix[np.diag_indices_from(matrix)] += _damping(np.diag(matrix), point.gradient)
        padded = SeparableSpec(*map(problem.join, spec, UNPENALISED))
        direction = np.empty(problem.n_params)
        coordinate.descend_matrix(
            matrix,
            point.gradient,
            point.w,
            *padded,
            direction,
            10 * self.max_sweeps,
            0.01 * float(violation.max()),
        )
        return direction

    def _by_columns(
        self,
        problem: Problem,
        state: ProximalNewtonState,
        spec: SeparableSpec,
        violation: FloatArray,
    ) -> tuple[FloatArray, FloatArray, ProximalNewtonState]:
        """Direction, its score change and the state, by residual updates over a working set."""
        point, d = state.point, problem.n_columns
        coef = problem.coef(point.w)
        chosen = np.flatnonzero((coef != 0.0) | (violation > 0.0))
        store = state.store
        if store is None or not store.covers(chosen, d):
            # Columns near the threshold come along: the next working set is then at hand.
            near = np.abs(problem.coef(point.gradient)) > 0.8 * spec.l1
            store = self._gather(problem, np.flatnonzero(near | (coef != 0.0)))
        tol = min(state.inner_tol, 0.3 * float(violation.sum()))
        hessian = problem.hessian(point)
        factors, core = hessian.low_rank()
        h = hessian.row_curvature
        index = store.index
        local = chosen if index is None else np.searchsorted(index, chosen)
        here = [a if index is None else a[index] for a in (problem.coef(point.gradient), coef)]
        levels = spec if index is None else SeparableSpec(*(level[index] for level in spec))
        rows = factors[:d] if index is None else factors[index]
        size = here[0].shape[0]
        curvature, moved = np.zeros(size), np.zeros(size)
        coordinate.column_curvatures(*store.columns, h, local, curvature)
        curvature[local] += ((rows[local] @ core) * rows[local]).sum(axis=1)
        curvature[local] += _damping(curvature[local], point.gradient)
        sweeps, shift, work = coordinate.descend_columns(
            *store.columns, h, here[0], curvature, here[1], *levels,
            np.ascontiguousarray(rows), core, problem.has_intercept, local, moved,
            np.zeros(h.shape[0]), self.max_sweeps, tol, state.random,
        )  # fmt: skip
        problem.counts.passes += work / max(1, problem.data.n_entries)
        change = np.full(h.shape[0], shift)
        coordinate.combine_columns(*store.columns, moved, local, change)
        full = moved if index is None else np.zeros(d)
        if index is not None:
            full[index] = moved
        easier = 0.25 * tol if sweeps == 1 else tol
        return problem.join(full, shift), change, replace(state, store=store, inner_tol=easier)

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
        coef, step = problem.coef(point.w), problem.coef(direction)
        promised = float(point.gradient @ direction)
        promised += problem.penalty.value(coef + step) - point.penalty
        if not promised < 0.0:
            return None
        length = 1.0
        for _ in range(40):
            new = problem.evaluate(
                point.w + length * direction, scores=point.scores + length * change
            )
            if new.value <= point.value + self.sigma * length * promised:
                return new
            length *= 0.5
        return None


def _damping(diagonal: FloatArray, gradient: FloatArray) -> float:
    """Curvature to add: a trace of the largest, or where all is flat, that of a unit step."""
    top = float(diagonal.max(initial=0.0))
    return 1e-10 * top if top > 0.0 else float(np.abs(gradient).max())


#: How the intercept enters a separable penalty: l1, l2, lower, upper.
UNPENALISED = (0.0, 0.0, -np.inf, np.inf)
