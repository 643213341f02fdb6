"""Short half-hourly series, trained again every day."""

from __future__ import annotations

from benchmarks.run import Settings
from benchmarks.sections.forecast_days import Case, measure

name = "forecast_short"
NAMES = ("kernel_ridge", "ridge", "lightgbm", "scikit-learn SVR by step", "mstl")


def run(settings: Settings) -> dict[str, object]:
    """England and Wales, and Victoria as the series that nothing was tuned on."""
    cases = {
        "taylor": Case("taylor", refit=1, contenders=("svr", "prophet", *NAMES)),
        "elecdemand": Case("elecdemand", refit=1, contenders=(*NAMES, "prophet")),
        "elecdemand, no temperature": Case("elecdemand", None, "past", 1, NAMES[:2]),
    }
    return measure(settings, "Short series, trained every day, one thread", cases)
