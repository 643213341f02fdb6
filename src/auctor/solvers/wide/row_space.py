"""Wide data: solves for the coefficients in the span of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from auctor.core.data_capabilities import DENSE, ROWS
from auctor.core.linalg import product_passes
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray
from auctor.problem import Problem
from auctor.problem.equivalent import ridge_problem
from auctor.problem.needs import Need
from auctor.solvers.base import Solver, State, memory_of
from auctor.solvers.choose import Role, choose
from auctor.solvers.reformulate import Reformulated
from auctor.solvers.relay import After, Relay, Stage

#: Square roots of eigenvalues below this share of the largest are rounding error.
RANK = 1e-7
#: Most steps in the span of the rows; then the solve moves to all columns.
SPAN_STEPS = 20
#: Relative difference of the columns' scales up to which a `Span` is shared along a path.
SAME_SCALE = 1e-12


class Span(NamedTuple):
    """Orthonormal coordinates in the span of the distinct rows, in the metric of a penalty.

    A vector z stands for the coefficients ``scale * X.T @ (back @ z)``, whose norm in the metric
    ``1 / scale`` is that of z. If the loss has a free constant (``free``: an intercept, or a
    shift-invariant loss), the mean row is subtracted from the rows, and the scores
    ``data.scores(z)`` hold up to a constant. Rows without weight have score 0.
    """

    scale: FloatArray
    first: IntArray
    back: FloatArray
    data: Data
    free: bool

    def weights(self, problem: Problem, z: FloatArray) -> FloatArray:
        """Coefficients of the columns for coordinates z; one pass over the data."""
        rows = np.zeros(problem.data.n_rows)
        rows[self.first] = self.back @ z
        if self.free:
            rows -= float(rows.sum()) * problem.data.target.share
        problem.counts.passes += 1
        return self.scale * problem.data.gradient(rows)

    def coordinates(self, scores: FloatArray, share: FloatArray) -> FloatArray:
        """Coordinates of the coefficients of least norm that have these scores."""
        if self.free:
            scores = scores - float(share @ scores)
        z: FloatArray = scores[self.first] @ self.back
        return z


@dataclass(frozen=True)
class SpanForm:
    """The problem in the span of the rows, which contains the minimiser of an l2 problem."""

    given: Problem
    span: Span
    problem: Problem
    pass_cost: float = 1.0

    @classmethod
    def of(cls, problem: Problem) -> SpanForm:
        """The given problem in the span of its rows; the Gram matrix is shared along a path."""
        span, strength = _span(problem)
        l2 = np.full(span.data.n_columns, strength)
        intercept = problem.fit_intercept
        narrow = ridge_problem(problem, problem.loss, l2, span.data, fit_intercept=intercept)
        return cls(problem, span, narrow)

    def start(self, w: FloatArray) -> FloatArray:
        """Coordinates of the coefficients; their mean score moves into the intercept."""
        original, target = self.given, self.given.data.target
        coef, intercept = original.coef(w), original.intercept(w)
        if not coef.any():
            return self.problem.join(np.zeros(self.problem.n_columns), intercept)
        scores = original.score_change(original.join(coef, 0.0))
        if original.has_intercept:
            intercept += float(target.share @ scores)
        return self.problem.join(self.span.coordinates(scores, target.share), intercept)

    def back(self, inner: State) -> State:
        """The point on all columns, evaluated there: the Gram matrix has rounding errors."""
        original, narrow, z = self.given, self.problem, inner.point.w
        # The coordinates hold scores up to a constant: compute the real scores, and shift.
        coef = self.span.weights(original, narrow.coef(z))
        scores = original.score_change(original.join(coef, 0.0))
        intercept = narrow.intercept(z)
        if original.has_intercept:
            intercept -= float(original.data.target.share @ scores)
        point = original.evaluate(original.join(coef, intercept), scores=scores + intercept)
        dual = inner.dual
        if dual is not None:
            offset = narrow.intercept(dual.w) - narrow.intercept(z)
            w = original.join(coef, intercept + offset)
            dual = dual.in_problem(original.with_loss(dual.problem.loss), w)
        return State(point, dual=dual)


@dataclass(frozen=True)
class RowSpace(Relay):
    """Solve for the coefficients as a combination of the rows, for fewer rows than columns.

    With an l2 penalty the minimiser lies in the span of the rows. In its coordinates the data are a
    square matrix, a root of the Gram matrix of the rows; the decision table has rules for it. Every
    step maps its point back and certifies it on all columns. When rounding errors of the Gram
    matrix end progress, or after `SPAN_STEPS` steps, the default solver on all columns takes over.
    Only for losses with curvature: on others it was not faster.

    References
    ----------
    Kimeldorf, Wahba, Some results on Tchebycheffian spline functions, 1971 (the representer
    theorem).
    """

    needs = (
        Need.SMOOTH_LOSS
        | Need.CURVATURE
        | Need.SMOOTH_PENALTY
        | Need.STRONG_PENALTY
        | Need.PROX
        | Need.ROWS
    )

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """A solver in the span of the rows, then one on all columns."""
        in_span = Reformulated(SpanForm.of, _along_rows)
        return Stage(in_span, until=After(SPAN_STEPS)), Stage(_on_columns)


def _along_rows(narrow: Problem) -> Solver[Any]:
    return choose(narrow, role=Role.ROW_SPACE)


def _on_columns(problem: Problem) -> Solver[Any]:
    return choose(problem, role=Role.DIRECT)


def _span(problem: Problem) -> tuple[Span, float]:
    """Span of a problem's rows, shared along a path, and the strength of the penalty on it."""
    l2 = problem.ridge[: problem.n_columns]
    strength = float(l2.max())
    scale = strength / l2
    memory = memory_of(problem)
    if memory.span is None or not np.allclose(memory.span.scale, scale, rtol=SAME_SCALE, atol=0.0):
        memory.span = _build_span(problem, scale)
    return memory.span, strength


