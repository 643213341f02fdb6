"""Coordinate ascent on the dual: the default for wide data or a strong l2 penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from auctor.core.checks import check_int
from auctor.core.needs import Need
from auctor.core.protocols import PointwiseLoss
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent import dual as kernels
from auctor.kernels.linalg.rows import first_duplicates
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.runtime.parallel import even_cuts, run_tasks
from auctor.problem import Point, Problem
from auctor.solvers.base import State
from auctor.solvers.specs import spec_of

#: Curvature of the intercept as a share of the mean row's: more couples the rows, less slows it.
SPREAD = 0.1
#: Visits of rows between two looks at all rows, as a multiple of the rows; set by hand.
WORK = 3
#: Mean squared length of a row over the strength up to which fewer visits may do; set by hand.
SHORT = 300.0
#: The free rows are polished once the active ones are at most this share of all.
FEW = 0.25
#: Conjugate gradient steps of a polish, at most.
ROUNDS = 25
#: Share of the squared residual that ends a polish before.
DROP = 1e-3


class Distinct(NamedTuple):
    """Distinct rows, in an order independent of the input, and the map from duplicates to them.

    ``share`` gives the first row of a group of equal rows the weight of the whole group. Row i
    equals row ``twin[i]`` and has the part ``part[i]`` of that weight; both are None where no row
    occurs twice.
    """

    rows: IntArray
    share: FloatArray
    twin: IntArray | None
    part: FloatArray | None

    def merge(self, u: FloatArray) -> FloatArray:
        """Dual variables of the distinct rows, 0 for the others."""
        if self.twin is None:
            return u.copy()
        return np.bincount(self.twin, u, minlength=u.size).astype(np.float64, copy=False)

    def expand(self, u: FloatArray) -> FloatArray:
        """Dual variables of all rows."""
        return u if self.twin is None or self.part is None else u[self.twin] * self.part


@dataclass(frozen=True)
class DualState(State):
    """The primal point and the dual one; the arrays are updated in place.

    ``u`` are the dual variables of the distinct rows, ``v = -X'u``, ``w`` the weights they imply,
    ``centre`` the intercept's multiplier, ``q`` the rows' squared lengths, ``spread`` the
    intercept's. The first ``active`` rows of ``order`` are visited.
    """

    distinct: Distinct
    u: FloatArray
    v: FloatArray
    w: FloatArray
    centre: float
    q: FloatArray
    spread: float
    order: IntArray
    active: int
    random: Array
    looks: int = 0


@dataclass(frozen=True)
class DualCoordinateAscent:
    """Exact steps on one dual variable at a time, in random order, with a duality gap per step.

    A dual step on row i is the prox of its loss in the metric of the penalty, in closed form for
    piecewise quadratic losses and by a few Newton steps for the others, so kinks cost nothing:
    hinge, absolute and quantile losses need no smoothing. Rows at an end of their range are left
    out (shrinking) until their scores come near the point where they move; once few are left, those
    inside their range take Newton steps by conjugate gradients. The intercept is the multiplier
    of ``sum u = 0``.

    Equal rows are visited as one of their total weight, and the order does not depend on theirs:
    weights are repetitions.

    Parameters
    ----------
    blocks : int
        Rows are split into this many blocks, visited by as many threads on copies of w, with
        steps shortened so that their sum is safe. 1 is the sequential method.
    shrinking : int
        Most sweeps in a step, with rows that do not move left out; 0 visits every row every time.

    References
    ----------
    Hsieh et al., A dual coordinate descent method for large-scale linear SVM, 2008; Shalev-Shwartz,
    Zhang, Accelerated proximal stochastic dual coordinate ascent, 2014; Ma et al., Adding vs.
    averaging in distributed primal-dual optimization, 2015.
    """

    blocks: int = 1
    shrinking: int = 8

    needs = Need.POINTWISE_LOSS | Need.STRONG_PENALTY | Need.ROWS

    def __post_init__(self) -> None:
        check_int("DualCoordinateAscent", "blocks", self.blocks, low=1)
        check_int("DualCoordinateAscent", "shrinking", self.shrinking)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> DualState:
        """State at the dual point of the start: zero, or the slopes of the loss at ``w``."""
        spec, data = spec_of(problem), problem.data
        point = problem.with_best_intercept(problem.evaluate(w))
        distinct, q = _distinct(problem, spec)
        warm = bool(problem.coef(w).any())
        u = distinct.merge(point.dscores) if warm else np.zeros(data.n_rows)
        v = -problem.coef(point.gradient) if warm else np.zeros(problem.n_columns)
        spread = SPREAD * (float(data.target.share @ q) or 1.0) if problem.has_intercept else 0.0
        state = DualState(
            point=point,
            dual=None,
            distinct=distinct,
            u=u,
            v=v,
            w=_primal(v, spec),
            centre=problem.intercept(point.w),
            q=q + spread,
            spread=spread,
            order=distinct.rows.copy(),
            active=distinct.rows.size,
            random=rng.integers(1, 2**63, size=self.blocks).astype(np.uint64),
        )
        return replace(state, dual=_dual_point(problem, point, state))

    def step(self, problem: Problem, state: DualState) -> DualState:
        """Sweeps over the active rows, a polish of the free ones if they are few, then a look.

        A look reads all rows once, and brings back those that may move.
        """
        spec = spec_of(problem)
        if self.blocks == 1 or spec.l1.any():
            state = self._sweeps(problem, state, spec)
        else:
            state = self._parallel_sweep(problem, state, spec)
        if not spec.l1.any():
            np.multiply(state.w, spec.l2, out=state.v)
        return self._look(problem, state)

    def _sweeps(self, problem: Problem, state: DualState, spec: SeparableSpec) -> DualState:
        """Sweeps on one thread."""
        total = float(state.u.sum())
        intercept = np.array([state.centre, state.centre - state.spread * total])
        short = float(state.distinct.share @ state.q) <= SHORT
        due = (min(WORK, 1 + state.looks) if short else WORK) * state.order.size
        active, visits = self._kernel(problem, state)(
            state.q, *_flat(spec), state.order, state.active, max(1, self.shrinking), due,
            self.shrinking > 0, state.u, state.v, state.w, intercept, state.spread,
            state.random[:1],
        )  # fmt: skip
        problem.counts.passes += 2.0 * visits / state.order.size
        if self._polishes(problem, state, spec, active):
            loss, target = cast(PointwiseLoss, problem.loss), problem.data.target
            visits = kernels.free_step(
                *problem.data.row_lines(), loss.kind, loss.param, loss.width, target.y,
                state.distinct.share, state.q, _flat(spec)[1], state.order, active, ROUNDS, DROP,
                state.u, state.w, intercept, state.spread,
            )  # fmt: skip
            problem.counts.passes += 2.0 * visits / state.order.size
        return replace(state, centre=float(intercept[0]))

    def _polishes(
        self, problem: Problem, state: DualState, spec: SeparableSpec, active: int
    ) -> bool:
        """Whether few rows are left to settle, fewer than columns: their system is regular."""
        few = active <= min(FEW * state.order.size, problem.n_columns)
        closed = cast(PointwiseLoss, problem.loss).closed_prox
        return self.shrinking > 0 and state.looks > 0 and few and closed and not spec.l1.any()

    @staticmethod
    def _kernel(problem: Problem, state: DualState) -> partial[tuple[int, int]]:
        """The kernel with everything that does not change."""
        loss, target = cast(PointwiseLoss, problem.loss), problem.data.target
        return partial(
            kernels.dual_sweeps,
            *problem.data.row_lines(),
            loss.kind,
            loss.param,
            loss.width,
            target.y,
            state.distinct.share,
        )

    def _parallel_sweep(self, problem: Problem, state: DualState, spec: SeparableSpec) -> DualState:
        """Blocks of rows on copies of w, with curvatures times their number: sums are safe."""
        count, size = self.blocks, state.order.size
        sweep = self._kernel(problem, state)
        cuts = even_cuts(size, count)
        l1, l2 = _flat(spec)
        start = state.centre - state.spread * float(state.u.sum())
        weights = [state.w.copy() for _ in range(count)]

        def visit(k: int) -> None:
            rows = state.distinct.rows[cuts[k] : cuts[k + 1]].copy()
            sweep(
                count * state.q, l1, l2 / count, rows, rows.size, 1, size, False, state.u,
                state.v, weights[k], np.full(2, start), count * state.spread,
                state.random[k : k + 1],
            )  # fmt: skip

        run_tasks([partial(visit, k) for k in range(count)], count)
        shift = sum(w - state.w for w in weights) / count
        np.add(state.w, shift, out=state.w)
        problem.counts.passes += 2.0
        return replace(state, centre=state.centre - state.spread * float(state.u.sum()))

    def _look(self, problem: Problem, state: DualState) -> DualState:
        """Evaluate the primal point, its intercept exact, attach the dual one, bring rows back."""
        before = state.point.scores
        point = problem.evaluate(problem.join(state.w, state.centre))
        loss = cast(PointwiseLoss, problem.loss)
        active = state.order.size
        if self.shrinking > 0 and loss.closed_prox:
            active = kernels.unshrink(
                loss.kind, loss.param, loss.width, problem.data.target.y, state.distinct.share,
                state.q, state.u, point.scores, before, state.order,
            )  # fmt: skip
        still = np.array_equal(state.w, problem.coef(state.point.w)) and active == state.active
        balanced = state.spread == 0.0 or float(state.u.sum()) == 0.0
        point = problem.with_best_intercept(point)
        return replace(
            state,
            point=point,
            dual=_dual_point(problem, point, state),
            active=active,
            looks=state.looks + 1,
            stalled=still and balanced and state.looks > 0,
        )


def _distinct(problem: Problem, spec: SeparableSpec) -> tuple[Distinct, FloatArray]:
    """Rows that differ, and the squared lengths of all.

    Equal rows are found by a random projection, which also orders the rows; the check is exact.
    """
    data, target = problem.data, problem.data.target
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
    """The dual variables as a source of certificates, feasible for the intercept.

    The side that outweighs the other is shortened until ``sum u = 0``; towards 0 every slope stays
    in the domain of its conjugate. One pass over the data, none without an intercept.
    """
    u = state.distinct.expand(state.u)
    total = float(u.sum()) if problem.has_intercept else 0.0
    side = u * total > 0.0
    balanced = np.where(side, u * (1.0 - total / (float(u[side].sum()) or 1.0)), u)
    dual = Point(problem, point.w, point.scores, point.loss, point.penalty, balanced, exact=False)
    if problem.has_intercept and u.any():
        return dual
    return dual.with_gradient(problem.join(-state.v, 0.0))


def _flat(spec: SeparableSpec) -> tuple[FloatArray, FloatArray]:
    """The l1 and l2 strengths for the kernel: none, or one for all, where that will do."""
    if spec.l1.any():
        return spec.l1, spec.l2
    return np.empty(0), _single(spec.l2)


def _single(l2: FloatArray) -> FloatArray:
    """One strength where it is the same for all columns."""
    return l2[:1] if l2.min() == l2.max() else l2


def _primal(v: FloatArray, spec: SeparableSpec) -> FloatArray:
    """Weights of a dual image: ``soft(v, l1) / l2``."""
    weights: FloatArray = np.sign(v) * np.maximum(np.abs(v) - spec.l1, 0.0) / spec.l2
    return weights
