"""The state of a solver as bytes, so that an interrupted solve can be resumed.

The bytes hold neither rows nor scores: points are evaluated again on reading. Everything else in a
state (pairs of a quasi-Newton matrix, cuts, widths, a random generator) is pickled. Damaged or
foreign bytes must not call arbitrary functions: bytes may name the classes that the rooms of
`ROOMS` define and the functions of this module that rebuild arrays, generators, points and
problems, and nothing else. The writer keeps to the same names, so that what it writes can be read.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.problem.placed_loss import PlacedLoss
from auctor.problem.point import Point

if TYPE_CHECKING:
    from auctor.problem.problem import Problem

#: Packages whose classes a state may hold.
ROOMS = (
    "auctor.core.",
    "auctor.covariance.",
    "auctor.losses.",
    "auctor.lab.maps.",
    "auctor.penalties.",
    "auctor.problem.",
    "auctor.solvers.",
)
#: Classes outside auctor that a state may hold, as (module, name).
PLAIN = {
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "deque"),
}
#: Random generators of numpy that a state may hold.
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def freeze(state: object, problem: Problem) -> bytes | None:
    """A state as bytes; ``None`` if it holds objects that cannot be pickled, such as functions."""
    buffer = io.BytesIO()
    try:
        _Writer(buffer, problem).dump(state)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return buffer.getvalue()


def thaw(raw: bytes, problem: Problem) -> Any:
    """The state that was written for the same problem; raises `pickle.UnpicklingError`."""
    try:
        return _Reader(io.BytesIO(raw), problem).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # bytes of another version, or damaged
        raise pickle.UnpicklingError(str(error)) from error


class _Writer(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, problem: Problem) -> None:
        super().__init__(buffer, protocol=5)
        self._problem = problem

    def persistent_id(self, thing: Any) -> str | None:
        """A name for the problem, its data and its counts, which the reader supplies."""
        problem = self._problem
        known = {id(problem): "problem", id(problem.data): "data", id(problem.counts): "counts"}
        return known.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        """Write points as their parameters, and problems as their loss and penalty."""
        if hasattr(thing, "__qualname__"):  # a class or a function, which is written by its name
            if not _may_be_named(thing.__module__, thing.__qualname__, thing):
                raise pickle.PicklingError(f"{thing!r} in the state of a solver")
            return NotImplemented
        if isinstance(thing, np.generic):
            return _scalar, (np.asarray(thing),)
        if isinstance(thing, np.random.Generator):
            state = thing.bit_generator.state
            return _generator, (state["bit_generator"], state)
        if isinstance(thing, np.ndarray):
            if type(thing) is not np.ndarray or thing.dtype.kind not in "biufc":
                raise pickle.PicklingError(f"an array of {thing.dtype} in the state of a solver")
            # Arrays are written as raw bytes, in their own memory order.
            order: Literal["C", "F"] = (
                "F" if thing.flags.f_contiguous and not thing.flags.c_contiguous else "C"
            )
            return _array, (thing.dtype.str, thing.shape, order, thing.tobytes(order))
        if isinstance(thing, Point) and thing.exact and thing.known_gradient is None:
            return _point, (thing.problem, thing.w)
        if isinstance(thing, type(self._problem)):
            if thing.data is not self._problem.data:
                raise pickle.PicklingError("a problem with other data")
            return _problem, (self._problem, thing.loss, thing.penalty)
        if isinstance(thing, PlacedLoss):
            if thing.shift is not None:
                raise pickle.PicklingError("an array that is stored on the workers")
            return _same, (thing.inner,)
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, problem: Problem) -> None:
        super().__init__(buffer)
        self._problem = problem

    def persistent_load(self, name: str) -> Any:
        """The problem, its data or its counts, by the name that the writer gave them."""
        problem = self._problem
        return {"problem": problem, "data": problem.data, "counts": problem.counts}[name]

    def find_class(self, module: str, name: str) -> Any:
        """The object of an allowed name; raises `pickle.UnpicklingError` for all others."""
        # Names are checked before they are looked up: a dotted one could reach any module that a
        # module of auctor imports.
        if "." not in name and ((module, name) in PLAIN or module.startswith(ROOMS)):
            found = super().find_class(module, name)
            if _may_be_named(module, name, found):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} in the state of a solver")


def _may_be_named(module: str, name: str, found: Any) -> bool:
    """Whether a state may refer to an object by its name in a module."""
    if any(found is function for function in REBUILDING):
        return module == __name__
    if not isinstance(found, type) or found.__module__ != module or "." in name:
        return False
    return (module, name) in PLAIN or module.startswith(ROOMS)


def _array(dtype: str, shape: tuple[int, ...], order: Literal["C", "F"], raw: bytes) -> Array:
    """An array that owns its buffer, so that solvers can resize it."""
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order=order).copy(order="K")


def _scalar(array: Array) -> Any:
    """A number of numpy's own type, from an array without dimensions."""
    return array[()]


def _generator(name: str, state: dict[str, Any]) -> np.random.Generator:
    """A random generator that goes on where the written one was."""
    if name not in BIT_GENERATORS:
        raise pickle.UnpicklingError(f"the generator {name} in the state of a solver")
    source = getattr(np.random, name)()
    source.state = state
    return np.random.Generator(source)


def _point(problem: Problem, w: FloatArray) -> Point:
    """A point, evaluated on reading."""
    return problem.evaluate(w)


def _problem(root: Problem, loss: Any, penalty: Any) -> Problem:
    other = root.with_loss(loss)
    return other if penalty is root.penalty else other.with_penalty(penalty)


def _same(thing: Any) -> Any:
    return thing


#: The functions that a state may name: they rebuild what the writer does not pickle.
REBUILDING = (_array, _scalar, _generator, _point, _problem, _same)
