"""The state of a solver as bytes, so that a solve that was ended goes on with all it has learned.

Rows are not part of it, nor are scores: points are evaluated again where they are read. What a
state holds beside points (pairs of a quasi-Newton matrix, cuts, widths, a random generator) is
written as Python writes objects, and read back with nothing but parts of solvers, classes of auctor
and arrays.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.problem.placed import PlacedLoss
from auctor.problem.point import Point

if TYPE_CHECKING:
    from auctor.problem.problem import Problem

#: What a state may be made of beside classes of auctor.
PLAIN = {
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "deque"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.random._generator", "Generator"),
    ("numpy.random._pcg64", "PCG64"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random.bit_generator", "SeedSequence"),
    ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
}


def freeze(state: object, problem: Problem) -> bytes | None:
    """A state as bytes; ``None`` where it holds what cannot be written, such as functions."""
    room = io.BytesIO()
    try:
        _Writer(room, problem).dump(state)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return room.getvalue()


def thaw(raw: bytes, problem: Problem) -> Any:
    """The state that was written for the same problem; raises `pickle.UnpicklingError`."""
    try:
        return _Reader(io.BytesIO(raw), problem).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # bytes of another version, or damaged
        raise pickle.UnpicklingError(str(error)) from error


class _Writer(pickle.Pickler):
    def __init__(self, room: io.BytesIO, problem: Problem) -> None:
        super().__init__(room, protocol=5)
        self._problem = problem

    def persistent_id(self, thing: Any) -> str | None:
        """The problem and its data are there when a state is read."""
        problem = self._problem
        known = {id(problem): "problem", id(problem.data): "data", id(problem.counts): "counts"}
        return known.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        """Points by their parameters, problems by what they differ in."""
        if type(thing) is np.ndarray and thing.dtype.kind in "biuf":
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
                raise pickle.PicklingError("numbers that are with the workers")
            return _same, (thing.inner,)
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, room: io.BytesIO, problem: Problem) -> None:
        super().__init__(room)
        self._problem = problem

    def persistent_load(self, name: str) -> Any:
        """What the state was written with."""
        problem = self._problem
        return {"problem": problem, "data": problem.data, "counts": problem.counts}[name]

    def find_class(self, module: str, name: str) -> Any:
        """Parts of solvers, classes of auctor, arrays and random generators."""
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        if module.startswith(("auctor.solvers.", "auctor.problem.")):
            return super().find_class(module, name)
        if module.startswith("auctor."):
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} in the state of a solver")


def _array(dtype: str, shape: tuple[int, ...], order: Literal["C", "F"], raw: bytes) -> Array:
    """An array that owns its numbers, so that solvers can make it larger."""
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order=order).copy(order="K")


def _point(problem: Problem, w: FloatArray) -> Point:
    """A point, evaluated where it is read."""
    return problem.evaluate(w)


def _problem(root: Problem, loss: Any, penalty: Any) -> Problem:
    other = root.with_loss(loss)
    return other if penalty is root.penalty else other.with_penalty(penalty)


def _same(thing: Any) -> Any:
    return thing
