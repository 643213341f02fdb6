"""Learners of other packages for the suite ``online``."""

from __future__ import annotations

from benchmarks.competitors.online import peers


def reasons() -> dict[str, str | None]:
    """Why each cannot be used, or None."""
    return dict.fromkeys(("river", "vowpalwabbit"), peers.available())
