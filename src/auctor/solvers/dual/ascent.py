"""Coordinate ascent on the dual: the default for wide data or a strong l2 penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from auctor.core.capabilities import COMPILED
from auctor.core.checks import check_int
from auctor.core.data_capabilities import ROWS
from auctor.core.errors import speaks_for_itself
from auctor.core.rng import kernel_state
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent import dual as kernels
from auctor.kernels.linalg.rows import first_duplicates
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.runtime.parallel import even_cuts, run_tasks
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State, spec_of

#: Quadratic term of the intercept, as a share of the mean squared row length.
SPREAD = 0.1
#: Row visits between two checks of all rows, as a multiple of the number of rows.
WORK = 3
#: Mean squared length of a row over the strength up to which the first steps make fewer visits.
SHORT_ROWS = 300.0
#: Share of active rows up to which the free rows take a conjugate-gradient step.
FEW_ACTIVE = 0.25
#: Most conjugate-gradient iterations on the free rows.
ROUNDS = 25


class Distinct(NamedTuple):
    """Distinct rows, in an order independent of the input, and the map from duplicates to them.

    ``share`` gives the first row of a group of equal rows the weight of the whole group. Row i
    equals row ``twin[i]`` and has the part ``part[i]`` of that weight; both are None if no row
    occurs twice.
    """

    rows: IntArray
    share: FloatArray
    twin: IntArray | None
    part: FloatArray | None

    def merge(self, u: FloatArray) -> FloatArray:
        """Sums of the dual variables of equal rows, at the first row; 0 at the others."""
        if self.twin is None:
            return u.copy()
        return np.bincount(self.twin, u, minlength=u.size).astype(np.float64, copy=False)

    def expand(self, u: FloatArray) -> FloatArray:
        """Dual variables of all rows: each duplicate gets its part of the sum."""
        return u if self.twin is None or self.part is None else u[self.twin] * self.part


class DualWork(NamedTuple):
    """Arrays of the dual point, which sweeps update in place.

    ``u`` are the dual variables of the distinct rows, ``v = -X'u``, ``w`` the coefficients they
    imply, ``order`` the rows in the order of the next sweep, the active ones first, and ``random``
    the state of the random numbers.
    """

    u: FloatArray
    v: FloatArray
    w: FloatArray
    order: IntArray
    random: Array


@dataclass(frozen=True)
class DualState(State):
    """The primal point, the arrays of the dual point (``work``), and what sweeps depend on.

    ``centre`` is the intercept (the multiplier of ``sum u = 0``), ``q`` the squared lengths of the
    rows, ``spread`` the quadratic term of the intercept. Sweeps visit the first ``active`` rows of
    ``work.order``; ``checks`` counts the steps, each of which ends with a check of all rows.
    """

    distinct: Distinct
    work: DualWork
    centre: float
    q: FloatArray
    spread: float
    active: int
    checks: int = 0


@dataclass(frozen=True)
class DualCoordinateAscent:
    """Exact steps on one dual variable at a time, in random order, with a duality gap per step.

    A dual step on row i is the prox of its loss in the metric of the penalty, in closed form for
    piecewise quadratic losses and by a few Newton steps for the others: hinge, absolute and
    quantile losses need no smoothing. Rows whose dual variable is at a bound are left out
    (shrinking) until their scores come near the kink where the variable moves; once few rows are
    active, the free ones (inside their bounds) take Newton steps by conjugate gradients. The
    intercept is the multiplier of ``sum u = 0``.

    Equal rows are visited as one row of their total weight, in an order that does not depend on the
    order of the input: a row of weight 2 gives the same result as two equal rows.

    Parameters
    ----------
    blocks : int
        Rows are split into this many blocks, visited by as many threads on copies of w. Steps are
        shortened so that their sum still increases the dual. 1 is the sequential method.
    shrinking : int
        Largest number of sweeps per step, with rows at a bound left out; 0 visits every row in
        every sweep.

    References
    ----------
    Hsieh et al., A dual coordinate descent method for large-scale linear SVM, 2008; Shalev-Shwartz,
    Zhang, Accelerated proximal stochastic dual coordinate ascent, 2014; Ma et al., Adding vs.
    averaging in distributed primal-dual optimization, 2015.
    """

    blocks: int = 1
    shrinking: int = 8

    needs = Need.POINTWISE_LOSS | Need.STRONG_PENALTY | Need.ROWS

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("blocks", self.blocks, low=1)
        check_int("shrinking", self.shrinking)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> DualState:
        """State at the first dual point: zero, or the derivatives of the loss at ``w``."""
        spec, data = spec_of(problem), problem.data
        point = problem.with_best_intercept(problem.evaluate(w))
        distinct, q = _distinct(problem, spec)
        warm = bool(problem.coef(w).any())
        u = distinct.merge(point.dscores) if warm else np.zeros(data.n_rows)
        v = -problem.coef(point.gradient) if warm else np.zeros(problem.n_columns)
        spread = SPREAD * (float(data.target.share @ q) or 1.0) if problem.has_intercept else 0.0
        random = kernel_state(rng, self.blocks)
        state = DualState(
            point=point,
            dual=None,
            distinct=distinct,
            work=DualWork(u, v, _primal(v, spec), distinct.rows.copy(), random),
            centre=problem.intercept(point.w),
            q=q + spread,
            spread=spread,
            active=distinct.rows.size,
        )
        return replace(state, dual=_dual_point(problem, point, state))

    def step(self, problem: Problem, state: DualState) -> DualState:
        """Sweeps over the active rows, conjugate gradients on the free rows if they are few.

        The step ends with one pass over all rows that reactivates those whose dual variable may
        move.
        """
        spec = spec_of(problem)
        # Sweeps over the rows.
        if self.blocks == 1 or spec.l1.any():
            state = self._sweeps(problem, state, spec)
        else:
            state = self._parallel_sweep(problem, state, spec)
        if not spec.l1.any():
            # Without l1 the kernels update w only: v = l2 w.
            np.multiply(state.work.w, spec.l2, out=state.work.v)
        return self._check_all_rows(problem, state)

    def _sweeps(self, problem: Problem, state: DualState, spec: SeparableSpec) -> DualState:
        """Sweeps on one thread."""
        total = float(state.work.u.sum())
        intercept = np.array([state.centre, state.centre - state.spread * total])
        # Short rows: the first steps make 1, then 2 sweeps' worth of visits, later ones WORK.
        short = float(state.distinct.share @ state.q) <= SHORT_ROWS
        due = (min(WORK, 1 + state.checks) if short else WORK) * state.work.order.size
        # Exact steps row by row.
        active, visits = self._kernel(problem, state)(
            state.q, *_flat(spec), state.work.order, state.active, max(1, self.shrinking), due,
            self.shrinking > 0, state.work.u, state.work.v, state.work.w, intercept, state.spread,
            state.work.random[:1],
        )  # fmt: skip
        problem.counts.passes += 2.0 * visits / state.work.order.size
        # Conjugate gradients on the rows that are free, if they are few.
        if self._polishes(problem, state, spec, active):
            loss, target = COMPILED.of(problem.loss), problem.data.target
            # Squared residual, as a share of the first, that ends the conjugate gradients early.
            visits = kernels.free_step(
                *ROWS.of(problem.data).row_lines(), loss.kind, loss.param, loss.width, target.y,
                state.distinct.share, state.q, _flat(spec)[1], state.work.order, active, ROUNDS,
                1e-3, state.work.u, state.work.w, intercept, state.spread,
            )  # fmt: skip
            problem.counts.passes += 2.0 * visits / state.work.order.size
        return replace(state, centre=float(intercept[0]))

    def _polishes(
        self, problem: Problem, state: DualState, spec: SeparableSpec, active: int
    ) -> bool:
        """Whether to solve for the free rows: few, and fewer than columns (a regular system)."""
        few = active <= min(FEW_ACTIVE * state.work.order.size, problem.n_columns)
        closed = COMPILED.of(problem.loss).closed_prox
        return self.shrinking > 0 and state.checks > 0 and few and closed and not spec.l1.any()

    @staticmethod
    def _kernel(problem: Problem, state: DualState) -> partial[tuple[int, int]]:
        """The sweep kernel with data, loss and target bound."""
        loss, target = COMPILED.of(problem.loss), problem.data.target
        return partial(
            kernels.dual_sweeps,
            *ROWS.of(problem.data).row_lines(),
            loss.kind,
            loss.param,
            loss.width,
            target.y,
            state.distinct.share,
        )

    def _parallel_sweep(self, problem: Problem, state: DualState, spec: SeparableSpec) -> DualState:
        """One sweep by several threads, each on a block of rows and a copy of w.

        Row lengths are multiplied by the number of blocks, which shortens the steps so that the
        sum of all blocks' steps still increases the dual (Ma et al., 2015).
        """
        count, size = self.blocks, state.work.order.size
        sweep = self._kernel(problem, state)
        cuts = even_cuts(size, count)
        l1, l2 = _flat(spec)
        start = state.centre - state.spread * float(state.work.u.sum())
        weights = [state.work.w.copy() for _ in range(count)]

        def visit(k: int) -> None:
            rows = state.distinct.rows[cuts[k] : cuts[k + 1]].copy()
            sweep(
                count * state.q, l1, l2 / count, rows, rows.size, 1, size, False, state.work.u,
                state.work.v, weights[k], np.full(2, start), count * state.spread,
                state.work.random[k : k + 1],
            )  # fmt: skip

        run_tasks([partial(visit, k) for k in range(count)], count)
        shift = sum(w - state.work.w for w in weights) / count
        np.add(state.work.w, shift, out=state.work.w)
        problem.counts.passes += 2.0
        return replace(state, centre=state.centre - state.spread * float(state.work.u.sum()))

    def _check_all_rows(self, problem: Problem, state: DualState) -> DualState:
        """Evaluate primal and dual point in one pass, and reactivate rows that may move."""
        before = state.point.scores
        point = problem.evaluate(problem.join(state.work.w, state.centre))
        # Reactivate rows whose dual variable may move.
        loss = COMPILED.of(problem.loss)
        active = state.work.order.size
        if self.shrinking > 0 and loss.closed_prox:
            active = kernels.unshrink(
                loss.kind, loss.param, loss.width, problem.data.target.y, state.distinct.share,
                state.q, state.work.u, point.scores, before, state.work.order,
            )  # fmt: skip
        # Nothing moved since the last check, no row was reactivated, and sum u = 0 holds: stalled.
        still = np.array_equal(state.work.w, problem.coef(state.point.w)) and active == state.active
        balanced = state.spread == 0.0 or float(state.work.u.sum()) == 0.0
        point = problem.with_best_intercept(point)
        return replace(
            state,
            point=point,
            dual=_dual_point(problem, point, state),
            active=active,
            checks=state.checks + 1,
            stalled=still and balanced and state.checks > 0,
        )


def _distinct(problem: Problem, spec: SeparableSpec) -> tuple[Distinct, FloatArray]:
    """Distinct rows, and the squared lengths of all rows in the metric of the penalty.

    A random projection sorts the rows so that equal rows are neighbours; neighbours with equal keys
    are then compared entry by entry.
    """
    data, target = ROWS.of(problem.data), problem.data.target
    lines = data.row_lines()
    direction = np.random.default_rng(0).random(problem.n_columns + 1)
    keys, q = np.empty(data.n_rows), np.empty(data.n_rows)
    kernels.keys_and_lengths(*lines, direction, _single(spec.l2), keys, q)
    keys += direction[-1] * target.y
    rows = ascending_order(keys).astype(np.int64)
    if target.weight is not None:
        rows = rows[target.share[rows] > 0.0]
    twin = np.arange(data.n_rows)
    count = first_duplicates(*lines, target.y, keys, rows, twin)
    problem.counts.passes += 1
    if count == data.n_rows:
        return Distinct(rows, target.share, None, None), q
    share = np.bincount(twin, target.share, minlength=data.n_rows).astype(np.float64, copy=False)
    part = target.share / np.where(share[twin] > 0.0, share[twin], 1.0)
    return Distinct(rows[:count], share, twin, part), q


def _dual_point(problem: Problem, point: Point, state: DualState) -> Point:
    """Point with the dual variables as derivatives of the loss, made feasible for duality gaps.

    An intercept requires ``sum u = 0``: the variables of the sign that prevails are scaled towards
    0 until it holds, which keeps each in the domain of the conjugate loss. The gradient of this
    point then takes one pass over the data; without an intercept it is known, ``-v``.
    """
    u = state.distinct.expand(state.work.u)
    total = float(u.sum()) if problem.has_intercept else 0.0
    excess = u * total > 0.0  # variables whose sign prevails in the sum
    balanced = np.where(excess, u * (1.0 - total / (float(u[excess].sum()) or 1.0)), u)
    dual = Point(problem, point.w, point.scores, point.loss, point.penalty, balanced, exact=False)
    if problem.has_intercept and u.any():
        return dual
    return dual.with_gradient(problem.join(-state.work.v, 0.0))


def _flat(spec: SeparableSpec) -> tuple[FloatArray, FloatArray]:
    """Strengths of l1 and l2 for the kernel: no l1 if it is 0, one l2 if all columns' are equal."""
    if spec.l1.any():
        return spec.l1, spec.l2
    return np.empty(0), _single(spec.l2)


def _single(l2: FloatArray) -> FloatArray:
    """An array of one entry if the strength is the same for all columns."""
    return l2[:1] if l2.min() == l2.max() else l2


def _primal(v: FloatArray, spec: SeparableSpec) -> FloatArray:
    """Coefficients that belong to ``v = -X'u``: ``soft_threshold(v, l1) / l2``."""
    weights: FloatArray = np.sign(v) * np.maximum(np.abs(v) - spec.l1, 0.0) / spec.l2
    return weights
