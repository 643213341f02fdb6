"""How much memory this process may still use, and refusals before more is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auctor.core.errors import DataError, Option

#: Requests below this number of bytes, 64 MiB, are not checked: a check reads three small files.
SMALL = 1 << 26


def available_bytes() -> int | None:
    """Bytes that can still be allocated: free memory, less where the process has a limit.

    None where the system does not say.
    """
    limits = [_free(), _below_limit(), _in_group()]
    return min((size for size in limits if size is not None), default=None)


def check_memory(
    n_bytes: int, what: str, *, todo: str, option: str | Option | tuple[()] = ()
) -> None:
    """Raise `DataError` with the estimate if ``n_bytes`` for ``what`` are more than there are."""
    if n_bytes < SMALL:
        return
    free = available_bytes()
    if free is not None and n_bytes > free:
        raise DataError(
            f"about {n_bytes / 1e9:.1f} GB of memory for {what}",
            got=f"{max(free, 0) / 1e9:.1f} GB",
            todo=todo,
            option=option,
        )


@contextmanager
def enough_memory(what: str, *, todo: str) -> Iterator[None]:
    """Turn a `MemoryError` in this block into a `DataError`."""
    try:
        yield
    except MemoryError as error:
        free = available_bytes()
        raise DataError(
            f"more memory for {what}",
            got="too little" if free is None else f"{free / 1e9:.1f} GB",
            todo=todo,
        ) from error


def _free() -> int | None:
    """Memory that the system can give without swapping."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _below_limit() -> int | None:
    """Address space below the limit of the process (``ulimit -v``)."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _lines("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return limit - int(pages[0].split()[0]) * resource.getpagesize()


def _in_group() -> int | None:
    """Memory below the limit of a container; cached files count as free."""
    limit, used = (_lines(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if not limit or not used or not limit[0].strip().isdigit():
        return None
    words = (line.split() for line in _lines("/sys/fs/cgroup/memory.stat"))
    cached = sum(int(size) for name, size in words if name == "file")
    return int(limit[0]) - int(used[0]) + cached


def _lines(path: str) -> list[str]:
    """The lines of a file of the system; none if there is no such file."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
