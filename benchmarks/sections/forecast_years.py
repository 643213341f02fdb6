"""New England with seven years, and without the temperature of the day."""

from __future__ import annotations

from benchmarks.run import Settings
from benchmarks.sections.forecast_days import NAMES, Case, measure

name = "forecast_years"
#: C and gamma of scikit-learn's SVR with seven years: tuning takes minutes there.
ONE = ((3.0, 1.0),)


def run(settings: Settings) -> dict[str, object]:
    """Two more cases of the same protocol."""
    seven = ("kernel_ridge", "ridge", "lightgbm", "scikit-learn SVR by step")
    cases = {
        "ISO-NE, 3 years, no temperature": Case(
            "isone", (2011, 2014), "past", contenders=NAMES[:-1]
        ),
        "ISO-NE, 7 years": Case("isone", (2007, 2014), contenders=seven, grid=ONE),
    }
    return measure(settings, "New England, other cases, one thread", cases)
