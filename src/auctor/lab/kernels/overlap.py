"""Decompositions of a vector into parts on overlapping groups of coordinates, of bounded length.

Group g holds the coordinates ``indices[indptr[g]:indptr[g + 1]]`` (unsigned); ``parts`` has one
entry for each of these, and the rest is what the parts leave of the vector.
"""

from __future__ import annotations

import math

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def decompose(
    rest: FloatArray,
    parts: FloatArray,
    indptr: Array,
    indices: Array,
    radius: FloatArray,
    tiny: float,
    most: int,
) -> int:
    """Minimise ``|rest|`` over parts with ``|part_g| <= radius_g``, one group after the other.

    ``rest + sum of the parts`` is the vector and does not change. Ends when no part moves by more
    than ``tiny``; returns the number of sweeps.
    """
    for sweep in range(most):
        moved = 0.0
        for g in range(radius.shape[0]):
            square = 0.0
            for k in range(indptr[g], indptr[g + 1]):
                z = rest[indices[k]] + parts[k]
                square += z * z
            norm = math.sqrt(square)
            factor = radius[g] / norm if norm > radius[g] else 1.0
            for k in range(indptr[g], indptr[g + 1]):
                z = rest[indices[k]] + parts[k]
                part = z * factor
                moved = max(moved, abs(part - parts[k]))
                rest[indices[k]] = z - part if factor < 1.0 else 0.0
                parts[k] = part
        if moved <= tiny:
            return sweep + 1
    return most
