"""Fourth-order finite differences with several step lengths, against kinks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auctor.core.types import FloatArray

#: Step lengths that are tried: a kink within the longest is avoided by a shorter one.
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)


def slope(
    function: Callable[[FloatArray], FloatArray | float],
    x: FloatArray,
    direction: FloatArray,
    step: float,
) -> FloatArray:
    """Fourth-order central difference of ``function`` at ``x`` along ``direction``.

    Examples
    --------
    >>> import numpy as np
    >>> cube = lambda x: float(x @ x) ** 1.5
    >>> round(float(slope(cube, np.array([1.0, 0.0]), np.array([1.0, 0.0]), 1e-3)), 9)
    3.0
    """
    values = [np.asarray(function(x + k * step * direction)) for k in (2, 1, -1, -2)]
    total = -values[0] + 8.0 * values[1] - 8.0 * values[2] + values[3]
    return np.asarray(total / (12.0 * step), dtype=np.float64)


def disagreement(
    function: Callable[[FloatArray], FloatArray | float],
    derivative: FloatArray | float,
    x: FloatArray,
    direction: FloatArray,
    *,
    unit: float = 1.0,
) -> float:
    """Smallest distance, over several step lengths, of ``derivative`` from a finite difference.

    A correct derivative agrees for some step length, unless ``x`` is at a kink; a wrong one for
    none.
    """
    return min(
        float(np.abs(slope(function, x, direction, step * unit) - derivative).max())
        for step in STEPS
    )
