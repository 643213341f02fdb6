"""Reading a whole file of any format into a matrix, its labels and a schema."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.errors import DataError, ParameterError, speaks_as, warn
from auctor.core.memory import enough_memory
from auctor.core.types import Array
from auctor.tables.arrays import npz_chunks
from auctor.tables.blocks import TableFile
from auctor.tables.columns import EXACT_INTEGERS
from auctor.tables.encode import Encoder, fit_width, refuse_missing
from auctor.tables.formats import TABLES, check_format, format_to_read
from auctor.tables.gather import find_schema, gathered
from auctor.tables.infer import Note, note_unreadable
from auctor.tables.lost import Lost, lost_warnings, refuse_lost
from auctor.tables.options import DEFAULTS, IN_PARTS, ReadOptions, reading_option
from auctor.tables.schema import KEEP, ColumnSummary, Schema
from auctor.tables.source import Source
from auctor.tables.stats import ColumnStats
from auctor.tables.stream import check_file, check_unnamed
from auctor.tables.svmlight_matrix import svmlight_matrix


class Table(NamedTuple):
    """A file that was read into memory.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    labels : (n,) array, optional
        Numbers (integers if all are whole) or text.
    summary : tuple of ColumnSummary
        One for each column of the schema; empty for sparse rows without names.
    lost : mapping
        Counts of the values that the given schema cannot use, by column.
    """

    matrix: Any
    labels: Array | None
    schema: Schema
    summary: tuple[ColumnSummary, ...]
    lost: Mapping[str, Lost] = MappingProxyType({})


@speaks_as("read_table")
def read_table(
    source: Any, reading: ReadOptions = DEFAULTS, *, dtype: npt.DTypeLike | None = None
) -> Table:
    r"""Read a file into memory, with categories encoded as numbers.

    In text an empty field, NA, N/A, NaN, null, None and ? are missing values; in Parquet and Arrow
    files null is one too. A `DataWarning` names columns that are left out because they have no
    values (not with ``missing="zero"``), columns of dates, columns that are categories only because
    of a few values among numbers, and columns with whole numbers beyond 2^53.

    Parameters
    ----------
    source : path, "-" or file object
        "-" is standard input. Text may be compressed (gz, bz2, xz; zst with zstandard).
    dtype : float64 or float32, optional
        Type of the matrix; float64 by default.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b"age,city,bought\n31,Oslo,1\n45,Rome,0\n")
    >>> table = read_table(text, ReadOptions(format="csv", label="bought"))
    >>> table.matrix.tolist(), table.labels.tolist()
    ([[31.0, 1.0, 0.0], [45.0, 0.0, 1.0]], [1, 0])
    >>> table.schema.feature_names
    ('age', 'city=Oslo', 'city=Rome')
    """
    table = read_file(source, reading, dtype=dtype)
    for warning in lost_warnings(table.lost, table.matrix.shape[0], unseen=False):
        warn(warning)
    return table


def read_file(source: Any, options: ReadOptions, *, dtype: npt.DTypeLike | None = None) -> Table:
    """Read a file into memory as the options say; see `read_table`."""
    check_format(options.format)
    kind = np.dtype(np.float64 if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"`dtype` to be float64 or float32; got {kind}. Pass one of these.")
    check_file(source)
    file = Source(source)
    notes: list[Note] = []
    try:
        file_format = format_to_read(options.format, file.name)
        with enough_memory(file.name, todo=IN_PARTS):
            return read_source(file, file_format, options, notes, kind)
    finally:  # notes are given even if reading fails
        file.close()
        for note in notes:
            warn(note.warning())


def read_source(
    file: Source, format: str, options: ReadOptions, notes: list[Note], kind: Any = np.float64
) -> Table:
    """Read an open file; warnings for the user are appended to ``notes``."""
    if format == "svmlight":
        return _svmlight(file, options, kind)
    file.keep()
    opened = TABLES[format](file, options)
    if opened is None:
        return _sparse(file, options, kind)
    return encode_table(opened, file.name, options, kind, notes)


def _svmlight(file: Source, options: ReadOptions, kind: Any) -> Table:
    """A svmlight file as a table."""
    matrix, labels, first = svmlight_matrix(file, options, kind)
    return _unnamed(matrix, labels, file.name, options, first)


def _sparse(file: Source, options: ReadOptions, kind: Any) -> Table:
    """A NPZ file with a sparse matrix as a table."""
    (chunk,) = npz_chunks(file, options, whole=True)
    matrix = chunk.matrix.astype(kind, copy=False)
    labels = chunk.labels
    if labels.dtype.kind == "f" and not options.labelled and np.isnan(labels).all():
        return _unnamed(matrix, None, file.name, options, None)
    return _unnamed(matrix, labels, file.name, options, None)


def _unnamed(
    matrix: Any, labels: Array | None, name: str, options: ReadOptions, first: int | None
) -> Table:
    """A table of sparse rows without column names; ``first`` is the first index of svmlight."""
    if options.columns is not None:
        raise ParameterError(
            f"column names to choose columns by name; got {name}. Drop `ReadOptions(columns=)`."
        )
    if matrix.nnz and np.isnan(matrix.data.min()):
        if options.missing_rule == "zero":
            np.nan_to_num(matrix.data, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
        elif options.missing_rule != KEEP:
            where = matrix.indices[np.isnan(matrix.data)]
            columns, counts = np.unique(where, return_counts=True)
            shift = 1 if first is None else first
            refuse_missing(
                {str(int(j) + shift): int(c) for j, c in zip(columns, counts, strict=True)},
                name,
                advice="Pass {option}, or fill or drop them first.",
                option=reading_option("missing", "zero"),
            )
    schema = options.schema
    if schema is None:
        schema = Schema((), None, matrix.shape[1], None, first)
    else:
        check_unnamed(schema)
        matrix = fit_width(matrix, schema.n_features)
    return Table(matrix, _finished(labels, name, options), schema, ())


def encode_table(
    file: TableFile,
    name: str,
    options: ReadOptions,
    kind: Any,
    notes: list[Note],
    labels: Array | None = None,
) -> Table:
    """A file with columns as a table, encoded by the schema of the options or an inferred one.

    Warnings for the user are appended to ``notes``. ``labels`` are the labels of a table without a
    label column, for the check of its columns.
    """
    if not file.names:
        raise _no_rows(name, options)
    if options.schema is not None:
        refuses = options.unreadable == "refuse"
        encode = Encoder(options.schema, file, name, refuses=refuses)
        whole, stats = gathered(file, encode.kinds, options), ColumnStats()
        stats.add(encode.with_dates(whole))
        encode.lost = {}  # which `encode` counts again
        summary = tuple(
            stats.number(column.name, place)._replace(kind=column.kind)
            if place >= 0
            else stats.category(column.name, -1 - place)
            for column, place in zip(encode.columns, encode.places.tolist(), strict=True)
        )
    else:
        whole, schema, summary = find_schema(file, name, options, notes, labels)
        encode = Encoder(schema, file, name)
    if not whole.n_rows:
        raise _no_rows(name, options)
    finished = _finished(whole.labels, name, options)
    with np.errstate(over="ignore"):  # float32 turns numbers beyond its range into infinity
        matrix = encode(whole).astype(kind, copy=False)
    if options.schema is None:
        notes += note_unreadable(encode.lost, name)
    elif options.unreadable == "refuse":
        refuse_lost(encode.lost, name)
    return Table(matrix, finished, encode.schema, summary, encode.lost)


def _no_rows(name: str, options: ReadOptions) -> DataError:
    return DataError(f"some rows; got none in {name}. Check the file.")


def _finished(labels: Array | None, name: str, options: ReadOptions) -> Array | None:
    """The labels, as integers if all are whole; refuses missing ones unless none are needed."""
    if labels is None:
        return None
    if labels.dtype.kind == "f":
        missing = int(np.isnan(labels).sum())
        if missing and not options.labelled:
            return None
        if missing:
            raise DataError(
                f"a label in every row; got {missing} missing in {name}. Drop those rows."
            )
        if (np.trunc(labels) == labels).all() and (np.abs(labels) <= EXACT_INTEGERS).all():
            return labels.astype(np.int64)
    elif labels.dtype.kind == "b":
        return labels.astype(np.int64)
    return labels
