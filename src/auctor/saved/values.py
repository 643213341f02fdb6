"""Encoding of parameters as JSON: plain values, arrays, and losses, penalties and solvers.

Values that JSON does not have are objects: ``{"float": "inf"}``, ``{"tuple": [...]}``,
``{"dict": [[key, value], ...]}``, ``{"array": name}``, ``{"objects": [...]}`` (an array of Python
objects), ``{"part": "penalties.L1", "arguments": {...}}``.
"""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from auctor import losses, penalties, solvers
from auctor.core.errors import ParameterError
from auctor.core.types import Array
from auctor.penalties import Separable

Json: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Array]

#: Kinds of numpy dtypes that a file may have.
KINDS = "biufSU"
#: Largest number of entries, 1 GiB of floats, of a matrix that is stored as its nonzero entries. A
#: small file could otherwise need any amount of memory when it is read. Set by hand.
MOST_SPARSE = 1 << 27
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PLAIN = (bool, int, float, str, type(None))
#: Bound of the absolute value of integers: larger ones fit neither arrays nor other programs.
_LARGEST_INT = 1 << 64


@cache
def parts() -> dict[str, type[Any]]:
    """The classes of losses, penalties and solvers, by their names in files."""
    found = {}
    for module, method in ((losses, "value_grad"), (penalties, "prox"), (solvers, "step")):
        for name in module.__all__:
            part = getattr(module, name)
            if inspect.isclass(part) and hasattr(part, method):
                found[f"{module.__name__.removeprefix('auctor.')}.{name}"] = part
    return found


@cache
def hierarchy_parts() -> dict[str, type[Any]]:
    """The classes of decoders and taxonomies, by their names in files; needs scikit-learn."""
    from auctor import hierarchy

    found = (getattr(hierarchy, name) for name in hierarchy.__all__)
    kept = (part for part in found if inspect.isclass(part))
    return {
        f"hierarchy.{part.__name__}": part
        for part in kept
        if part is hierarchy.Taxonomy or part in hierarchy.decoders.DECODERS.values()
    }


def known_parts(where: str) -> dict[str, type[Any]]:
    """The classes that a module or a name in a file refers to: of the hierarchy, or the others."""
    inside = where.removeprefix("auctor.").startswith("hierarchy.")
    return hierarchy_parts() if inside else parts()


# --- writing --------------------------------------------------------------------------------------


def encoded(value: Any, where: str, arrays: Arrays) -> Any:
    """A value as JSON; an array is added to ``arrays`` under the name ``where``."""
    if isinstance(value, np.generic) or (type(value) is np.ndarray and value.ndim == 0):
        value = value.item()
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return {"float": repr(value)}
    if kind in _PLAIN and not (kind is int and abs(value) >= _LARGEST_INT):
        return value
    if kind in (list, tuple):
        entries = [encoded(entry, f"{where}.{k}", arrays) for k, entry in enumerate(value)]
        return entries if kind is list else {"tuple": entries}
    if kind is dict:
        pairs = enumerate(value.items())
        return {"dict": [encoded(list(pair), f"{where}.{k}", arrays) for k, pair in pairs]}
    if kind is np.ndarray:
        return encoded_array(value, where, arrays)
    name = next((name for name, part in known_parts(kind.__module__).items() if part is kind), None)
    if name is None:
        raise ParameterError(
            "save",
            needs=f"{where} to be plain values, arrays or parts of auctor",
            got=f"{_short(value)}",
            todo="Set another value with set_params.",
        )
    given = {key: encoded(v, f"{where}.{key}", arrays) for key, v in _arguments(value).items()}
    return {"part": name, "arguments": given}


def _arguments(part: Any) -> dict[str, Any]:
    """The arguments of the constructor of a loss, penalty or solver."""
    if type(part) is Separable:
        return dict(zip(("l1", "l2", "lower", "upper"), part.levels, strict=True))
    return {name: getattr(part, name) for name in inspect.signature(type(part)).parameters}


def encoded_array(array: Array, where: str, arrays: Arrays) -> Any:
    """A reference to an array, which is added to ``arrays``; an array of objects is a list."""
    if array.dtype.kind == "O" and array.ndim == 1:
        objects = array.tolist()
        if all(type(entry) in (bool, int, float, str) for entry in objects):
            return {"objects": encoded(objects, where, arrays)}
    try:
        "".join(array.ravel().tolist() if array.dtype.kind == "U" else ()).encode()
        good = array.dtype.kind in KINDS
    except UnicodeEncodeError:
        good = False
    if not good:
        raise ParameterError(
            "save",
            needs=f"{where} to be numbers or text",
            got=f"{_short(array)}",
            todo="Convert it to numbers or text first.",
        )
    arrays[where] = array
    return {"array": where}


