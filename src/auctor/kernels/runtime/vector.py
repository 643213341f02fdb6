"""Four numbers side by side, as one value in a register.

Numba does not put neighbouring sums into one instruction by itself. A line of a table with four
columns is read, multiplied and written at once by these, whatever the width of the registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

from auctor.core.types import FloatArray

#: What the value is in Python: nothing to look into.
Quad = Any

_LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), _LANES)


def aligned(table: FloatArray) -> FloatArray:
    """A table of four columns none of whose lines is in two cache lines; a copy if need be."""
    size = _LANES * table.itemsize
    if table.ctypes.data % size == 0:
        return table
    room = np.empty(table.size + _LANES)
    start = -room.ctypes.data % size // table.itemsize
    moved = room[start : start + table.size].reshape(table.shape)
    moved[...] = table
    return moved


class _Quad(types.Type):
    """Numba's name for the value."""

    def __init__(self) -> None:
        super().__init__(name="quad")


_QUAD = _Quad()


@register_model(_Quad)
class _QuadModel(models.PrimitiveModel):
    """A vector of the machine."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _built_in(function: Callable[..., Any]) -> Any:
    """A function that writes its own instructions; its first argument is not the caller's."""
    return intrinsic(function)


def _place(k: int) -> ir.Constant:
    return ir.Constant(ir.IntType(32), k)


def _spread(builder: Any, numbers: Any) -> Any:
    """One vector of the four numbers."""
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for k, number in enumerate(numbers):
        vector = builder.insert_element(vector, number, _place(k))
    return vector


def _is_table(kind: Any) -> bool:
    """Whether the numbers of a line are neighbours; how many there are is not known here."""
    return (
        isinstance(kind, types.Array)
        and kind.ndim == 2
        and kind.layout == "C"
        and (kind.dtype == types.float64)
    )


def _line(context: Any, builder: Any, kinds: Any, table: Any, j: Any) -> Any:
    """Address of line j of a table, as that of a vector."""
    array = context.make_array(kinds[0])(context, builder, table)
    at = context.cast(builder, j, kinds[1], types.intp)
    first = builder.gep(array.data, [builder.mul(at, ir.Constant(at.type, _LANES))])
    return builder.bitcast(first, _VECTOR.as_pointer())


@_built_in
def quad(context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Four numbers."""

    def build(context: Any, builder: Any, signature: Any, numbers: Any) -> Any:
        return _spread(builder, numbers)

    return _QUAD(*[types.float64] * _LANES), build


@_built_in
def lane(context: Any, value: Any, k: Any) -> Any:
    """Number k of the four."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = context.cast(builder, given[1], signature.args[1], types.int32)
        return builder.extract_element(given[0], at)

    return types.float64(_QUAD, k), build


@_built_in
def line(context: Any, table: Any, j: Any) -> Any:
    """Line j of a C contiguous table of four columns; j is not checked."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_line(context, builder, signature.args, *given), align=8)

    return (_QUAD(table, j), build) if _is_table(table) else None


@_built_in
def set_line(context: Any, table: Any, j: Any, value: Any) -> Any:
    """Write line j of a C contiguous table of four columns; j is not checked."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = _line(context, builder, signature.args, given[0], given[1])
        builder.store(given[2], at, align=8)
        return context.get_dummy_value()

    return (types.void(table, j, _QUAD), build) if _is_table(table) else None


@_built_in
def plus(context: Any, value: Any, x: Any, other: Any) -> Any:
    """``value + x * other``, number by number."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        start, x, other = given
        return builder.fadd(start, builder.fmul(_spread(builder, [x] * _LANES), other))

    return _QUAD(_QUAD, types.float64, _QUAD), build
