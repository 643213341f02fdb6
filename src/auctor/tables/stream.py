"""Rows that pass by once: files larger than memory, standard input, generators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from auctor.core.errors import DataError, Option, ParameterError
from auctor.data.coerce import as_matrix, feature_names
from auctor.tables.arrays import npz_chunks
from auctor.tables.blocks import Chunk
from auctor.tables.encode import Encoder, fit_width
from auctor.tables.formats import TABLES, check_format, format_to_read
from auctor.tables.gather import find_schema
from auctor.tables.infer import Note
from auctor.tables.options import CHUNK_ROWS, SKIP, ReadOptions
from auctor.tables.schema import Schema
from auctor.tables.source import WHO, Source, ahead
from auctor.tables.svmlight import Indices, svmlight_chunks

#: Chunks that are read ahead of the learner.
AHEAD = 2

Reader = Callable[[Source, ReadOptions, Indices], Iterator[Chunk]]


def open_stream(
    source: Any,
    format: str = "auto",
    *,
    chunk_rows: int = CHUNK_ROWS,
    label: str | int | None = None,
    schema: Schema | None = None,
    labelled: bool = True,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    header: bool | str = "auto",
    delimiter: str | None = None,
    decimal: str = ".",
    sample_rows: int = 0,
    categorical: str = "one_hot",
    buckets: int = 1024,
    missing: str = "refuse",
    drop: Sequence[str] = (),
    as_category: Sequence[str] = (),
    as_number: Sequence[str] = (),
    date: Mapping[str, str] | None = None,
    check: bool = False,
) -> Iterator[Chunk]:
    r"""Chunks of rows in their order, read a little ahead in a thread.

    Parameters
    ----------
    source : path, "-", file object, iterable of (X, y), or list of these
        "-" is standard input. Text may be compressed (gz, bz2, xz; zst with zstandard).
    format : {"auto", "svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy"}
        "auto" goes by the name of the file; what it does not know is svmlight.
    chunk_rows : int
        Rows per chunk at most; rows with many entries come in smaller chunks.
    label : str or int, optional
        Name or position of the label column of a table; by default that of the schema, or the one
        that is called label, target, y or class (NPY: the last one). A position may be text, as
        long as no column has that name.
    schema : Schema, optional
        How the columns of a table become numbers, as `read_table` found it: they may come in
        another order and among others. Without it, and without ``sample_rows``, every column must
        hold numbers.
    labelled : bool
        Whether there must be labels; if not, they are NaN where there are none.
    n_features : int, optional
        Number of columns (svmlight): a larger index is refused. By default columns are added as
        larger indices come; with a schema, columns that it does not have are left out.
    zero_based : bool or "auto"
        Whether indices count from 0 (svmlight). "auto": as the schema says; otherwise from 1,
        unless the first MiB of text has an index 0; one that comes later is refused. Indices may
        come in any order, not twice.
    header : bool or "auto"
        Whether the first line of a CSV file has the names of the columns; "auto": if it has no
        number, one of the names that are known, or a word above a number of the second line.
    delimiter : str, optional
        Character between the fields of a CSV file; by default a comma, tab or semicolon, whichever
        the first line has most of.
    decimal : {".", ","}
        Decimal sign of the numbers of a CSV file.
    sample_rows : int
        With a number above 0, the schema of a table is found from so many of its first rows, as
        `read_table` finds one from all, and each chunk carries it. Categories that come later
        become zeros and are counted in ``Chunk.unseen``. Of several files the first one decides.
        A pipe is read when so many rows have come.
    categorical, buckets, drop, as_category, as_number, date, check
        As in `read_table`, for ``sample_rows``.
    missing : {"refuse", "auto", "mean", "median", "zero", "most_frequent", "skip"}
        As in `read_table`, for ``sample_rows``: fills come from the first rows. With "skip" missing
        numbers stay NaN, for a learner that passes over such rows, and missing text is no category.

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
    check_format(WHO, format)
    options = ReadOptions(
        WHO,
        chunk_rows=chunk_rows,
        label=label,
        schema=schema,
        labelled=labelled,
        n_features=n_features,
        zero_based=zero_based,
        header=header,
        delimiter=delimiter,
        decimal=decimal,
        sample_rows=sample_rows,
        categorical=categorical,
        buckets=buckets,
        missing=missing,
        drop=drop,
        as_category=as_category,
        as_number=as_number,
        date=date or {},
        check=check,
    )
    return _numbered(_parts(source), format, options)


def _parts(source: Any) -> Iterable[Any]:
    if is_file(source):
        return (source,)
    if isinstance(source, tuple) and not (len(source) and is_file(source[0])):
        return (source,)
    if not isinstance(source, Iterable):
        raise DataError(
            WHO,
            needs="a path, '-', a file or an iterable of (X, y)",
            got=f"{type(source).__name__}",
            todo="Pass one of these.",
        )
    return source


def is_file(part: Any) -> bool:
    """Whether an object is a path or an open file."""
    return isinstance(part, str | os.PathLike) or hasattr(part, "read")


