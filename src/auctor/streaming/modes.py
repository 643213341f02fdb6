"""The state of `StreamingAUC`: its modes, and checks of a state from a file.

The state is exact, with the covariances of both classes, up to ``max_exact_columns`` columns, and
wide beyond, with a table of stochastic gradient steps. Either has a memory of rows, or none. The
names of the arrays say which it is; the functions of this module are the only ones that ask.
"""

from __future__ import annotations

import numpy as np

from auctor.kernels.streaming import adaptive
from auctor.streaming.estimators.online import State
from auctor.streaming.ranker import LEVELS
from auctor.streaming.running_auc import POINTS
from auctor.streaming.state import MOST_ROWS, all_between, require_that

#: Excess of a share over 1 that a state may have: rounding of a long product.
SHARE_SLACK = 1e-9


def is_exact(state: State) -> bool:
    """Whether the state holds the covariances of both classes, rather than stochastic steps."""
    return "scatter" in state


def has_memory(state: State) -> bool:
    """Whether the state keeps rows, on which weights are solved for."""
    return "counted" in state


def fresh_wide(d: int) -> State:
    """The state of the stochastic steps before the first row, for d columns."""
    tried = adaptive.TRIED
    return {
        "table": np.zeros((d, adaptive.LINE)),
        "mass": np.zeros(2),
        "constant": np.zeros(tried),
        "judged": np.zeros(2),
        "judged_centre": np.zeros((2, tried)),
        "judged_scatter": np.zeros((2, tried, tried)),
        "mix": np.full(tried, 1.0 / tried),
        "average": np.zeros(3),
        "latest": np.ones(1),
        "clock": np.zeros(1, dtype=np.int64),
    }


def check_streaming(state: State, d: int) -> None:
    """Raise ``DataError`` if the counters and choices of `StreamingAUC` are not valid."""
    require_that(
        all_between(state["trace_points"], 0, POINTS), f"fewer than {POINTS} points of the trace"
    )
    require_that(
        all_between(state["trace_every"], 1, MOST_ROWS),
        "at least one row between points of the trace",
    )
    if is_exact(state):
        require_that(
            all_between(state["chosen"], 0, state["coef"].shape[0]), "a choice among the strengths"
        )
        require_that(
            bool(state["refresh"][0] > state["rows"][0]), "a next refresh after the last row"
        )
    if has_memory(state):
        _check_memory(state, d)


def _check_memory(state: State, d: int) -> None:
    """Raise ``DataError`` unless ends, columns, positions and weights of kept rows are valid."""
    n, ends = int(state["kept_rows"][0]), state["kept_ends"]
    room = min(state["kept_signed"].size, state["kept_place"].size, ends.size - 1)
    require_that(n <= room, "room for the rows that it keeps")
    lines, place = ends[: n + 1], state["kept_place"][: n + 1]
    require_that(
        lines[0] == 0 and bool((np.diff(lines) >= 0).all()), "ends of rows in increasing order"
    )
    require_that(lines[-1] <= state["kept_values"].size, "room for the entries that it keeps")
    columns, longest = state["kept_columns"], int(np.diff(lines).max(initial=0))
    require_that(columns.size in (0, state["kept_values"].size), "a column for each entry")
    require_that(all_between(columns, 0, d) and longest <= d, "kept rows with columns of the data")
    require_that(bool((np.diff(place[:n]) > 0).all()), "kept rows in their order")
    finite = (state["kept_values"], state["kept_signed"], state["kept_coef"])
    require_that(
        all(bool(np.isfinite(array).all()) for array in finite), "kept rows that are finite"
    )
    require_that(bool(state["kept_signed"][:n].all()), "a weight other than 0 for every kept row")
    require_that(bool(state["renew"][0] > state["counted"][0]), "a next renewal after the last row")
    require_that(all_between(state["level"], 0, len(LEVELS)), "a choice among the strengths")
    share = all_between(state["kept_share"], 0.0, 1.0 + SHARE_SLACK)
    require_that(share, "a share of rows to keep from 0 to 1")
