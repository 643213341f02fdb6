"""One codec for files: plain values, arrays and objects of known classes as JSON, and back.

Arrays go into a dict beside the JSON; `auctor.core.archive` writes both to one file. Values that
JSON does not have are objects: ``{"float": "inf"}``, ``{"tuple": [...]}``,
``{"dict": [[key, value], ...]}``, ``{"array": name}``, ``{"objects": [...]}`` (an array of Python
objects), ``{"part": "penalties.L1", "arguments": {...}}`` (an object, by the arguments of its
constructor). A file names classes only by the names that the reader knows, and the arguments of a
dataclass must have the types of its annotations.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from collections import abc
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar

import numpy as np

from auctor.core.errors import ParameterError
from auctor.core.types import Array

Json: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Array]
#: The classes whose objects a file may hold, by their names in files.
Classes: TypeAlias = Mapping[str, type[Any]]

#: Kinds of numpy dtypes that a file may have.
KINDS = "biufSU"
#: Largest number of entries, 1 GiB of floats, of a matrix that is stored as its nonzero entries.
MOST_SPARSE = 1 << 27
#: Fewest entries of an array that is stored as its nonzero entries.
LEAST_SPARSE = 64
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PLAIN = (bool, int, float, str, type(None))
#: Bound of the absolute value of integers: larger ones fit neither arrays nor other programs.
_LARGEST_INT = 1 << 64


T = TypeVar("T")


class Codec:
    """Writes values as JSON and arrays, and reads them back with their types checked.

    Parameters
    ----------
    known : callable
        ``known(where)`` gives the classes that a file may hold, by their names in files; ``where``
        is such a name or the module of a class, so that rooms are imported only when needed.
    omitted : mapping, optional
        Arguments that are not written, by the name of a class; a reader gets their defaults.
    attributes : mapping, optional
        Functions that give the arguments of the constructor, for classes without attributes of
        those names.
    growing : tuple of classes
        Base classes of parameters, which have checks of their own, and of which later versions have
        more: a missing one gets its default.
    later : mapping, optional
        Arguments that files of earlier versions do not have, by the name of a class; a missing one
        gets its default.

    Examples
    --------
    >>> from auctor.losses import Hinge
    >>> codec = Codec(lambda where: {"losses.Hinge": Hinge})
    >>> arrays = {}
    >>> codec.encode([Hinge(), np.zeros(2)], "value", arrays)
    [{'part': 'losses.Hinge', 'arguments': {}}, {'array': 'value.1'}]
    """

    def __init__(
        self,
        known: Callable[[str], Classes],
        omitted: Mapping[str, Collection[str]] | None = None,
        attributes: Mapping[type[Any], Callable[[Any], dict[str, Any]]] | None = None,
        growing: tuple[type[Any], ...] = (),
        later: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._known, self._omitted, self._attributes = known, omitted or {}, attributes or {}
        self._growing, self._later = growing, later or {}

    # --- writing ----------------------------------------------------------------------------------

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """A value as JSON; arrays are added to ``arrays`` under names that begin with ``where``."""
        if isinstance(value, np.generic) or (type(value) is np.ndarray and value.ndim == 0):
            value = value.item()
        kind = type(value)
        if kind is float and not math.isfinite(value):
            return {"float": repr(value)}
        if kind in _PLAIN and not (kind is int and abs(value) >= _LARGEST_INT):
            return value
        if kind in (list, tuple):
            entries = [self.encode(entry, f"{where}.{k}", arrays) for k, entry in enumerate(value)]
            return entries if kind is list else {"tuple": entries}
        if kind is dict:
            pairs = enumerate(value.items())
            return {"dict": [self.encode(list(pair), f"{where}.{k}", arrays) for k, pair in pairs]}
        if kind is np.ndarray:
            return self._array(value, where, arrays)
        known = self._known(kind.__module__).items()
        name = next((name for name, part in known if part is kind), None)
        if name is None:
            raise ParameterError(
                f"{where} to be plain values, arrays or parts of auctor; got {_short(value)}. Set "
                "another value with set_params."
            )
        if isinstance(value, Enum):
            return {"part": name, "arguments": {"name": value.name}}
        arguments = self._arguments(value, self._omitted.get(name, ()))
        return {
            "part": name,
            "arguments": {
                key: self.encode(v, f"{where}.{key}".lstrip("."), arrays)
                for key, v in arguments.items()
            },
        }

    def _arguments(self, part: Any, omitted: Collection[str]) -> dict[str, Any]:
        """The arguments of the constructor of an object: its attributes of those names."""
        if type(part) in self._attributes:
            return self._attributes[type(part)](part)
        names = inspect.signature(type(part)).parameters
        return {name: getattr(part, name) for name in names if name not in omitted}

    def _array(self, array: Array, where: str, arrays: Arrays) -> Any:
        """A reference to an array, which is added to ``arrays``; an array of objects is a list."""
        kind = array.dtype.kind
        if kind == "O" and array.ndim == 1:
            objects = array.tolist()
            if all(type(entry) in (bool, int, float, str) for entry in objects):
                return {"objects": self.encode(objects, where, arrays)}
        try:
            "".join(array.ravel().tolist() if kind == "U" else ()).encode()
            good = kind in KINDS
        except UnicodeEncodeError:
            good = False
        if not good:
            raise ParameterError(
                f"{where} to be numbers or text; got {_short(array)}. Convert it first."
            )
        contiguous = array.flags.c_contiguous
        if contiguous and array.dtype == np.float64 and LEAST_SPARSE <= array.size <= MOST_SPARSE:
            # The sign bit keeps -0.0, so that an array is read back bit by bit.
            (index,) = np.nonzero((array != 0.0).ravel() | np.signbit(array).ravel())
            if 2 * index.size < array.size:
                arrays[f"{where}.index"], arrays[f"{where}.value"] = index, array.ravel()[index]
                return {"sparse": where, "shape": list(array.shape)}
        arrays[where] = array
        return {"array": where}

    # --- reading ----------------------------------------------------------------------------------

    def read(self, kind: type[T], value: Any, arrays: Arrays) -> T:
        """The object of a class that was written; raises ``ValueError`` for anything else."""
        read = self.decode(value, arrays)
        if not isinstance(read, kind):
            raise ValueError(f"{_short(value)} instead of {kind.__name__}")
        return read

    def decode(self, value: Any, arrays: Arrays) -> Any:
        """The value that `encode` turned into JSON; removes its arrays from ``arrays``.

        Raises ``ValueError`` for other JSON.
        """
        if isinstance(value, list):
            return [self.decode(entry, arrays) for entry in value]
        if not isinstance(value, dict):
            if type(value) is int and abs(value) >= _LARGEST_INT:
                raise ValueError("an integer that is too large")
            return value
        match value:
            case {"float": str(text), **none} if not none and text in _FLOATS:
                return _FLOATS[text]
            case {"tuple": list(entries), **none} if not none:
                return tuple(self.decode(entries, arrays))
            case {"dict": list(pairs), **none} if not none:
                return _dict(self.decode(pairs, arrays))
            case {"array": str(name), **none} if not none:
                return _taken(name, arrays)
            case {"sparse": str(where), "shape": list(shape), **none} if not none:
                index, values = (_taken(f"{where}.{part}", arrays) for part in ("index", "value"))
                return _spread(index, values, shape)
            case {"objects": list(entries), **none} if not none:
                array = np.empty(len(entries), dtype=object)
                array[:] = self.decode(entries, arrays)
                return array
            case {"part": str(name), "arguments": dict(arguments), **none} if not none:
                kind = self._known(name).get(name)
                if kind is not None:
                    named = {key: self.decode(entry, arrays) for key, entry in arguments.items()}
                    later = {*self._later.get(name, ())} - named.keys()
                    return self._part(kind, named, {*self._omitted.get(name, ()), *later})
        raise ValueError(f"a value {_short(value)}")

    def _part(self, kind: type[Any], arguments: dict[str, Any], omitted: Collection[str]) -> Any:
        """An object from the arguments of its constructor, which must have the right types."""
        if issubclass(kind, Enum):
            return kind[arguments["name"]]
        named = inspect.signature(kind).parameters
        missing = named.keys() - set(omitted) - arguments.keys()
        if missing and issubclass(kind, self._growing):
            missing = {name for name in missing if named[name].default is named[name].empty}
        if missing or not arguments.keys() <= named.keys() - set(omitted):
            raise ValueError(f"arguments {list(arguments)[:9]} of {kind.__name__}")
        typed = dataclasses.is_dataclass(kind) or issubclass(kind, tuple)
        if typed and not issubclass(kind, self._growing):
            hints = typing.get_type_hints(kind)
            for name, argument in arguments.items():
                if not conforms(argument, hints.get(name, Any)):
                    raise ValueError(f"{_short(argument)} as {name} of {kind.__name__}")
        rest = [name for name, p in named.items() if p.kind is inspect.Parameter.VAR_POSITIONAL]
        listed = [entry for name in rest for entry in arguments.pop(name)]
        return kind(*listed, **arguments)


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value that was read has the type of an annotation.

    Examples
    --------
    >>> conforms(3, float | None), conforms(True, int), conforms(("a", 1), tuple[str, ...])
    (True, False, False)
    >>> conforms(np.zeros(3), np.typing.NDArray[np.int64])
    False
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if isinstance(hint, TypeVar):
        return hint.__bound__ is None or conforms(value, hint.__bound__)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, one) for one in inside)
    if origin is np.ndarray:
        wanted = (*typing.get_args(inside[1]), Any)[0]
        return type(value) is np.ndarray and (wanted is Any or value.dtype == wanted)
    if origin is tuple and (len(inside) != 2 or inside[1] is not Ellipsis):
        return (
            type(value) is tuple
            and len(value) == len(inside)
            and all(conforms(entry, one) for entry, one in zip(value, inside, strict=True))
        )
    if origin in (list, tuple, abc.Sequence):
        kinds = (list, tuple) if origin is abc.Sequence else (origin,)
        return type(value) in kinds and all(conforms(entry, inside[0]) for entry in value)
    if origin in (dict, abc.Mapping):
        return type(value) is dict and all(
            conforms(key, inside[0]) and conforms(entry, inside[1]) for key, entry in value.items()
        )
    if hint is float:
        return type(value) in (float, int)
    kind = origin or hint
    return (value is None) if kind is None else _instance(value, kind)


def _instance(value: Any, kind: Any) -> bool:
    """Whether a value is of a class or of a protocol that can be checked; a bool is no int."""
    if kind is int or not isinstance(kind, type):
        return type(value) is kind
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol without a check: the known classes are the bound
        return True


def _short(value: Any) -> str:
    return " ".join(repr(value).split())[:120]


def _spread(index: Array, values: Array, shape: list[Any]) -> Array:
    """An array from its nonzero entries and their positions."""
    size = math.prod(whole(length) for length in shape)
    floats(values, (values.size,), finite=False)
    if size > MOST_SPARSE or index.shape != values.shape:
        raise ValueError(f"an array of shape {_short(shape)}")
    if index.dtype != np.int64 or (index[1:] <= index[:-1]).any():
        raise ValueError("positions that do not increase")
    if index.size and not (index[0] >= 0 and index[-1] < size):
        raise ValueError("positions outside the array")
    array = np.zeros(size)
    array[index] = values
    return array.reshape(shape)


def floats(array: Any, shape: tuple[int, ...], *, finite: bool = True) -> Array:
    """The array; refuses one that is not of 64-bit floats and of the given shape."""
    good = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    if not good or (finite and not np.isfinite(array).all()):
        kind = "finite numbers" if finite else "numbers"
        raise ValueError(f"an array other than {kind} of shape {shape}")
    return np.ascontiguousarray(array)


def _taken(name: str, arrays: Arrays) -> Array:
    """An array by name, which is removed from ``arrays``."""
    array = arrays.pop(name)
    if array.dtype.kind not in KINDS:
        raise ValueError(f"an array of {array.dtype}")
    return array


def _dict(pairs: list[Any]) -> dict[Any, Any]:
    """A dict from pairs; refuses keys that are equal or not plain values."""
    made = {key: entry for key, entry in pairs if isinstance(key, _PLAIN)}
    if len(made) < len(pairs):
        raise ValueError("keys that are repeated or not plain values")
    return made


def whole(value: Any, *, low: int = 0) -> int:
    """A whole number of at least ``low``."""
    if type(value) is not int or not low <= value < 1 << 63:
        raise ValueError(f"{_short(value)} instead of a whole number of at least {low}")
    return value


def as_json(value: Any, *, where: str = "a value") -> Any:
    """Convert a value to dictionaries, lists, text, booleans, finite numbers and None.

    NaN and infinity become None; tuples and arrays become lists, named tuples dictionaries, and
    paths text. Other values are refused.

    Parameters
    ----------
    where : str
        What the value is, for the error message.

    Examples
    --------
    >>> as_json({"auc": float("nan"), "classes": (0, 1), "coef": np.ones(2)})
    {'auc': None, 'classes': [0, 1], 'coef': [1.0, 1.0]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    # Before tuples: a named tuple is a tuple, too.
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, PurePath | str):
        # Names of files that are not UTF-8 have halves of surrogate pairs.
        return str(value).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [as_json(entry, where=where) for entry in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_json(entry, where=where) for key, entry in value.items()}
    raise ParameterError(
        f"{where} to be JSON; got {' '.join(repr(value).split())[:120]}. Pass numbers, text, lists "
        "and dicts with text as keys."
    )
