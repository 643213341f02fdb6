"""How far forecasts are from what came, over arrays of days by steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import DataError, speaks_as
from auctor.core.types import FloatArray


def _pair(y: Any, forecast: Any) -> tuple[FloatArray, FloatArray]:
    one, two = np.asarray(y, np.float64), np.asarray(forecast, np.float64)
    if one.shape != two.shape or not one.size or not np.isfinite(one + two).all():
        raise DataError(
            f"finite loads and forecasts of one shape; got shapes {one.shape} and {two.shape}. "
            "Drop missing ones."
        )
    return one, two


@speaks_as("mape")
def mape(y: Any, forecast: Any) -> float:
    """Mean absolute error in per cent of the load; undefined if a load is zero.

    Examples
    --------
    >>> mape([100.0, 200.0], [101.0, 196.0])
    1.5
    """
    y, forecast = _pair(y, forecast)
    if (y == 0.0).any():
        raise DataError("loads other than zero: the MAPE divides by them; got zero. Use rmse.")
    return float(100.0 * np.mean(np.abs((forecast - y) / y)))


@speaks_as("rmse")
def rmse(y: Any, forecast: Any) -> float:
    """Root of the mean squared error."""
    y, forecast = _pair(y, forecast)
    return float(np.sqrt(np.mean((forecast - y) ** 2)))


@speaks_as("pinball")
def pinball(y: Any, forecast: Any, level: float) -> float:
    """Mean pinball loss of a quantile: ``max(level (y - q), (level - 1) (y - q))``."""
    check_real("level", level, low=0.0, high=1.0)
    y, forecast = _pair(y, forecast)
    above = y - forecast
    return float(np.mean(np.maximum(level * above, (level - 1.0) * above)))


@speaks_as("coverage")
def coverage(y: Any, lower: Any, upper: Any) -> float:
    """Share of the loads inside a band."""
    inside = (_pair(y, lower)[0] >= lower) & (_pair(y, upper)[0] <= upper)
    return float(np.mean(inside))


@speaks_as("under_share")
def under_share(y: Any, forecast: Any) -> float:
    """Share of the loads that are above their forecast."""
    y, forecast = _pair(y, forecast)
    return float(np.mean(y > forecast))


@speaks_as("peak_error")
def peak_error(y: Any, forecast: Any) -> float:
    """Mean absolute error in per cent of the load at the step of each day's highest load."""
    y, forecast = (np.atleast_2d(one) for one in _pair(y, forecast))
    at = np.arange(len(y)), y.argmax(axis=1)
    return mape(y[at], forecast[at])
