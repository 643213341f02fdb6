"""Constants of the latest results that the code has under another name, or no longer."""

from __future__ import annotations

#: Name in the results, and the name in the code; None if there is no such constant any more. A new
#: run of the suite empties this table.
GONE: dict[str, str | None] = {
    "solvers.kinked.cuts.FIRST_SHIFT": "solvers.line_search.FIRST_SHIFT",
    "solvers.kinked.cuts.MOST_SHIFTS": "solvers.line_search.MOST_SHIFTS",
}
