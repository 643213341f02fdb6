"""Reading rows once, in chunks: files larger than memory, standard input, generators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from auctor.core.errors import DataError, ParameterError, speaks_as, warn
from auctor.core.memory import enough_memory
from auctor.data.coerce import as_matrix, feature_names
from auctor.tables.arrays import npz_chunks
from auctor.tables.blocks import Chunk
from auctor.tables.encode import Encoder, fit_width
from auctor.tables.formats import TABLES, check_format, format_to_read
from auctor.tables.from_shards import is_shards, stored_chunks
from auctor.tables.gather import find_schema
from auctor.tables.infer import Note
from auctor.tables.lost import Lost, add_lost, lost_warnings, refuse_lost
from auctor.tables.options import DEFAULTS, SKIP, ReadOptions
from auctor.tables.schema import Schema
from auctor.tables.source import Source, read_ahead
from auctor.tables.svmlight import Indices, svmlight_chunks

#: Chunks that are read ahead of the learner: one that is ready, and one for the reader to fill.
CHUNKS_AHEAD = 2
_FEWER = "Pass fewer rows per chunk, or fewer columns."

Reader = Callable[[Source, ReadOptions, Indices], Iterator[Chunk]]


@speaks_as("open_stream")
def open_stream(source: Any, reading: ReadOptions = DEFAULTS) -> Iterator[Chunk]:
    r"""Chunks of rows in the order of the source, read ahead in a thread.

    After the last chunk a `DataWarning` counts dates and amounts that the schema cannot read.

    Parameters
    ----------
    source : path, "-", file object, iterable of (X, y), or list of these
        "-" is standard input. A path may be a folder of shards, as `write_shards` makes it. Text
        may be compressed (gz, bz2, xz; zst with zstandard).

    Yields
    ------
    Chunk

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b"+1 1:0.5 3:2 # a comment\n-1 2:1\n")
    >>> for chunk in open_stream(text):
    ...     print(chunk.labels, chunk.matrix.toarray().tolist())
    [ 1. -1.] [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]
    """
    return _warned(stream_rows(source, reading), sampled=reading.sample_rows > 0)


def _warned(chunks: Iterator[Chunk], sampled: bool) -> Iterator[Chunk]:
    """The chunks; at the end a warning of the values that the schema cannot use."""
    lost: dict[str, Lost] = {}
    rows = 0
    for chunk in chunks:
        add_lost(lost, chunk.lost or {})
        rows += chunk.n_rows
        yield chunk
    of = "the first rows" if sampled else "training"
    for warning in lost_warnings(lost, rows, of, unseen=False):
        warn(warning)


def stream_rows(source: Any, options: ReadOptions) -> Iterator[Chunk]:
    """Chunks of rows, read as the options say; see `open_stream`."""
    check_format(options.format)
    return _numbered(_parts(source), options)


def _parts(source: Any) -> Iterable[Any]:
    """The files or pairs (X, y) of a source."""
    if is_file(source):
        return (source,)
    if isinstance(source, tuple) and not (len(source) and is_file(source[0])):
        return (source,)
    if not isinstance(source, Iterable):
        raise DataError(
            f"a path, '-', a file or an iterable of (X, y); got {type(source).__name__}. Pass one "
            "of these."
        )
    return source


def is_file(part: Any) -> bool:
    """Whether an object is a path or an open file."""
    return isinstance(part, str | os.PathLike) or hasattr(part, "read")


def check_file(source: Any) -> None:
    """Raise ``DataError`` unless an object is a path or an open file."""
    if not is_file(source):
        raise DataError(f"a path, '-' or a file; got {type(source).__name__}. Pass one of these.")


def _numbered(parts: Iterable[Any], options: ReadOptions) -> Iterator[Chunk]:
    """Chunks of all parts, with the number of rows before each; refuses a stream without rows."""
    rows = 0
    lost: dict[str, Lost] = {}
    indices = Indices(options.first_index)
    columns: tuple[str, ...] | None = None
    for part in parts:
        if is_shards(part):
            chunks = stored_chunks(part, options)
        elif is_file(part):
            chunks = _file_chunks(part, options, indices)
        elif options.schema is None:
            chunks = _pair_chunks(part)
        else:
            raise ParameterError(
                f"files to use a schema; got {type(part).__name__}. Drop `ReadOptions(schema=)`."
            )
        for chunk in chunks:
            columns = same_columns(columns, chunk.columns)
            if options.sample_rows and options.schema is None:
                options = replace(options, schema=chunk.schema)  # of the first file
            yield chunk._replace(first_row=rows)
            add_lost(lost, chunk.lost or {})
            rows += chunk.n_rows
    if options.unreadable == "refuse":  # all categories of a column are known only now
        refuse_lost(lost, "the stream")
    if not rows:
        raise DataError("some rows; got an empty stream. Check the source.")


def _file_chunks(part: Any, options: ReadOptions, indices: Indices) -> Iterator[Chunk]:
    """Chunks of one file, read ahead in a thread."""
    source = Source(part)
    try:
        file_format = format_to_read(options.format, source.name)
        if options.sample_rows and options.schema is None and file_format in TABLES:
            options = _sampled(source, file_format, options)
        elif file_format == "svmlight" and options.missing_rule not in ("auto", "refuse", SKIP):
            raise ParameterError(
                f"a table with columns to fill missing values; got {source.name}. Pass "
                "`ReadOptions(missing='refuse')` or 'skip'."
            )
        with enough_memory(source.name, todo=_FEWER):
            chunks = READERS[file_format](source, options, indices)
            yield from read_ahead(chunks, CHUNKS_AHEAD, wait=not source.live)
    finally:
        source.close()


def _sampled(source: Source, format: str, options: ReadOptions) -> ReadOptions:
    """The options with a schema inferred from the first rows of a table, which is then rewound."""
    notes: list[Note] = []
    source.record()
    try:
        file = TABLES[format](source, options)
        if file is not None and file.names:
            _, schema, _ = find_schema(file, source.name, options, notes)
            options = replace(options, schema=schema, header=file.named)
    finally:
        for note in notes:
            warn(note.warning())
    source.replay()
    return options


def _table_chunks(
    format: str, source: Source, options: ReadOptions, indices: Indices
) -> Iterator[Chunk]:
    """Chunks of a file with columns: encoded by the schema, or all numbers without one."""
    file = TABLES[format](source, options)
    schema = options.schema
    if file is None:
        yield from _fitted(npz_chunks(source, options), schema)
    elif schema is None:
        for block in file.blocks(["number"] * len(file.names)):
            labels = _labels(block.labels, block.n_rows)
            names = file.names if file.named else None
            yield Chunk(block.numbers, labels, columns=names, label=file.label)
    elif file.names:
        skips = options.missing_rule == SKIP
        refuses = options.unreadable == "refuse"
        encode = Encoder(schema, file, source.name, keeps_missing=skips, refuses=refuses)
        for block in file.blocks(encode.kinds):
            labels = _labels(block.labels, block.n_rows)
            encode.lost = {}  # counted for each chunk
            yield Chunk(
                encode(block),
                labels,
                columns=schema.feature_names,
                label=file.label,
                lost=encode.lost,
                schema=schema,
            )


def _svmlight_chunks(source: Source, options: ReadOptions, indices: Indices) -> Iterator[Chunk]:
    return _fitted(svmlight_chunks(source, options, indices), options.schema)


def _fitted(chunks: Iterator[Chunk], schema: Schema | None) -> Iterator[Chunk]:
    """Chunks of sparse rows with the number of columns of the schema."""
    for chunk in chunks:
        if schema is None:
            yield chunk
        else:
            check_unnamed(schema)
            matrix = fit_width(chunk.matrix, schema.n_features)
            yield chunk._replace(matrix=matrix, columns=schema.feature_names)


def check_unnamed(schema: Schema) -> None:
    """Refuse sparse rows without names for a schema with categories."""
    if any(column.kind == "category" for column in schema.columns):
        raise DataError(
            "the named columns of the schema; got rows of index:value pairs. Pass a file with "
            "columns, such as CSV or Parquet."
        )


def _labels(labels: Any, n_rows: int) -> Any:
    return np.full(n_rows, np.nan) if labels is None else labels


def _pair_chunks(part: Any) -> Iterator[Chunk]:
    """One chunk from a pair (X, y), or no chunk if it is empty."""
    if isinstance(part, Chunk):
        yield part
        return
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise DataError(f"pairs (X, y) or files; got {type(part).__name__}. Yield such pairs.")
    X, y = part
    labels = np.asarray(y)
    if not labels.size:
        return
    matrix = as_matrix(X, finite=False)
    if labels.shape != (matrix.shape[0],):
        raise DataError(
            f"one label per row; got shape {labels.shape} for {matrix.shape[0]} rows. Yield X and "
            "y of equal length."
        )
    names = feature_names(X)
    yield Chunk(matrix, labels, columns=None if names is None else tuple(names))


def same_columns(
    known: tuple[str, ...] | None, names: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Names of the columns; refuses a part whose names differ from the known ones."""
    if known is None or names is None or known == names:
        return names or known
    differs = [name for name in (*known, *names) if (name in known) != (name in names)]
    got = f"a difference in {', '.join(differs[:5])}" if differs else "another order"
    raise DataError(f"the same columns in every part; got {got}. Select the same columns first.")


#: Reader of each format.
READERS: dict[str, Reader] = {
    "svmlight": _svmlight_chunks,
    **{format: partial(_table_chunks, format) for format in TABLES},
}
