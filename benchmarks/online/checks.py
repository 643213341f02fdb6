"""Acceptance checks of the thesis on fast AUC maximisation (A) and of Ghanbari's (C.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from threadpoolctl import threadpool_limits

from benchmarks.online import learners, rates
from benchmarks.online.parts import Line

CHECKS: dict[str, Callable[[], Iterator[Line]]] = {
    **{f"A{k}": getattr(rates if k < 16 else learners, f"a{k}") for k in range(1, 25)},
    "C.9": learners.c9,
}


def lines(check: str) -> list[list[object]]:
    """The lines of one check; one that raises is a line that fails."""
    with threadpool_limits(1):
        try:
            return [
                [*line[:3], None if line.good is None else bool(line.good)]
                for line in CHECKS[check]()
            ]
        except Exception as failure:
            return [["raised", f"{type(failure).__name__}: {failure}"[:200], "-", False]]
