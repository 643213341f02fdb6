"""A second-order model over compressed columns, minimised by coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import Array, Columns, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent import coordinate
from auctor.problem import Point, Problem

#: Least share of the curvature that a column would have if all rows were bent the most.
FLAT = 1e-6


@dataclass(frozen=True)
class Store:
    """Compressed columns at hand: all of them, or those of ``index``."""

    columns: Columns
    index: IntArray | None

    def covers(self, chosen: IntArray, d: int) -> bool:
        """Whether all chosen columns are here."""
        if self.index is None:
            return True
        here = np.zeros(d, dtype=bool)
        here[self.index] = True
        return bool(here[chosen].all())

    def local(self, array: FloatArray) -> FloatArray:
        """The entries of a per-column array that belong to the columns at hand."""
        return array if self.index is None else array[self.index]


@dataclass
class SharedColumns:
    """The columns that the solves of a path share."""

    store: Store | None = None


@dataclass(frozen=True)
class Descent:
    """A direction, the change of the scores along it, and the sweeps it took."""

    direction: FloatArray
    change: FloatArray
    sweeps: int


def descend(
    problem: Problem,
    point: Point,
    spec: SeparableSpec,
    store: Store,
    chosen: IntArray,
    *,
    max_sweeps: int,
    tol: float,
    random: Array,
) -> Descent:
    """Minimise the model at ``point`` over the chosen columns by residual updates."""
    d, index = problem.n_columns, store.index
    hessian = problem.hessian(point)
    h = hessian.row_curvature
    factors, core = hessian.low_rank()
    rows = np.ascontiguousarray(store.local(factors[:d]))
    gradient, coef = store.local(problem.coef(point.gradient)), store.local(problem.coef(point.w))
    levels = SeparableSpec(*map(store.local, spec))
    local = chosen if index is None else np.searchsorted(index, chosen)
    size, total = gradient.shape[0], float(h.sum())
    curvature, moved, sums = np.zeros(size), np.zeros(size), np.zeros(size)
    coordinate.column_curvatures(*store.columns, h, local, curvature)
    slope = float(point.gradient[-1]) if problem.has_intercept else 0.0
    if problem.has_intercept and total > 0.0:
        # The intercept is eliminated: its best change is linear in the others'.
        coordinate.column_sums(*store.columns, h, local, sums)
        rows, core = np.column_stack([rows, sums]), _extended(core, -1.0 / total)
        gradient = gradient - sums * (slope / total)
    curvature[local] += ((rows[local] @ core) * rows[local]).sum(axis=1)
    curvature[local] = np.maximum(curvature[local], floor_of(point, h, chosen))
    curvature[local] += damping(curvature[local], point.gradient)
    sweeps, work = coordinate.descend_columns(
        *store.columns, h, gradient, curvature, coef, *levels, rows, core,
        local, moved, np.zeros(h.shape[0]), max_sweeps, tol, random,
    )  # fmt: skip
    problem.counts.passes += work / max(1, problem.data.n_entries)
    shift = -(slope + float(sums @ moved)) / total if total > 0.0 else 0.0
    shift = shift if problem.has_intercept else 0.0
    change = np.full(h.shape[0], shift)
    coordinate.combine_columns(*store.columns, moved, local, change)
    full = moved
    if index is not None:
        full = np.zeros(d)
        full[index] = moved
    return Descent(problem.join(full, shift), change, sweeps)


def score_change(problem: Problem, direction: FloatArray) -> FloatArray:
    """Scores of a direction, by its columns alone where a path has left all columns."""
    memory = problem.memory
    store = None if memory is None else memory.part(SharedColumns).store
    if store is None or store.index is not None:
        return problem.score_change(direction)
    coef = problem.coef(direction)
    change = np.full(problem.data.n_rows, problem.intercept(direction))
    coordinate.combine_columns(*store.columns, coef, np.flatnonzero(coef), change)
    return change


def _extended(core: FloatArray, last: float) -> FloatArray:
    """A core with one more entry on its diagonal."""
    size = core.shape[0]
    out = np.zeros((size + 1, size + 1))
    out[:size, :size], out[size, size] = core, last
    return out


def descend_on_matrix(
    matrix: FloatArray,
    gradient: FloatArray,
    w: FloatArray,
    spec: SeparableSpec,
    *,
    max_sweeps: int,
    tol: float,
) -> tuple[FloatArray, int]:
    """Change that minimises a model given by its matrix, and the sweeps it took.

    A matrix with one row more than the penalty has coordinates ends with the intercept, which is
    eliminated: its best change is linear in the others'.
    """
    size = spec.l1.shape[0]
    reduced, slope = matrix[:size, :size].copy(), gradient[:size].copy()
    change = np.zeros(matrix.shape[0])
    eliminated = matrix.shape[0] > size and matrix[size, size] > 0.0
    if eliminated:
        side, top = matrix[:size, size], float(matrix[size, size])
        reduced -= np.outer(side, side / top)
        slope -= side * (gradient[size] / top)
    reduced[np.diag_indices_from(reduced)] += damping(np.diag(reduced), slope)
    sweeps = coordinate.descend_matrix(
        reduced, slope, w[:size], *spec, change[:size], max_sweeps, tol
    )
    if eliminated:
        change[size] = -(gradient[size] + side @ change[:size]) / top
    return change, sweeps


def floor_of(point: Point, h: FloatArray, index: IntArray) -> FloatArray | float:
    """Least curvature of columns where rows may have none: a trace of what all rows could give.

    Where a loss is linear in the rows of a column, a model says nothing of how far to go: far, and
    the line search decides. What other columns have is no measure for it.
    """
    share = point.problem.data.target.share
    if (h[share > 0.0] > 0.0).all():
        return 0.0
    top = float(np.divide(h, share, out=np.zeros_like(h), where=share > 0.0).max())
    least: FloatArray = FLAT * top * point.problem.column_squares[index]
    return least


def damping(diagonal: FloatArray, gradient: FloatArray) -> FloatArray:
    """Curvature to add: a trace of a column's own, so that scales do not matter.

    Flat columns get the largest curvature, and where all is flat that of a unit step.
    """
    top = float(diagonal.max(initial=0.0)) or float(np.abs(gradient).max(initial=0.0))
    return np.where(diagonal > 0.0, 1e-10 * diagonal, top)
