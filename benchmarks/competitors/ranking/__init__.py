"""Peers for ranking losses, each with a protocol of its own: not raced on a grid."""

from __future__ import annotations

from benchmarks.competitors.ranking import libauc_linear, spam


def reasons() -> dict[str, str | None]:
    """Why each cannot be used, or None."""
    return {package.name: package.available() for package in (libauc_linear, spam)}
