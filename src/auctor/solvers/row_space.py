"""Wide data in as many coordinates as it has rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from auctor.core.needs import Need
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray
from auctor.minimise import Solver, State
from auctor.penalties import L2
from auctor.problem import Point, Problem
from auctor.solvers.choose import choose
from auctor.solvers.dual import DualCoordinateAscent

#: Least diagonal entry of a Cholesky factor, as a share of the largest; below it, and for the roots
#: of eigenvalues, directions are rounding.
REGULAR, RANK = 1e-6, 1e-7


class Span(NamedTuple):
    """Coordinates along the rows that differ, in the metric of a penalty.

    A vector z stands for the weights ``scale * X[first].T @ (back @ z)``, whose norm in the metric
    ``1 / scale`` is that of z and whose scores are ``data.scores(z)`` (0 for rows without weight).
    """

    scale: FloatArray
    first: IntArray
    back: FloatArray
    data: Data

    def weights(self, problem: Problem, z: FloatArray) -> FloatArray:
        """Column weights of coordinates; one pass over the data."""
        rows = np.zeros(problem.data.n_rows)
        rows[self.first] = self.back @ z
        problem.counts.passes += 1
        return self.scale * problem.data.gradient(rows)

    def coordinates(self, problem: Problem, coef: FloatArray) -> FloatArray:
        """Coordinates of the weights that have the same scores and the least norm."""
        if not coef.any():
            return np.zeros(self.back.shape[1])
        problem.counts.passes += 1
        z: FloatArray = problem.data.scores(coef)[self.first] @ self.back
        return z


@dataclass(frozen=True)
class RowSpaceState:
    """The point on all columns, and the solve along the rows."""

    point: Point
    dual: Point | None
    lower: float | None
    span: Span
    narrow: Problem
    solver: Solver[Any]
    inner: State

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.inner.stalled


@dataclass(frozen=True)
class RowSpace:
    """Solve for the weights as a combination of the rows, where these are fewer than the columns.

    With an l2 penalty the minimiser lies in the span of the rows, whatever the loss. There the data
    is a square matrix, a root of the products of rows with each other, and any solver for a smooth
    penalty may do the rest. Every step maps its point back and certifies it on all columns.

    Parameters
    ----------
    solver : Solver, optional
        For the square problem; by default `DualCoordinateAscent` for losses that are sums over
        rows, else the default for such data.

    References
    ----------
    Kimeldorf, Wahba, Some results on Tchebycheffian spline functions, 1971 (the representer
    theorem).
    """

    solver: Solver[Any] | None = None

    needs = Need.SMOOTH_PENALTY | Need.STRONG_PENALTY | Need.PROX | Need.ROWS

    def __post_init__(self) -> None:
        if self.solver is not None:
            object.__setattr__(self, "needs", type(self).needs | self.solver.needs)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> RowSpaceState:
        """State at the starting point."""
        span, strength = _span(problem)
        narrow = Problem(
            problem.loss, L2(strength), span.data, fit_intercept=problem.fit_intercept,
            counts=problem.counts,
        )  # fmt: skip
        solver = self.solver or _solver(narrow)
        z = narrow.join(span.coordinates(problem, problem.coef(w)), problem.intercept(w))
        return _seen(problem, span, narrow, solver, solver.init(narrow, z, rng))

    def step(self, problem: Problem, state: RowSpaceState) -> RowSpaceState:
        """One step along the rows."""
        inner = state.solver.step(state.narrow, state.inner)
        return _seen(problem, state.span, state.narrow, state.solver, inner)


def _solver(narrow: Problem) -> Solver[Any]:
    dual = DualCoordinateAscent()
    return choose(narrow) if dual.needs & ~narrow.provides else dual


def _seen(
    problem: Problem, span: Span, narrow: Problem, solver: Solver[Any], inner: State
) -> RowSpaceState:
    """A state of the narrow problem as one of the problem itself."""
    z = inner.point.w
    point = problem.evaluate(
        problem.join(span.weights(problem, narrow.coef(z)), narrow.intercept(z))
    )
    dual = inner.dual
    if dual is not None:
        dual = replace(dual, problem=problem.with_loss(dual.problem.loss))
    return RowSpaceState(point, dual, getattr(inner, "lower", None), span, narrow, solver, inner)


def _span(problem: Problem) -> tuple[Span, float]:
    """Coordinates for a problem, shared along a path, and the strength of the penalty in them."""
    l2 = problem.ridge[: problem.n_columns]
    strength = float(l2.max())
    scale = strength / l2
    kept: Span | None = None if problem.kept is None else problem.kept.get(Span)
    if kept is None or not np.array_equal(kept.scale, scale):
        kept = _made(problem, scale)
        if problem.kept is not None:
            problem.kept[Span] = kept
    return kept, strength


def _made(problem: Problem, scale: FloatArray) -> Span:
    """Along one row of each kind that has weight, in an order that depends on what they hold."""
    data, kinds = problem.data, problem.data.kinds
    heavy = kinds.total(data.target.share) > 0.0
    first = kinds.order[kinds.starts[heavy]]
    problem.counts.passes += 1.0 + first.size / 6.0
    if first.size == data.n_rows:
        gram = data.row_gram(scale)[np.ix_(first, first)]
    else:
        gram = data.rows(first).row_gram(scale)
    root, back = _root(gram)
    sizes = np.diff(kinds.starts, append=data.n_rows)
    rows = np.zeros((data.n_rows, root.shape[1]))
    rows[kinds.order[np.repeat(heavy, sizes)]] = np.repeat(root, sizes[heavy], axis=0)
    return Span(scale, first, back, data.replaced(rows))


def _root(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A with ``A A' = gram``, and B with ``B' gram B = 1`` and ``gram B = A``."""
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
    if not good.any():  # all rows are zero: one coordinate that does nothing
        return np.zeros((gram.shape[0], 1)), np.zeros((gram.shape[0], 1))
    return vectors[:, good] * roots[good], vectors[:, good] / roots[good]
