"""Sources of bytes: files, file objects and standard input, plain or compressed."""

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
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO, TypeVar, cast

from auctor.core.errors import DataError
from auctor.core.optional import require
from auctor.tables.options import reading_option

T = TypeVar("T")


#: Bytes of text that are read at a time, 1 MiB.
READ_BYTES = 1 << 20
#: Bytes of the longest line, 256 MiB.
LONGEST_LINE = 1 << 28

#: First bytes of compressed files, and the format of each.
MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
#: Byte order mark that some programs put before UTF-8 text.
MARK = b"\xef\xbb\xbf"
#: First bytes of files that are not text: what they are, and their format if it can be read.
OTHERS = {
    b"PK\x03\x04": ("a zip archive, such as an Excel workbook or a model", None),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", None),
    b"PAR1": ("a Parquet file", "parquet"),
    b"ARROW1": ("an Arrow file", "arrow"),
    b"\x93NUMPY": ("a NumPy array", "npy"),
    b"\xff\xfe": ("which is UTF-16 text", None),
    b"\xfe\xff": ("which is UTF-16 text", None),
}


class Source:
    """Bytes of a file, a file object or standard input; compression is detected and undone."""

    def __init__(self, origin: Any) -> None:
        self.live = isinstance(origin, str) and origin == "-"
        self.path: str | None = None
        self._closes = False
        self._start = 0
        if self.live:
            self.name = "standard input"
            self._raw = _standard_input()
        elif isinstance(origin, str | os.PathLike):
            self.name = self.path = os.fspath(origin)
            self._raw = _open_file(self.path)
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
        """The file without decompression."""
        return self._raw

    def size(self) -> int | None:
        """Size of the text in bytes if it is known: that of a file that is not compressed."""
        if self.path is None or not os.path.isfile(self.path):
            return None
        with open(self.path, "rb") as file:
            head = file.read(6)
        return None if any(map(head.startswith, MAGIC)) else os.path.getsize(self.path)

    def keep(self) -> None:
        """Make `rewind` possible: a pipe is copied to a temporary file first."""
        if self._rewinds():
            return
        copy = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            shutil.copyfileobj(self._raw, copy, READ_BYTES)
        except OSError as error:
            copy.close()
            raise DataError(
                f"to write a temporary copy of {self.name}; got {error.strerror or error}. Free "
                "some space, or pass a file."
            ) from error
        self.close()
        copy.seek(0)
        self._raw, self._start, self.live, self._closes = cast(BinaryIO, copy), 0, False, True

    def record(self) -> None:
        """Make `rewind` possible until `replay`: bytes that a pipe gives are kept in memory."""
        if not self._rewinds():
            self._raw, self._start = cast(BinaryIO, _Recorder(self._raw)), 0

    def replay(self) -> None:
        """Go back to the first byte, and keep no more bytes in memory."""
        self.rewind()
        if isinstance(self._raw, _Recorder):
            self._raw.keeps = False

    def _rewinds(self) -> bool:
        """Whether the source is a seekable file."""
        return not self.live and getattr(self._raw, "seekable", bool)()

    def rewind(self) -> None:
        """Go back to the first byte; a pipe needs `keep` or `record` before."""
        self._raw.seek(self._start)

    def blocks(self, *, whole_first: bool = False) -> Generator[bytes, None, None]:
        """The text in blocks of about `READ_BYTES` bytes that end with a line.

        From standard input a block is what has arrived, so that rows of a slow pipe are not held
        back; with ``whole_first`` the first block waits until it is full.
        """
        head = self._read(self._raw, 6)
        self._refuse_other(head)
        file = self._decompress(head)
        parts: list[bytes] = []
        pending, first = 0, True
        while data := self._read(file, READ_BYTES, some=self.live and not (whole_first and first)):
            if first and whole_first and len(data) < READ_BYTES:
                more = self._read(file, READ_BYTES)
                if not more:  # a short file is one block, its last line included
                    yield data.removeprefix(MARK)
                    return
                data += more
            if first:
                data = data.removeprefix(MARK)
            first = False
            # Up to the last line end it is complete; the rest waits for the next block.
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join([*parts, data[:cut]])
                parts, pending = [], 0
            parts.append(data[cut:])
            pending += len(data) - cut
            if pending > LONGEST_LINE:
                raise DataError(
                    f"lines of text; got more than {LONGEST_LINE} bytes without a line end in "
                    f"{self.name}. Check the format."
                )
        if rest := b"".join(parts):
            yield rest

    def _read(self, file: Any, size: int, *, some: bool = False) -> bytes:
        """Read ``size`` bytes; with ``some``, as many of them as are there."""
        try:
            return cast(bytes, file.read1(size) if some else file.read(size))
        except (EOFError, OSError, lzma.LZMAError, zlib.error, _zstd_error()) as error:
            raise DataError(
                f"a file that can be read to its end; got {error} in {self.name}. Copy it again."
            ) from error

    def _refuse_other(self, head: bytes) -> None:
        """Refuse a file that is not text, by its first bytes."""
        for magic, (kind, format) in OTHERS.items():
            if head.startswith(magic):
                raise DataError(
                    "UTF-8 text, as the name or the format says",
                    got=f"{self.name}, {kind}",
                    todo="Pass {option}." if format else "Save the table as CSV in UTF-8 first.",
                    option=reading_option("format", format),
                )

    def _decompress(self, head: bytes) -> Any:
        """A file of the decompressed bytes; ``head`` are the first ones, which are read already."""
        whole = io.BufferedReader(_Joined(head, self._raw), READ_BYTES)
        kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
        if kind == "gz":
            return gzip.GzipFile(fileobj=whole)
        if kind == "bz2":
            return bz2.BZ2File(whole)
        if kind == "xz":
            return lzma.LZMAFile(whole)
        if kind == "zst":
            zstandard = require("zstandard", extra="cli", to=f"read {self.name}")
            return io.BufferedReader(_Zstandard(zstandard.ZstdDecompressor(), whole), READ_BYTES)
        return whole


