"""Constructors that say what an unknown parameter is called here."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any, TypeVar

from auctor.core.checks import meant
from auctor.core.errors import UnknownParameterError

T = TypeVar("T")


def named_parameters(kind: type[T]) -> type[T]:
    """Decorator of a class whose constructor refuses unknown parameters with a hint.

    Examples
    --------
    >>> @named_parameters
    ... class Model:
    ...     def __init__(self, strength=1.0): ...
    >>> Model(C=1.0)
    Traceback (most recent call last):
        ...
    auctor.core.errors.UnknownParameterError: Model needs parameters that it has; got 'C'. Pass strength= instead, which is 1 / (C * rows).
    """  # noqa: E501
    inner = kind.__init__
    known = inspect.signature(inner).parameters

    @wraps(inner)
    def construct(self: Any, *given: Any, **named: Any) -> None:
        for name in named:
            if name not in known:
                raise _unknown(kind.__name__, name, list(known)[1:])
        inner(self, *given, **named)

    setattr(kind, "__init__", construct)  # noqa: B010 - assigning it is an error to type checkers
    return kind


def _unknown(who: str, name: str, known: list[str]) -> UnknownParameterError:
    if name in ("C", "alpha", "reg_lambda") and "strength" in known:
        hint = "Pass `strength=` instead" + (", which is 1 / (C * rows)." if name == "C" else ".")
    else:
        hint = f"{meant(name, known)}help({who}) lists them."
    return UnknownParameterError("parameters that it has", got=repr(name), todo=hint, part=who)
