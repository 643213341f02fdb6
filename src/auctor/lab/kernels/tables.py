"""The most violated labelling over all contingency tables."""

from __future__ import annotations

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def largest(
    delta: FloatArray, pos: FloatArray, neg: FloatArray, first: int, best: tuple[float, int, int]
) -> tuple[float, int, int]:
    """Maximise ``delta[a - first, b] + pos[a] + neg[b]`` over the rows of a part of a table.

    ``best`` is the value, a and b of the earlier parts; it stays where no entry is larger.
    """
    value, at_a, at_b = best
    for i in range(delta.shape[0]):
        own = pos[first + i]
        for b in range(delta.shape[1]):
            here = delta[i, b] + own + neg[b]
            if here > value:
                value, at_a, at_b = here, first + i, b
    return value, at_a, at_b
