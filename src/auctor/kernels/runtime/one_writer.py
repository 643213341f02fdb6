"""One process at a time writes compiled kernels to the disk.

Numba numbers the files of a kernel's specialisations by an index that it reads, extends and writes
back. Two processes that compile the same kernel for different types at the same time can give one
number to both; a later process then loads machine code for other types. So a process that has
compiled a kernel waits for the others before it writes. Compiling itself goes on side by side.

Numba's public events are the only place to wait. They belong to the process, not to a kernel, so
the listener is registered for the whole process and ignores the kernels of other packages. That
Numba writes between two of the events is not documented, so versions above the tested one do
without the lock: ``tests/kernels/test_compiled.py`` says whether a version has this order.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numba
from numba.core import event

try:
    import fcntl
except ImportError:  # Windows has no `fcntl`; there, kernels are written as Numba does it
    fcntl = None  # type: ignore[assignment]

#: File in a folder of compiled kernels that its one writer holds locked; it stays empty.
LOCK = "auctor.lock"
#: Latest minor version of Numba for which ``tests/kernels/test_compiled.py`` has passed.
TESTED = (0, 68)


class OneWriter(event.Listener):
    """Holds a file lock from the end of a compilation until Numba has written its machine code.

    Numba writes the cache between the end of its event ``numba:compile`` and the end of the event
    ``numba:compiler_lock`` of the same kernel. Both events are nested where a kernel calls another
    one; the nesting depth of the compiler lock tells which of its ends belongs to this kernel.
    """

    def __init__(self) -> None:
        self._here = threading.local()

    def on_start(self, event: event.Event) -> None:
        """Count the nesting depth of the compiler lock in this thread."""
        if event.kind == "numba:compiler_lock":
            self._here.depth = self._depth() + 1

    def on_end(self, event: event.Event) -> None:
        """Take the lock when a kernel of this package is compiled; release it after the write."""
        if event.kind == "numba:compiler_lock":
            self._here.depth = self._depth() - 1
            depth, held = getattr(self._here, "held", (0, None))
            if held is not None and self._depth() < depth:
                os.close(held)  # which also unlocks it
                self._here.held = (0, None)
        elif _ours(event):
            folder = event.data["dispatcher"].stats.cache_path
            if folder is not None:
                self._here.held = (self._depth(), locked(Path(folder)))

    def _depth(self) -> int:
        return getattr(self._here, "depth", 0)


def _ours(event: event.Event) -> bool:
    """Whether the kernel is one of this package; a function typed interactively has no module."""
    module = event.data["dispatcher"].py_func.__module__ or ""
    return bool(module.partition(".")[0] == "auctor")


def locked(folder: Path) -> int | None:
    """Wait for the lock of a folder; return its file descriptor, or None if it cannot be locked."""
    if fcntl is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None  # not writable: Numba will not write either
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        os.close(descriptor)
        return None
    return descriptor


def install() -> None:
    """Register the lock for every kernel that this process compiles from now on.

    Above the tested version of Numba nothing is registered.
    """
    if tuple(map(int, numba.__version__.split(".")[:2])) > TESTED:
        return
    writer = OneWriter()
    for kind in ("numba:compile", "numba:compiler_lock"):
        event.register(kind, writer)  # type: ignore[no-untyped-call]
