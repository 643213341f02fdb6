"""How far the test rows differ from the training rows, column by column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from auctor.core.types import Array, FloatArray
from auctor.data.matrices import dense_array
from auctor.data.preparation import Scaling
from auctor.tables.schema import Column, Schema

#: Rows of each side that are compared, evenly spaced: the tests see a distance of 0.02 in them.
MOST_ROWS = 20_000
#: Columns of the matrix that one column of a table may have, and still be compared.
MOST_LEVELS = 1000
#: Probability, over all columns together, that equal distributions are called different.
CHANCE = 0.01
#: Smallest distance of distributions that is called different, however many rows there are.
LEAST = 0.02


class Drift(NamedTuple):
    """The difference between the test rows and the training rows in one column.

    Parameters
    ----------
    distance : float
        Of numbers, the largest difference of the distribution functions; of categories, half the
        sum of the differences of the shares. 0 is no difference, 1 is none in common.
    p_value : float
        Of the test of Kolmogorov and Smirnov, or of the chi-squared test.
    """

    distance: float
    p_value: float


def drifts(
    schema: Schema, train: Any, test: Any, scaling: Scaling | None = None
) -> dict[str, Drift]:
    """The drift of every column of a table, by its name.

    Parameters
    ----------
    schema : Schema
    train, test : matrix
        Encoded rows.
    scaling : Scaling, optional
        How the training rows were scaled, if they were.

    Examples
    --------
    >>> schema = Schema.of([Column("age", "number")], None)
    >>> rows = np.arange(100.0)[:, None]
    >>> drifts(schema, rows, rows + 50.0)["age"].distance
    0.5
    """
    sides = [_sample(matrix) for matrix in (train, test)]
    changes = {}
    for column, place in schema.places:
        if not 0 < column.width <= MOST_LEVELS:
            continue
        one, two = (dense_array(matrix[:, place]) for matrix in sides)
        if scaling is not None:  # as the training rows: undone, equal values would be rounded apart
            two = ((two - scaling.mean[place]) * scaling.factor[place]).astype(one.dtype)
        changes[column.name] = _of_column(column, one, two)
    return changes


def differs(drift: Drift, columns: int) -> bool:
    """Whether a difference is more than chance among so many columns, and not tiny.

    Examples
    --------
    >>> differs(Drift(0.3, 1e-6), 20), differs(Drift(0.01, 1e-6), 20), differs(Drift(0.3, 0.01), 20)
    (True, False, False)
    """
    return drift.p_value * columns < CHANCE and drift.distance >= LEAST


def _sample(matrix: Any) -> Any:
    """At most `MOST_ROWS` evenly spaced rows."""
    return matrix[:: -(-matrix.shape[0] // MOST_ROWS)]


def _of_column(column: Column, one: Array, two: Array) -> Drift:
    """The drift of a column from its columns of the matrix on both sides."""
    if column.kind == "category":
        if column.numbered:
            width = len(column.levels or ()) + 2  # unknown levels, then missing ones
            counts = [_level_counts(side[:, 0], width) for side in (one, two)]
        else:
            counts = [_indicator_counts(side) for side in (one, two)]
        return _of_counts(np.array(counts))
    parts = [side[~np.isnan(side)] for side in (one, two)]
    missing = _of_counts(
        np.array([[k.size, side.size - k.size] for k, side in zip(parts, (one, two), strict=True)])
    )
    if not (parts[0].size and parts[1].size):
        return missing
    test = stats.ks_2samp(parts[0], parts[1], method="asymp")
    values = Drift(float(test.statistic), float(test.pvalue))
    return min(values, missing, key=lambda drift: drift.p_value)


def _level_counts(codes: Array, width: int) -> FloatArray:
    """Numbers of rows of each level, of unknown ones and of missing ones."""
    known = np.where(np.isnan(codes), width - 1, codes).astype(np.int64).clip(0, width - 1)
    return np.bincount(known, minlength=width).astype(np.float64)


def _indicator_counts(marks: Array) -> FloatArray:
    """Numbers of rows of each column of zeros and ones, and of rows without a one."""
    ones = np.rint(marks).sum(axis=0)
    return np.append(ones, max(0.0, marks.shape[0] - ones.sum()))


def _of_counts(counts: FloatArray) -> Drift:
    """The drift of two rows of counts."""
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2 or not counts.sum(axis=1).all():
        return Drift(0.0, 1.0)
    shares = counts / counts.sum(axis=1, keepdims=True)
    p_value = stats.chi2_contingency(counts, correction=False).pvalue
    return Drift(float(0.5 * np.abs(shares[0] - shares[1]).sum()), float(p_value))
