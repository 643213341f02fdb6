"""The decorators behind every kernel: compiled by Numba, without the GIL, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])

#: Flags of LLVM that allow sums to be reordered, so that they vectorise. The flags that assume
#: the absence of NaN and infinity are left out, because kernels must pass both on.
REASSOCIATE = {"reassoc", "contract", "nsz", "arcp"}


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
    """Compile on the first call; keep the machine code on disk where a folder can be written.

    Numba raises a RuntimeError for a function whose code has no file, or where neither the folder
    of that file nor the user's cache folder can be written: it is then compiled in every process.
    """
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return cast(F, njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(F, njit(**options)(function))
