"""Series that nothing was tuned on, with the ranking of the first one beside theirs."""

from __future__ import annotations

from typing import Any

from scipy.stats import kendalltau

from benchmarks.run import Settings, bar, table
from benchmarks.sections.forecast_days import YEARS, Case, measure

name = "forecast_held_out"
FIRST = "ISO-NE, 3 years"
CONTENDERS = ("kernel_ridge", "ridge", "lightgbm", "scikit-learn SVR by step")
#: Least rank correlation of the contenders: two neighbours of six may change places once.
AGREEMENT = 0.8


def run(settings: Settings) -> dict[str, object]:
    """Two held-out series and the first one, with the same contenders."""
    cases = {
        FIRST: Case("isone", YEARS, contenders=CONTENDERS),
        "ISO-NE 2006 from 2003-2005": Case("isone", (2003, 2006), contenders=CONTENDERS),
        "generated utility": Case("generated", contenders=CONTENDERS),
    }
    found = measure(settings, "Held-out series, one thread", cases)
    cells: Any = found["cells"]
    if FIRST not in cells:
        return found
    order = sorted(cells[FIRST], key=lambda who: cells[FIRST][who]["mape"])
    errors = {label: [cell[who]["mape"] for who in order] for label, cell in cells.items()}
    bars = [
        bar(f"{label}: rank correlation with {FIRST}",
            float(kendalltau(errors[FIRST], mape).statistic), AGREEMENT)
        for label, mape in errors.items() if label != FIRST
    ]  # fmt: skip
    places = [
        [who, *(sorted(mape).index(mape[k]) + 1 for mape in errors.values())]
        for k, who in enumerate(order)
    ]
    notes = [
        "No series of another utility is available. ISO-NE 2003 to 2006 are years that no other "
        "section reads and nothing was tuned on; the generated utility was written once and never "
        "tuned on: a hot country with cooling, growth and a weekend of Friday and Saturday."
    ]
    return found | {
        "bars": [*found["bars"], *bars],
        "tables": [*found["tables"], table("Places by MAPE", ["who", *errors], places)],
        "notes": [*found["notes"], *notes],
    }
