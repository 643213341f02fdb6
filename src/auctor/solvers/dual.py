"""Coordinate ascent on the dual: the default for wide data with an l2-type penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from auctor.core.checks import check_int
from auctor.core.needs import Need
from auctor.core.protocols import PointwiseLoss
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.kernels import dual as kernels
from auctor.kernels.parallel import even_cuts, run_tasks
from auctor.problem import Point, Problem

#: Curvature of the intercept as a share of the mean row's: more couples the rows, less slows it.
SPREAD = 0.1


@dataclass(frozen=True)
class DualState:
    """The primal point and the dual one; the arrays are updated in place.

    ``u`` are the dual variables, ``v = -X'u``, ``w`` the weights they imply, ``centre`` the
    intercept's multiplier, ``q`` the rows' squared lengths, ``spread`` the intercept's. The first
    ``active`` rows of ``order`` are visited for ``age`` more epochs, then all are.
    """

    point: Point
    dual: Point | None
    u: FloatArray
    v: FloatArray
    w: FloatArray
    centre: float
    q: FloatArray
    spread: float
    order: IntArray
    active: int
    age: int
    random: Array
    looks: int = 0
    stalled: bool = False


@dataclass(frozen=True)
class DualCoordinateAscent:
    """Exact steps on one dual variable at a time, in random order, with a duality gap per epoch.

    A step on row i is the prox of its loss in the metric of the penalty, in closed form for
    piecewise quadratic losses and by a few Newton steps for the others, so kinks cost nothing:
    hinge, absolute and quantile losses need no smoothing. Rows at rest on a flat piece are left
    out of most epochs. The intercept is the multiplier of ``sum u = 0``.

    Parameters
    ----------
    blocks : int
        Rows are split into this many blocks, visited by as many threads on copies of w, with
        steps shortened so that their sum is safe. 1 is the sequential method.
    rest : int
        Epochs for which a resting row is left out; 0 visits every row every time.

    References
    ----------
    Hsieh et al., A dual coordinate descent method for large-scale linear SVM, 2008; Shalev-Shwartz,
    Zhang, Accelerated proximal stochastic dual coordinate ascent, 2014; Ma et al., Adding vs.
    averaging in distributed primal-dual optimization, 2015.
    """

    blocks: int = 1
    rest: int = 4

    needs = Need.POINTWISE_LOSS | Need.STRONG_PENALTY | Need.ROWS

    def __post_init__(self) -> None:
        check_int("DualCoordinateAscent", "blocks", self.blocks, low=1)
        check_int("DualCoordinateAscent", "rest", self.rest)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> DualState:
        """State at the dual point of the start: zero, or the slopes of the loss at ``w``."""
        spec, data = _spec(problem), problem.data
        point = problem.centred(problem.evaluate(w))
        warm = bool(problem.coef(w).any())
        u = point.dscores.copy() if warm else np.zeros(data.n_rows)
        v = -problem.coef(point.gradient) if warm else np.zeros(problem.n_columns)
        q = data.row_lengths(1.0 / spec.l2)
        spread = SPREAD * float(q.mean()) if problem.has_intercept else 0.0
        state = DualState(
            point=point,
            dual=None,
            u=u,
            v=v,
            w=_primal(v, spec),
            centre=problem.intercept(point.w),
            q=q + spread,
            spread=spread,
            order=np.arange(data.n_rows),
            active=data.n_rows,
            age=self.rest,
            random=rng.integers(1, 2**63, size=self.blocks).astype(np.uint64),
        )
        return replace(state, dual=_dual_point(problem, point, u, v)) if warm else state

    def step(self, problem: Problem, state: DualState) -> DualState:
        """Epochs over the active rows until about all rows' worth is done, then a look.

        A look costs a pass or two, so later ones, when many are needed, are further apart.
        """
        spec = _spec(problem)
        due = state.order.size * (1 + min(state.looks // 3, 3))
        done = 0
        while done < due and not state.stalled:
            done += state.active
            state = self._sweep(problem, state, spec)
        return self._look(problem, replace(state, looks=state.looks + 1))

    def _sweep(self, problem: Problem, state: DualState, spec: SeparableSpec) -> DualState:
        """One epoch over the active rows."""
        total = float(state.u.sum())
        intercept = np.array([state.centre - state.spread * total])
        problem.counts.passes += 2.0 * state.active / state.order.size
        if self.blocks == 1 or spec.l1.any():
            moved = self._epoch(problem, spec)(
                state.q, spec.l1, spec.l2, state.order, state.active,
                state.u, state.v, state.w, intercept, state.spread, state.random[:1],
            )  # fmt: skip
        else:
            moved = self._parallel_epoch(problem, state, spec, intercept)
        if not spec.l1.any():
            np.multiply(state.w, spec.l2, out=state.v)
        # The multiplier step of an augmented Lagrangian on sum(u) = 0.
        centre = state.centre - state.spread * float(state.u.sum())
        everything = state.active == state.order.size
        stalled = everything and moved == 0 and centre == state.centre
        if state.age > 0 and moved > 0:
            state = replace(state, active=moved, age=state.age - 1)
        else:
            state = replace(state, active=state.order.size, age=self.rest)
        return replace(state, centre=centre, stalled=stalled)

    @staticmethod
    def _epoch(problem: Problem, spec: SeparableSpec) -> partial[int]:
        """The kernel with everything that does not change."""
        loss, target = cast(PointwiseLoss, problem.loss), problem.data.target
        return partial(
            kernels.dual_epoch,
            *problem.data.row_lines(),
            loss.kind,
            loss.param,
            loss.width,
            target.y,
            target.share,
        )

    def _parallel_epoch(
        self, problem: Problem, state: DualState, spec: SeparableSpec, intercept: FloatArray
    ) -> int:
        """Blocks of rows on copies of w, with curvatures times their number: sums are safe."""
        count = self.blocks
        epoch = self._epoch(problem, spec)
        cuts = even_cuts(state.order.size, count)
        parts = [(state.v, state.w.copy(), intercept.copy()) for _ in range(count)]

        def visit(k: int) -> None:
            rows = np.arange(cuts[k], cuts[k + 1])
            epoch(
                count * state.q, spec.l1, spec.l2 / count, rows, rows.size,
                state.u, *parts[k], count * state.spread, state.random[k : k + 1],
            )  # fmt: skip

        run_tasks([partial(visit, k) for k in range(count)], count)
        shift = sum(w - state.w for _, w, _ in parts) / count
        np.add(state.w, shift, out=state.w)
        return state.order.size

    @staticmethod
    def _look(problem: Problem, state: DualState) -> DualState:
        """Evaluate the primal point, its intercept exact, and attach the dual one."""
        point = problem.centred(problem.evaluate(problem.join(state.w, state.centre)))
        return replace(state, point=point, dual=_dual_point(problem, point, state.u, state.v))


def _dual_point(problem: Problem, point: Point, u: FloatArray, v: FloatArray) -> Point:
    """The dual variables as a source of certificates, feasible for the intercept.

    The side that outweighs the other is shortened until ``sum u = 0``; towards 0 every slope stays
    in the domain of its conjugate. One pass over the data, none without an intercept.
    """
    total = float(u.sum()) if problem.has_intercept else 0.0
    side = u * total > 0.0
    balanced = np.where(side, u * (1.0 - total / (float(u[side].sum()) or 1.0)), u)
    dual = Point(problem, point.w, point.scores, point.loss, point.penalty, balanced, exact=False)
    if not problem.has_intercept:
        dual.__dict__["gradient"] = -v
    return dual


def _spec(problem: Problem) -> SeparableSpec:
    spec = problem.penalty.separable(problem.n_columns)
    assert spec is not None
    return spec


def _primal(v: FloatArray, spec: SeparableSpec) -> FloatArray:
    """Weights of a dual image: ``soft(v, l1) / l2``."""
    weights: FloatArray = np.sign(v) * np.maximum(np.abs(v) - spec.l1, 0.0) / spec.l2
    return weights
