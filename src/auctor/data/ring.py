"""Shard files, read ahead by threads into a ring of buffers of a given total size."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from auctor.core.errors import DataError, DataLost
from auctor.core.types import Array
from auctor.data.shards import ALIGNMENT

#: Threads that read; two keep a disk busy while the products run.
READERS = 2
#: One further buffer: the one whose rows are being used.
SPARE = 1
#: Share of the machine's memory up to which the files stay in the page cache.
CACHED = 0.5


class FileOfBytes(Protocol):
    """A file of a size that is known before it is read, such as a shard."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def n_bytes(self) -> int:
        """Its size."""


class Ring:
    """Reads shards in order, some ahead, into buffers that are reused.

    Parameters
    ----------
    memory : int
        Bytes for all buffers; at least one shard must fit.
    """

    def __init__(self, shards: Sequence[FileOfBytes], memory: int) -> None:
        self._shards = shards
        #: Inode, size and time of change of every file when it was read for the first time.
        self._stamps: dict[int, tuple[int, int, int]] = {}
        largest = max(shard.n_bytes for shard in shards)
        if memory < largest:
            raise DataError(
                f"memory for one shard, {largest} bytes; got {memory}. Raise `memory=`, or convert "
                "the table into smaller shards."
            )
        # As many buffers as readers can fill and one in use, if the memory allows.
        count = min(len(shards), READERS + SPARE, max(1, memory // max(1, largest)))
        self._buffers = [_aligned(largest) for _ in range(count)]
        total = sum(shard.n_bytes for shard in shards)
        self._forget = hasattr(os, "posix_fadvise") and total > CACHED * _physical_memory()

    def blocks(
        self, check: Callable[[Any, Array], None] | None = None
    ) -> Iterator[tuple[int, Array]]:
        """Number and bytes of every shard, in order; the bytes are valid until the next shard.

        ``check`` is called with every shard by the threads that read.
        """
        free = deque(self._buffers)
        pending: deque[tuple[int, Array, Future[None]]] = deque()
        remaining = iter(range(len(self._shards)))
        with ThreadPoolExecutor(READERS, thread_name_prefix="auctor-read") as pool:

            def refill() -> None:
                """Start reading the next shards into all free buffers."""
                while free:
                    number = next(remaining, None)
                    if number is None:
                        return
                    buffer = free.popleft()
                    reading = pool.submit(self._read, number, buffer, check)
                    pending.append((number, buffer, reading))

            refill()
            while pending:
                number, buffer, reading = pending.popleft()
                # Wait for the oldest read; its buffer is free again after the caller is done.
                reading.result()
                yield number, buffer[: self._shards[number].n_bytes]
                free.append(buffer)
                refill()

    def _read(self, number: int, buffer: Array, check: Callable[[Any, Array], None] | None) -> None:
        """Fill a buffer with the bytes of a shard; refuse a file that changed after it was open."""
        shard = self._shards[number]
        view, done = buffer.data[: shard.n_bytes], 0
        try:
            with shard.path.open("rb", buffering=0) as file:
                state = os.fstat(file.fileno())
                stamp = (state.st_ino, state.st_size, state.st_mtime_ns)
                if self._stamps.setdefault(number, stamp) != stamp:
                    raise lost(shard, "a file that has changed")
                while done < shard.n_bytes:
                    got = file.readinto(view[done:])
                    if not got:
                        raise lost(shard, f"its end after {done} bytes")
                    done += got
                if self._forget and hasattr(os, "posix_fadvise"):  # macOS, Windows: no such call
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            if isinstance(error, DataLost):
                raise
            raise lost(shard, error.strerror or str(error)) from error
        if check is not None:
            check(shard, buffer[: shard.n_bytes])


def _aligned(size: int) -> Array:
    """A buffer of bytes whose address is a multiple of the alignment."""
    buffer = np.empty(size + ALIGNMENT, dtype=np.uint8)
    shift = -buffer.ctypes.data % ALIGNMENT
    return buffer[shift : shift + size]


def _physical_memory() -> int:
    """Bytes of memory of this machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def lost(shard: FileOfBytes, what: str) -> DataLost:
    """The error for a file that was complete when it was opened and cannot be read now."""
    return DataLost(
        f"to read {shard.path.name} in every pass; got {what}. Bring it back, or convert again."
    )
