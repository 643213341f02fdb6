"""The readable contender: curves with pairs on steps, three years of New England."""

from __future__ import annotations

from benchmarks.run import Settings
from benchmarks.sections.forecast_days import Case, measure

name = "forecast_curves"


def run(settings: Settings) -> dict[str, object]:
    """The additive model beside the default one."""
    cases = {"ISO-NE, 3 years": Case("isone", 3, contenders=("kernel_ridge", "additive", "ridge"))}
    found = measure(settings, "Curves with pairs, one thread", cases)
    return found | {"bars": []}
