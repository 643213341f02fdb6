"""`Capability`: something that only some losses or data sets can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

from auctor.core.errors import IncompatibleError

P = TypeVar("P")
C = TypeVar("C")


class Kind(NamedTuple):
    """Words of an error message for one kind of part, such as a loss."""

    #: The part that was needed.
    needed: str
    #: What to use instead of the part at hand.
    instead: str
    #: How a part is shown.
    shown: Callable[[Any], str]

    def lacks(self, part: object, words: str) -> IncompatibleError:
        """The error of a part that does not have what was asked of it."""
        return IncompatibleError(
            f"A solver that uses {words}",
            needs=self.needed,
            got=self.shown(part),
            todo=f"Use another solver, or {self.instead}.",
        )


@dataclass(frozen=True)
class Capability(Generic[P, C]):
    """Something that only some parts of type P can do; C is the type of those that can.

    Parameters
    ----------
    words : str
        What it is, for messages: "A solver that uses <words>".
    has : callable
        Whether a part has the capability.
    kind : Kind
        Words for the parts of type P.

    Examples
    --------
    >>> from auctor.core.capabilities import COMPILED
    >>> from auctor.losses import Hinge, PairwiseHinge
    >>> COMPILED.of(Hinge()).closed_prox, COMPILED.find(PairwiseHinge())
    (True, None)
    """

    words: str
    has: Callable[[P], bool]
    kind: Kind

    def find(self, part: P) -> C | None:
        """The part, with the type C, if it has the capability; otherwise ``None``."""
        return cast(C, part) if self.has(part) else None

    def of(self, part: P) -> C:
        """The part, with the type C; an `IncompatibleError` if it lacks the capability."""
        if not self.has(part):
            raise self.kind.lacks(part, self.words)
        return cast(C, part)
