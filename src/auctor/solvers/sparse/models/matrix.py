"""A second-order model over some columns, given by its matrix, which later steps use again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.data_capabilities import COLUMNS, GRAM, ROWS, SUBSETS
from auctor.core.linalg import product_passes, spd_solve
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent import coordinate
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian
from auctor.problem.needs import Need
from auctor.solvers.sparse.models.columns import damping, floor_of
from auctor.solvers.sparse.models.shared import InterceptRow, grown_gram

#: Sweeps of coordinate descent before Newton steps on the support are tried.
SWEEPS = 100


@dataclass(frozen=True)
class MatrixModel:
    """The Hessian over the columns ``index`` at row curvature ``h``, times ``scale``.

    ``gram`` is the matrix over the columns, ``reduced`` the same after the intercept is eliminated.
    """

    index: IntArray
    gram: FloatArray
    reduced: FloatArray
    intercept: InterceptRow
    h: FloatArray
    lines: Array | None = None  # the columns themselves, one per row, where they are dense
    scale: float = 1.0
    fresh: bool = True  # made at the point where it is used
    cost: float = 0.0  # passes over the data that forming it again would cost, if dense
    sampled: bool = False  # made from a sample of the rows

    @classmethod
    def of(
        cls,
        index: IntArray,
        gram: FloatArray,
        intercept: InterceptRow,
        point: Point,
        h: FloatArray,
        lines: Array | None = None,
        *,
        cancelled: FloatArray | float = 0.0,
    ) -> MatrixModel:
        """From the matrix over the columns and the intercept's row.

        ``cancelled`` is what a low-rank part has subtracted from the diagonal.
        """
        reduced = gram.copy()
        intercept.eliminate(reduced)
        # Share of the terms subtracted from a diagonal entry that is added back.
        diagonal = np.diag(reduced) + 1e-8 * (cancelled + intercept.taken())
        diagonal = np.maximum(diagonal, floor_of(point, h, index))
        reduced[np.diag_indices_from(reduced)] = diagonal + damping(diagonal, point.gradient)
        return cls(index, gram, reduced, intercept, h, lines)

    def at(self, hessian: Hessian, limit: float) -> MatrixModel | None:
        """The same matrix, scaled, for a Hessian whose row curvature has nearly its shape.

        ``None`` where the shape differs by more than ``limit``, a share of the curvature.
        """
        h = hessian.row_curvature
        total, own = float(h.sum()), float(self.h.sum())
        if hessian.low_rank()[1].size or not (total > 0.0 and own > 0.0):
            return None
        scale = total / own
        if float(np.abs(h - scale * self.h).sum()) > limit * total:
            return None
        return replace(self, scale=scale, fresh=False)

    def covers(self, columns: IntArray, d: int) -> bool:
        """Whether the model has all chosen columns."""
        return self.index.size == d or bool(_mask(self.index, d)[columns].all())

    def grown(self, problem: Problem, point: Point, columns: IntArray) -> MatrixModel:
        """The model with more dense columns, at the same row curvature."""
        assert self.lines is not None
        new = columns[~_mask(self.index, problem.n_columns)[columns]]
        more = dense_lines(problem, new)
        lines = np.concatenate([self.lines, more])
        gram = grown_gram(self.gram, lines @ (more * self.h).T)
        own = self.intercept
        sums = more @ self.h if own.present else np.zeros(new.size)
        intercept = InterceptRow(np.concatenate([own.side, sums]), own.corner)
        problem.counts.passes += _product_passes(new.size, lines.shape[0], problem.n_columns)
        index = np.concatenate([self.index, new])
        model = MatrixModel.of(index, gram, intercept, point, self.h, lines)
        cost = _product_passes(index.size, index.size, problem.n_columns)
        return replace(model, scale=self.scale, fresh=False, cost=cost)

    def descend(
        self, problem: Problem, point: Point, spec: SeparableSpec, *, max_sweeps: int, tol: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Direction that minimises the model, and the change of the scores where it is cheap."""
        index, scale = self.index, self.scale
        slope = float(point.gradient[-1]) / scale if problem.has_intercept else 0.0
        gradient = self.intercept.gradient(point.gradient[index] / scale, slope)
        l1, l2, lower, upper = (level[index] for level in spec)
        # The model divided by the scale: the matrix is used as it is.
        part = SeparableSpec(l1 / scale, l2 / scale, lower, upper)
        moved = _lowest(self.reduced, gradient, point.w[index], part, max_sweeps, tol / scale)
        shift, change = self.intercept.change(moved, slope), None
        coef = np.zeros(problem.n_columns)
        coef[index] = moved
        direction = problem.join(coef, shift)
        if self.lines is not None:
            change = moved @ self.lines + shift
        return direction, change


