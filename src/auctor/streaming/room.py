"""Checks, before allocation, that the state of a learner fits into memory."""

from __future__ import annotations

import os

from auctor.core.errors import DataError

#: Bytes of a float.
FLOAT_BYTES = 8


def total_memory() -> float:
    """Bytes of the machine's memory; infinite if the system does not report it."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return float("inf")


def too_large(d: int, numbers: float, advice: str) -> DataError:
    """The error for a state of ``numbers`` floats for d columns."""
    size, most = FLOAT_BYTES * numbers / 2**30, total_memory() / 2**30
    return DataError(
        "memory for a state that grows with the square of the columns",
        got=f"{d} columns, which take {size:.3g} GiB (the machine has {most:.3g} GiB)",
        todo=advice,
    )


def check_memory(d: int, numbers: float, advice: str) -> None:
    """Raise for a state of ``numbers`` floats that is larger than the machine's memory."""
    if FLOAT_BYTES * numbers > total_memory():
        raise too_large(d, numbers, advice)
