"""A second-order model over compressed columns, minimised by coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import Array, Columns, FloatArray, IntArray, SeparableSpec
from auctor.kernels import coordinate
from auctor.problem import Point, Problem

#: Up to this many dense columns are worth a Gram matrix.
GRAM_COLUMNS = 1500


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

    def lines(self, n_rows: int) -> Array | None:
        """Dense columns as rows of an array, ``None`` for sparse ones."""
        size = self.columns.indptr.shape[0] - 1
        dense = self.columns.values.size == size * n_rows
        return self.columns.values.reshape(size, n_rows) if dense else None

    def local(self, array: FloatArray) -> FloatArray:
        """The entries of a per-column array that belong to the columns at hand."""
        return array if self.index is None else array[self.index]


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
    lines = store.lines(problem.data.n_rows)
    if lines is not None and chosen.size <= GRAM_COLUMNS:
        return _by_gram(problem, point, spec, lines[local], chosen, max_sweeps, tol)
    curvature, moved = np.zeros(gradient.shape[0]), np.zeros(gradient.shape[0])
    coordinate.column_curvatures(*store.columns, h, local, curvature)
    curvature[local] += ((rows[local] @ core) * rows[local]).sum(axis=1)
    curvature[local] += damping(curvature[local], point.gradient)
    sweeps, shift, work = coordinate.descend_columns(
        *store.columns, h, gradient, curvature, coef, *levels, rows, core,
        problem.has_intercept, local, moved, np.zeros(h.shape[0]), max_sweeps, tol, random,
    )  # fmt: skip
    problem.counts.passes += work / max(1, problem.data.n_entries)
    change = np.full(h.shape[0], shift)
    coordinate.combine_columns(*store.columns, moved, local, change)
    full = moved
    if index is not None:
        full = np.zeros(d)
        full[index] = moved
    return Descent(problem.join(full, shift), change, sweeps)


def _by_gram(
    problem: Problem,
    point: Point,
    spec: SeparableSpec,
    lines: Array,
    chosen: IntArray,
    max_sweeps: int,
    tol: float,
) -> Descent:
    """Minimise the model over dense columns through their Gram matrix."""
    hessian = problem.hessian(point)
    h = hessian.row_curvature
    factors, core = hessian.low_rank()
    last = [problem.n_columns] if problem.has_intercept else []
    index = np.concatenate([chosen, np.array(last, dtype=chosen.dtype)])
    if last:
        lines = np.vstack([lines, np.ones(lines.shape[1])])
    rows = factors[index]
    gram = (lines * h) @ lines.T + rows @ core @ rows.T
    gram[np.diag_indices_from(gram)] += damping(np.diag(gram), point.gradient)
    levels = SeparableSpec(*(level[index] for level in padded(problem, spec)))
    moved = np.zeros(index.size)
    sweeps = coordinate.descend_matrix(
        np.ascontiguousarray(gram), point.gradient[index], point.w[index], *levels, moved,
        20 * max_sweeps, tol / max(1.0, np.sqrt(index.size)),
    )  # fmt: skip
    problem.counts.passes += 2.0 * lines.size / max(1, problem.data.n_entries)
    direction = np.zeros(problem.n_params)
    direction[index] = moved
    return Descent(direction, moved @ lines, sweeps)


def damping(diagonal: FloatArray, gradient: FloatArray) -> FloatArray:
    """Curvature to add: a trace of a column's own, so that scales do not matter.

    Flat columns get the largest curvature, and where all is flat that of a unit step.
    """
    top = float(diagonal.max(initial=0.0)) or float(np.abs(gradient).max(initial=0.0))
    return np.where(diagonal > 0.0, 1e-10 * diagonal, top)


def padded(problem: Problem, spec: SeparableSpec) -> SeparableSpec:
    """The penalty's arrays with an unpenalised, unbounded entry for the intercept."""
    return SeparableSpec(*map(problem.join, spec, (0.0, 0.0, -np.inf, np.inf)))