def _numbered(parts: Iterable[Any], format: str, options: ReadOptions) -> Iterator[Chunk]:
    """Chunks of all parts with the number of rows before them; refuses a stream without any."""
    rows = 0
    indices = Indices(options.first_index)
    columns: tuple[str, ...] | None = None
    for part in parts:
        if is_file(part):
            chunks = _file_chunks(part, format, options, indices)
        elif options.schema is None:
            chunks = _pair_chunks(part)
        else:
            raise ParameterError(
                WHO,
                needs="files to use a schema",
                got=f"{type(part).__name__}",
                todo="Drop {option}.",
                option="schema",
            )
        for chunk in chunks:
            columns = same_columns(columns, chunk.columns)
            if options.sample_rows and options.schema is None:
                options = replace(options, schema=chunk.schema)  # of the first file
            yield chunk._replace(first_row=rows)
            rows += chunk.n_rows
    if not rows:
        raise DataError(WHO, needs="some rows", got="an empty stream", todo="Check the source.")


def _file_chunks(part: Any, format: str, options: ReadOptions, indices: Indices) -> Iterator[Chunk]:
    source = Source(part, options.who)
    try:
        found = format_to_read(format, source.name, options.who)
        if options.sample_rows and options.schema is None and found in TABLES:
            options = _sampled(source, found, options)
        elif found == "svmlight" and options.missing not in ("auto", "refuse", SKIP):
            raise ParameterError(
                options.who,
                needs="a table with columns to fill missing values",
                got=source.name,
                todo="Pass {option} or 'skip'.",
                option=Option("missing", "refuse"),
            )
        reader = READERS[found]
        yield from ahead(reader(source, options, indices), AHEAD, wait=not source.live)
    finally:
        source.close()


def _sampled(source: Source, format: str, options: ReadOptions) -> ReadOptions:
    """The same options with the schema that the first rows of a table suggest."""
    notes: list[Note] = []
    source.record()
    try:
        file = TABLES[format](source, options)
        if file is not None and file.names:
            _, schema, _ = find_schema(file, source.name, options, notes)
            options = replace(options, schema=schema, header=file.named)
    finally:
        for note in notes:
            warnings.warn(note.warning(WHO), stacklevel=2)
    source.replay()
    return options


def _table_chunks(
    format: str, source: Source, options: ReadOptions, indices: Indices
) -> Iterator[Chunk]:
    """Chunks of a file with columns."""
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
        skips = options.missing == SKIP
        encode = Encoder(schema, file, source.name, options.who, keeps_missing=skips)
        for block in file.blocks(encode.kinds):
            labels = _labels(block.labels, block.n_rows)
            encode.unseen = {}
            yield Chunk(
                encode(block),
                labels,
                columns=schema.feature_names,
                label=file.label,
                unseen=encode.unseen,
                schema=schema,
            )


def _svmlight_chunks(source: Source, options: ReadOptions, indices: Indices) -> Iterator[Chunk]:
    return _fitted(svmlight_chunks(source, options, indices), options.schema)


def _fitted(chunks: Iterator[Chunk], schema: Schema | None) -> Iterator[Chunk]:
    """Compressed rows as wide as the schema says."""
    for chunk in chunks:
        if schema is None:
            yield chunk
        else:
            check_unnamed(schema)
            matrix = fit_width(chunk.matrix, schema.n_features)
            yield chunk._replace(matrix=matrix, columns=schema.feature_names)


def check_unnamed(schema: Schema) -> None:
    """Refuse rows without names where the schema needs words."""
    if any(column.kind == "category" for column in schema.columns):
        raise DataError(
            WHO,
            needs="the named columns of the schema",
            got="rows of index:value pairs",
            todo="Pass a file with columns, such as CSV or Parquet.",
        )


def _labels(labels: Any, n_rows: int) -> Any:
    return np.full(n_rows, np.nan) if labels is None else labels


def _pair_chunks(part: Any) -> Iterator[Chunk]:
    """One chunk from a pair (X, y), made in the caller's thread."""
    if isinstance(part, Chunk):
        yield part
        return
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise DataError(
            WHO,
            needs="pairs (X, y) or files",
            got=f"{type(part).__name__}",
            todo="Yield a matrix and its labels.",
        )
    X, y = part
    labels = np.asarray(y)
    if not labels.size:
        return
    matrix = as_matrix(X, who=WHO, finite=False)
    if labels.shape != (matrix.shape[0],):
        raise DataError(
            WHO,
            needs="one label per row",
            got=f"shape {labels.shape} for {matrix.shape[0]} rows",
            todo="Yield X and y of equal length.",
        )
    names = feature_names(X)
    yield Chunk(matrix, labels, columns=None if names is None else tuple(names))


def same_columns(
    known: tuple[str, ...] | None, found: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Names of the columns; refuses a part whose names differ."""
    if known is None or found is None or known == found:
        return found or known
    differs = [name for name in (*known, *found) if (name in known) != (name in found)]
    got = f"a difference in {', '.join(differs[:5])}" if differs else "another order"
    raise DataError(
        WHO, needs="the same columns in every part", got=got, todo="Select the same columns first."
    )


READERS: dict[str, Reader] = {
    "svmlight": _svmlight_chunks,
    **{format: partial(_table_chunks, format) for format in TABLES},
}
