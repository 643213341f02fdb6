"""One solver per file: ``name``, ``kind``, ``layouts``, ``available``, ``refuses``, ``fit``.

``fit(X, y, strength, tol, intercept) -> Fit`` minimises ``mean loss + strength * penalty``.
``available()`` and ``refuses(rows, columns)`` give a reason, or None when there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np


class Fit(NamedTuple):
    """A solution, and how much work it took in the solver's own words."""

    coef: np.ndarray
    intercept: float
    work: dict[str, object]


class Competitor(Protocol):
    """What a competitor module offers."""

    name: str
    kind: str
    layouts: tuple[str, ...]
    available: Callable[[], str | None]
    refuses: Callable[[int, int], str | None]
    fit: Callable[..., Fit]


def discover(kind: str | None = None) -> list[Competitor]:
    """Every competitor file, or those of one kind."""
    folder = Path(__file__).resolve().parent
    stems = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    modules = [import_module(f"benchmarks.competitors.{stem}") for stem in stems]
    return [m for m in modules if kind is None or m.kind == kind]
