"""Writing any stream of rows as a folder of shards."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auctor.core.errors import AuctorError, DataError, speaks_as
from auctor.core.files import AnyPath
from auctor.core.types import Array
from auctor.data.matrices import CompressedRows, is_sparse, join_compressed, stacked_rows
from auctor.data.shard_writer import SHARD_BYTES, write_manifest, write_shard
from auctor.data.shards import ShardEntry, shard_path
from auctor.tables.blocks import Chunk
from auctor.tables.frame import is_none
from auctor.tables.options import DEFAULTS, ReadOptions
from auctor.tables.stream import stream_rows

try:
    import fcntl
except ImportError:  # Windows, where two writers of one folder are found when they end
    fcntl = None  # type: ignore[assignment]

#: Most different labels; with more, the column is probably a number to predict, not a class.
MOST_LABELS = 100


class WrittenShards(NamedTuple):
    """Numbers of rows, columns and shards that were written, and the labels by code."""

    rows: int
    columns: int
    shards: int
    labels: tuple[Any, ...]


@speaks_as("write_shards")
def write_shards(
    source: Any, folder: AnyPath, reading: ReadOptions = DEFAULTS, *, shard_bytes: int = SHARD_BYTES
) -> WrittenShards:
    """Write the rows of a file or a stream as a folder of shards; no folder if it fails.

    Parameters
    ----------
    source : path, stream or table
        Any source of `open_stream` (svmlight, CSV, Parquet, Arrow, NPZ, iterables of (X, y)); or,
        with the option ``label``, a polars LazyFrame, a pyarrow dataset or any object with
        ``__arrow_c_stream__``.
    folder : path
        A new folder.
    shard_bytes : int
        Approximate size of a shard.
    """
    return write_chunks(_chunks(source, reading), folder, shard_bytes)


def write_chunks(
    chunks: Iterator[Chunk],
    folder: AnyPath,
    shard_bytes: int = SHARD_BYTES,
    coding: Callable[[], dict[str, Any]] | None = None,
) -> WrittenShards:
    """Write chunks of rows as a folder of shards; no folder if it fails.

    Rows of bytes are codes; ``coding`` then describes their bins, once all are written.
    """
    target = Path(folder)
    if target.exists():
        raise DataError(
            f"a new folder; got {target}, which exists. Remove it, or pass another name."
        )
    if not target.parent.is_dir():
        raise DataError(f"an existing folder to write in; got {target.parent}. Create it.")
    try:
        with _unfinished(target) as unfinished:
            done = _write(chunks, unfinished, shard_bytes, coding)
            _publish(unfinished, target)
    except OSError as error:
        if isinstance(error, AuctorError):
            raise
        raise DataError(
            "to write the shards", got=error.strerror or error, todo="Free some space."
        ) from error
    return done


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """An empty folder beside ``target``, locked for this program; removed if it is still there.

    What a program that was killed left in it is removed by the next one with the same target.
    """
    folder = target.with_name(f".{target.name}.unfinished")
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY) if fcntl else None
    try:
        if lock is not None:
            _lock(lock, folder, target)
        for left in folder.iterdir():
            left.unlink()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        if lock is not None:
            os.close(lock)


def _lock(lock: int, folder: Path, target: Path) -> None:
    """Lock the folder, or refuse if another program has; file systems without locks are trusted."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The other program may have renamed the folder after it was opened here.
        ours = folder.exists() and os.path.samestat(folder.stat(), os.fstat(lock))
    except BlockingIOError:
        ours = False
    except OSError:
        ours = True
    if not ours:
        raise DataError(
            f"a folder that no other program writes; got {target}, which another one is writing. "
            "Wait until it is done, or pass another name."
        )


def _publish(unfinished: Path, target: Path) -> None:
    """Give the complete folder its name, unless something of that name was made meanwhile."""
    try:
        if not target.exists():
            unfinished.rename(target)
            return
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
    raise DataError(
        f"a new folder; got {target}, which another program made meanwhile. Remove it, or pass "
        "another name."
    )


def _write(
    chunks: Iterator[Chunk],
    folder: Path,
    shard_bytes: int,
    coding: Callable[[], dict[str, Any]] | None,
) -> WrittenShards:
    """Write chunks, joined to shards of about ``shard_bytes``; holds one shard in memory."""
    held: list[Chunk] = []
    size = rows = width = 0
    shards: list[ShardEntry] = []
    sparse = False
    names: tuple[str, ...] | None = None
    codes: dict[Any, int] = {}

    def flush() -> None:
        """Write the chunks so far as one shard."""
        nonlocal held, size
        if held:
            matrix, labels = _joined(held, width)
            path = shard_path(folder, len(shards))
            shards.append(write_shard(path, matrix, _encoded(labels, codes)))
            held, size = [], 0

    for chunk in chunks:
        if names is not None and chunk.columns != names:
            raise DataError(
                f"the same columns in every part; got other columns from row {chunk.first_row} on. "
                "Give every part the same columns in the same order."
            )
        _check_chunk(chunk, width, sparse)
        names, sparse = chunk.columns, is_sparse(chunk.matrix)
        width = max(width, chunk.matrix.shape[1])  # later svmlight rows may have more columns
        rows += chunk.matrix.shape[0]
        held.append(chunk)
        matrix: Any = chunk.matrix
        size += matrix.data.nbytes
        if size >= shard_bytes:
            flush()
    flush()
    if not rows:
        raise DataError("some rows; got none. Check the source.")
    labels = tuple(codes)
    made = None if coding is None else coding()
    write_manifest(folder, width, shards, sparse=sparse, names=names, labels=labels, coding=made)
    return WrittenShards(rows, width, len(shards), labels)


