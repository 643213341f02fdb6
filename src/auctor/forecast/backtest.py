"""Forecasts with their bands, of the next day and of past days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.forecast import metrics


class Forecast(NamedTuple):
    """A forecast with its band.

    Parameters
    ----------
    stamps : (steps,) datetime64 array
    load, lower, upper : (steps,) arrays
    """

    stamps: Array
    load: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts of past days, each from the data before it.

    Parameters
    ----------
    dates : (n,) datetime64 array
    actual, load, lower, upper : (n, horizon) arrays
    cpu_seconds : float
        Of fitting and refitting.
    """

    dates: Array
    actual: FloatArray
    load: FloatArray
    lower: FloatArray
    upper: FloatArray
    cpu_seconds: float

    def metrics(self) -> dict[str, float | None]:
        """The usual numbers; None without a band, or in per cent of a load that is zero."""
        zero, banded = bool((self.actual == 0.0).any()), bool(np.isfinite(self.lower).all())
        return {
            "mape": None if zero else metrics.mape(self.actual, self.load),
            "rmse": metrics.rmse(self.actual, self.load),
            "pinball": metrics.pinball(self.actual, self.load, 0.5),
            "coverage": metrics.coverage(self.actual, self.lower, self.upper) if banded else None,
            "under_share": metrics.under_share(self.actual, self.load),
            "peak_error": None if zero else metrics.peak_error(self.actual, self.load),
        }
