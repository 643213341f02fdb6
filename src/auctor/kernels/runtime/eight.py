"""Sums of eight numbers side by side: one vector instruction, which Numba does not find itself."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

#: Numbers that are added at a time.
EIGHT = 8
#: Bytes of these.
STRIDE = 8 * EIGHT


def _compiled_in(function: Any) -> Any:
    """An operation that Numba puts into the code of its callers."""
    return intrinsic(function)


def _eight(builder: Any, address: Any) -> Any:
    """The address as that of eight numbers."""
    return builder.inttoptr(address, ir.VectorType(ir.DoubleType(), EIGHT).as_pointer())


@_compiled_in
def add_eight(typing: Any, total: Any, part: Any) -> Any:
    """Add the eight float64 at the address ``part`` to those at the address ``total``."""

    def code(context: Any, builder: Any, signature: Any, addresses: Any) -> Any:
        left, right = (_eight(builder, address) for address in addresses)
        both = builder.fadd(builder.load(left, align=8), builder.load(right, align=8))
        builder.store(both, left, align=8)
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp), code


@_compiled_in
def add_product_eight(typing: Any, total: Any, one: Any, two: Any) -> Any:
    """Add the products of the eight float64 at two addresses to those at ``total``."""

    def code(context: Any, builder: Any, signature: Any, addresses: Any) -> Any:
        left, first, second = (_eight(builder, address) for address in addresses)
        product = builder.fmul(builder.load(first, align=8), builder.load(second, align=8))
        builder.store(builder.fadd(builder.load(left, align=8), product), left, align=8)
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp, types.uintp), code
