"""Optimisers without derivatives: a few lines of code each, behind one call."""

from __future__ import annotations

from benchmarks.competitors import installed
from benchmarks.competitors.search.optimisers import CONTENDERS


def reasons() -> dict[str, str | None]:
    """Why each of the others' cannot be used, or None."""
    theirs = {name: package for name, (_, package) in CONTENDERS.items() if package != "auctor"}
    return {name: installed(package) for name, package in theirs.items()}
