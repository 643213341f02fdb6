"""Newton's method for the graphical lasso: coordinate descent and conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from auctor.core.rounding import ROUNDING
from auctor.core.types import Array, FloatArray
from auctor.covariance.problem import Factor, GraphProblem, factorise, unpack
from auctor.kernels.descent import log_det as kernels
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import first_accepted, sizes

#: Sufficient decrease: least share of the decrease that the model predicts.
SUFFICIENT = 1e-3
#: Sweeps over a row's pairs before the next row.
ROW_VISITS = 2
#: Largest move of a pair, in units of the model's diagonal, that ends coordinate descent.
LEAST_MOVE = 1e-12
#: First steps that use coordinate descent only.
PLAIN_STEPS = 3
#: Residual of conjugate gradients, as a share of the first, at which they stop.
FORCING = 0.1
#: Most rounds of coordinate descent and conjugate gradients per step.
MOST_ROUNDS = 20
#: Violation of the model's optimality, as a share of the first, at which the rounds end.
ENOUGH = 0.5
#: Trials of the conjugate-gradient step, each half as long, before it is dropped.
HALVINGS = 6
#: Predicted decrease, as a share of F, below which the solver has stalled.
NO_PROGRESS = 1e-22


class FreePairs(NamedTuple):
    """Entries of the upper triangle that may move, row by row, with W the inverse of X.

    ``indptr`` are the first entries of the rows, ``place`` the positions in the packed triangle;
    ``slope`` is ``S_ij - W_ij``, ``times`` how often an entry occurs in the matrix (1 on the
    diagonal, otherwise 2), and ``curve`` the second derivative along it divided by ``times``.
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
    that are nonzero or violate optimality: passes of coordinate descent find signs and zeros, then
    conjugate gradients solve for the nonzero entries with fixed signs. Backtracking keeps the
    matrix positive definite, and F falls monotonically. A step takes O(p^3) for the Cholesky factor
    and the inverse, and O(p) per free entry and pass.

    Parameters
    ----------
    passes : int >= 1
        Passes of coordinate descent per round.
    max_cg : int >= 0
        Largest number of conjugate-gradient products per round.

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
        """Minimise the quadratic model, then search along the step."""
        graph, point = cast(GraphProblem, problem), state.point
        W = graph.inverse_at(point)
        free = free_pairs(graph, point, W)
        diagonal = not np.any(W[free.row, free.column][free.times > 1.0])
        step = separable_step(free) if diagonal else self._improve(W, free, state.steps)
        del W  # frees memory for the trial matrices
        # Predicted decrease: gradient.step + penalty(X + step) - penalty(X).
        after = free.value + step
        predicted = float(
            free.times @ (free.slope * step + free.l1 * (np.abs(after) - np.abs(free.value)))
        )
        new = search(graph, point, free, step, predicted)
        if new is None:
            return NewtonCdState(point, steps=state.steps + 1, stalled=True)
        return NewtonCdState(new, steps=state.steps + 1)

    def _improve(self, W: FloatArray, free: FreePairs, steps: int) -> FloatArray:
        """Rounds of coordinate descent and conjugate gradients on the model."""
        model = QuadraticModel(W, free)
        step = np.zeros(free.value.size)
        first = np.inf
        for k in range(MOST_ROUNDS):
            image = model.descend(step, self.passes)
            if steps < PLAIN_STEPS:
                break
            step, image = model.polish(step, image, self.max_cg)
            left = model.violation(step, image)
            if k == 0:
                first = model.violation(np.zeros_like(step), np.zeros_like(step))
            if left <= ENOUGH * first:
                break
        return step


@dataclass(frozen=True)
class NewtonCdState(State):
    """The point, and the number of steps taken."""

    steps: int = 0


def free_pairs(graph: GraphProblem, point: Point, W: FloatArray) -> FreePairs:
    """Entries that are nonzero, or whose slope exceeds their penalty.

    All other entries are zero with a slope within their penalty, so they would not move.
    """
    strengths = graph.penalty.strengths
    indptr = np.empty(graph.size + 1, dtype=np.uint64)
    none = np.empty(0, dtype=np.uint64)
    inputs = (point.w, point.dscores, strengths, indptr)
    # The first call counts the entries, the second fills the arrays.
    count = kernels.list_free(*inputs, none, none, none)
    row, column, place = (np.empty(count, dtype=np.uint64) for _ in range(3))
    kernels.list_free(*inputs, row, column, place)
    off_diagonal = row != column
    cross = W[row, column]
    diagonal = W.diagonal()
    times = np.where(off_diagonal, 2.0, 1.0)
    return FreePairs(
        indptr,
        row,
        column,
        place,
        point.w[place],
        point.dscores[place] / times,
        np.where(off_diagonal, np.broadcast_to(strengths, W.shape)[row, column], 0.0),
        times,
        cross * cross + np.where(off_diagonal, diagonal[row] * diagonal[column], 0.0),
    )


def separable_step(free: FreePairs) -> FloatArray:
    """The exact minimiser of the model if W is diagonal, when the model is separable."""
    v = free.value - free.slope / free.curve
    after: FloatArray = np.sign(v) * np.maximum(np.abs(v) - free.l1 / free.curve, 0.0)
    return after - free.value


