"""Data on a GPU: every metric trains on it, and scores stay there through a fit."""

from typing import Any

from auctor.core.optional import require

__all__ = ["OnDevice"]


def __getattr__(name: str) -> Any:
    """Import the class on first use, because it imports torch."""
    if name not in (*__all__, "with_labels"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("torch", extra="gpu")
    from auctor.gpu import data

    return getattr(data, name)
