"""Proximal Newton with working sets: the default for row losses with an l1-type penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.hessian import FACTOR_PARAMS
from auctor.problem import Point, Problem
from auctor.solvers.column_model import Descent, Store, descend, descend_on_matrix
from auctor.solvers.proximal import feasible

#: Columns are gathered on their own while they hold less than this share of all entries.
GATHER_SHARE = 0.25
#: Relative error of a value.
ROUNDING = 2e-15


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
            found, state = self._by_columns(problem, state, spec, violation)
            direction, change = found.direction, found.change
        new = self._search(problem, point, direction, change)
        if new is None:
            by_matrix = problem.n_params <= FACTOR_PARAMS  # the same model again would not help
            tight = by_matrix or state.inner_tol <= 1e-12 * float(violation.sum())
            return replace(state, inner_tol=0.01 * state.inner_tol, stalled=tight)
        return replace(state, point=problem.centred(new))

    def _by_matrix(
        self, problem: Problem, point: Point, spec: SeparableSpec, violation: FloatArray
    ) -> FloatArray:
        """Direction from a matrix model over all columns."""
        return descend_on_matrix(
            problem.hessian(point).model_matrix(),
            point.gradient,
            point.w,
            spec,
            max_sweeps=10 * self.max_sweeps,
            tol=0.01 * float(violation.max()),
        )[0]

    def _by_columns(
        self,
        problem: Problem,
        state: ProximalNewtonState,
        spec: SeparableSpec,
        violation: FloatArray,
    ) -> tuple[Descent, ProximalNewtonState]:
        """Direction by residual updates over a working set, and the state with its columns."""
        point = state.point
        coef = problem.coef(point.w)
        chosen = np.flatnonzero((coef != 0.0) | (violation > 0.0))
        store = state.store
        if store is None or not store.covers(chosen, problem.n_columns):
            # Columns near the threshold come along: the next working set is then at hand.
            near = np.abs(problem.coef(point.gradient)) > 0.8 * spec.l1
            near[chosen] = True
            store = self._gather(problem, np.flatnonzero(near))
        tol = min(state.inner_tol, 0.3 * float(violation.sum()))
        found = descend(
            problem, point, spec, store, chosen,
            max_sweeps=self.max_sweeps, tol=tol, random=state.random,
        )  # fmt: skip
        easier = 0.25 * tol if found.sweeps == 1 else tol
        return found, replace(state, store=store, inner_tol=easier)

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