def _lowest(
    matrix: FloatArray,
    slope: FloatArray,
    start: FloatArray,
    spec: SeparableSpec,
    max_sweeps: int,
    tol: float,
) -> FloatArray:
    """Change from ``start`` that minimises a quadratic plus a separable penalty.

    Coordinate descent; where it converges slowly (nearly collinear columns), every `SWEEPS` sweeps
    are followed by Newton steps on the support.
    """
    x, change = start, np.zeros_like(start)
    for _ in range(-(-max_sweeps // SWEEPS)):
        sweeps = min(SWEEPS, max_sweeps)
        if coordinate.descend_matrix(matrix, slope, x, *spec, change, sweeps, tol) < sweeps:
            return x + change - start
        x, slope = x + change, slope + matrix @ change
        x, slope = _on_support(matrix, slope, x, spec)
    return x - start


def _on_support(
    matrix: FloatArray, slope: FloatArray, x: FloatArray, spec: SeparableSpec
) -> tuple[FloatArray, FloatArray]:
    """Newton steps with fixed signs; weights that reach 0 or a bound stay there.

    Returns the weights and the quadratic's gradient there.
    """
    l1, l2, lower, upper = spec
    free = (x != 0.0) & (x > lower) & (x < upper)
    while free.any():
        index = np.flatnonzero(free)
        at = x[index]
        tilt = slope[index] + l1[index] * np.sign(at) + l2[index] * at
        block = matrix[np.ix_(index, index)]
        block[np.diag_indices_from(block)] += l2[index]
        # Added to a singular matrix of unit diagonal before a Newton step on the support.
        step = -spd_solve(block, floor=1e-11)(tilt)
        if not np.isfinite(step).all() or not float(tilt @ step) < 0.0:
            break
        # The nearest point on the way where a weight changes its sign or meets its bound.
        ahead = np.where(step > 0.0, upper[index], lower[index])
        far = np.where(at * step < 0.0, np.clip(0.0, lower[index], upper[index]), ahead)
        reach = np.divide(far - at, step, out=np.full(at.size, np.inf), where=step != 0.0)
        least = int(np.argmin(reach))
        length = min(1.0, float(reach[least]))
        new = at + length * step
        # Factor by which a Newton step on the support may enlarge the largest weight.
        if float(np.abs(new).max()) > 1e4 * float(np.abs(at).max()):
            break  # without curvature along the step, the model is no guide that far away
        if reach[least] <= 1.0:
            new[least] = far[least]
            free[index[least]] = False
        slope = slope + matrix[:, index] @ (new - at)
        x = x.copy()
        x[index] = new
        if reach[least] > 1.0:
            break
    return x, slope


def _product_passes(few: int, many: int, d: int) -> float:
    """Cost of the products of some dense columns with others, in passes over the data."""
    return product_passes(many) * few / max(d, 1)


def _mask(index: IntArray, d: int) -> Array:
    here = np.zeros(d, dtype=bool)
    here[index] = True
    return here


def dense_lines(problem: Problem, index: IntArray) -> Array:
    """Dense columns as rows of an array."""
    data = COLUMNS.of(problem.data)
    part = data.some_columns(index, 1.0)
    if part is not None:
        return part.values.reshape(index.size, data.n_rows)
    return data.columns().values.reshape(problem.n_columns, -1)[index]


def chosen_model(problem: Problem, point: Point, hessian: Hessian, index: IntArray) -> MatrixModel:
    """A model of all rows over the columns ``index``."""
    data, h = problem.data, hessian.row_curvature
    lines, intercept = None, InterceptRow.absent(index.size)
    if Need.COLUMNS not in problem.provides:
        part = GRAM.of(SUBSETS.of(data).only(index))
        gram = part.gram(h)
        problem.counts.passes += part.gram_passes() * part.n_entries / max(1, problem.n_entries)
    elif problem.n_entries == data.n_rows * data.n_columns:
        lines = dense_lines(problem, index)
        gram = (lines * h) @ lines.T
        problem.counts.passes += _product_passes(index.size, index.size, problem.n_columns)
    else:
        slot = np.full(problem.n_columns, -1, dtype=np.int32)
        slot[index] = np.arange(index.size)
        gram = np.zeros((index.size, index.size))
        coordinate.gram_chosen(*ROWS.of(data).row_lines(), slot, h, gram)
        problem.counts.passes += GRAM.of(data).gram_passes() * index.size / problem.n_columns
    if problem.has_intercept:
        sums = data.gradient(h)[index] if lines is None else lines @ h
        intercept = InterceptRow(sums, float(h.sum()))
    factors, core = hessian.low_rank()
    cancelled = _cancelled(factors[index], core)
    if core.size:
        rows = factors[index]
        gram += rows @ core @ rows.T
        if problem.has_intercept:
            last = core @ factors[-1]
            side, corner = intercept.side + rows @ last, float(factors[-1] @ last)
            intercept = InterceptRow(side, intercept.corner + corner)
    cost = 0.0 if lines is None else _product_passes(index.size, index.size, data.n_columns)
    model = MatrixModel.of(index, gram, intercept, point, h, lines, cancelled=cancelled)
    return replace(model, cost=cost)


def _cancelled(factors: FloatArray, core: FloatArray) -> FloatArray:
    """What ``factors core factors'`` subtracts from the diagonal, 0 where it adds."""
    lost: FloatArray = np.maximum(-((factors @ core) * factors).sum(axis=1), 0.0)
    return lost


def full_model(
    problem: Problem, point: Point, hessian: Hessian, *, whole: bool = False
) -> MatrixModel:
    """A model over all columns; ``whole`` forbids sampling rows where all of them are expensive."""
    matrix, d = hessian.model_matrix(whole=whole), problem.n_columns
    intercept = InterceptRow.absent(d)
    if problem.has_intercept:
        intercept = InterceptRow(matrix[:d, d], float(matrix[d, d]))
    factors, core = hessian.low_rank()
    model = MatrixModel.of(
        np.arange(d), matrix[:d, :d], intercept, point, hessian.row_curvature,
        cancelled=_cancelled(factors[:d], core),
    )  # fmt: skip
    dense = problem.n_entries == problem.data.n_rows * d
    sampled = not whole and hessian.sampled
    cost = _product_passes(d, d, d) if dense and not sampled else 0.0
    return replace(model, cost=cost, sampled=sampled)
