"""Training a learner on a stream, with checkpoints from which it can resume."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_int
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.files import sole_writer
from auctor.core.types import Array
from auctor.fit.prepare import check_width
from auctor.streaming.checkpoint import Origin, restore, save_checkpoint
from auctor.streaming.estimators.labels import distinct_labels, missing_labels
from auctor.streaming.estimators.online import OnlineClassifier
from auctor.tables import Chunk, Schema
from auctor.tables.lost import Lost, add_lost
from auctor.tables.stream import open_stream, same_columns

#: Rows, at most, that are read ahead until a second class is seen.
LOOK_AHEAD = 65_536


class StreamProgress(NamedTuple):
    """Progress of a learner on a stream.

    Parameters
    ----------
    rows : int
        Rows of the stream read so far, including those before a resume.
    new_rows : int
        Rows read by this call.
    skipped_rows : int
        Rows left out because of missing values.
    seconds : float
        Time since this call began to learn.
    auc : float or None
        Running AUC of the learner, if it has one.
    """

    rows: int
    new_rows: int
    skipped_rows: int
    seconds: float
    auc: float | None

    @property
    def rows_per_second(self) -> float:
        """Rows per second of this call."""
        return self.new_rows / self.seconds if self.seconds > 0.0 else 0.0


@speaks_as("learn")
def learn(
    learner: OnlineClassifier,
    source: Any,
    *,
    classes: Any = None,
    checkpoint: str | PathLike[str] | None = None,
    every: int = 100_000,
    resume: bool = False,
    limit: int | None = None,
    progress: Callable[[StreamProgress], None] | None = None,
) -> StreamProgress:
    """Train a learner by one pass over a stream.

    Parameters
    ----------
    learner : OnlineClassifier
        Updated in place.
    source : path, "-", file object, iterable of (X, y), or result of `auctor.tables.open_stream`
    classes : two labels, optional
        By default the labels of the first rows. Needed if these are of one class and the labels are
        neither -1/+1, 0/1 nor False/True.
    checkpoint : path, optional
        File for the state of the learner, written after every ``every`` rows, at the end, and on
        an interrupt.
    every : int
        Rows between checkpoints.
    resume : bool
        Continue from the checkpoint, if it exists: the source is read from its start, and the rows
        that were learned are skipped. The result is bit for bit that of a run without a break.
    limit : int, optional
        Stop after this many rows, counted from the start of the source.
    progress : callable, optional
        Called with a `StreamProgress` after every chunk.

    Returns
    -------
    StreamProgress

    Examples
    --------
    >>> from auctor.streaming import StreamingAUC
    >>> rows = [([[0.0, 1.0], [1.0, 0.0]], [0, 1])] * 3
    >>> learn(StreamingAUC(), rows).rows
    6
    """
    check_int("every", every, low=1)
    if limit is not None:
        check_int("limit", limit, low=1)
    path = None if checkpoint is None else Path(checkpoint)
    with nullcontext() if path is None else sole_writer(path):
        done, origin = _prepare(learner, path, resume)
        return _learn(learner, source, classes, path, every, limit, progress, done, origin)


def _learn(
    learner: OnlineClassifier,
    source: Any,
    classes: Any,
    path: Path | None,
    every: int,
    limit: int | None,
    progress: Callable[[StreamProgress], None] | None,
    done: int,
    origin: Origin,
) -> StreamProgress:
    """Learn the rows after ``done``; see `learn`."""
    saved = done
    chunks, classes = _with_classes(open_stream(source), learner, classes)
    chunks = _check_origin(chunks, learner, origin)
    start = time.perf_counter()
    begun_at = done

    def now() -> StreamProgress:
        skipped = int(getattr(learner, "skipped_rows_", 0))
        return StreamProgress(
            done, done - begun_at, skipped, time.perf_counter() - start, running_auc(learner)
        )

    # False while a chunk is being learned: a state in between must not be saved.
    whole = True
    try:
        with _deferred_interrupt() as interrupt:
            for piece in _pieces(chunks, done, every, limit):
                with interrupt.held():
                    # Classes are needed only for the first rows; later ones must match them.
                    whole = False
                    learner.learn_rows(piece.matrix, piece.labels, classes, names=_names(piece))
                    classes = None
                    origin = Origin(origin.label or piece.label, origin.schema or piece.schema)
                    done += piece.n_rows
                    whole = True
                    if path is not None and done % every == 0:
                        saved = _save(path, learner, done, origin)
                    if progress is not None:
                        progress(now())
    except (KeyboardInterrupt, DataError):
        # The rows learned so far are saved, so that a resume can go on from here.
        if path is not None and whole and saved < done:
            _save(path, learner, done, origin)
        raise
    finally:
        chunks.close()
    if path is not None and saved < done:
        _save(path, learner, done, origin)
    return now()


def _save(path: Path, learner: OnlineClassifier, row: int, origin: Origin) -> int:
    save_checkpoint(path, learner, row, origin)
    return row


def _check_origin(
    chunks: Any, learner: OnlineClassifier, origin: Origin
) -> Generator[Chunk, None, None]:
    """The chunks unchanged; raises if columns or labels differ from those of the checkpoint."""
    names = getattr(learner, "feature_names_in_", None)
    label, schema = origin
    try:
        for chunk in chunks:
            if schema is not None and chunk.schema != schema:
                raise DataError(
                    "columns that are read as for the checkpoint; got other first rows or other "
                    "options for columns. Pass the same source and options, or another checkpoint."
                )
            same_columns(None if names is None else tuple(names), _names(chunk))
            if label is not None and chunk.label not in (None, label):
                raise DataError(
                    f"the labels of the checkpoint, column {label!r}; got column {chunk.label!r}. "
                    f"Pass `label={label!r}`, or another checkpoint."
                )
            yield chunk
            names = label = schema = None  # all chunks of a stream have the columns of the first
    finally:
        chunks.close()


def running_auc(learner: OnlineClassifier) -> float | None:
    """The running AUC of the learner, if it has one and it is finite."""
    value = getattr(learner, "auc_", None)
    return None if value is None or not np.isfinite(value) else float(value)


def _prepare(learner: OnlineClassifier, path: Path | None, resume: bool) -> tuple[int, Origin]:
    """Restore the checkpoint under ``resume``; returns the rows to skip and their origin."""
    if path is None:
        if resume:
            raise ParameterError("a checkpoint to resume from; got None. Pass `checkpoint=`.")
        return 0, Origin()
    if not path.exists():
        return 0, Origin()
    if not resume:
        raise ParameterError(
            f"a checkpoint that does not exist; got {path}. Pass `resume=True` to go on from it."
        )
    return restore(path, learner)


def _pieces(chunks: Iterator[Chunk], done: int, every: int, limit: int | None) -> Iterator[Chunk]:
    """Chunks of the rows from ``done`` up to the limit, split where checkpoints are due."""
    last = math.inf if limit is None else limit
    row = 0
    while row < last and (chunk := next(chunks, None)) is not None:
        row = max(done, chunk.first_row)
        end = chunk.first_row + chunk.n_rows
        # Pieces end at multiples of ``every``, where checkpoints are written.
        while row < min(end, last):
            stop = int(min(end, last, row - row % every + every))
            yield chunk.part(row - chunk.first_row, stop - chunk.first_row)
            row = stop
        row = end
    if row < min(done, last):
        raise DataError(
            f"the source that the checkpoint was made from; got {row} rows where {done} were read. "
            "Pass the same source from its start."
        )


def _with_classes(
    chunks: Iterator[Chunk], learner: OnlineClassifier, classes: Any
) -> tuple[Any, Any]:
    """The chunks unchanged, and the classes: given, or the two labels of the first rows."""
    if classes is not None or hasattr(learner, "classes_"):
        return _closing((), chunks), classes
    # Read ahead until two labels are seen, or `LOOK_AHEAD` rows.
    held: list[Chunk] = []
    rows, labels = 0, np.empty(0)
    for chunk in chunks:
        held.append(chunk)
        rows += chunk.n_rows
        labels = _labels_of(held, learner)
        if labels.size > 1 or rows >= LOOK_AHEAD:
            break
    return _closing(held, chunks), labels if labels.size == 2 else None


def _labels_of(chunks: list[Chunk], learner: OnlineClassifier) -> Array:
    """Distinct labels of the first rows, without missing ones."""
    labels = np.concatenate([chunk.labels for chunk in chunks])[:LOOK_AHEAD]
    return distinct_labels(labels[~missing_labels(labels)])


def _names(chunk: Chunk) -> tuple[str, ...] | None:
    """Names of the columns; None if they are only the numbers 0, 1, ..."""
    counted = chunk.columns == tuple(map(str, range(chunk.matrix.shape[1])))
    return None if counted else chunk.columns


def _closing(held: Any, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The chunks read ahead, then the others; closing this generator closes their source."""
    try:
        yield from chain(held, chunks)
    finally:
        if hasattr(chunks, "close"):
            chunks.close()


