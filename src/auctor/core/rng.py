"""Random generators and deterministic, evenly spread samples."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import ParameterError
from auctor.core.types import Array, FloatArray, IntArray


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
            f"`random_state` to be an integer, a generator or None; got {seed!r}. Pass an integer."
        ) from error


def kernel_state(rng: np.random.Generator, size: int = 1) -> Array:
    """State of the random numbers of compiled loops: ``size`` positive 64-bit integers."""
    return rng.integers(1, 2**63, size=size).astype(np.uint64)


def is_kernel_state(state: Array | None, size: int = 1) -> bool:
    """Whether a value that was read can be such a state."""
    if state is None or state.dtype != np.uint64 or state.shape != (size,):
        return False
    return bool((state > 0).all())


#: Fractional part of the golden ratio.
_GOLDEN = 0.6180339887498949


def systematic(weight: FloatArray, size: int) -> tuple[IntArray, float]:
    """Systematic sample in proportion to ``weight``, without randomness, and the total weight.

    Examples
    --------
    >>> systematic(np.array([1.0, 0.0, 3.0]), 4)[0]
    array([0, 2, 2, 2])
    """
    # Draw k takes the row whose interval of cumulative weight contains (k + offset) total / size.
    below = np.concatenate(([0.0], np.cumsum(weight)))
    total = float(below[-1])
    at = (np.arange(size) + _GOLDEN) * (total / size)
    return np.minimum(np.searchsorted(below, at, side="right") - 1, weight.size - 1), total


def spread(size: int) -> FloatArray:
    """Multiples of the golden ratio modulo 1; consecutive ones spread evenly over [0, 1)."""
    return (np.arange(size, dtype=np.float64) + 0.5) * _GOLDEN % 1.0
