"""What the solves of a regularisation path share: a warm start, the gap asked for, parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from auctor.core.types import FloatArray

P = TypeVar("P")


class WarmStart(NamedTuple):
    """Parameters with their scores, so that a solve can start there without a pass."""

    w: FloatArray
    scores: FloatArray


@dataclass
class PathMemory:
    """What one solve of a path leaves to the next.

    Only a path makes one (`Problem.keeping`); a problem that is solved alone has none, so that a
    solve never depends on the solves before it.

    Attributes
    ----------
    target_gap : float, optional
        Gap that the current point of the path is asked for, in units of the objective.
    warm_start : WarmStart, optional
        Where the next solve starts, with its scores.

    Examples
    --------
    A solver that wants to leave something declares a class with defaults, and asks for it:

    >>> @dataclass
    ... class Left:
    ...     count: int = 0
    >>> memory = PathMemory()
    >>> memory.part(Left).count += 1
    >>> memory.part(Left)
    Left(count=1)
    """

    target_gap: float | None = None
    warm_start: WarmStart | None = None
    _parts: dict[type, object] = field(default_factory=dict, repr=False)

    def part(self, kind: type[P]) -> P:
        """The one object of a class on this path, made with its defaults when first asked for."""
        found = self._parts.get(kind)
        if not isinstance(found, kind):
            found = self._parts[kind] = kind()
        return found
