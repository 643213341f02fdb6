"""Newton's method for curves and maps together: kinks in a few parameters, ridges in many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.linalg import floored
from auctor.core.types import FloatArray, IntArray, SeparableSpec
from auctor.data import Binned
from auctor.kernels.descent.coordinate import descend_matrix
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import composite, polishes, violations
from auctor.solvers.smooth.conjugate import conjugate_gradient
from auctor.solvers.sparse.proximal import feasible, first_proximal_step, first_step
from auctor.solvers.specs import spec_of

#: Residual of the conjugate gradients, relative to its start.
RESIDUAL = 0.05
#: Most products with the Hessian for the ridge parameters, per round.
PRODUCTS = 100
#: Rounds of both blocks per step, at most.
ROUNDS = 6
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
    leading : Binned, optional
        The columns of the leading parameters, which come first; without, all have a ridge alone.

    References
    ----------
    Lee, Sun, Saunders, Proximal Newton-type methods for minimizing composite functions, 2014.
    """

    leading: Binned | None = None

    needs = Need.SMOOTH_LOSS | Need.LOW_RANK_CURVATURE | Need.SEPARABLE_PENALTY

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BlockState:
        """State at the starting point."""
        return BlockState(problem.with_best_intercept(feasible(problem, w)))

    def step(self, problem: Problem, state: BlockState) -> BlockState:
        """One quadratic model, its approximate minimiser, and one line search."""
        point, spec = state.point, spec_of(problem, intercept=True)
        hessian = problem.hessian(point)
        block = self._block(problem, point, spec, state.block)
        direction = self._direction(problem, point, hessian, block, spec)
        new = None
        if direction.any():
            change = problem.score_change(direction)
            new = composite(problem, point, direction, change, sigma=0.01)
        length = state.length
        if new is None:
            step = first_proximal_step(point, length or first_step(problem, point))
            if step is None or not (step[1].value < point.value or polishes(step[1], point)):
                return replace(state, block=block, stalled=True)
            length, new = 2.0 * step[0], step[1]
        return BlockState(problem.with_best_intercept(new), length, block)

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
        inverse[:d] = 0.0
        where = (inverse > 0.0).astype(np.float64)
        direction, pulled = np.zeros_like(point.w), np.zeros_like(point.w)
        decrease = 0.0
        for turn in range(ROUNDS):
            before = direction
            # leading parameters: coordinate descent from where they are
            if block is not None:
                direction = _descended(problem, point, direction, pulled, block, spec)
                pulled = hessian.matvec(direction)
            # all others: conjugate gradients
            if where.any():
                slope = point.gradient + ridge * point.w + pulled
                direction = (
                    direction
                    + conjugate_gradient(
                        lambda v: where * hessian.matvec(v),
                        -where * slope,
                        precondition=lambda v: inverse * v,
                        rtol=RESIDUAL,
                        max_iter=PRODUCTS,
                    ).x
                )
                pulled = hessian.matvec(direction)
            if block is None or not where.any():
                break
            # the change of the model by this turn, in its own norm
            moved = direction - before
            gain = float(moved @ (hessian.matvec(moved) if turn else pulled))
            decrease = max(decrease, gain)
            if gain <= SMALL * decrease and turn:
                break
        return direction


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
