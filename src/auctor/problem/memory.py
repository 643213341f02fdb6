"""What the solves of a regularisation path share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from auctor.core.types import FloatArray


class WarmStart(NamedTuple):
    """Parameters with their scores, so that a solve can start without a pass over the data."""

    w: FloatArray
    scores: FloatArray


@dataclass
class PathMemory:
    """What one solve along a path passes to the next.

    Only a path makes one (`Problem.with_memory`); a problem that is solved alone has none, so that
    a solve never depends on earlier solves. `auctor.solvers.base` adds the parts of solvers.

    Attributes
    ----------
    target_gap : float, optional
        Gap that the current point of the path must reach, in units of the objective.
    warm_start : WarmStart, optional
        Starting point of the next solve, with its scores.
    """

    target_gap: float | None = None
    warm_start: WarmStart | None = None
