"""A second-order model over compressed columns, minimised by coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import Array, Columns, FloatArray, IntArray, SeparableSpec
from auctor.kernels import coordinate
from auctor.problem import Point, Problem


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


def damping(diagonal: FloatArray, gradient: FloatArray) -> float:
    """Curvature to add: a trace of the largest, or where all is flat, that of a unit step."""
    top = float(diagonal.max(initial=0.0))
    return 1e-10 * top if top > 0.0 else float(np.abs(gradient).max())


def padded(problem: Problem, spec: SeparableSpec) -> SeparableSpec:
    """The penalty's arrays with an unpenalised, unbounded entry for the intercept."""
    return SeparableSpec(*map(problem.join, spec, (0.0, 0.0, -np.inf, np.inf)))
