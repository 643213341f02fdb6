"""`Capability`: something that only some losses or data sets can do, said once by its protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, cast

from auctor.core.errors import IncompatibleError

P = TypeVar("P")
C = TypeVar("C")


class Kind(NamedTuple):
    """One kind of part: its protocol, what to use instead of a part, how a part is shown."""

    core: Any
    instead: str
    shown: Callable[[Any], str]

    def lacks(self, part: object, words: str) -> IncompatibleError:
        """The error of a part that does not have what was asked of it."""
        return IncompatibleError(
            words,
            got=self.shown(part),
            todo=f"Use another solver, or {self.instead}.",
            part="The solver",
        )


@dataclass(frozen=True)
class Capability(Generic[P, C]):
    """Something that only some parts of type P can do; C is the type of those that can.

    A part can if it has every member of the protocol, unless it has a method ``offers(capability)``
    that says otherwise: a view answers for what it shows.

    Parameters
    ----------
    protocol : type
        The protocol C.
    words : str
        What is needed, for messages: "a loss with curvature".
    kind : Kind
        The kind of the parts of type P.
    fact : callable, optional
        Whether a part can, where a fact of the part decides instead of its members.

    Examples
    --------
    >>> from auctor.core.capabilities import COMPILED
    >>> from auctor.losses import Hinge, PairwiseHinge
    >>> COMPILED.of(Hinge()).closed_prox, COMPILED.find(PairwiseHinge())
    (True, None)
    """

    protocol: Any
    words: str
    kind: Kind
    fact: Callable[[P], bool] | None = None

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names of the members of the protocol that not every part of type P has."""
        lines = [base for base in self.protocol.__mro__ if base not in self.kind.core.__mro__]
        return tuple(name for base in lines for name in vars(base) if not name.startswith("_"))

    def has(self, part: P) -> bool:
        """Whether the part has the capability."""
        if self.fact is not None:
            return self.fact(part)
        offers = getattr(part, "offers", None)
        return self.implemented(part) if offers is None else bool(offers(self))

    def implemented(self, part: P) -> bool:
        """Whether the part has every member of the protocol; no property is computed."""
        return all(hasattr(type(part), name) or name in vars(part) for name in self.members)

    def lacks(self, part: P) -> IncompatibleError:
        """The error of a part without the capability."""
        return self.kind.lacks(part, self.words)

    def find(self, part: P) -> C | None:
        """The part, with the type C, if it has the capability; otherwise ``None``."""
        return cast(C, part) if self.has(part) else None

    def of(self, part: P) -> C:
        """The part, with the type C; an `IncompatibleError` if it lacks the capability."""
        if not self.has(part):
            raise self.lacks(part)
        return cast(C, part)
