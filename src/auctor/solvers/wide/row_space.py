"""Wide data in as many coordinates as it has rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from auctor.core.cost import product_passes
from auctor.core.needs import Need
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray
from auctor.minimise import Solver, State
from auctor.penalties import L2
from auctor.problem import PathMemory, Point, Problem
from auctor.solvers.choose import choose
from auctor.solvers.dual.ascent import DualCoordinateAscent
from auctor.solvers.kinked.continuation import Continuation
from auctor.solvers.kinked.proximal_point import ProximalPoint
from auctor.solvers.smooth.newton import Newton

#: Least diagonal entry of a Cholesky factor, as a share of the largest; below it, and for the roots
#: of eigenvalues, directions are rounding.
REGULAR, RANK = 1e-6, 1e-7
#: Steps along the rows by coordinate ascent, then by steps of Newton type, then on all columns.
ASCENT_STEPS, NEWTON_STEPS = 20, 60


class Span(NamedTuple):
    """Coordinates along the rows that differ, in the metric of a penalty.

    A vector z stands for the weights ``scale * X.T @ (back @ z)``, whose norm in the metric
    ``1 / scale`` is that of z. Where a constant is a free parameter the rows are taken from their
    mean. The scores are ``data.scores(z)``, up to a constant then, and 0 for rows without weight.
    """

    scale: FloatArray
    first: IntArray
    back: FloatArray
    data: Data
    free: bool

    def weights(self, problem: Problem, z: FloatArray) -> FloatArray:
        """Column weights of coordinates; one pass over the data."""
        rows = np.zeros(problem.data.n_rows)
        rows[self.first] = self.back @ z
        if self.free:
            rows -= float(rows.sum()) * problem.data.target.share
        problem.counts.passes += 1
        return self.scale * problem.data.gradient(rows)

    def coordinates(self, problem: Problem, coef: FloatArray) -> FloatArray:
        """Coordinates of the weights that have the same scores and the least norm."""
        if not coef.any():
            return np.zeros(self.back.shape[1])
        problem.counts.passes += 1
        scores = problem.data.scores(coef)
        if self.free:
            scores -= float(problem.data.target.share @ scores)
        z: FloatArray = scores[self.first] @ self.back
        return z


@dataclass
class LastSpan:
    """The coordinates that the solves of a path share."""

    span: Span | None = None


@dataclass(frozen=True)
class RowSpaceState:
    """The point on all columns, and the solve that is under way.

    ``narrow`` is the problem along the rows, ``None`` once the solve has moved to all columns.
    """

    point: Point
    dual: Point | None
    span: Span
    narrow: Problem | None
    solver: Solver[Any]
    inner: State
    rng: np.random.Generator
    lower: float | None = None
    steps: int = 0

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.narrow is None and self.inner.stalled


@dataclass(frozen=True)
class RowSpace:
    """Solve for the weights as a combination of the rows, where these are fewer than the columns.

    With an l2 penalty the minimiser lies in the span of the rows, whatever the loss. There the data
    is a square matrix, a root of the products of rows with each other. Coordinate ascent on the
    dual comes first where the loss allows, steps of Newton type follow where that is slow (one
    direction dominates the rows), and the default solver on all columns where rounding in the
    products ends those. Every step maps its point back and certifies it on all columns.

    References
    ----------
    Kimeldorf, Wahba, Some results on Tchebycheffian spline functions, 1971 (the representer
    theorem).
    """

    needs = Need.SMOOTH_PENALTY | Need.STRONG_PENALTY | Need.PROX | Need.ROWS

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> RowSpaceState:
        """State at the starting point."""
        span, strength = _span(problem)
        narrow = Problem(
            problem.loss, L2(strength), span.data, fit_intercept=problem.fit_intercept,
            counts=problem.counts,
        )  # fmt: skip
        shift = 0.0
        if problem.has_intercept and problem.coef(w).any():
            shift = float(problem.data.target.share @ problem.data.scores(problem.coef(w)))
        z = narrow.join(span.coordinates(problem, problem.coef(w)), problem.intercept(w) + shift)
        solver = _first(narrow)
        return _seen(problem, span, narrow, solver, solver.init(narrow, z, rng), rng)

    def step(self, problem: Problem, state: RowSpaceState) -> RowSpaceState:
        """One step along the rows, or of what comes after them."""
        if state.narrow is None:
            return _direct(state, state.solver.step(problem, state.inner))
        inner = state.solver.step(state.narrow, state.inner)
        ascent = isinstance(state.solver, DualCoordinateAscent)
        most = ASCENT_STEPS if ascent else NEWTON_STEPS
        lost = not math.isfinite(inner.point.value)
        if not (inner.stalled or lost or state.steps + 1 >= most):
            seen = _seen(problem, state.span, state.narrow, state.solver, inner, state.rng)
            return replace(seen, steps=state.steps + 1)
        z = state.inner.point.w if lost else inner.point.w
        if ascent:
            solver = _second(state.narrow)
            inner = solver.init(state.narrow, z, state.rng)
            return _seen(problem, state.span, state.narrow, solver, inner, state.rng)
        here = _seen(problem, state.span, state.narrow, state.solver, inner, state.rng)
        start = state.point.w if lost else here.point.w
        wide = choose(problem, skip="row_space")
        begun = wide.init(problem, start, state.rng)
        return _direct(replace(state, narrow=None, solver=wide), begun)


def _first(narrow: Problem) -> Solver[Any]:
    """Coordinate ascent where its steps are bounded, else what would follow."""
    dual = DualCoordinateAscent()
    bounded = not narrow.loss.smooth or Need.BOUNDED_CURVATURE in narrow.provides
    return dual if bounded and not dual.needs & ~narrow.provides else _second(narrow)


def _second(narrow: Problem) -> Solver[Any]:
    """Steps of Newton type, over smoothed problems where the loss is kinked."""
    if not narrow.loss.smooth:
        centred = Need.CENTRED_SMOOTHING in narrow.provides
        return ProximalPoint() if centred else Continuation()
    return choose(narrow) if Newton.needs & ~narrow.provides else Newton()


def _direct(state: RowSpaceState, inner: State) -> RowSpaceState:
    """A state of the solve on all columns."""
    return replace(
        state, point=inner.point, dual=inner.dual, inner=inner,
        lower=getattr(inner, "lower", None),
    )  # fmt: skip


def _seen(
    problem: Problem, span: Span, narrow: Problem, solver: Solver[Any], inner: State,
    rng: np.random.Generator,
) -> RowSpaceState:  # fmt: skip
    """A state of the narrow problem as one of the problem itself."""
    z = inner.point.w
    coef = span.weights(problem, narrow.coef(z))
    scores = problem.score_change(problem.join(coef, 0.0))
    intercept = narrow.intercept(z)
    if problem.has_intercept:
        intercept -= float(problem.data.target.share @ scores)
    point = problem.evaluate(problem.join(coef, intercept), scores=scores + intercept)
    dual = inner.dual
    if dual is not None:
        away = narrow.intercept(dual.w) - narrow.intercept(z)
        w = problem.join(coef, intercept + away)
        dual = dual.seen_by(problem.with_loss(dual.problem.loss), w)
    return RowSpaceState(point, dual, span, narrow, solver, inner, rng)


def _span(problem: Problem) -> tuple[Span, float]:
    """Coordinates for a problem, shared along a path, and the strength of the penalty in them."""
    l2 = problem.ridge[: problem.n_columns]
    strength = float(l2.max())
    scale = strength / l2
    left = (problem.memory or PathMemory()).part(LastSpan)
    if left.span is None or not np.allclose(left.span.scale, scale, rtol=1e-12, atol=0.0):
        left.span = _made(problem, scale)
    return left.span, strength


def _made(problem: Problem, scale: FloatArray) -> Span:
    """Along one row of each kind that has weight, in an order that depends on what they hold."""
    data, kinds = problem.data, problem.data.kinds
    heavy = kinds.total(data.target.share) > 0.0
    first = kinds.order[kinds.starts[heavy]]
    free = problem.has_intercept or problem.loss.shift_invariant
    middle = data.gradient(data.target.share) if free else np.zeros(problem.n_columns)
    problem.counts.passes += 1.0 + product_passes(first.size)
    gram = data.row_gram(first, scale, middle)
    if free:
        # Rows less their mean depend on each other. A constant beside them, which the intercept
        # takes up, makes them independent and changes nothing.
        gram += gram.diagonal().mean() / first.size
    root, back = _root(gram)
    sizes = np.diff(kinds.starts, append=data.n_rows)
    rows = np.zeros((data.n_rows, root.shape[1]))
    rows[kinds.order[np.repeat(heavy, sizes)]] = np.repeat(root, sizes[heavy], axis=0)
    return Span(scale, first, back, data.replaced(rows), free)


def _root(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A with ``A A' = gram``, and its (pseudo-)inverse turned over, B with ``gram B = A``.

    Both depend on the products alone, not on how a decomposition turns its vectors.
    """
    try:
        factor = cholesky(gram, lower=True, check_finite=False)
    except LinAlgError:
        factor = np.zeros((1, 1))
    diagonal = factor.diagonal()
    if diagonal.min() > REGULAR * diagonal.max():
        identity = np.eye(gram.shape[0])
        return factor, solve_triangular(factor, identity, lower=True, trans=1, check_finite=False)
    values, vectors = eigh(gram, check_finite=False)
    roots = np.sqrt(np.maximum(values, 0.0))
    good = roots > RANK * roots[-1]
    if not good.any():  # all rows are the same: one coordinate that does nothing
        return np.zeros((gram.shape[0], 1)), np.zeros((gram.shape[0], 1))
    some = vectors[:, good]
    return (some * roots[good]) @ some.T, (some / roots[good]) @ some.T
