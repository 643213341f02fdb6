"""What readers share: chunks and blocks of rows, bytes from anywhere, and places in a file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import queue
import shutil
import sys
import tempfile
import threading
import zlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar, cast

from auctor.core.errors import DataError, ParameterError
from auctor.core.optional import require
from auctor.core.types import Array, FloatArray
from auctor.tables.schema import Schema

T = TypeVar("T")

WHO = "open_stream"

#: Bytes of text that are read at a time.
BLOCK = 1 << 20
#: A line longer than this is no text.
LONGEST_LINE = 1 << 28
#: A chunk ends after about this many stored entries, however few rows these are.
CHUNK_ENTRIES = 1 << 22

#: How compressed files begin.
MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
MARK = b"\xef\xbb\xbf"


class Chunk(NamedTuple):
    """Some rows of a stream.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    labels : (n,) array
        NaN where the source has no labels and none are needed.
    first_row : int
        Number of rows of the stream before these.
    columns : tuple of str, optional
        Names of the columns, where the source has them.
    label : str, optional
        Name of the label column of a table, made up where it has none.
    first_index : int, optional
        Where indices start (svmlight).
    """

    matrix: Any
    labels: Array
    first_row: int = 0
    columns: tuple[str, ...] | None = None
    label: str | None = None
    first_index: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    def part(self, low: int, high: int) -> Chunk:
        """Rows ``low`` to ``high`` of the chunk."""
        if low == 0 and high >= self.n_rows:
            return self
        return self._replace(
            matrix=self.matrix[low:high],
            labels=self.labels[low:high],
            first_row=self.first_row + low,
        )


class Block(NamedTuple):
    """Some rows of a table before its words become numbers.

    Parameters
    ----------
    numbers : (n, k) array
        Columns that are read as numbers, in the order of the file; missing ones are NaN.
    codes : (n, c) int32 array
        Columns that are read as words: positions in ``words``, -1 for a missing one.
    words : list of c lists of str
    labels : (n,) array, optional
    """

    numbers: FloatArray
    codes: Array
    words: list[list[str]]
    labels: Array | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])


class TableFile(Protocol):
    """A file with columns.

    ``names`` are those of the columns beside the label, made up where the file has none
    (``named``). ``word_columns`` holds the positions of columns that cannot be numbers, whatever
    they contain, ``floats`` those of columns that are floating-point in the file. After `blocks`
    with ``strict=False``, ``surprises`` holds those of columns that were read as numbers and have
    something else, ``first_words`` what that was, and where.
    """

    names: tuple[str, ...]
    named: bool
    label: str | None
    word_columns: frozenset[int]
    floats: frozenset[int]
    surprises: set[int]
    first_words: dict[int, str]

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """Rows from the first one on; each column is a "number", a "category" or "skip"."""
        ...


@dataclass
class Settings:
    """How to read; readers keep here what one file decides for the next.

    Parameters
    ----------
    chunk_rows : int
    label : str or int, optional
    n_features : int, optional
    first_index : int, optional
        0 or 1 (svmlight); ``None`` until the first block of text decides.
    header : bool, optional
        Whether the first line has the names of the columns (CSV); ``None`` looks at it.
    delimiter : str, optional
        One character (CSV); ``None`` looks at the first line.
    labelled : bool
        Whether there must be a label column.
    schema : Schema, optional
        How columns become numbers; a first line with one of its names is a header.
    who : str
        Name used in error messages.
    width : int
        Columns seen so far (svmlight).
    """

    chunk_rows: int
    label: str | int | None = None
    n_features: int | None = None
    first_index: int | None = None
    header: bool | None = None
    delimiter: str | None = None
    labelled: bool = True
    schema: Schema | None = None
    who: str = WHO
    width: int = 0

    @property
    def known(self) -> tuple[str, ...]:
        """Names of columns to expect."""
        return () if self.schema is None else tuple(c.name for c in self.schema.columns)

    def most_rows(self, n_fields: int) -> int:
        """Rows per chunk of a table."""
        return max(1, min(self.chunk_rows, CHUNK_ENTRIES // max(1, n_fields)))


class Source:
    """Bytes of a file, a file object or standard input, decompressed by how they begin.

    Parameters
    ----------
    origin : path, file object or "-"
    who : str
        Name used in error messages.
    """

    def __init__(self, origin: Any, who: str = WHO) -> None:
        self.live = isinstance(origin, str) and origin == "-"
        self.who = who
        self.path: str | None = None
        self._closes = False
        self._start = 0
        if self.live:
            self.name = "standard input"
            self._raw = _standard_input()
        elif isinstance(origin, str | os.PathLike):
            self.name = self.path = os.fspath(origin)
            self._raw = _open_file(self.path, who)
            self._closes = True
        else:
            self.name = str(getattr(origin, "name", type(origin).__name__))
            self._raw = _binary(origin)
            if self._rewinds():
                self._start = self._raw.tell()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._closes:
            self._raw.close()

    def raw(self) -> BinaryIO:
        """The file as it is."""
        return self._raw

    def size(self) -> int | None:
        """Bytes of text that are to come, where they are known: a file that is not compressed."""
        if self.path is None or not os.path.isfile(self.path):
            return None
        with open(self.path, "rb") as file:
            head = file.read(6)
        return None if any(map(head.startswith, MAGIC)) else os.path.getsize(self.path)

    def keep(self) -> None:
        """Make `rewind` possible: what can be read only once goes to a temporary file."""
        if self._rewinds():
            return
        copy = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            shutil.copyfileobj(self._raw, copy, BLOCK)
        except OSError as error:
            copy.close()
            raise DataError(
                self.who,
                needs=f"to keep a copy of {self.name}",
                got=f"{error.strerror or error}",
                todo="Free some space, or pass a file.",
            ) from error
        self.close()
        copy.seek(0)
        self._raw, self._start, self.live, self._closes = cast(BinaryIO, copy), 0, False, True

    def _rewinds(self) -> bool:
        return not self.live and getattr(self._raw, "seekable", bool)()

    def rewind(self) -> None:
        """Go back to the first byte; needs a file that can, or `keep` before."""
        self._raw.seek(self._start)

    def blocks(self, *, whole_first: bool = False) -> Generator[bytes, None, None]:
        """Text cut at line ends, about `BLOCK` bytes at a time.

        Standard input gives what has arrived, so that a slow stream is not held up;
        ``whole_first`` waits for a full first block all the same.
        """
        head = self._read(self._raw, 6)
        file = self._decompress(head)
        parts: list[bytes] = []
        pending, first = 0, True
        while data := self._read(file, BLOCK, some=self.live and not (whole_first and first)):
            if first and whole_first and len(data) < BLOCK:
                more = self._read(file, BLOCK)
                if not more:  # a short file is one block, its last line included
                    yield data.removeprefix(MARK)
                    return
                data += more
            if first:
                data = data.removeprefix(MARK)
            first = False
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join([*parts, data[:cut]])
                parts, pending = [], 0
            parts.append(data[cut:])
            pending += len(data) - cut
            if pending > LONGEST_LINE:
                raise DataError(
                    self.who,
                    needs="lines of text",
                    got=f"more than {LONGEST_LINE} bytes without a line end in {self.name}",
                    todo="Check the format.",
                )
        if rest := b"".join(parts):
            yield rest

    def _read(self, file: Any, size: int, *, some: bool = False) -> bytes:
        try:
            return cast(bytes, file.read1(size) if some else file.read(size))
        except (EOFError, OSError, lzma.LZMAError, zlib.error, _zstd_error()) as error:
            raise DataError(
                self.who,
                needs="a file that can be read to its end",
                got=f"{error} in {self.name}",
                todo="Check that it is complete.",
            ) from error

    def _decompress(self, head: bytes) -> Any:
        whole = io.BufferedReader(_Joined(head, self._raw), BLOCK)
        kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
        if kind == "gz":
            return gzip.GzipFile(fileobj=whole)
        if kind == "bz2":
            return bz2.BZ2File(whole)
        if kind == "xz":
            return lzma.LZMAFile(whole)
        if kind == "zst":
            zstandard = require("zstandard", extra="cli", who=f"{self.who} of {self.name}")
            return io.BufferedReader(_Zstandard(zstandard.ZstdDecompressor(), whole), BLOCK)
        return whole


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of a file."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        elif hasattr(self._rest, "read1"):
            data = self._rest.read1(len(buffer))
        else:
            data = self._rest.read(len(buffer)) or b""
        buffer[: len(data)] = data
        return len(data)


class _Zstandard(io.RawIOBase):
    """Frames of a Zstandard file, the last of which must be whole."""

    def __init__(self, library: Any, file: Any) -> None:
        self._library, self._file = library, file
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._file.read(1 << 16)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the end of the file within a frame")
                return 0
            if self._frame is None:
                self._frame = self._library.decompressobj()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        data, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def place(text: bytes, where: int, lines_before: int) -> str:
    """Line and column of a byte, counted from 1."""
    line = lines_before + text.count(b"\n", 0, where) + 1
    column = where - text.rfind(b"\n", 0, where)
    return f"line {line}, column {column}"


def shown(token: bytes) -> str:
    """A token as an error message quotes it."""
    text = token[:40].decode("utf-8", "replace")
    return repr(text + "..." if len(token) > 40 else text)


def _open_file(path: str, who: str) -> BinaryIO:
    if os.path.isdir(path):
        raise DataError(who, needs="a file", got=f"the folder {path}", todo="Pass the files in it.")
    try:
        return open(path, "rb")
    except OSError as error:
        raise DataError(
            who,
            needs="a file it can read",
            got=f"{path}: {error.strerror or error}",
            todo="Check the path.",
        ) from error


def _standard_input() -> BinaryIO:
    """Standard input, past the lock that Python takes on it when it exits."""
    try:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), BLOCK)
    except (AttributeError, OSError, ValueError):
        return _binary(sys.stdin)


def _binary(file: Any) -> BinaryIO:
    if hasattr(file, "buffer"):
        return cast(BinaryIO, file.buffer)
    if isinstance(file, io.TextIOBase):
        return io.BytesIO(file.read().encode())
    return cast(BinaryIO, file)


def _zstd_error() -> type[Exception]:
    """What zstandard raises, once it was imported."""
    return getattr(sys.modules.get("zstandard"), "ZstdError", EOFError)


def yes_no(who: str, name: str, value: bool | str) -> bool | None:
    """True, False, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if not isinstance(value, bool):
        raise ParameterError(
            who,
            needs=f"{name} to be True, False or 'auto'",
            got=f"{value!r}",
            todo="Pass one of these.",
        )
    return value


def ahead(items: Iterator[T], most: int, *, wait: bool = True) -> Generator[T, None, None]:
    """The same items, made in a thread that is at most ``most`` of them ahead."""
    ready: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(most)
    stopped = threading.Event()

    def work() -> None:
        end: BaseException | None = None
        try:
            for item in items:
                ready.put((item,))
                if stopped.is_set():
                    return
        except BaseException as error:
            end = error
        ready.put(end)

    thread = threading.Thread(target=work, name="auctor-reader", daemon=True)
    thread.start()
    try:
        while (got := ready.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got[0]
    finally:
        stopped.set()
        while not ready.empty():
            ready.get_nowait()
        if wait:
            thread.join()
