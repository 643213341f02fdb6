"""A second-order model over some columns, given by its matrix, that outlives a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.hessian import Hessian
from auctor.kernels import coordinate
from auctor.problem import Point, Problem
from auctor.solvers.column_model import damping, floor_of

#: Share of what cancels on a diagonal that is put back: where all cancels, rounding is left.
CANCELLED = 1e-8


@dataclass(frozen=True)
class MatrixModel:
    """The Hessian over the columns ``index`` at row curvature ``h``, times ``scale``.

    The intercept is eliminated: ``reduced = gram - side side' / top``, and its best change is
    linear in the others'.
    """

    index: IntArray
    gram: FloatArray
    reduced: FloatArray
    side: FloatArray
    top: float
    h: FloatArray
    lines: Array | None = None  # the columns themselves where they are dense
    scale: float = 1.0
    fresh: bool = True  # made at the point where it is used
    cost: float = 0.0  # passes over the data that another one like it would take, if dense

    @classmethod
    def of(
        cls,
        index: IntArray,
        gram: FloatArray,
        side: FloatArray,
        top: float,
        point: Point,
        h: FloatArray,
        lines: Array | None = None,
        *,
        cancelled: FloatArray | float = 0.0,
    ) -> MatrixModel:
        """From the matrix over the columns, the column of the intercept and its last entry.

        ``cancelled`` is what a low-rank part has taken off the diagonal.
        """
        reduced = gram.copy()
        if top > 0.0:
            reduced -= np.outer(side, side / top)
            cancelled = cancelled + side * (side / top)
        diagonal = np.diag(reduced) + CANCELLED * cancelled
        diagonal = np.maximum(diagonal, floor_of(point, h, index))
        reduced[np.diag_indices_from(reduced)] = diagonal + damping(diagonal, point.gradient)
        return cls(index, gram, reduced, side, top, h, lines)

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

    def covers(self, chosen: IntArray, d: int) -> bool:
        """Whether all chosen columns are here."""
        return self.index.size == d or bool(_mask(self.index, d)[chosen].all())

    def grown(self, problem: Problem, point: Point, chosen: IntArray) -> MatrixModel:
        """With more columns, dense ones, at the same row curvature."""
        assert self.lines is not None
        new = chosen[~_mask(self.index, problem.n_columns)[chosen]]
        more = dense_lines(problem, new)
        lines = np.concatenate([self.lines, more])
        cross = (more * self.h) @ lines.T
        size = self.index.size
        gram = np.empty((lines.shape[0], lines.shape[0]))
        gram[:size, :size], gram[size:], gram[:size, size:] = self.gram, cross, cross[:, :size].T
        side = np.concatenate([self.side, more @ self.h if self.top > 0.0 else np.zeros(new.size)])
        problem.counts.passes += _product_passes(new.size, lines.shape[0], problem.n_columns)
        index = np.concatenate([self.index, new])
        model = MatrixModel.of(index, gram, side, self.top, point, self.h, lines)
        cost = _product_passes(index.size, index.size, problem.n_columns)
        return replace(model, scale=self.scale, fresh=False, cost=cost)

    def descend(
        self, problem: Problem, point: Point, spec: SeparableSpec, *, max_sweeps: int, tol: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Direction that minimises the model, and the change of the scores where it is cheap."""
        index, scale = self.index, self.scale
        ahead = float(point.gradient[-1]) / scale if problem.has_intercept else 0.0
        slope = point.gradient[index] / scale
        if self.top > 0.0:
            slope -= self.side * (ahead / self.top)
        moved = np.zeros(index.size)
        l1, l2, lower, upper = (level[index] for level in spec)
        # The model divided by the scale: the matrix is used as it is.
        coordinate.descend_matrix(
            self.reduced, slope, point.w[index], l1 / scale, l2 / scale, lower, upper,
            moved, max_sweeps, tol / scale,
        )  # fmt: skip
        direction, change = np.zeros(problem.n_params), None
        direction[index] = moved
        shift = 0.0
        if problem.has_intercept and self.top > 0.0:
            shift = -(ahead + float(self.side @ moved)) / self.top
            direction[-1] = shift
        if self.lines is not None:
            change = moved @ self.lines + shift
        return direction, change


def _product_passes(few: int, many: int, d: int) -> float:
    """Cost of the products of some dense columns with others, in passes over the data."""
    return (1.0 + many / 6.0) * few / max(d, 1)


def _mask(index: IntArray, d: int) -> Array:
    here = np.zeros(d, dtype=bool)
    here[index] = True
    return here


def dense_lines(problem: Problem, index: IntArray) -> Array:
    """Dense columns as rows of an array."""
    part = problem.data.some_columns(index, 1.0)
    if part is not None:
        return part.values.reshape(index.size, problem.data.n_rows)
    return problem.data.columns().values.reshape(problem.n_columns, -1)[index]


def chosen_model(problem: Problem, point: Point, hessian: Hessian, index: IntArray) -> MatrixModel:
    """A model of all rows over the columns ``index``."""
    data, h = problem.data, hessian.row_curvature
    lines, side, top = None, np.zeros(index.size), 0.0
    if data.n_entries == data.n_rows * data.n_columns:
        lines = dense_lines(problem, index)
        gram = (lines * h) @ lines.T
        problem.counts.passes += _product_passes(index.size, index.size, problem.n_columns)
    else:
        slot = np.full(problem.n_columns, -1, dtype=np.int32)
        slot[index] = np.arange(index.size)
        gram = np.zeros((index.size, index.size))
        coordinate.gram_chosen(*data.row_lines(), slot, h, gram)
        problem.counts.passes += data.gram_passes() * index.size / problem.n_columns
    if problem.has_intercept:
        side = data.gradient(h)[index] if lines is None else lines @ h
        top = float(h.sum())
    factors, core = hessian.low_rank()
    cancelled = _cancelled(factors[index], core)
    if core.size:
        rows = factors[index]
        gram += rows @ core @ rows.T
        if problem.has_intercept:
            last = core @ factors[-1]
            side, top = side + rows @ last, top + float(factors[-1] @ last)
    cost = 0.0 if lines is None else _product_passes(index.size, index.size, data.n_columns)
    model = MatrixModel.of(index, gram, side, top, point, h, lines, cancelled=cancelled)
    return replace(model, cost=cost)


def _cancelled(factors: FloatArray, core: FloatArray) -> FloatArray:
    """What ``factors core factors'`` takes off the diagonal."""
    lost: FloatArray = np.maximum(-((factors @ core) * factors).sum(axis=1), 0.0)
    return lost


def full_model(problem: Problem, point: Point, hessian: Hessian) -> MatrixModel:
    """A model over all columns, of sampled rows where all would be dear."""
    matrix, d = hessian.model_matrix(), problem.n_columns
    side, top = np.zeros(d), 0.0
    if problem.has_intercept:
        side, top = matrix[:d, d], float(matrix[d, d])
    factors, core = hessian.low_rank()
    model = MatrixModel.of(
        np.arange(d), matrix[:d, :d], side, top, point, hessian.row_curvature,
        cancelled=_cancelled(factors[:d], core),
    )  # fmt: skip
    dense = problem.data.n_entries == problem.data.n_rows * d
    return replace(model, cost=_product_passes(d, d, d) if dense and not hessian.sampled else 0.0)
