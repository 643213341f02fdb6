"""Parquet files, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.optional import require
from auctor.core.types import Array
from auctor.data.readers.base import CHUNK_ENTRIES, WHO, Chunk, Settings, Source
from auctor.data.readers.delimited import find_label


def parquet_chunks(source: Source, settings: Settings) -> Iterator[Chunk]:
    """Chunks of a Parquet file, read group by group; null becomes NaN."""
    require("pyarrow", extra="cli", who=f"{WHO} of Parquet")
    import pyarrow as pa
    from pyarrow import parquet

    if source.live:
        raise DataError(
            f"{WHO} needs a Parquet file that it can jump around in; got standard input. "
            "Pass a path."
        )
    try:
        file = parquet.ParquetFile(source.raw())
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{WHO} needs a Parquet file; got {source.name}: {error}. Check the format."
        ) from error
    names = list(file.schema_arrow.names)
    label = find_label(source.name, names, settings, len(names))
    columns = tuple(name for k, name in enumerate(names) if k != label)
    _check_types(source.name, file.schema_arrow, label, settings)
    most_rows = max(1, min(settings.chunk_rows, CHUNK_ENTRIES // len(names)))
    try:
        for batch in file.iter_batches(batch_size=most_rows, use_threads=False):
            if batch.num_rows:
                yield _chunk(batch, label, columns, source.name)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{WHO} needs a Parquet file that can be read to its end; got {error} in "
            f"{source.name}. Check that it is complete."
        ) from error


def _check_types(name: str, schema: Any, label: int, settings: Settings) -> None:
    from pyarrow import types

    for k, field in enumerate(schema):
        number = any(
            test(field.type) for test in (types.is_integer, types.is_floating, types.is_boolean)
        )
        if k == label:
            number = number or not types.is_nested(field.type)
        if not number:
            raise DataError(
                f"{WHO} needs numeric columns; got {field.name!r} of type {field.type} in {name}. "
                "Encode or drop it first."
            )
    if settings.n_features not in (None, len(schema) - 1):
        raise DataError(
            f"{WHO} needs n_features={settings.n_features} columns besides the label; got "
            f"{len(schema) - 1} in {name}. Drop n_features."
        )


def _chunk(batch: Any, label: int, columns: tuple[str, ...], name: str) -> Chunk:
    matrix = np.empty((batch.num_rows, len(columns)))
    for k, column in enumerate(c for i, c in enumerate(batch.columns) if i != label):
        matrix[:, k] = _numbers(column)
    return Chunk(matrix, _labels(batch.column(label), name), columns=columns)


def _numbers(column: Any) -> Array:
    """A numeric column, null as NaN."""
    values: Array = column.to_numpy(zero_copy_only=False)
    return values.astype(np.float64)


def _labels(column: Any, name: str) -> Array:
    """Labels as numbers, with null as NaN, or as text."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if column.null_count:
        raise DataError(
            f"{WHO} needs a label in every row; got null in {name}. Drop such rows first."
        )
    if types.is_boolean(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)
    return np.array([str(value) for value in column.to_pylist()])
