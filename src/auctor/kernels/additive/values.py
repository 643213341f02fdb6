"""The distinct values of a column, as long as they are few, in one pass without a sort."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel

#: Multiplier of the hash of a value: the golden ratio times 2^64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: Bits of a slot of the hash table.
SLOT_BITS = 10
#: Shift that leaves the bits of a slot.
SHIFT = np.uint64(64 - SLOT_BITS)
#: Number of slots.
SLOTS = 1 << SLOT_BITS


@kernel
def few_values(
    values: Array, bits: Array, weight: FloatArray, most: int, seen: FloatArray, mass: FloatArray
) -> int:
    """Distinct values with their rows and weights; their number, or -1 if there are more.

    Rows of weight 0 do not count. ``bits`` are the bits of the values as float64, by which they are
    hashed; NaN must have one pattern, and 0 one sign. ``seen`` gets the values, ``mass[0]`` the
    sums of their weights and ``mass[1]`` the numbers of their rows, in the order of appearance.
    """
    slots = np.full(SLOTS, -1, dtype=np.int64)
    known = np.empty(most, dtype=np.uint64)
    count = 0
    for i in range(values.shape[0]):
        if weight[i] == 0.0:
            continue
        slot = np.int64((bits[i] * GOLDEN) >> SHIFT)
        while slots[slot] >= 0 and known[slots[slot]] != bits[i]:
            slot = (slot + 1) % SLOTS
        k = slots[slot]
        if k < 0:
            if count == most:
                return -1
            k = count
            slots[slot] = k
            known[k] = bits[i]
            seen[k] = values[i]
            count += 1
        mass[0, k] += weight[i]
        mass[1, k] += 1.0
    return count
