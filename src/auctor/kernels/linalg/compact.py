"""Rows of a compressed matrix moved to its front, in place."""

from __future__ import annotations

from auctor.core.types import Array, IntArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def move_rows(ends: IntArray, index: IntArray, values: Array) -> None:
    """Move the entries of the rows ``index``, in increasing order, to the front of ``values``."""
    at = 0
    for i in index:
        for k in range(ends[i], ends[i + 1]):
            values[at] = values[k]
            at += 1