class _Recorder:
    """A pipe whose beginning can be read again: it stores what is read while ``keeps`` is true."""

    def __init__(self, file: Any) -> None:
        self._file, self.keeps = file, True
        self._kept, self._at = bytearray(), 0

    def read1(self, size: int) -> bytes:
        """At most ``size`` bytes: those that are available without waiting for more."""
        data = bytes(self._kept[self._at : self._at + size])
        self._at += len(data)
        if not data:
            data = getattr(self._file, "read1", self._file.read)(size) or b""
            if self.keeps:
                self._kept += data
            else:
                self._kept.clear()
            self._at = len(self._kept)
        return data

    def read(self, size: int) -> bytes:
        """``size`` bytes, or fewer at the end."""
        parts = []
        while size and (data := self.read1(size)):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def seek(self, place: int) -> None:
        """Go to a position among the stored bytes."""
        self._at = place

    def close(self) -> None:
        """Close the pipe."""
        self._file.close()


class _Joined(io.RawIOBase):
    """A file of bytes that were read already, followed by the rest of a file."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the head first, then what the file has available."""
        if self._head:
            data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        elif hasattr(self._rest, "read1"):
            data = self._rest.read1(len(buffer))
        else:
            data = self._rest.read(len(buffer)) or b""
        buffer[: len(data)] = data
        return len(data)


class _Zstandard(io.RawIOBase):
    """A decompressed Zstandard file; an incomplete last frame is an error."""

    def __init__(self, library: Any, file: Any) -> None:
        self._library, self._file = library, file
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Decompress until there are bytes to return; several frames may follow each other."""
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
    """Line and column of a byte, both from 1, for messages."""
    line = lines_before + text.count(b"\n", 0, where) + 1
    column = where - text.rfind(b"\n", 0, where)
    return f"line {line}, column {column}"


def shown(token: bytes) -> str:
    """A token as error messages quote it: its first 40 bytes."""
    text = token[:40].decode("utf-8", "replace")
    return repr(text + "..." if len(token) > 40 else text)


def _open_file(path: str) -> BinaryIO:
    """Open a file; refuses a folder and a file that cannot be read."""
    if os.path.isdir(path):
        raise DataError(
            f"a file; got the folder {path}. Pass a file of it; shards are read by train, predict, "
            "evaluate and open_stream."
        )
    try:
        return open(path, "rb")
    except OSError as error:
        raise DataError(
            "a file it can read", got=f"{path}: {error.strerror or error}", todo="Check the path."
        ) from error


def _standard_input() -> BinaryIO:
    """Standard input by its file descriptor.

    A thread that waits in ``sys.stdin`` holds a lock that Python needs when it exits.
    """
    try:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), READ_BYTES)
    except (AttributeError, OSError, ValueError):
        return _binary(sys.stdin)


def _binary(file: Any) -> BinaryIO:
    """The binary file behind a file object."""
    if hasattr(file, "buffer"):
        return cast(BinaryIO, file.buffer)
    if isinstance(file, io.TextIOBase):
        return io.BytesIO(file.read().encode())
    return cast(BinaryIO, file)


def _zstd_error() -> type[Exception]:
    """The exception of zstandard if it is imported, otherwise one that is caught anyway."""
    return getattr(sys.modules.get("zstandard"), "ZstdError", EOFError)


def read_ahead(items: Iterator[T], most: int, *, wait: bool = True) -> Generator[T, None, None]:
    """Pass on items that a thread produces, at most ``most`` of them in advance.

    Parameters
    ----------
    most : int
        Length of the queue.
    wait : bool
        Whether to wait for the thread at the end; a thread that waits for a pipe may never end.
    """
    ready: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(most)
    stopped = threading.Event()

    def work() -> None:
        """Put items into the queue; the last entry is None, or the exception that ended them."""
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
    finally:  # the thread may wait for space in the queue: make room, so that it sees ``stopped``
        stopped.set()
        while not ready.empty():
            ready.get_nowait()
        if wait:
            thread.join()
