"""Standardisation: fits use columns of unit deviation, models have weights in data units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from auctor.core.protocols import Penalty
from auctor.core.result import Solution
from auctor.core.types import FloatArray, Target
from auctor.data.coerce import in_shards, stored
from auctor.data.matrices import column_ends
from auctor.data.preparation import Scaling, column_scaling, looks_scaled, writeable
from auctor.fit.parameters import LinearParameters
from auctor.fit.reasons import ColumnRanges
from auctor.fit.targets import Rows


def scaling_for(
    params: LinearParameters, matrix: Any, weight: FloatArray | None = None
) -> Scaling | None:
    """The scaling of the columns of a matrix before a fit; ``None`` for no scaling.

    Parameters
    ----------
    params : LinearParameters
        Its ``standardise`` decides. Without an intercept the columns are not centred.
    matrix : array or sparse matrix
        As `auctor.data.as_matrix` returns it.
    weight : (n,) array, optional
        Row weights.
    """
    if not isinstance(params.standardise, str) and not params.standardise:
        return None
    auto = isinstance(params.standardise, str)
    if auto and _bounds_weights(params.penalty, matrix.shape[1]):
        return None
    scaling = column_scaling(matrix, centre=bool(params.fit_intercept), weight=weight)
    return None if auto and looks_scaled(matrix, scaling) else scaling


def _bounds_weights(penalty: str | Penalty, d: int) -> bool:
    """Whether a penalty has finite bounds on weights other than 0, which are in data units."""
    spec = None if isinstance(penalty, str) else penalty.separable(d)
    if spec is None:
        return False
    bounds = np.concatenate([spec.lower, spec.upper])
    return bool((np.isfinite(bounds) & (bounds != 0.0)).any())


def scaled_rows(params: LinearParameters, rows: Rows, *, in_place: bool = False) -> Rows:
    """The rows with columns scaled by `scaling_for`; unchanged if they were scaled before.

    With ``in_place`` the matrix itself is scaled if it is writeable, otherwise a copy of it.
    """
    if rows.scaling is not None:
        return rows
    scaling = scaling_for(params, rows.matrix, rows.weight)
    if scaling is None:
        return rows
    if in_place and writeable(rows.matrix):
        scaling.apply_in_place(rows.matrix)
        return replace(rows, scaling=scaling)
    return replace(rows, matrix=scaling.apply(rows.matrix), scaling=scaling)


def column_ranges(
    matrix: Any, scaling: Scaling | None, weight: FloatArray | None, coef: FloatArray
) -> ColumnRanges | None:
    """Mean and range of the columns over the training rows, unscaled; ``None`` for shards.

    Columns without weights get zeros, which take no room in a file.
    """
    if in_shards(matrix):
        return None
    if weight is not None and not weight.all():
        matrix, weight = matrix[weight > 0.0], weight[weight > 0.0]
    target = Target(np.empty(matrix.shape[0]), weight)
    mean = stored(matrix, target).gradient(target.share)
    ranges = np.array([mean, *column_ends(matrix)])
    if scaling is not None:
        ranges = ranges / scaling.factor + scaling.mean
    return ColumnRanges(*np.where(coef.any(axis=0), ranges, 0.0))


def to_data_units(scaling: Scaling | None, solutions: Sequence[Solution]) -> list[Solution]:
    """Convert solutions from scaled columns to the original columns."""
    if scaling is None:
        return list(solutions)
    back = []
    for solution in solutions:
        coef, intercept = scaling.undo(solution.coef, solution.intercept)
        back.append(replace(solution, coef=coef, intercept=float(intercept)))
    return back


def to_scaled_units(
    scaling: Scaling | None, solutions: Sequence[Solution | None] | None
) -> list[Solution | None] | None:
    """Convert solutions from the original columns to scaled ones, for a warm start.

    A solution with another number of columns becomes ``None``.
    """
    if solutions is None:
        return None
    if scaling is None:
        return list(solutions)
    there: list[Solution | None] = []
    for solution in solutions:
        if solution is None or solution.coef.shape != scaling.factor.shape:
            there.append(None)
            continue
        coef, intercept = scaling.redo(solution.coef, solution.intercept)
        there.append(replace(solution, coef=coef, intercept=float(intercept)))
    return there
