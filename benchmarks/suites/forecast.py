"""Load a day ahead: years of New England, short series, the thesis, and solvers."""

from __future__ import annotations

from benchmarks.sections import (
    forecast_curves,
    forecast_days,
    forecast_short,
    forecast_thesis,
    forecast_years,
)

name = "forecast"
title = "Forecasts of load a day ahead"
sections = (
    forecast_days, forecast_years, forecast_short, forecast_thesis, forecast_curves,
)  # fmt: skip
