"""The exception family, with one structure for every message.

::

    AuctorError
    ├── DataError            (ValueError)   rows, columns, labels or weights that cannot be used
    ├── DataTypeError        (TypeError)    data of a kind that cannot be read as numbers
    ├── ParameterError       (ValueError)   a parameter outside its range
    ├── NotOfferedError      (AttributeError)  a method that other parameters would offer
    ├── IncompatibleError    (ValueError)   parts that do not fit together
    ├── DataLost             (OSError)      rows on a disk or a cluster that cannot be read any more
    └── MissingExtraError    (ImportError)  an optional dependency that is not installed

    AuctorWarning            (UserWarning)
    ├── ConvergenceWarning                  stopped before the tolerance was met
    └── DataWarning                         data that may have been misread

An error says who needs what, what was got, and one thing to do. These parts are stored separately,
so that Python and the command line can each show them in the words that their users type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar

M = TypeVar("M", bound="Message")


class Option(NamedTuple):
    """A parameter that a message names: ``label=`` in Python, ``--label`` on the command line.

    ``value`` is what it should be set to. ``bare`` is for sentences that name the parameter without
    passing it: "Increase max_iter", not "Increase max_iter=".
    """

    name: str
    value: object = None
    bare: bool = False

    def in_python(self) -> str:
        """The way a Python user types it.

        Examples
        --------
        >>> Option("label").in_python(), Option("cv", 3).in_python()
        ('label=', 'cv=3')
        >>> Option("tol", bare=True).in_python()
        'tol'
        """
        if self.bare:
            return self.name
        return f"{self.name}={'' if self.value is None else repr(self.value)}"


class Message(Exception):
    """A message made of who needs what, what was got, and one thing to do.

    Parameters
    ----------
    who : str
        The function or class that needs something; the command line names its command instead.
    needs : str, optional
        What it needs. A message has either this or ``does``.
    got : object, optional
        What it got instead.
    todo : str, optional
        One thing to do, as a sentence. ``{option}`` stands for the parameter to change, and
        ``{option2}`` for a second one.
    option : str, Option or tuple of them, optional
        The parameters that ``todo`` names.
    does : str, optional
        For warnings, in place of ``needs``: what ``who`` does that may not be intended.
    """

    def __init__(
        self,
        who: str,
        needs: str | None = None,
        got: object = None,
        todo: str | None = None,
        option: str | Option | tuple[str | Option, ...] = (),
        does: str | None = None,
    ) -> None:
        if (needs is None) == (does is None):
            raise TypeError("A message says either what is needed (needs) or what is done (does).")
        given = (option,) if isinstance(option, str | Option) else option
        self.who, self.needs, self.got, self.todo, self.does = who, needs, got, todo, does
        self.options: tuple[Option, ...] = tuple(
            Option(one) if isinstance(one, str) else one for one in given
        )
        super().__init__(self.render())

    def render(
        self,
        who: Callable[[str], str] = str,
        option: Callable[[Option], str] = Option.in_python,
    ) -> str:
        """The message as text.

        Parameters
        ----------
        who : callable
            How the name of who needs something is shown.
        option : callable
            How a parameter is shown.

        Examples
        --------
        >>> error = DataError(
        ...     "read_table", "a label", "none", "Pass {option} with its name.", option="label"
        ... )
        >>> str(error)
        'read_table needs a label; got none. Pass label= with its name.'
        >>> error.render(lambda who: "auctor", lambda option: f"--{option.name}")
        'auctor needs a label; got none. Pass --label with its name.'
        >>> str(DataWarning("read_table", does="rounds whole numbers beyond 2^53"))
        'read_table rounds whole numbers beyond 2^53'
        """
        text = f"{who(self.who)} {self.does if self.needs is None else f'needs {self.needs}'}"
        if self.got is not None:
            text += f"; got {self.got}"
        if self.todo is not None:
            text += f"{'' if text.endswith('.') else '.'} {self.todo}"
        # The first parameter is {option}, later ones are {option2}, {option3}, ...
        for number, one in enumerate(self.options, start=1):
            text = text.replace("{option}" if number == 1 else f"{{option{number}}}", option(one))
        return text

    def of_kind(self, kind: type[M]) -> M:
        """A copy of the message as an error or a warning of another class."""
        return kind(self.who, self.needs, self.got, self.todo, self.options, self.does)

    def naming(self, *options: Option) -> Self:
        """A copy of the message that names other parameters, in the order of its own."""
        return type(self)(self.who, self.needs, self.got, self.todo, options, self.does)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self.who,
            self.needs,
            self.got,
            self.todo,
            self.options,
            self.does,
        )


class AuctorError(Message):
    """Base class of every error auctor raises on purpose."""


class DataError(AuctorError, ValueError):
    """Rows, columns, labels or weights that cannot be used."""


class DataTypeError(AuctorError, TypeError):
    """Data of a kind that cannot be read as numbers."""


class ParameterError(AuctorError, ValueError):
    """A parameter outside its range."""


class NotOfferedError(AuctorError, AttributeError):
    """A method that an estimator has only with other parameters."""


class IncompatibleError(AuctorError, ValueError):
    """A solver, a loss, a penalty or data that do not fit together."""


class DataLost(AuctorError, OSError):
    """Rows on a disk or a cluster that can no longer be read; a solve returns its best point."""


class MissingExtraError(AuctorError, ImportError):
    """An optional dependency that is not installed."""


class AuctorWarning(Message, UserWarning):
    """Base class of every warning auctor gives."""


class ConvergenceWarning(AuctorWarning):
    """The solver stopped before its tolerance was met."""


class DataWarning(AuctorWarning):
    """Data that may have been misread."""