def _check_chunk(chunk: Chunk, width: int, sparse: bool) -> None:
    """Refuse missing labels, and dense rows of another width than before."""
    missing: list[Any] = []
    if chunk.labels.dtype.kind in "fO":
        missing = [label for label in chunk.labels.tolist() if is_none(label)]
    if missing:
        raise DataError(
            f"a label in every row; got {len(missing)} missing in the {chunk.n_rows} rows from row "
            f"{chunk.first_row} on. Drop the rows without a label first."
        )
    n_columns = chunk.matrix.shape[1]
    if width and (is_sparse(chunk.matrix) != sparse or (not sparse and n_columns != width)):
        kinds = {True: "sparse", False: "dense"}
        raise DataError(
            f"{width} {kinds[sparse]} columns in every part; got {n_columns} "
            f"{kinds[is_sparse(chunk.matrix)]} ones from row {chunk.first_row} on. Give every part "
            "the same columns in the same order."
        )


def _joined(held: list[Chunk], width: int) -> tuple[Any, Array]:
    """The rows and labels of some chunks; sparse rows get the width of the widest so far."""
    labels = np.concatenate([chunk.labels for chunk in held])
    if is_sparse(held[0].matrix):
        parts = [_widened(chunk.matrix, width) for chunk in held]
        return stacked_rows(parts), labels
    return np.concatenate([chunk.matrix for chunk in held]), labels


def _widened(matrix: Any, width: int) -> CompressedRows:
    """A CSR matrix with ``width`` columns; new ones are zero."""
    return join_compressed(matrix.data, matrix.indices, matrix.indptr, (matrix.shape[0], width))


def _encoded(labels: Array, codes: dict[Any, int]) -> Array:
    """The codes 0, 1, ... of labels, in the order of their first appearance; updates ``codes``."""
    try:
        distinct, place = np.unique(labels, return_inverse=True)
    except TypeError as error:  # None or text among numbers
        raise DataError(
            f"labels of one kind, none of them missing; got {error}. Drop the rows without a "
            "label, or write the labels as text."
        ) from error
    for label in distinct.tolist():
        codes.setdefault(label, len(codes))
    if len(codes) > MOST_LABELS:
        raise DataError(
            f"at most {MOST_LABELS} different labels; got more. Correct `ReadOptions(label=)`."
        )
    return np.array([codes[label] for label in distinct.tolist()], dtype=np.float64)[place]


def _chunks(source: Any, options: ReadOptions) -> Iterator[Chunk]:
    """Chunks of a file, or of an object with Arrow record batches."""
    if hasattr(source, "collect_batches"):
        return _of_tables(source.collect_batches(), options)
    if hasattr(source, "to_batches") and not hasattr(source, "__arrow_c_stream__"):
        return _of_tables(source.to_batches(), options)
    if hasattr(source, "__arrow_c_stream__"):
        from auctor.core.optional import require

        arrow = require("pyarrow", extra="cli")
        return _of_tables(arrow.RecordBatchReader.from_stream(source), options)
    return stream_rows(source, options)


def _of_tables(tables: Any, options: ReadOptions) -> Iterator[Chunk]:
    """Chunks of Arrow tables, whose columns other than the label must be numbers."""
    label, row = options.label, 0
    for part in tables:
        table = part.to_arrow() if hasattr(part, "to_arrow") else part
        names = list(table.schema.names)
        if label not in names:
            raise DataError(
                f"a label column; got {label!r}. Pass `ReadOptions(label=)` with one of "
                f"{', '.join(map(str, names[:10]))}."
            )
        columns = [name for name in names if name != label]
        matrix = np.column_stack([_numbers(table[name], name) for name in columns])
        labels = _plain(table[label])
        yield Chunk(matrix, labels, row, tuple(map(str, columns)), str(label))
        row += matrix.shape[0]


def _plain(column: Any) -> Array:
    """An Arrow column as an array; a chunked column is copied."""
    return np.asarray(column)


def _numbers(column: Any, name: str) -> Array:
    """An Arrow column as float32 if it is that, otherwise as float64; refuses text."""
    values = _plain(column)
    if values.dtype.kind not in "biuf":
        raise DataError(f"columns of numbers; got {values.dtype} in {name!r}. Encode or drop it.")
    return values.astype(np.float32 if values.dtype == np.float32 else np.float64)
