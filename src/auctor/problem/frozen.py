"""The state of a solver as bytes, so that an interrupted solve can be resumed.

The bytes hold neither rows nor scores: points are evaluated again on reading. Everything else in a
state (pairs of a quasi-Newton matrix, cuts, widths, a random generator) is pickled. The reader
accepts only names of `auctor.solvers` and `auctor.problem`, other classes of auctor, arrays and
random generators, so that damaged or foreign bytes cannot call arbitrary functions.
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

#: Names outside auctor that a pickled state may refer to, as (module, name).
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
        if type(thing) is np.ndarray and thing.dtype.kind in "biuf":
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
    """An array that owns its buffer, so that solvers can resize it."""
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order=order).copy(order="K")


def _point(problem: Problem, w: FloatArray) -> Point:
    """A point, evaluated on reading."""
    return problem.evaluate(w)


def _problem(root: Problem, loss: Any, penalty: Any) -> Problem:
    other = root.with_loss(loss)
    return other if penalty is root.penalty else other.with_penalty(penalty)


def _same(thing: Any) -> Any:
    return thing
