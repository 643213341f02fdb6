"""Shard files, read ahead by threads into a ring of buffers of a given total size."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from auctor.core.errors import DataError, DataLost
from auctor.core.types import Array
from auctor.data.shards import ALIGNMENT, ShardHeader

#: Threads that read; two keep a disk busy while the products run. Set by hand.
READERS = 2
#: One further buffer: the one whose rows are being used.
SPARE = 1
#: Share of the machine's memory up to which the files stay in the page cache, so that the next pass
#: need not read from the disk. Larger files are dropped from it: they would push out the pages of
#: other programs and still be read again. Set by hand.
CACHED = 0.5


class Ring:
    """Reads shards in order, some ahead, into buffers that are reused.

    Parameters
    ----------
    headers : sequence of ShardHeader
    memory : int
        Bytes for all buffers; at least one shard must fit.
    """

    def __init__(self, headers: Sequence[ShardHeader], memory: int) -> None:
        self._headers = headers
        largest = max(header.n_bytes for header in headers)
        if memory < largest:
            raise DataError(
                "open_shards",
                needs=f"memory for one shard, {largest} bytes",
                got=f"{memory}",
                todo="Raise {option}, or convert the table into smaller shards.",
                option="memory",
            )
        # As many buffers as readers can fill and one in use, if the memory allows.
        count = min(len(headers), READERS + SPARE, max(1, memory // max(1, largest)))
        self._buffers = [_aligned(largest) for _ in range(count)]
        total = sum(header.n_bytes for header in headers)
        self._forget = hasattr(os, "posix_fadvise") and total > CACHED * _physical_memory()

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """Number and bytes of every shard, in order; the bytes are valid until the next shard."""
        free = deque(self._buffers)
        pending: deque[tuple[int, Array, Future[None]]] = deque()
        remaining = iter(enumerate(self._headers))
        with ThreadPoolExecutor(READERS, thread_name_prefix="auctor-read") as pool:

            def refill() -> None:
                """Start reading the next shards into all free buffers."""
                while free:
                    following = next(remaining, None)
                    if following is None:
                        return
                    number, header = following
                    buffer = free.popleft()
                    pending.append(
                        (number, buffer, pool.submit(_read, header, buffer, self._forget))
                    )

            refill()
            while pending:
                number, buffer, reading = pending.popleft()
                # Wait for the oldest read; its buffer is free again after the caller is done.
                reading.result()
                yield number, buffer[: self._headers[number].n_bytes]
                free.append(buffer)
                refill()


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


def _read(header: ShardHeader, buffer: Array, forget: bool) -> None:
    """Fill a buffer with the bytes of a shard; with ``forget``, drop it from the page cache."""
    try:
        with header.path.open("rb", buffering=0) as file:
            view = buffer.data[: header.n_bytes]
            done = 0
            while done < header.n_bytes:
                got = os.preadv(file.fileno(), [view[done:]], header.begin + done)
                if got == 0:
                    raise _lost(header, f"its end after {done} bytes")
                done += got
            if forget:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise _lost(header, error.strerror or str(error)) from error


def _lost(header: ShardHeader, what: str) -> DataLost:
    """The error for a file that was complete when it was opened and cannot be read now."""
    return DataLost(
        "open_shards",
        needs=f"to read {header.path.name} in every pass",
        got=what,
        todo="Bring the file back, or convert the table again.",
    )
