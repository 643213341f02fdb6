"""Which other values of a constant are tried."""

from __future__ import annotations

#: Below this a share is a tolerance for rounding, whose size matters by orders of magnitude.
ROUNDING = 1e-5
#: From here on a number stands for "very large".
HUGE = 1e6
#: Up to here a number above 1 is a factor, which must stay above 1.
FACTOR = 8.0


def others(value: float) -> tuple[float, ...]:
    """A smaller and a larger value of the same kind.

    Whole numbers: half and double. Tolerances and huge numbers: a hundred times either way. Shares
    and factors: four times either way, shares within (0, 1), factors above 1.

    >>> others(5), others(1), others(0.5), others(2.0), others(300.0)
    ((2, 10), (2,), (0.125, 0.875), (1.25, 5.0), (75.0, 1200.0))
    """
    if isinstance(value, int):
        low, high = max(value // 2, 1), 2 * value
        return (low, high) if low != value else (high,)
    if value <= ROUNDING or value >= HUGE:
        pair = value / 100.0, value * 100.0
    elif value < 1.0:
        pair = value / 4.0, min(4.0 * value, 1.0 - (1.0 - value) / 4.0)
    elif 1.0 < value <= FACTOR:
        pair = 1.0 + (value - 1.0) / 4.0, 1.0 + 4.0 * (value - 1.0)
    else:
        pair = value / 4.0, 4.0 * value
    return tuple(float(f"{one:.6g}") for one in pair)