class QuadraticModel:
    """The quadratic model of the log-determinant plus the penalty, on the free entries.

    Parameters
    ----------
    W : (p, p) array
        The inverse of X.
    """

    def __init__(self, W: FloatArray, free: FreePairs) -> None:
        self.W, self.free = W, free
        self.buffer = np.zeros_like(W)

    def product(self, step: FloatArray) -> FloatArray:
        """``(W D W)_ij`` at the free entries for a step D: the model's Hessian times the step."""
        free, out = self.free, np.empty_like(step)
        kernels.sandwich(self.W, free.indptr, free.row, free.column, step, self.buffer, out)
        return out

    def single_precision_product(self) -> kernels.Product:
        """`product` in float32, twice as fast; valid until ``buffer`` is used again.

        Conjugate gradients that stop at a tenth of their residual need no more digits. The float32
        copy of W and the buffer of the product share the memory of ``buffer``.
        """
        free, p = self.free, self.W.shape[0]
        W, buffer = self.buffer.view(np.float32).reshape(2, p, p)
        W[:] = self.W
        out = np.empty(free.value.size, dtype=np.float32)

        def product(step: FloatArray) -> FloatArray:
            single = step.astype(np.float32)
            kernels.sandwich(W, free.indptr, free.row, free.column, single, buffer, out)
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
            after == 0.0, np.maximum(np.abs(slope) - free.l1, 0.0), slope + free.l1 * np.sign(after)
        )
        return float(np.sqrt(free.times @ (off * off / free.curve)))

    def descend(self, step: FloatArray, passes: int) -> FloatArray:
        """Passes of coordinate descent on the step, in place; returns its `product`."""
        free = self.free
        kernels.times_inverse(self.W, free.indptr, free.column, step, self.buffer)
        kernels.descend_rows(
            self.W, free.value, free.slope, free.l1, free.indptr, free.column, step, self.buffer,
            passes, ROW_VISITS, LEAST_MOVE,
        )  # fmt: skip
        return self.product(step)

    def polish(
        self, step: FloatArray, image: FloatArray, max_cg: int
    ) -> tuple[FloatArray, FloatArray]:
        """The step improved by conjugate gradients with fixed signs, and its `product`."""
        free = self.free
        sign = np.sign(free.value + step)
        face = sign != 0.0
        residual = np.where(face, -(free.slope + image + free.l1 * sign), 0.0)
        product = self.single_precision_product()
        target = conjugate_gradients(product, residual, face, free, max_cg)
        before = self.value(step, image)

        def trial(share: float) -> tuple[FloatArray, FloatArray]:
            moved = step + share * target
            # An entry that would change its sign stops at zero.
            moved = np.where((free.value + moved) * sign < 0.0, -free.value, moved)
            return moved, self.product(moved)

        def lower(_: float, tried: tuple[FloatArray, FloatArray]) -> bool:
            return self.value(*tried) < before

        accepted_step = first_accepted(trial, lower, sizes(most=HALVINGS))
        return (step, image) if accepted_step is None else accepted_step[1]


def conjugate_gradients(
    product: kernels.Product, residual: FloatArray, face: Array, free: FreePairs, most: int
) -> FloatArray:
    """Change of the step that minimises the model over the entries of ``face``.

    Preconditioned by the diagonal; at most ``most`` products.
    """
    change = np.zeros_like(residual)
    scaled = residual / free.curve
    direction = scaled.copy()
    size = first = float(free.times @ (residual * scaled))
    for _ in range(most):
        if size <= FORCING**2 * first:
            break
        image = np.where(face, product(direction), 0.0)
        curve = float(free.times @ (direction * image))
        if not curve > 0.0:  # only by rounding errors: the model is convex
            break
        length = size / curve
        change += length * direction
        residual = residual - length * image
        scaled = residual / free.curve
        before, size = size, float(free.times @ (residual * scaled))
        direction = scaled + (size / before) * direction
    return change


def search(
    graph: GraphProblem, point: Point, free: FreePairs, step: FloatArray, predicted: float
) -> Point | None:
    """The first of shrinking steps that is positive definite and lowers F enough, or None."""
    scale = 1.0 + abs(point.value)
    if not predicted < -NO_PROGRESS * scale:
        return None

    def trial(share: float) -> tuple[FloatArray, Factor | None]:
        """The packed matrix at a share of the step, and its factor if it is positive definite."""
        w = point.w.copy()
        # An entry that moves to zero is set to exactly zero, without the rounding of value + step.
        moved = free.value + share * step
        w[free.place] = np.where(step == -free.value, (1.0 - share) * free.value, moved)
        graph.counts.evaluations += 1
        return w, factorise(unpack(w, graph.size))

    def enough(share: float, tried: tuple[FloatArray, Factor | None]) -> bool:
        w, factor = tried
        highest = point.value + SUFFICIENT * share * predicted + ROUNDING * scale
        return factor is not None and sum(graph.values(w, factor)) <= highest

    accepted_step = first_accepted(trial, enough, sizes())
    if accepted_step is None:
        return None
    w, factor = accepted_step[1]
    assert factor is not None
    return graph.point(w, factor)
