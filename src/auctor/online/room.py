"""Memory that a state takes, asked for before it is taken."""

from __future__ import annotations

import os

from auctor.core.errors import DataError

#: Bytes of a number of the state.
NUMBER = 8


def total_memory() -> float:
    """Bytes of the machine's memory; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return float("inf")


def too_large(who: str, d: int, numbers: float, advice: str) -> DataError:
    """The error for a state of ``numbers`` numbers for d columns."""
    size, most = NUMBER * numbers / 2**30, total_memory() / 2**30
    return DataError(
        who,
        needs="memory for a state that grows with the square of the columns",
        got=f"{d} columns, which take {size:.3g} GiB (the machine has {most:.3g} GiB)",
        todo=advice,
    )


def check_room(who: str, d: int, numbers: float, advice: str) -> None:
    """Refuse a state of ``numbers`` numbers that is larger than the machine's memory."""
    if NUMBER * numbers > total_memory():
        raise too_large(who, d, numbers, advice)
