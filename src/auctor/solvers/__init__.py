"""Solvers, imported on first use; `registry` lists them, `choose` holds the decision table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auctor.solvers.choose import choose, resolve
from auctor.solvers.registry import HOMES, load

if TYPE_CHECKING:
    from auctor.solvers.registry import *  # noqa: F403 the registry lists every public name once

__all__ = ["choose", "resolve", *HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
