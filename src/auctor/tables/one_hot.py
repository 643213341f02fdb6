"""The table of an additive model as that of a linear one: zeros and ones, and no missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.tables.encode import compressed
from auctor.tables.schema import KEEP, Column, Schema


def one_hot_schema(schema: Schema, matrix: Any) -> Schema:
    """The schema with a column of zeros and ones for each level, and medians for missing numbers.

    ``matrix`` has the training rows, of which the medians are taken.

    Examples
    --------
    >>> columns = [
    ...     Column("a", "number", KEEP),
    ...     Column("b", "category", "", ("u", "v"), numbered=True),
    ... ]
    >>> rows = np.array([[1.0, 0.0], [3.0, np.nan], [np.nan, 1.0]])
    >>> plain = one_hot_schema(Schema.of(columns, None), rows)
    >>> plain.feature_names, plain.columns[0].fill
    (('a', 'b=u', 'b=v'), 2.0)
    """
    return Schema.of((_plain(*pair, matrix) for pair in schema.places), schema.label)


def one_hot_rows(schema: Schema, plain: Schema, matrix: Any) -> Any:
    """Rows of a schema as those of `one_hot_schema`; the same matrix where nothing differs.

    Examples
    --------
    >>> columns = [
    ...     Column("a", "number", KEEP),
    ...     Column("b", "category", "", ("u", "v"), numbered=True),
    ... ]
    >>> rows = np.array([[1.0, 0.0], [3.0, np.nan], [np.nan, 1.0]])
    >>> schema = Schema.of(columns, None)
    >>> one_hot_rows(schema, one_hot_schema(schema, rows), rows).tolist()
    [[1.0, 1.0, 0.0], [3.0, 0.0, 0.0], [2.0, 0.0, 1.0]]
    """
    gaps = any(column.fill == KEEP for column in schema.columns)
    if not schema.numbered_levels and not (gaps and np.isnan(matrix.sum())):
        return matrix
    numbers: list[Any] = []
    ones: list[Any] = []
    places, offsets = [], []
    for (column, place), (made, goal) in zip(schema.places, plain.places, strict=True):
        if column.numbered:
            codes = matrix[:, place.start]
            known = codes < len(column.levels or ())  # neither missing nor an unknown level
            ones.append(np.where(known, codes + goal.start, -1.0))
            places.append(-len(ones))
            offsets.append(goal.start)
            continue
        for k in range(column.width):  # several columns of the words of a text
            values = matrix[:, place.start + k]
            gap = np.isnan(values) if column.fill == KEEP else np.zeros(0, dtype=bool)
            numbers.append(np.where(gap, made.fill, values) if gap.any() else values)
            places.append(len(numbers) - 1)
            offsets.append(goal.start + k)
    n = matrix.shape[0]
    wide = np.column_stack(numbers) if numbers else np.empty((n, 0))
    features = np.column_stack(ones).astype(np.int64) if ones else np.empty((n, 0), np.int64)
    if plain.is_sparse:
        where = np.array(places), np.array(offsets)
        return compressed(np.ascontiguousarray(wide), features, *where, plain.n_features)
    out = np.zeros((n, plain.n_features))
    for at, offset in zip(places, offsets, strict=True):
        if at >= 0:
            out[:, offset] = wide[:, at]
    row, which = np.nonzero(features >= 0)
    out[row, features[row, which]] = 1.0
    return out


def _plain(column: Column, place: slice, matrix: Any) -> Column:
    """A column without numbers of levels and without missing values."""
    if column.numbered:
        return column._replace(numbered=None)
    if column.fill != KEEP:
        return column
    values = matrix[:, place.start]
    known = values[~np.isnan(values)]
    return column._replace(fill=float(np.median(known)) if known.size else 0.0)
