"""The only place where a random generator is made."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import ParameterError
from auctor.core.types import FloatArray, IntArray


def as_rng(seed: int | np.random.Generator | np.random.RandomState | None) -> np.random.Generator:
    """Generator for a seed, a scikit-learn ``random_state`` or a generator.

    Examples
    --------
    >>> int(as_rng(0).integers(10)) == int(as_rng(0).integers(10))
    True
    """
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31 - 1))
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "random_state",
            needs="an integer, a generator or None",
            got=f"{seed!r}",
            todo="Pass an integer.",
        ) from error


#: Fractional part of the golden ratio: an offset at which no sum of equal weights ends.
_GOLDEN = 0.6180339887498949


def systematic(weight: FloatArray, size: int) -> tuple[IntArray, float]:
    """Evenly spaced draws in proportion to ``weight``, and the total weight.

    Examples
    --------
    >>> systematic(np.array([1.0, 0.0, 3.0]), 4)[0]
    array([0, 2, 2, 2])
    """
    below = np.concatenate(([0.0], np.cumsum(weight)))
    total = float(below[-1])
    at = (np.arange(size) + _GOLDEN) * (total / size)
    return np.minimum(np.searchsorted(below, at, side="right") - 1, weight.size - 1), total


def spread(size: int) -> FloatArray:
    """Multiples of the golden ratio: evenly over [0, 1), whatever they are combined with."""
    return (np.arange(size, dtype=np.float64) + 0.5) * _GOLDEN % 1.0
