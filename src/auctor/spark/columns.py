"""Columns of a Spark DataFrame as rows of numbers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.errors import DataError, speaks_as
from auctor.core.optional import require
from auctor.core.types import Array, FloatArray
from auctor.data.matrices import CompressedRows, dense_array, join_compressed

#: Name of a column of arrays.
ARRAY = "features"
#: Names of the parts of a column of vectors: a type (0 sparse, 1 dense), a size, places, values.
VECTOR = ("vector_type", "vector_size", "vector_indices", "vector_values")
#: Bytes of an entry of sparse rows: a value and a place.
SPARSE_ENTRY = 12
#: Bytes of an entry of dense rows: a value.
DENSE_ENTRY = 8


def check_columns(frame: Any, wanted: Sequence[str]) -> None:
    """Refuse names that the frame does not have."""
    missing = [one for one in wanted if one not in frame.columns]
    if missing:
        raise DataError(
            f"features and a label among the columns of the frame; got {missing[0]!r}. Columns: "
            f"{', '.join(frame.columns[:10])}."
        )


@speaks_as("auctor.spark")
def feature_columns(frame: Any, features: str | Sequence[str]) -> list[Any]:
    """Columns to select: numbers by their names, a column of arrays, or the parts of vectors."""
    functions = require("pyspark.sql.functions", extra="spark")
    if not isinstance(features, str):
        return [functions.col(name).cast("double").alias(name) for name in features]
    vectors = require("pyspark.ml.linalg", extra="spark").VectorUDT
    column = functions.col(features)
    if not isinstance(frame.schema[features].dataType, vectors):
        return [column.alias(ARRAY)]
    parts = functions.unwrap_udt(column)
    return [parts[name.removeprefix("vector_")].alias(name) for name in VECTOR]


def matrix_of(table: Any) -> FloatArray | CompressedRows:
    """Rows of numbers of a pandas table of `feature_columns`."""
    if list(table.columns) == list(VECTOR):
        return _of_vectors(*(table[name].to_numpy() for name in VECTOR))
    if list(table.columns) == [ARRAY] and table[ARRAY].dtype == object:
        return _stacked(table[ARRAY].to_numpy())
    return np.ascontiguousarray(table.to_numpy(dtype=np.float64))


@speaks_as("auctor.spark")
def checksum(rows: FloatArray | CompressedRows, labels: Array, weights: Array | None) -> int:
    """A checksum of rows in their order, with labels of any kind."""
    hashed = require("pandas.util", extra="spark").hash_array(labels)
    parts = [rows] if isinstance(rows, np.ndarray) else [rows.indptr, rows.indices, rows.data]
    found = 0
    for part in (*parts, hashed, weights):
        found = found if part is None else zlib.crc32(np.ascontiguousarray(part).data, found)
    return found


def _of_vectors(
    kinds: Array, sizes: Array, places: Array, values: Array
) -> FloatArray | CompressedRows:
    """Vectors as rows: dense where that takes no more memory."""
    sparse = kinds == 0
    if not sparse.any():
        return _stacked(values)
    width = int(sizes[sparse][0])
    everywhere = np.arange(width, dtype=np.int32)
    columns = [at if thin else everywhere for at, thin in zip(places, sparse, strict=True)]
    ends = np.cumsum([0, *(len(row) for row in values)])
    shape = (len(values), width)
    entries = np.concatenate(values).astype(np.float64, copy=False)
    rows = join_compressed(entries, np.concatenate(columns).astype(np.int32), ends, shape)
    rows.sum_duplicates()
    if SPARSE_ENTRY * rows.nnz >= DENSE_ENTRY * shape[0] * width:
        return dense_array(rows)
    return rows


def _stacked(rows: Array) -> FloatArray:
    return np.array(rows.tolist(), dtype=np.float64) if rows.size else np.empty((0, 0))
