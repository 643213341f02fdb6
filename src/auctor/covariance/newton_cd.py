"""Newton's method on the log-determinant: coordinate descent finds the graph, CG does the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import Array, FloatArray
from auctor.covariance.problem import GraphProblem, factorise, unpack
from auctor.kernels.descent import log_det as kernels
from auctor.problem import Point, Problem
from auctor.solvers.base import State

#: Share of the decrease that the model promises which must come true (Armijo; Hsieh et al. 2011).
SUFFICIENT = 1e-3
#: Factor of the step after a trial that was not accepted.
SHRINK = 0.5
#: Trials of the line search; 2^-40 of a step changes nothing.
MOST_TRIALS = 40
#: Visits of a row's pairs before the next row; more find the graph sooner, and cost little.
ROW_VISITS = 2
#: A pass of coordinate descent ends the passes when no pair moves by more, in units of the model.
TINY = 1e-12
#: The first steps, far from the optimum, are by coordinate descent alone.
PLAIN_STEPS = 3
#: The residual of conjugate gradients falls to this share.
FORCING = 0.1
#: Rounds of coordinate descent and conjugate gradients in a step, at most.
ROUNDS = 20
#: Rounds end when the violation of the model's optimality falls to this share.
ENOUGH = 0.5
#: Halvings of the step of conjugate gradients before it is given up.
HALVINGS = 6
#: Values of F that differ by less than this share are equal up to rounding.
ROUNDING = 1e-14
#: A promised decrease below this share of F is no progress: the gap is its root, and rounding too.
NO_PROGRESS = 1e-22


class FreePairs(NamedTuple):
    """Entries of the upper triangle that may move, row by row, and what is known of them.

    ``indptr`` says where rows begin, ``place`` where the entries stand in the triangle; ``slope``
    is ``S_ij - W_ij``, ``times`` how often an entry stands in the matrix, ``curve`` the second
    derivative along it, for each of these times.
    """

    indptr: Array
    row: Array
    column: Array
    place: Array
    value: FloatArray
    slope: FloatArray
    l1: FloatArray
    times: FloatArray
    curve: FloatArray


@dataclass(frozen=True)
class NewtonCd:
    """Newton steps with coordinate descent and conjugate gradients on the free entries.

    Each step minimises the quadratic model of the log-determinant plus the penalty over the entries
    that are not zero or violate optimality: passes of coordinate descent find signs and zeros, then
    conjugate gradients solve for the entries that are not zero, whose signs are kept. A
    backtracking search keeps the matrix positive definite, and F falls monotonically. Time O(p^3)
    per step for the Cholesky factor and the inverse, and O(p) per free entry and pass.

    Parameters
    ----------
    passes : int >= 1
        Passes of coordinate descent in a step.
    max_cg : int >= 0
        Most products of conjugate gradients in a step.

    References
    ----------
    Hsieh, Sustik, Dhillon, Ravikumar, Sparse inverse covariance matrix estimation using quadratic
    approximation, 2011; Oztoprak, Nocedal, Rennie, Olsen, Newton-like methods for sparse inverse
    covariance estimation, 2012.
    """

    passes: int = 2
    max_cg: int = 20

    needs = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> NewtonCdState:
        """State at the starting point."""
        return NewtonCdState(problem.evaluate(w))

    def step(self, problem: Problem, state: NewtonCdState) -> NewtonCdState:
        """Model, coordinate descent, conjugate gradients, line search."""
        graph, point = cast(GraphProblem, problem), state.point
        W = graph.inverse_at(point)
        free = free_pairs(graph, point, W)
        diagonal = not np.any(W[free.row, free.column][free.times > 1.0])
        step = separable_step(free) if diagonal else self._improve(W, free, state.steps)
        del W  # room for the trial matrices
        after = free.value + step
        promised = float(
            free.times @ (free.slope * step + free.l1 * (np.abs(after) - np.abs(free.value)))
        )
        new = search(graph, point, free, step, promised)
        if new is None:
            return NewtonCdState(point, steps=state.steps + 1, stalled=True)
        return NewtonCdState(new, steps=state.steps + 1)

    def _improve(self, W: FloatArray, free: FreePairs, steps: int) -> FloatArray:
        """Rounds of coordinate descent and conjugate gradients on the model."""
        model = Model(W, free)
        step = np.zeros(free.value.size)
        first = np.inf
        for turn in range(ROUNDS):
            image = model.descend(step, self.passes)
            if steps < PLAIN_STEPS:
                break
            step, image = model.polish(step, image, self.max_cg)
            left = model.violation(step, image)
            if turn == 0:
                first = model.violation(np.zeros_like(step), np.zeros_like(step))
            if left <= ENOUGH * first:
                break
        return step


@dataclass(frozen=True)
class NewtonCdState(State):
    """The point, and the steps so far."""

    steps: int = 0


def free_pairs(graph: GraphProblem, point: Point, W: FloatArray) -> FreePairs:
    """Entries that are not zero, or whose slope exceeds their penalty.

    No other entry can move in a step: at zero, its slope is within its penalty.
    """
    strengths = graph.penalty.strengths
    indptr = np.empty(graph.size + 1, dtype=np.uint64)
    none = np.empty(0, dtype=np.uint64)
    known = (point.w, point.dscores, strengths, indptr)
    count = kernels.list_free(*known, none, none, none)
    row, column, place = (np.empty(count, dtype=np.uint64) for _ in range(3))
    kernels.list_free(*known, row, column, place)
    away = row != column
    cross = W[row, column]
    diagonal = W.diagonal()
    times = np.where(away, 2.0, 1.0)
    return FreePairs(
        indptr,
        row,
        column,
        place,
        point.w[place],
        point.dscores[place] / times,
        np.where(away, np.broadcast_to(strengths, W.shape)[row, column], 0.0),
        times,
        cross * cross + np.where(away, diagonal[row] * diagonal[column], 0.0),
    )


def separable_step(free: FreePairs) -> FloatArray:
    """The exact minimiser of the model where W is diagonal: every pair stands alone."""
    v = free.value - free.slope / free.curve
    after: FloatArray = np.sign(v) * np.maximum(np.abs(v) - free.l1 / free.curve, 0.0)
    return after - free.value


class Model:
    """The quadratic model of the log-determinant plus the penalty, on the free entries.

    Parameters
    ----------
    W : (p, p) array
        The inverse of X.
    free : FreePairs
    """

    def __init__(self, W: FloatArray, free: FreePairs) -> None:
        self.W, self.free = W, free
        self.room = np.zeros_like(W)

    def product(self, step: FloatArray) -> FloatArray:
        """``(W D W)_ij`` of the free entries: its image, half the model's gradient."""
        free, out = self.free, np.empty_like(step)
        kernels.sandwich(self.W, free.indptr, free.row, free.column, step, self.room, out)
        return out

    def rough_product(self) -> kernels.Product:
        """The same in float32 and twice as quick, from now until ``room`` is used again.

        Conjugate gradients that end at a tenth of their residual need no more digits. The rounded W
        and the room of the product share the memory of ``room``.
        """
        free, p = self.free, self.W.shape[0]
        W, room = self.room.view(np.float32).reshape(2, p, p)
        W[:] = self.W
        out = np.empty(free.value.size, dtype=np.float32)

        def product(step: FloatArray) -> FloatArray:
            rough = step.astype(np.float32)
            kernels.sandwich(W, free.indptr, free.row, free.column, rough, room, out)
            return out.astype(np.float64)

        return product

    def value(self, step: FloatArray, image: FloatArray) -> float:
        """The model plus the penalty, up to a constant."""
        free = self.free
        smooth = (free.slope + 0.5 * image) * step
        return float(free.times @ (smooth + free.l1 * np.abs(free.value + step)))

    def violation(self, step: FloatArray, image: FloatArray) -> float:
        """Violation of the model's optimality conditions, in units of its diagonal."""
        free = self.free
        after, slope = free.value + step, free.slope + image
        off = np.where(
            after == 0.0,
            np.maximum(np.abs(slope) - free.l1, 0.0),
            slope + free.l1 * np.sign(after),
        )
        return float(np.sqrt(free.times @ (off * off / free.curve)))

    def descend(self, step: FloatArray, passes: int) -> FloatArray:
        """Passes of coordinate descent, in place; returns the image."""
        free = self.free
        kernels.times_inverse(self.W, free.indptr, free.column, step, self.room)
        kernels.descend_rows(
            self.W, free.value, free.slope, free.l1, free.indptr, free.column, step, self.room,
            passes, ROW_VISITS, TINY,
        )  # fmt: skip
        return self.product(step)

    def polish(
        self, step: FloatArray, image: FloatArray, max_cg: int
    ) -> tuple[FloatArray, FloatArray]:
        """The step improved by conjugate gradients over entries that keep their sign, its image."""
        free = self.free
        sign = np.sign(free.value + step)
        face = sign != 0.0
        residual = np.where(face, -(free.slope + image + free.l1 * sign), 0.0)
        target = conjugate_gradients(self.rough_product(), residual, face, free, max_cg)
        worth, share = self.value(step, image), 1.0
        for _ in range(HALVINGS):
            trial = step + share * target
            # An entry that would change its sign stops at zero.
            trial = np.where((free.value + trial) * sign < 0.0, -free.value, trial)
            there = self.product(trial)
            if self.value(trial, there) < worth:
                return trial, there
            share *= 0.5
        return step, image


