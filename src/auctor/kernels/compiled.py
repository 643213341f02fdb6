"""The one decorator behind every kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])

#: Reassociation lets LLVM vectorise sums. NaN and infinity keep their meaning.
REASSOCIATE = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: F) -> F:
    """Compile without the GIL and cache on disk."""
    return cast(F, njit(nogil=True, cache=True, error_model="numpy")(function))


def fast_kernel(function: F) -> F:
    """Like `kernel`, with sums that may be reordered so that they vectorise."""
    compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath=REASSOCIATE)
    return cast(F, compiled(function))


def inline_kernel(function: F) -> F:
    """Compile into the caller, so that a loop over it can vectorise."""
    return cast(F, njit(inline="always", error_model="numpy")(function))
