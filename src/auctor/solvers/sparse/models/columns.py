"""A second-order model over compressed columns, minimised by coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent import coordinate
from auctor.problem import Point, Problem
from auctor.solvers.base import memory_of
from auctor.solvers.sparse.models.shared import InterceptRow

#: Curvature added to every column, as a share of its own.
DAMPING = 1e-10


@dataclass(frozen=True)
class Store:
    """Compressed columns in memory: all of them, or those of ``index``."""

    columns: CompressedColumns
    index: IntArray | None

    def covers(self, columns: IntArray, d: int) -> bool:
        """Whether all chosen columns are in memory."""
        if self.index is None:
            return True
        here = np.zeros(d, dtype=bool)
        here[self.index] = True
        return bool(here[columns].all())

    def local(self, array: FloatArray) -> FloatArray:
        """The entries of a per-column array that belong to the columns in memory."""
        return array if self.index is None else array[self.index]


@dataclass(frozen=True)
class ColumnStep:
    """A direction, the change of the scores along it, and the sweeps it took."""

    direction: FloatArray
    change: FloatArray
    sweeps: int


def descend(
    problem: Problem,
    point: Point,
    spec: SeparableSpec,
    store: Store,
    columns: IntArray,
    *,
    max_sweeps: int,
    tol: float,
    random: Array,
) -> ColumnStep:
    """Minimise the model at ``point`` over the chosen columns by residual updates."""
    d, index = problem.n_columns, store.index
    hessian = problem.hessian(point)
    h = hessian.row_curvature
    factors, core = hessian.low_rank()
    rows = np.ascontiguousarray(store.local(factors[:d]))
    gradient, coef = store.local(problem.coef(point.gradient)), store.local(problem.coef(point.w))
    levels = SeparableSpec(*map(store.local, spec))
    local = columns if index is None else np.searchsorted(index, columns)
    size, intercept = gradient.shape[0], InterceptRow.absent(gradient.shape[0])
    curvature, moved = np.zeros(size), np.zeros(size)
    coordinate.column_curvatures(*store.columns, h, local, curvature)
    slope = float(point.gradient[-1]) if problem.has_intercept else 0.0
    if problem.has_intercept:
        intercept = InterceptRow(np.zeros(size), float(h.sum()))
        coordinate.column_sums(*store.columns, h, local, intercept.side)
    if intercept.present:
        # No matrix is formed: the Schur complement's part is one more low-rank term.
        rows = np.column_stack([rows, intercept.side])
        core = _extended(core, -1.0 / intercept.corner)
        gradient = intercept.gradient(gradient, slope)
    curvature[local] += ((rows[local] @ core) * rows[local]).sum(axis=1)
    curvature[local] = np.maximum(curvature[local], floor_of(point, h, columns))
    curvature[local] += damping(curvature[local], point.gradient)
    sweeps, work = coordinate.descend_columns(
        *store.columns, h, gradient, curvature, coef, *levels, rows, core,
        local, moved, np.zeros(h.shape[0]), max_sweeps, tol, random,
    )  # fmt: skip
    problem.counts.passes += work / max(1, problem.n_entries)
    shift = intercept.change(moved, slope)
    change = np.full(h.shape[0], shift)
    coordinate.combine_columns(*store.columns, moved, local, change)
    full = moved
    if index is not None:
        full = np.zeros(d)
        full[index] = moved
    return ColumnStep(problem.join(full, shift), change, sweeps)


def score_change(problem: Problem, direction: FloatArray) -> FloatArray:
    """Change of the scores along a direction.

    Only its non-zero columns are read where an earlier solve of the path has stored all columns.
    """
    store = memory_of(problem).columns
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
    eliminated.
    """
    size = spec.l1.shape[0]
    reduced, change = matrix[:size, :size].copy(), np.zeros(matrix.shape[0])
    intercept, slope = InterceptRow.absent(size), 0.0
    if matrix.shape[0] > size:
        intercept = InterceptRow(matrix[:size, size], float(matrix[size, size]))
        slope = float(gradient[size])
    intercept.eliminate(reduced)
    own = intercept.gradient(gradient[:size], slope)
    reduced[np.diag_indices_from(reduced)] += damping(np.diag(reduced), own)
    sweeps = coordinate.descend_matrix(
        reduced, own, w[:size], *spec, change[:size], max_sweeps, tol
    )
    change[size:] = intercept.change(change[:size], slope)
    return change, sweeps


def floor_of(point: Point, h: FloatArray, index: IntArray) -> FloatArray | float:
    """Least curvature of the columns: a small share of what all rows could contribute.

    Where a loss is linear in all rows of a column, the model has no curvature there and no finite
    minimiser. With this floor the step is long but finite, and the line search shortens it. The
    curvature of other columns would be in other units.
    """
    share = point.problem.data.target.share
    if (h[share > 0.0] > 0.0).all():
        return 0.0
    top = float(np.divide(h, share, out=np.zeros_like(h), where=share > 0.0).max())
    # Least curvature of a column, as a share of that if all rows had the largest.
    least: FloatArray = 1e-6 * top * point.problem.column_squares[index]
    return least


def damping(diagonal: FloatArray, gradient: FloatArray) -> FloatArray:
    """Curvature to add: a tiny share of a column's own, whatever its scale.

    Columns without curvature get the largest one, and where no column has any, that which makes
    the longest step 1.
    """
    top = float(diagonal.max(initial=0.0)) or float(np.abs(gradient).max(initial=0.0))
    return np.where(diagonal > 0.0, DAMPING * diagonal, top)