def _build_span(problem: Problem, scale: FloatArray) -> Span:
    """Span of the distinct rows of positive weight, in an order independent of the input's."""
    data = ROWS.of(problem.data)
    duplicates = data.duplicate_rows
    heavy = duplicates.total(data.target.share) > 0.0
    first = duplicates.order[duplicates.starts[heavy]]
    free = problem.has_intercept or problem.loss.shift_invariant
    middle = data.gradient(data.target.share) if free else np.zeros(problem.n_columns)
    problem.counts.passes += 1.0 + product_passes(first.size)
    gram = data.row_gram(first, scale, middle)
    if free:
        # Centred rows are linearly dependent. A constant column, whose effect the intercept
        # absorbs, makes them independent and leaves the minimum unchanged.
        gram += gram.diagonal().mean() / first.size
    root, back = _root(gram)
    # Copy each distinct row's coordinates to all its duplicates.
    sizes = np.diff(duplicates.starts, append=data.n_rows)
    rows = np.zeros((data.n_rows, root.shape[1]))
    rows[duplicates.order[np.repeat(heavy, sizes)]] = np.repeat(root, sizes[heavy], axis=0)
    return Span(scale, first, back, DENSE.of(data).replaced(rows), free)


def _root(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A with ``A A' = gram``, and B with ``gram B = A``: eigenvectors times and over the roots.

    Directions whose eigenvalues are rounding errors are dropped. Another basis of an eigenspace
    rotates the coordinates, which changes no solver of the span beyond rounding.
    """
    values, vectors = eigh(gram, driver="evd", check_finite=False)
    roots = np.sqrt(np.maximum(values, 0.0))
    good = roots > RANK * roots[-1]
    if not good.any():  # all rows are equal: one coordinate without effect
        return np.zeros((gram.shape[0], 1)), np.zeros((gram.shape[0], 1))
    return vectors[:, good] * roots[good], vectors[:, good] / roots[good]
