"""Rows that pass by once: files larger than memory, standard input, generators."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, ParameterError
from auctor.data.convert import as_matrix, feature_names
from auctor.data.readers.base import WHO, Chunk, Settings, Source
from auctor.data.readers.delimited import table_chunks
from auctor.data.readers.parquet import parquet_chunks
from auctor.data.readers.svmlight import svmlight_chunks

#: Rows per chunk.
CHUNK_ROWS = 8192
#: Chunks that are read ahead of the learner.
AHEAD = 2

Reader = Callable[[Source, Settings], Iterator[Chunk]]

READERS: dict[str, Reader] = {
    "svmlight": svmlight_chunks,
    "csv": table_chunks,
    "tsv": table_chunks,
    "parquet": parquet_chunks,
}
FORMATS = ("auto", *READERS)
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def open_stream(
    source: Any,
    format: str = "auto",
    *,
    chunk_rows: int = CHUNK_ROWS,
    label: str | int | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    header: bool | str = "auto",
    delimiter: str | None = None,
) -> Iterator[Chunk]:
    r"""Chunks of rows in their order, read a little ahead of whoever takes them.

    Parameters
    ----------
    source : path, "-", file object, iterable of (X, y), or list of these
        "-" is standard input. Text may be compressed (gz, bz2, xz; zst with zstandard).
    format : {"auto", "svmlight", "csv", "tsv", "parquet"}
        "auto" goes by the name of the file; what it does not know is svmlight.
    chunk_rows : int
        Rows per chunk at most; rows with many entries come in smaller chunks.
    label : str or int, optional
        Name or position of the label column of a table; by default the one that is called label,
        target, y or class.
    n_features : int, optional
        Number of columns (svmlight): a larger index is refused. By default columns are added as
        larger indices come.
    zero_based : bool or "auto"
        Whether indices count from 0 (svmlight). "auto": from 1, unless the first MiB of text has an
        index 0; one that comes later is refused. Indices may come in any order, not twice.
    header : bool or "auto"
        Whether the first line of a CSV file has the names of the columns; "auto": if it has no
        number, or one of the usual names of the label.
    delimiter : str, optional
        Character between the fields of a CSV file; by default a comma, tab or semicolon, whichever
        the first line has most of.

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
    check_choice(WHO, "format", format, FORMATS)
    settings = Settings(
        check_int(WHO, "chunk_rows", chunk_rows, low=1),
        label,
        None if n_features is None else check_int(WHO, "n_features", n_features, low=1),
        {True: 0, False: 1, None: None}[_choice("zero_based", zero_based)],
        _choice("header", header),
        delimiter if delimiter is not None or format != "tsv" else "\t",
    )
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii()):
        raise ParameterError(
            f"{WHO} needs delimiter to be one ASCII character; got {delimiter!r}. Pass ',' or ';'."
        )
    return _numbered(_parts(source), format, settings)


def _choice(name: str, value: bool | str) -> bool | None:
    """True, False, or None for "auto"."""
    if value == "auto":
        return None
    if not isinstance(value, bool):
        raise ParameterError(
            f"{WHO} needs {name} to be True, False or 'auto'; got {value!r}. Pass one of these."
        )
    return value


def _parts(source: Any) -> Iterable[Any]:
    if _is_file(source):
        return (source,)
    if isinstance(source, tuple) and not (len(source) and _is_file(source[0])):
        return (source,)
    if not isinstance(source, Iterable):
        raise DataError(
            f"{WHO} needs a path, '-', a file or an iterable of (X, y); got "
            f"{type(source).__name__}. Pass one of these."
        )
    return source


def _is_file(part: Any) -> bool:
    return isinstance(part, str | os.PathLike) or hasattr(part, "read")


def _numbered(parts: Iterable[Any], format: str, settings: Settings) -> Iterator[Chunk]:
    """Chunks of all parts with the number of rows before them; refuses a stream without any."""
    rows = 0
    columns: tuple[str, ...] | None = None
    for part in parts:
        chunks = _file_chunks(part, format, settings) if _is_file(part) else _pair_chunks(part)
        for chunk in chunks:
            columns = _same_columns(columns, chunk.columns)
            yield chunk._replace(first_row=rows)
            rows += chunk.n_rows
    if not rows:
        raise DataError(f"{WHO} needs some rows; got an empty stream. Check the source.")


def _file_chunks(part: Any, format: str, settings: Settings) -> Iterator[Chunk]:
    source = Source(part)
    reader = READERS[_format(source) if format == "auto" else format]
    try:
        yield from _ahead(reader(source, settings), wait=not source.live)
    finally:
        source.close()


def _pair_chunks(part: Any) -> Iterator[Chunk]:
    """One chunk from a pair (X, y), made in the caller's thread."""
    if isinstance(part, Chunk):
        yield part
        return
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise DataError(
            f"{WHO} needs pairs (X, y) or files; got {type(part).__name__}. "
            "Yield a matrix and its labels."
        )
    X, y = part
    labels = np.asarray(y)
    if not labels.size:
        return
    matrix = as_matrix(X, who=WHO, finite=False)
    if labels.shape != (matrix.shape[0],):
        raise DataError(
            f"{WHO} needs one label per row; got shape {labels.shape} for {matrix.shape[0]} rows. "
            "Yield X and y of equal length."
        )
    names = feature_names(X)
    yield Chunk(matrix, labels, columns=None if names is None else tuple(names))


def _format(source: Source) -> str:
    stem, suffix = os.path.splitext(source.name.lower())
    if suffix in _COMPRESSED:
        suffix = os.path.splitext(stem)[1]
    return _SUFFIXES.get(suffix, "svmlight")


def _same_columns(
    known: tuple[str, ...] | None, found: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Names of the columns; refuses a part whose names differ."""
    if known is None or found is None or known == found:
        return found or known
    differs = [name for name in (*known, *found) if (name in known) != (name in found)]
    got = f"a difference in {', '.join(differs[:5])}" if differs else "another order"
    raise DataError(
        f"{WHO} needs the same columns in every part; got {got}. Select the same columns first."
    )


def _ahead(chunks: Iterator[Chunk], *, wait: bool) -> Iterator[Chunk]:
    """The same chunks, made in a thread that is at most `AHEAD` of them ahead."""
    ready: queue.Queue[Chunk | BaseException | None] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def work() -> None:
        end: BaseException | None = None
        try:
            for chunk in chunks:
                ready.put(chunk)
                if stopped.is_set():
                    return
        except BaseException as error:
            end = error
        ready.put(end)

    thread = threading.Thread(target=work, name="auctor-reader", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        while not ready.empty():
            ready.get_nowait()
        if wait:
            thread.join()
