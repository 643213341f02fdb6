"""Newton's method for curves and maps together: kinks in a few parameters, ridges in many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from auctor.core.linalg import floored
from auctor.core.types import FloatArray, IntArray, SeparableSpec
from auctor.data import Binned
from auctor.data.coded import CodedShards
from auctor.kernels.descent.coordinate import descend_matrix
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian
from auctor.problem.needs import Need
from auctor.solvers.base import State, spec_of
from auctor.solvers.line_search import composite, polishes, violations
from auctor.solvers.smooth.conjugate import conjugate_gradient
from auctor.solvers.sparse.proximal import feasible, first_proximal_step, first_step

#: Residual of the conjugate gradients, relative to its start.
RESIDUAL = 0.05
#: Most products with the Hessian for the ridge parameters, per round.
PRODUCTS = 100
#: Rounds of both blocks per step, at most.
ROUNDS = 6
#: Times that a step is halved whose end at the bounds does not lower the model.
HALVINGS = 10
#: A round ends a step if it moves the model by less than this share of its decrease.
SMALL = 0.01
#: Sweeps of coordinate descent over the leading block, per round.
SWEEPS = 200
#: Gradient of a leading parameter, as a share of its l1 weight, from which it is in the block.
NEARLY = 0.8


class Block(NamedTuple):
    """Leading parameters with the Gram matrix of their columns at an earlier point.

    ``side`` and ``corner`` are the row of the intercept, 0 and 1 without one.
    """

    numbers: IntArray
    gram: FloatArray
    side: FloatArray
    corner: float

    def covers(self, wanted: IntArray) -> bool:
        """Whether all wanted parameters are in the block."""
        return bool(np.isin(wanted, self.numbers).all())

    def reduced(self) -> FloatArray:
        """The Gram matrix after the intercept is minimised out."""
        matrix: FloatArray = self.gram - np.outer(self.side, self.side) / self.corner
        diagonal = floored(np.maximum(np.diag(matrix), 1e-10 * np.diag(self.gram)).copy())
        matrix[np.diag_indices_from(matrix)] = diagonal
        return matrix


@dataclass(frozen=True)
class BlockState(State):
    """The point, the length of the next proximal step, or 0, and the leading block."""

    length: float = 0.0
    block: Block | None = None


@dataclass(frozen=True)
class BlockNewton:
    """Newton steps for parameters of two blocks, with a line search on the scores.

    The leading parameters have l1 weights, ridges or bounds: the lines and jumps of curves. They
    minimise the quadratic model by coordinate descent on the Gram matrix of those that are not 0
    or that violate optimality. All others, those of maps, have a ridge alone, and minimise it by
    conjugate gradients, of which each product is a look-up and a histogram over the codes. Both
    take turns until the model no longer changes. Where the direction does not lower the objective,
    a proximal gradient step is taken.

    Parameters
    ----------
    leading : Binned or CodedShards, optional
        The columns of the leading parameters, which come first; without, all have a ridge alone.

    References
    ----------
    Lee, Sun, Saunders, Proximal Newton-type methods for minimizing composite functions, 2014.
    """

    leading: Binned | CodedShards | None = None

    needs = Need.SMOOTH_LOSS | Need.LOW_RANK_CURVATURE | Need.SEPARABLE_PENALTY

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BlockState:
        """State at the starting point."""
        return BlockState(problem.with_best_intercept(feasible(problem, w)))

    def step(self, problem: Problem, state: BlockState) -> BlockState:
        """One quadratic model, its approximate minimiser, and one line search."""
        point, spec = state.point, spec_of(problem, intercept=True)
        hessian = problem.hessian(point)
        block = self._block(problem, point, spec, state.block)
        new = self._newton_point(problem, point, hessian, block, spec)
        if new is None and block is not None and block is state.block:
            # Its Gram matrix is of an earlier point, and may hold too little curvature.
            block = self._block(problem, point, spec, None)
            new = self._newton_point(problem, point, hessian, block, spec)
        length = state.length
        if new is None:
            step = first_proximal_step(point, length or first_step(problem, point))
            if step is None or not (step[1].value < point.value or polishes(step[1], point)):
                return replace(state, block=block, stalled=True)
            length, new = 2.0 * step[0], step[1]
        return BlockState(problem.with_best_intercept(new), length, block)

    def _newton_point(
        self,
        problem: Problem,
        point: Point,
        hessian: Hessian,
        block: Block | None,
        spec: SeparableSpec,
    ) -> Point | None:
        """The end of a line search to the minimiser of the model; ``None`` if it fails."""
        direction = self._direction(problem, point, hessian, block, spec)
        if not direction.any():
            return None
        change = problem.score_change(direction)
        return composite(problem, point, direction, change, sigma=0.01)

    def _block(
        self, problem: Problem, point: Point, spec: SeparableSpec, block: Block | None
    ) -> Block | None:
        """The leading parameters that may move, with a new Gram matrix if some are new."""
        if self.leading is None:
            return None
        d = self.leading.n_columns
        violated = np.zeros(d, dtype=bool)
        violated[:] = violations(point)[:d] > 0.0
        active = (point.w[:d] != 0.0) | violated
        if block is not None and block.covers(np.flatnonzero(active)):
            return block
        near = np.abs(point.gradient[:d]) > NEARLY * spec.l1[:d]
        index = np.flatnonzero(active | near)
        if not index.size:
            return None
        curvature = problem.loss_at(point.scores).curvature()
        h = curvature.diagonal
        part = self.leading.only(index)
        side, corner = np.zeros(index.size), 1.0
        if problem.has_intercept:
            side, corner = part.gradient(h), float(h.sum())
        gram = part.gram(h)
        if curvature.factors is not None and curvature.core is not None:
            pulled = np.column_stack(
                [part.gradient(np.ascontiguousarray(u)) for u in curvature.factors.T]
            )
            gram += pulled @ curvature.core @ pulled.T
        return Block(index, gram, side, corner)

    def _direction(
        self,
        problem: Problem,
        point: Point,
        hessian: Hessian,
        block: Block | None,
        spec: SeparableSpec,
    ) -> FloatArray:
        """Minimiser of the quadratic model of the loss plus the penalty, by turns of the blocks."""
        d = 0 if self.leading is None else self.leading.n_columns
        ridge = problem.ridge
        inverse = 1.0 / floored(hessian.diagonal())
        # Bounds go with parts that are not centred, such as monotone maps: curves that are not 0
        # move with the maps, and keep their signs.
        joint = bool(np.isfinite(spec.lower).any())
        where = np.ones_like(point.w)
        where[:d] = 0.0
        direction, pulled = np.zeros_like(point.w), np.zeros_like(point.w)
        low, high = spec.lower - point.w, spec.upper - point.w
        low[:d], high[:d] = -np.inf, np.inf
        decrease = 0.0
        for turn in range(ROUNDS):
            before = direction
            # leading parameters: coordinate descent from where they are
            if block is not None:
                direction = _descended(problem, point, direction, pulled, block, spec)
                pulled = hessian.matvec(direction)
            # all others: conjugate gradients for those that no bound holds
            held = False
            if where.any():
                slope = point.gradient + ridge * point.w + pulled
                if joint:
                    sign = np.sign(point.w + direction)[:d]
                    where[:d] = sign != 0.0
                    slope[:d] += sign * spec.l1[:d]
                    low[:d] = np.where(sign > 0.0, 0.0, spec.lower[:d]) - point.w[:d]
                    high[:d] = np.where(sign < 0.0, 0.0, spec.upper[:d]) - point.w[:d]
                out = ((direction <= low) & (slope > 0.0)) | ((direction >= high) & (slope < 0.0))
                free = where * ~out
                step = conjugate_gradient(
                    partial(_product, hessian, free),
                    -free * slope,
                    precondition=lambda v: inverse * v,
                    rtol=RESIDUAL,
                    max_iter=PRODUCTS,
                ).x
                direction, pulled, held = _within(
                    hessian, direction, pulled, slope, step, (low, high)
                )
            if not held and (block is None or not where.any()):
                break
            # the change of the model by this turn, in its own norm
            moved = direction - before
            gain = float(moved @ (hessian.matvec(moved) if turn else pulled))
            decrease = max(decrease, gain)
            if gain <= SMALL * decrease and turn:
                break
        return direction


def _product(hessian: Hessian, free: FloatArray, v: FloatArray) -> FloatArray:
    """The Hessian times a vector, in the free parameters."""
    return free * hessian.matvec(v)


def _within(
    hessian: Hessian,
    direction: FloatArray,
    pulled: FloatArray,
    slope: FloatArray,
    step: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray, bool]:
    """A step within bounds, halved until the quadratic model falls, and whether one binds.

    Returns the direction and its product with the Hessian, too.
    """
    for _ in range(HALVINGS):
        whole = direction + step
        new = whole.clip(*bounds)
        binds = bool((new != whole).any())
        if not binds:
            return new, hessian.matvec(new), False
        moved = new - direction
        pull = hessian.matvec(moved)
        if float(slope @ moved + 0.5 * moved @ pull) < 0.0:
            return new, pulled + pull, True
        step = 0.5 * step
    return direction, pulled, False


def _descended(
    problem: Problem,
    point: Point,
    direction: FloatArray,
    pulled: FloatArray,
    block: Block,
    spec: SeparableSpec,
) -> FloatArray:
    """The direction with the leading block at its minimum, and the intercept with it.

    ``pulled`` is the Hessian times the direction.
    """
    index = block.numbers
    slope = point.gradient + pulled - problem.ridge * direction
    last = float(slope[-1]) if problem.has_intercept else 0.0
    gradient = slope[index] - block.side * (last / block.corner)
    levels = SeparableSpec(*(level[index] for level in spec))
    start, change = point.w[index] + direction[index], np.zeros(index.size)
    worst = float(np.abs(gradient).max(initial=0.0))
    descend_matrix(block.reduced(), gradient, start, *levels, change, SWEEPS, 1e-3 * worst)
    out = direction.copy()
    out[index] += change
    if problem.has_intercept:
        out[-1] -= (last + float(block.side @ change)) / block.corner
    return out
