"""A second-order model over some columns, given by its matrix, that outlives a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.cost import product_passes
from auctor.core.linalg import spd_solve
from auctor.core.needs import Need
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent import coordinate
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian
from auctor.solvers.sparse.models.columns import damping, floor_of

#: Sweeps by coordinates before steps on the support; set by hand.
SWEEPS = 100
#: What steps on the support add to a singular matrix of unit diagonal: some bits above rounding.
FLAT = 1e-11
#: How many times as large a step on the support may make the largest entry; set by hand.
LONGEST = 1e4
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
    sampled: bool = False  # made of some rows only

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
        l1, l2, lower, upper = (level[index] for level in spec)
        # The model divided by the scale: the matrix is used as it is.
        part = SeparableSpec(l1 / scale, l2 / scale, lower, upper)
        moved = _lowest(self.reduced, slope, point.w[index], part, max_sweeps, tol / scale)
        direction, change = np.zeros(problem.n_params), None
        direction[index] = moved
        shift = 0.0
        if problem.has_intercept and self.top > 0.0:
            shift = -(ahead + float(self.side @ moved)) / self.top
            direction[-1] = shift
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
    """How far from the start a quadratic plus a penalty is lowest.

    By coordinates; where these move slowly, as on columns that are nearly multiples of each other,
    by steps on the support in between.
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
    """Newton steps with the signs as they are; entries that come to 0 or a bound stay there."""
    l1, l2, lower, upper = spec
    free = (x != 0.0) & (x > lower) & (x < upper)
    while free.any():
        index = np.flatnonzero(free)
        at = x[index]
        tilt = slope[index] + l1[index] * np.sign(at) + l2[index] * at
        block = matrix[np.ix_(index, index)]
        block[np.diag_indices_from(block)] += l2[index]
        step = -spd_solve(block, floor=FLAT)(tilt)
        if not np.isfinite(step).all() or not float(tilt @ step) < 0.0:
            break
        ahead = np.where(step > 0.0, upper[index], lower[index])
        far = np.where(at * step < 0.0, np.clip(0.0, lower[index], upper[index]), ahead)
        reach = np.divide(far - at, step, out=np.full(at.size, np.inf), where=step != 0.0)
        least = int(np.argmin(reach))
        length = min(1.0, float(reach[least]))
        new = at + length * step
        if float(np.abs(new).max()) > LONGEST * float(np.abs(at).max()):
            break  # a model without curvature there says nothing of points so far away
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
    part = problem.data.some_columns(index, 1.0)
    if part is not None:
        return part.values.reshape(index.size, problem.data.n_rows)
    return problem.data.columns().values.reshape(problem.n_columns, -1)[index]


def chosen_model(problem: Problem, point: Point, hessian: Hessian, index: IntArray) -> MatrixModel:
    """A model of all rows over the columns ``index``."""
    data, h = problem.data, hessian.row_curvature
    lines, side, top = None, np.zeros(index.size), 0.0
    if Need.COLUMNS not in problem.provides:
        part = data.only(index)
        gram = part.gram(h)
        problem.counts.passes += part.gram_passes() * part.n_entries / max(1, data.n_entries)
    elif data.n_entries == data.n_rows * data.n_columns:
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


def full_model(
    problem: Problem, point: Point, hessian: Hessian, *, whole: bool = False
) -> MatrixModel:
    """A model over all columns, of sampled rows where all would be dear, unless ``whole``."""
    matrix, d = hessian.model_matrix(whole=whole), problem.n_columns
    side, top = np.zeros(d), 0.0
    if problem.has_intercept:
        side, top = matrix[:d, d], float(matrix[d, d])
    factors, core = hessian.low_rank()
    model = MatrixModel.of(
        np.arange(d), matrix[:d, :d], side, top, point, hessian.row_curvature,
        cancelled=_cancelled(factors[:d], core),
    )  # fmt: skip
    dense = problem.data.n_entries == problem.data.n_rows * d
    sampled = not whole and hessian.sampled
    cost = _product_passes(d, d, d) if dense and not sampled else 0.0
    return replace(model, cost=cost, sampled=sampled)