def encoded_matrix(matrix: Array, where: str, arrays: Arrays) -> Any:
    """A reference to a matrix, which is added to ``arrays``; only nonzeros if most are zero."""
    # The sign bit keeps -0.0, so that a matrix is read back bit by bit.
    (index,) = np.nonzero((matrix != 0.0).ravel() | np.signbit(matrix).ravel())
    if 2 * index.size >= matrix.size or matrix.size > MOST_SPARSE:
        arrays[where] = matrix
        return {"array": where}
    arrays[f"{where}.index"], arrays[f"{where}.value"] = index, matrix.ravel()[index]
    return {"sparse": where, "shape": list(matrix.shape)}


def _short(value: Any) -> str:
    return " ".join(repr(value).split())[:120]


# --- reading --------------------------------------------------------------------------------------


def decoded(value: Any, arrays: Arrays) -> Any:
    """The value that `encoded` turned into JSON; removes its arrays from ``arrays``.

    Raises ``ValueError`` for other JSON.
    """
    if isinstance(value, list):
        return [decoded(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        if type(value) is int and abs(value) >= _LARGEST_INT:
            raise ValueError("an integer that is too large")
        return value
    match value:
        case {"float": str(text), **none} if not none and text in _FLOATS:
            return _FLOATS[text]
        case {"tuple": list(entries), **none} if not none:
            return tuple(decoded(entries, arrays))
        case {"dict": list(pairs), **none} if not none:
            return _dict(decoded(pairs, arrays))
        case {"array": str(name), **none} if not none:
            return _taken(name, arrays)
        case {"objects": list(entries), **none} if not none:
            array = np.empty(len(entries), dtype=object)
            array[:] = decoded(entries, arrays)
            return array
        case {"part": str(name), "arguments": dict(given), **none} if (
            not none and name in known_parts(name)
        ):
            named = {key: decoded(entry, arrays) for key, entry in given.items()}
            return _part(known_parts(name)[name], named)
    raise ValueError(f"a value {str(value)[:80]}")


def _part(kind: type[Any], given: dict[str, Any]) -> Any:
    """A loss, penalty or solver from the arguments of its constructor, which checks them."""
    named = inspect.signature(kind).parameters
    if given.keys() != named.keys():
        raise ValueError(f"arguments {list(given)[:9]} of {kind.__name__}")
    rest = [name for name, p in named.items() if p.kind is inspect.Parameter.VAR_POSITIONAL]
    listed = [entry for name in rest for entry in given.pop(name)]
    return kind(*listed, **given)


def decoded_matrix(value: Any, shape: tuple[int, ...], arrays: Arrays) -> Array:
    """The matrix that `encoded_matrix` described, with finite values and the given shape."""
    match value:
        case {"sparse": str(where), "shape": list(stated), **none} if not none:
            index, values = (_taken(f"{where}.{part}", arrays) for part in ("index", "value"))
            return _spread(index, values, tuple(stated), shape)
        case {"array": str(where), **none} if not none:
            return floats(_taken(where, arrays), shape)
    raise ValueError(f"a matrix {str(value)[:80]}")


def _spread(index: Array, values: Array, stated: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    """A dense matrix from its nonzero entries and their positions."""
    size = math.prod(shape)
    floats(values, (values.size,))
    if stated != shape or index.shape != values.shape or size > MOST_SPARSE:
        raise ValueError(f"a matrix of shape {stated} instead of {shape}")
    if index.dtype != np.int64 or (index[1:] <= index[:-1]).any():
        raise ValueError("positions that do not increase")
    if index.size and not (index[0] >= 0 and index[-1] < size):
        raise ValueError("positions outside the matrix")
    matrix = np.zeros(size)
    matrix[index] = values
    return matrix.reshape(shape)


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


# --- checks of the contents of a file; all raise ``ValueError`` -----------------------------------


def need(good: bool, what: str) -> None:
    """Raise ``ValueError``, "a model without ...", unless ``good``."""
    if not good:
        raise ValueError(f"a model without {what}")


def number(value: Any, *, finite: bool = False) -> float:
    """A float; with ``finite``, NaN and infinities are refused."""
    found = decoded(value, {})
    need(type(found) in (int, float), "a number")
    need(not finite or bool(np.isfinite(found)), "a finite number")
    return float(found)


def whole(value: Any, *, low: int = 0) -> int:
    """A whole number of at least ``low``."""
    need(type(value) is int and low <= value < 1 << 63, f"a whole number of at least {low}")
    return int(value)


def labels(value: Any, arrays: Arrays) -> Array:
    """An array of at least two labels in increasing order."""
    classes: Array = decoded(value, arrays)
    good = isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2
    need(good and classes.dtype.kind in KINDS + "O", "a list of classes")
    need(bool((classes[:-1] < classes[1:]).all()), "classes that increase")
    if classes.dtype.kind == "f":
        need(bool(np.isfinite(classes).all()), "finite classes")
    for label in classes.tolist():
        if isinstance(label, str):
            label.encode()
    return classes
