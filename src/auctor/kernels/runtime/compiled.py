"""The decorators behind every kernel: compiled by Numba, without the GIL, cached on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from auctor.core.errors import ParameterError

try:
    from numba import njit
except ValueError as error:  # Numba refuses the variable without naming it
    if (threads := os.environ.get("NUMBA_NUM_THREADS")) is None:
        raise
    raise ParameterError(
        f"a positive number in the environment variable NUMBA_NUM_THREADS; got {threads}. Unset "
        "it: kernels use the threads of `n_threads=`."
    ) from error
from numba.core import event

from auctor.kernels.runtime import one_writer

F = TypeVar("F", bound=Callable[..., object])

#: Flags of LLVM that allow sums to be reordered, so that they vectorise.
REASSOCIATE = {"reassoc", "contract", "nsz", "arcp"}

one_writer.install()


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
    """Compile on the first call and cache the machine code on disk where a folder is writable.

    Numba raises a RuntimeError for a function without a source file, or where neither the folder
    of that file nor the user's cache folder is writable: it is then compiled in every process.
    """
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return cast(F, njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(F, njit(**options)(function))


@contextmanager
def report_compilation(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call ``tell(True)`` when a compilation starts in the block, ``tell(False)`` when it ends.

    Kernels loaded from the cache on disk are not compiled, so they are not reported. A kernel
    compiled because another one calls it is reported as a part of the outer compilation.

    Examples
    --------
    >>> @kernel
    ... def double(x):
    ...     return 2.0 * x
    >>> told = []
    >>> with report_compilation(told.append):
    ...     _ = double(1.0), double(2.0)
    >>> told
    [True, False]
    """
    with event.install_listener("numba:compile", _Compiling(tell)):
        yield


class _Compiling(event.Listener):
    """Reports the start and the end of the outermost compilation.

    Numba holds its compiler lock during both calls, so ``depth`` needs no lock of its own.
    """

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self.tell, self.depth = tell, 0

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.tell(True)

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.tell(False)
