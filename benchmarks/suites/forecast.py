"""Load a day ahead: New England, short and held-out series, the thesis, and solvers."""

from __future__ import annotations

from benchmarks.sections import (
    forecast_days,
    forecast_held_out,
    forecast_short,
    forecast_thesis,
    forecast_years,
)

name = "forecast"
title = "Forecasts of load a day ahead"
sections = (
    forecast_days, forecast_years, forecast_short, forecast_held_out, forecast_thesis,
)  # fmt: skip
