"""The exception family, with one structure for every message.

::

    AuctorError
    ├── DataError            (ValueError)   rows, columns, labels or weights that cannot be used
    ├── DataTypeError        (TypeError)    data of a kind that cannot be read as numbers
    ├── ParameterError       (ValueError)   a parameter outside its range
    │   └── UnknownParameterError  (TypeError)  a parameter that does not exist
    ├── NotOfferedError      (AttributeError)  a method that other parameters would offer
    ├── IncompatibleError    (ValueError)   parts that do not fit together
    ├── DataLost             (OSError)      rows on a disk or a cluster that cannot be read any more
    └── MissingExtraError    (ImportError)  an optional dependency that is not installed

    AuctorWarning            (UserWarning)
    ├── ConvergenceWarning                  stopped before the tolerance was met
    └── DataWarning                         data that may have been misread

An error says who needs what, what was got, and one thing to do. Code that finds something wrong
states the last three; who needs it is the function, the estimator or the command that the user
called, which ``speaks`` and ``speaks_as`` put down where the call comes in. The parts are stored
separately, so that Python and the command line can each show them in the words that users type.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound="Message")

#: The public call that is running: the outermost one.
_caller: ContextVar[str | None] = ContextVar("auctor_caller", default=None)

#: A parameter in the text of a message: `label`, `label=`, `cv=5`, `ReadOptions(label=)`.
_MARKED = re.compile(r"`(?:(\w+)\()?([a-zA-Z]\w*)(?:(=)([^`]*?))?\)?`")

#: Folder of this package: a warning points at the first line outside of it.
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


class Option(NamedTuple):
    """A parameter that a message names: ``label=`` in Python, ``--label`` on the command line.

    ``value`` is what it should be set to. ``bare`` is for sentences that name the parameter without
    passing it: "Increase max_iter", not "Increase max_iter=". ``of`` is the object whose parameter
    it is, where that is not the call itself: ``ReadOptions(label=)``.
    """

    name: str
    value: object = None
    bare: bool = False
    of: str = ""

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
        text = f"{self.name}={'' if self.value is None else repr(self.value)}"
        return f"{self.of}({text})" if self.of else text


class Message(Exception):
    """A message made of what is needed, what was got, and one thing to do.

    It is written as the sentence that the user reads, "rows; got none. Pass some.", with parameters
    in backticks: `` `label` `` by its name alone, `` `label=` `` and `` `cv=5` `` as something to
    pass. Parts that need more code than a sentence can hold are arguments of their own.

    Its attribute ``who`` is the public call that runs when the message is made. A message that is
    made where none is known, such as a thread of a pool, takes the name of the call that it leaves.

    Parameters
    ----------
    needs : str, optional
        What is needed. A message has either this or ``does``.
    got : object, optional
        What there is instead.
    todo : str, optional
        One thing to do, as a sentence. ``{option}`` stands for the parameter to change, and
        ``{option2}`` for a second one.
    option : str, Option or tuple of them, optional
        The parameters that the message names.
    does : str, optional
        For warnings, in place of ``needs``: what is done that may not be intended.
    part : str, optional
        The loss, penalty, metric or solver that needs something whoever calls it. It is named in
        place of the call.
    """

    who: str | None

    def __init__(
        self,
        needs: str | None = None,
        *,
        got: object = None,
        todo: str | None = None,
        option: str | Option | tuple[str | Option, ...] = (),
        does: str | None = None,
        part: str | None = None,
    ) -> None:
        if (needs is None) == (does is None):
            raise TypeError("A message says either what is needed (needs) or what is done (does).")
        options = (option,) if isinstance(option, str | Option) else option
        self.got, self.options = got, [Option(o) if isinstance(o, str) else o for o in options]
        self.needs, self.todo, self.does = map(self._unmarked, (needs, todo, does))
        self.who = part or _caller.get()
        super().__init__(self.render())

    def _unmarked(self, text: str | None) -> str | None:
        """The text with places for the parameters that it marks, which become options."""

        def place(marked: re.Match[str]) -> str:
            of, name, equals, value = marked.groups()
            self.options.append(Option(name, _literal(value), bare=not equals, of=of or ""))
            return f"{{option{len(self.options)}!}}"

        return text and _MARKED.sub(place, text)

    def render(self, option: Callable[[Option], str] = Option.in_python) -> str:
        """The message as text, with parameters as ``option`` shows them.

        What is needed names a parameter, and what to do shows how to pass it.

        Examples
        --------
        >>> with speaking("read_table"):
        ...     error = DataError("a label; got none. Pass `label=`.")
        ...     warning = DataWarning(does="rounds whole numbers beyond 2^53")
        >>> str(error)
        'read_table needs a label; got none. Pass label=.'
        >>> error.render(lambda option: f"--{option.name}")
        'read_table needs a label; got none. Pass --label.'
        >>> str(warning)
        'read_table rounds whole numbers beyond 2^53'
        >>> str(DataError("a label"))
        'auctor needs a label'
        """
        text = f"{self.who or 'auctor'} {self.does or f'needs {self.needs}'}"
        if self.got is not None:
            text += f"; got {self.got}"
        todo = "" if self.todo is None else f"{'' if text.endswith('.') else '.'} {self.todo}"
        # The first parameter is {option}, later ones are {option2}, {option3}, ...
        for number, one in enumerate(self.options, start=1):
            place, marked = f"{{option{number if number > 1 else ''}}}", f"{{option{number}!}}"
            text, todo = (part.replace(marked, option(one)) for part in (text, todo))
            named = one if one.value is not None else one._replace(bare=True)
            text, todo = text.replace(place, option(named)), todo.replace(place, option(one))
        return text + todo

    def bear(self, who: str) -> None:
        """Take the name of the call that the message leaves, unless it has one."""
        if self.who is None:
            self.who = who
            self.args = (self.render(),)

    def of_kind(self, kind: type[M]) -> M:
        """A copy of the message as an error or a warning of another class."""
        return self._again(kind, self.options)()

    def naming(self, *options: Option) -> Self:
        """A copy of the message that names other parameters, in the order of its own."""
        return self._again(type(self), options)()

    def _again(self, kind: type[M], options: Sequence[Option]) -> partial[M]:
        return partial(
            kind, needs=self.needs, got=self.got, todo=self.todo, option=tuple(options),
            does=self.does, part=self.who,
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again(type(self), self.options), ()


def _literal(text: str | None) -> object:
    """The value that a Python literal spells, or the text itself; None of nothing."""
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):
        return text


@contextmanager
def speaking(name: str | None) -> Iterator[None]:
    """Messages made in this block name ``name``; with None, the next public call names itself.

    An outer block wins over an inner one, since its name is what the user called.
    """
    name = name if name is None else _caller.get() or name
    token = _caller.set(name)
    try:
        yield
    except Message as message:
        if name is not None:
            message.bear(name)
        raise
    finally:
        _caller.reset(token)


def speaks(method: F) -> F:
    """Decorate a public method: messages made while it runs name the class of its object.

    Of nested calls the outermost is named: it is what the user called.

    Examples
    --------
    >>> class Scale:
    ...     @speaks
    ...     def fit(self, rows):
    ...         raise DataError("rows", got=len(rows))
    >>> class Scale2(Scale):
    ...     pass
    >>> Scale2().fit([])
    Traceback (most recent call last):
        ...
    auctor.core.errors.DataError: Scale2 needs rows; got 0
    """
    return _named(method, _class_of)


def speaks_for_itself(method: F) -> F:
    """Decorate a method of a loss, a penalty or a solver, which is named whoever calls it."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = _caller.set(_class_of(self))
        try:
            return method(self, *args, **kwargs)
        finally:
            _caller.reset(token)

    return cast("F", call)


