"""Columns of a Spark DataFrame as rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.optional import require
from auctor.core.types import FloatArray

#: Name of the column of arrays that a column of vectors becomes.
ARRAY = "features"


def check_columns(frame: Any, wanted: Sequence[str], who: str) -> None:
    """Refuse names that the frame does not have."""
    missing = [one for one in wanted if one not in frame.columns]
    if missing:
        raise DataError(
            who,
            needs="features and a label among the columns of the frame",
            got=f"{missing[0]!r}",
            todo=f"Columns: {', '.join(frame.columns[:10])}.",
        )


def feature_columns(frame: Any, features: str | Sequence[str]) -> list[Any]:
    """Columns to select: numbers by their names, or a column of vectors as arrays."""
    functions = require("pyspark.sql.functions", extra="spark", who="auctor.spark")
    if not isinstance(features, str):
        return [functions.col(name).cast("double").alias(name) for name in features]
    vectors = require("pyspark.ml.linalg", extra="spark", who="auctor.spark").VectorUDT
    column = functions.col(features)
    if isinstance(frame.schema[features].dataType, vectors):
        to_array = require("pyspark.ml.functions", extra="spark", who="auctor.spark")
        column = to_array.vector_to_array(column)
    return [column.alias(ARRAY)]


def matrix_of(table: Any) -> FloatArray:
    """Rows of numbers of a pandas table of `feature_columns`."""
    if list(table.columns) == [ARRAY] and table[ARRAY].dtype == object:
        rows = table[ARRAY].to_numpy()
        return np.stack(rows).astype(np.float64) if rows.size else np.empty((0, 0))
    return np.ascontiguousarray(table.to_numpy(dtype=np.float64))
