"""Checks of parameters; all errors have the structure of `auctor.core.errors`."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from auctor.core.errors import DataError, Option, ParameterError, UnknownParameterError
from auctor.core.types import FloatArray


def check_real(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    of: Option | None = None,
) -> float:
    """Return ``value`` as a float inside the interval, or raise ``ParameterError``.

    Parameters
    ----------
    name : str
        The parameter; with ``of``, a part of that parameter, such as the k of a metric.
    value : object
        What it got.
    low, high : float
        Ends of the interval, which belong to it unless ``open_low`` or ``open_high``.
    of : Option, optional
        The parameter that the number is a part of.

    Examples
    --------
    >>> check_real("strength", -1, low=0.0)
    Traceback (most recent call last):
        ...
    auctor.core.errors.ParameterError: auctor needs strength in [0, inf); got -1. Pass a value in that range.
    """  # noqa: E501
    ok = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if ok:
        number = float(value)  # type: ignore[arg-type]
        # Infinite bounds are open: infinity itself is not accepted.
        above = number > low if open_low or low == -math.inf else number >= low
        below = number < high if open_high or high == math.inf else number <= high
        ok = above and below and not math.isnan(number)
    if not ok:
        left = "(" if open_low or low == -math.inf else "["
        right = ")" if open_high or high == math.inf else "]"
        raise ParameterError(
            f"{'{option}' if of is None else f'{name} of {{option}}'} in "
            f"{left}{low:g}, {high:g}{right}",
            got=repr(value),
            todo="Pass a value in that range.",
            option=Option(name, bare=True) if of is None else of,
        )
    return number


def check_int(name: str, value: object, *, low: int = 0) -> int:
    """Return ``value`` as an int of at least ``low``, or raise ``ParameterError``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise ParameterError(
            f"`{name}` to be an integer of at least {low}; got {value!r}. Pass such an integer."
        )
    return int(value)


#: What other libraries call the things that have these names here.
OTHER_WORDS = {
    "gaussian": "rbf",
    "polynomial": "poly",
    "mse": "squared",
    "squared_error": "squared",
    "mae": "absolute",
    "absolute_error": "absolute",
    "pinball": "quantile",
    "logloss": "log_loss",
    "log": "logistic",
    "random_state": "seed",
    "n_jobs": "n_threads",
}


def meant(name: object, names: Iterable[str]) -> str:
    """A question that names the most similar name, or "" if none is similar.

    Examples
    --------
    >>> meant("acu", ["auc", "fbeta"]), meant("gaussian", ["linear", "rbf"])
    ("Did you mean 'auc'? ", "Did you mean 'rbf'? ")
    """
    names = list(names)
    same = OTHER_WORDS.get(str(name).lower())
    if same in names:
        return f"Did you mean {same!r}? "
    close = difflib.get_close_matches(str(name).lower().partition("(")[0], names, 1)
    return f"Did you mean {close[0]!r}? " if close else ""


def is_number(text: str) -> bool:
    """Whether Python reads a text as a float."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise ``ParameterError``."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(
            f"`{name}` to be one of {', '.join(map(repr, choices))}; got {value!r}. "
            f"{meant(value, choices)}Pass one of these."
        )
    return value


def check_vector(name: str, value: object, *, size: int | None = None) -> FloatArray:
    """Return ``value`` as a finite one-dimensional float64 array, or raise ``DataError``."""
    array = _numbers(name, value)
    if array.ndim != 1 or (size is not None and array.shape[0] != size):
        wanted = "one dimension" if size is None else f"shape ({size},)"
        raise DataError(
            f"`{name}` with {wanted}; got shape {array.shape}. Pass one value per entry."
        )
    _check_finite(name, array)
    return array


def check_matrix(name: str, value: object, *, columns: int, rows: int | None = None) -> FloatArray:
    """Return ``value`` as a finite float64 matrix of that size, or raise ``DataError``."""
    array = _numbers(name, value)
    if array.ndim != 2 or array.shape != (array.shape[0] if rows is None else rows, columns):
        wanted = f"({'rows' if rows is None else rows}, {columns})"
        raise DataError(
            f"`{name}` of shape {wanted}; got shape {array.shape}. Pass {columns} numbers a row."
        )
    _check_finite(name, array)
    return array


def _numbers(name: str, value: object) -> FloatArray:
    try:
        return np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"`{name}` to be numbers; got {type(value).__name__}. Pass a numeric array."
        ) from error


def _check_finite(name: str, array: FloatArray) -> None:
    if not np.isfinite(array).all():
        raise DataError(f"`{name}` to be finite; got NaN or infinity. Remove or replace them.")


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
