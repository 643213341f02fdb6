"""The one decorator behind every kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache, NullCache
from numba.core.runtime.nrt import rtsys

F = TypeVar("F", bound=Callable[..., object])

#: Reassociation lets LLVM vectorise sums. NaN and infinity keep their meaning.
REASSOCIATE = {"reassoc", "contract", "nsz", "arcp"}


class _Cache:
    """Kernels on the disk, loaded without making the compiler ready first.

    numba's own does that before it looks, which takes longer than loading all kernels of a fit.
    One that is not there is compiled, and the compiler makes itself ready. Nothing is looked for
    until the kernel is called, and where nothing can be written it is compiled each time.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function, self._stamp = function, _stamp(function)

    @cached_property
    def _files(self) -> Any:
        if _stamp(self._function) != self._stamp:  # what is on the disk now is another source
            return NullCache()
        try:
            return FunctionCache(self._function)  # type: ignore[no-untyped-call]
        except RuntimeError:  # no folder to write to
            return NullCache()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def load_overload(self, sig: object, target_context: object) -> Any:
        files = self._files
        if isinstance(files, NullCache):
            return None
        rtsys.initialize(target_context)
        with files._guard_against_spurious_io_errors():
            return files._load_overload(sig, target_context)


def _stamp(function: Callable[..., object]) -> tuple[int, int] | None:
    """When the file of a function was written, and its size."""
    try:
        state = os.stat(function.__code__.co_filename)
    except OSError:  # typed in, or in an archive
        return None
    return state.st_mtime_ns, state.st_size


def kernel(function: F) -> F:
    """Compile without the GIL and cache on disk."""
    return _cached(function)


def fast_kernel(function: F) -> F:
    """Like `kernel`, with sums that may be reordered so that they vectorise."""
    return _cached(function, fastmath=REASSOCIATE)


def inline_kernel(function: F) -> F:
    """Compile into the caller, so that a loop over it can vectorise."""
    return cast(F, njit(inline="always", error_model="numpy")(function))


def _cached(function: F, **options: Any) -> F:
    compiled: Any = njit(nogil=True, error_model="numpy", **options)(function)
    if compiled is not function:  # as it is with NUMBA_DISABLE_JIT
        compiled._cache = _Cache(function)
    return cast(F, compiled)