def conjugate_gradients(
    product: kernels.Product,
    residual: FloatArray,
    face: Array,
    free: FreePairs,
    most: int,
) -> FloatArray:
    """The change of a step that solves the model on a face; Jacobi preconditioner."""
    change = np.zeros_like(residual)
    scaled = residual / free.curve
    direction = scaled.copy()
    size = first = float(free.times @ (residual * scaled))
    for _ in range(most):
        if size <= FORCING**2 * first:
            break
        image = np.where(face, product(direction), 0.0)
        curve = float(free.times @ (direction * image))
        if not curve > 0.0:  # rounding; the model is convex
            break
        length = size / curve
        change += length * direction
        residual = residual - length * image
        scaled = residual / free.curve
        before, size = size, float(free.times @ (residual * scaled))
        direction = scaled + (size / before) * direction
    return change


def search(
    graph: GraphProblem, point: Point, free: FreePairs, step: FloatArray, promised: float
) -> Point | None:
    """The first of shrinking steps that is positive definite and lowers F enough."""
    scale = 1.0 + abs(point.value)
    if not promised < -NO_PROGRESS * scale:
        return None
    share = 1.0
    for _ in range(MOST_TRIALS):
        w = point.w.copy()
        # An entry that goes to zero is set to it, whatever the rounding of value + step.
        moved = free.value + share * step
        w[free.place] = np.where(step == -free.value, (1.0 - share) * free.value, moved)
        factor = factorise(unpack(w, graph.size))
        graph.counts.evaluations += 1
        if factor is not None:
            enough = point.value + SUFFICIENT * share * promised + ROUNDING * scale
            if sum(graph.values(w, factor)) <= enough:
                return graph.point(w, factor)
        share *= SHRINK
    return None
