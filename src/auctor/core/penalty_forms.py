"""Forms that only some penalties have: arrays that describe the penalty, for compiled loops.

Who needs a form asks for it by its constant:

    BLOCKS.of(penalty, d)    the groups of a penalty of d weights, or an `IncompatibleError`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from auctor.core.capability import Kind
from auctor.core.protocols import Penalty
from auctor.core.types import BlockSpec, SeparableSpec, TreeSpec

S = TypeVar("S")

PENALTY = Kind(Penalty, "another penalty", repr)


@dataclass(frozen=True)
class PenaltyForm(Generic[S]):
    """A form of penalties, with the type S of its arrays.

    Parameters
    ----------
    words : str
        What is needed, for messages: "a penalty on disjoint groups of coordinates".
    find : callable
        The form of a penalty of d weights, or ``None`` if it has none.

    Examples
    --------
    >>> from auctor.penalties import L1
    >>> SEPARABLE.of(L1(2.0), 3).l1
    array([2., 2., 2.])
    """

    words: str
    find: Callable[[Penalty, int], S | None]

    def of(self, penalty: Penalty, d: int) -> S:
        """The form of a penalty of d weights; an `IncompatibleError` if it has none."""
        found = self.find(penalty, d)
        if found is None:
            raise PENALTY.lacks(penalty, self.words)
        return found


SEPARABLE: PenaltyForm[SeparableSpec] = PenaltyForm(
    "a penalty that separates over coordinates", lambda penalty, d: penalty.separable(d)
)
BLOCKS: PenaltyForm[BlockSpec] = PenaltyForm(
    "a penalty on disjoint groups of coordinates", lambda penalty, d: penalty.blocks(d)
)
TREE: PenaltyForm[TreeSpec] = PenaltyForm(
    "a penalty on disjoint or nested groups of coordinates", lambda penalty, d: penalty.tree(d)
)