def _class_of(self: Any, *_: Any, **__: Any) -> str:
    return self.__name__ if isinstance(self, type) else type(self).__name__


def speaks_as(name: str) -> Callable[[F], F]:
    """Decorate a public function or a generator: messages made while it runs name ``name``."""
    return lambda function: _named(function, lambda *_, **__: name)


def _named(function: F, name_of: Callable[..., str]) -> F:
    """``function`` whose messages have a name; a generator speaks at each of its steps."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _caller.get() is not None:
            return function(*args, **kwargs)
        with speaking(name_of(*args, **kwargs)):
            return function(*args, **kwargs)

    @wraps(function)
    def steps(*args: Any, **kwargs: Any) -> Iterator[Any]:
        name, ended = name_of(*args, **kwargs), object()
        with closing(function(*args, **kwargs)) as iterator:
            while True:
                with speaking(name):
                    item = next(iterator, ended)
                if item is ended:
                    return
                yield item

    return cast("F", steps if inspect.isgeneratorfunction(function) else call)


def warn(message: Warning) -> None:
    """Warn at the line outside of this package that led here."""
    frame, level = inspect.currentframe(), 1  # noqa: TID251
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)  # noqa: TID251


class AuctorError(Message):
    """Base class of every error auctor raises on purpose."""


class DataError(AuctorError, ValueError):
    """Rows, columns, labels or weights that cannot be used."""


class DataTypeError(AuctorError, TypeError):
    """Data of a kind that cannot be read as numbers."""


class ParameterError(AuctorError, ValueError):
    """A parameter outside its range."""


class UnknownParameterError(ParameterError, TypeError):
    """A parameter that does not exist."""


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
