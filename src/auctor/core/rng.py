"""The only place where a random generator is made."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import ParameterError


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
            f"random_state needs an integer, a generator or None; got {seed!r}. Pass an integer."
        ) from error
