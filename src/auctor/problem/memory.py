"""What the solves of a regularisation path share: a warm start, the target gap, solver parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from auctor.core.types import FloatArray

P = TypeVar("P")


class WarmStart(NamedTuple):
    """Parameters with their scores, so that a solve can start without a pass over the data."""

    w: FloatArray
    scores: FloatArray


@dataclass
class PathMemory:
    """What one solve along a path passes to the next.

    Only a path makes one (`Problem.with_memory`); a problem that is solved alone has none, so that
    a solve never depends on earlier solves.

    Attributes
    ----------
    target_gap : float, optional
        Gap that the current point of the path must reach, in units of the objective.
    warm_start : WarmStart, optional
        Starting point of the next solve, with its scores.

    Examples
    --------
    A solver declares a class with defaults for the objects that it shares along a path:

    >>> @dataclass
    ... class Shared:
    ...     count: int = 0
    >>> memory = PathMemory()
    >>> memory.part(Shared).count += 1
    >>> memory.part(Shared)
    Shared(count=1)
    """

    target_gap: float | None = None
    warm_start: WarmStart | None = None
    _parts: dict[type, object] = field(default_factory=dict, repr=False)

    def part(self, kind: type[P]) -> P:
        """The one object of this class on the path, created with its defaults on first use."""
        found = self._parts.get(kind)
        if not isinstance(found, kind):
            found = self._parts[kind] = kind()
        return found