class _Interrupt:
    """Signals that wait while a learner is updating its state, for the handlers that they had."""

    def __init__(self, handlers: Mapping[int, Callable[..., object]]) -> None:
        self.busy, self.pending, self.handlers = False, list[int](), handlers

    def handle(self, number: int, *_: Any) -> None:
        if self.busy:
            self.pending.append(number)
        else:
            self.handlers[number](number, None)

    @contextmanager
    def held(self) -> Iterator[None]:
        self.busy = True
        try:
            yield
        finally:
            self.busy = False
        pending, self.pending = self.pending, []
        for number in pending:
            self.handlers[number](number, None)


@contextmanager
def _deferred_interrupt() -> Iterator[_Interrupt]:
    """Defer Ctrl-C to the end of a piece, in the main thread and unless the user has a handler.

    The same for SIGTERM where it has a handler, such as that of the command line.
    """
    handlers: dict[int, Callable[..., object]] = {}
    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGINT, signal.SIGTERM):
            known = signal.getsignal(one)
            if callable(known) and (one == signal.SIGTERM or known is signal.default_int_handler):
                handlers[one] = known
    interrupt = _Interrupt(handlers)
    for number in handlers:
        signal.signal(number, interrupt.handle)
    try:
        yield interrupt
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class SeenColumns:
    """Schema of the chunks, and counts of rows with categories that the first rows do not have.

    Attributes
    ----------
    rows : int
        Rows of the chunks so far.
    lost : dict
        Counts of the values that the schema cannot use, by column.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.lost: dict[str, Lost] = {}
        self._first: Chunk | None = None  # without its rows

    def watching(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Pass chunks on, and record their columns."""
        for chunk in chunks:
            check_width(chunk.matrix.shape[1], chunk.first_index)
            if self._first is None:
                self._first = chunk._replace(matrix=None, labels=chunk.labels[:0])
            self.rows += chunk.n_rows
            add_lost(self.lost, chunk.lost or {})
            yield chunk

    def schema(self, model: OnlineClassifier) -> Schema:
        """The schema to read other files by; without column names, only the number of columns."""
        if self._first is not None and self._first.schema is not None:
            return self._first.schema
        first_index = None if self._first is None else self._first.first_index
        return Schema((), None, int(model.coef_.shape[1]), None, first_index)
