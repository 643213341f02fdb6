"""Appointments of columns with future steps: a wheel of lists, one for each of the next steps.

Column j has its appointment in ``table[j, DUE]`` (0: none), fewer steps ahead than the wheel has
slots, and the columns before and after it in the list of that step, plus one (0: none).
``wheel[k]`` is the first of slot k, plus one.
"""

from __future__ import annotations

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.compiled import inline_kernel

#: Places in the table.
DUE, NEXT, BEFORE = 4, 5, 6
WIDTH = 8
#: Steps that can be looked ahead.
SLOTS = 4096


@inline_kernel
def enter(table: FloatArray, wheel: IntArray, j: int, due: float) -> None:
    """Make an appointment for a column that has none."""
    slot = int(due) % wheel.shape[0]
    first = wheel[slot]
    if first > 0:
        table[first - 1, BEFORE] = j + 1
    table[j, DUE], table[j, NEXT], table[j, BEFORE] = due, first, 0.0
    wheel[slot] = j + 1


@inline_kernel
def leave(table: FloatArray, wheel: IntArray, j: int) -> None:
    """Cancel the appointment of a column."""
    before, after = int(table[j, BEFORE]), int(table[j, NEXT])
    if before > 0:
        table[before - 1, NEXT] = after
    else:
        wheel[int(table[j, DUE]) % wheel.shape[0]] = after
    if after > 0:
        table[after - 1, BEFORE] = before
    table[j, DUE] = 0.0
