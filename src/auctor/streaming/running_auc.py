"""AUC of the latest scores of a stream, and its trace over the rows."""

from __future__ import annotations

import math

import numpy as np

from auctor import metrics
from auctor.core.types import FloatArray
from auctor.streaming.estimators.online import State

#: Points of a trace, at most; a full trace drops every second point and doubles its interval.
POINTS = 256


def fresh_window(size: int, every: int) -> State:
    """The state of an empty window, and of a trace with a point every ``every`` rows."""
    return {
        "window_score": np.zeros(size),
        "window_label": np.zeros(size),
        "window_weight": np.zeros(size),
        "trace": np.zeros((POINTS, 2)),
        "trace_points": np.zeros(1, dtype=np.int64),
        "trace_every": np.array([every]),
        "rows": np.zeros(1, dtype=np.int64),
    }


def until_point(state: State) -> int:
    """Rows until the next point of the trace."""
    every = int(state["trace_every"][0])
    return every - int(state["rows"][0]) % every


def remember(state: State, scores: FloatArray, y: FloatArray, weight: FloatArray) -> None:
    """Add scores to the window, a ring buffer; at most up to the next point of the trace."""
    size, rows = state["window_score"].size, int(state["rows"][0])
    at = np.arange(rows, rows + y.size)[-size:] % size
    for name, values in (("score", scores), ("label", y), ("weight", weight)):
        state[f"window_{name}"][at] = values[-size:]
    state["rows"] += y.size
    if int(state["rows"][0]) % int(state["trace_every"][0]) == 0:
        _add_point(state)


def _add_point(state: State) -> None:
    """Add the present AUC to the trace, and thin the trace out if it is full."""
    trace, points, rows = state["trace"], int(state["trace_points"][0]), int(state["rows"][0])
    trace[points] = rows, window_auc(state)
    points += 1
    if points == POINTS:
        points //= 2
        trace[:points] = trace[1::2].copy()
        state["trace_every"] *= 2
    state["trace_points"][0] = points


def trace_of(state: State) -> FloatArray:
    """Rows and windowed AUC, (points, 2)."""
    return state["trace"][: int(state["trace_points"][0])].copy()


def window_auc(state: State) -> float:
    """AUC of the scores in the window, ties counting one half; NaN if a class is missing."""
    used = state["window_weight"] > 0.0
    hits = state["window_label"][used] > 0.0
    if hits.all() or not hits.any():
        return math.nan
    weight = state["window_weight"][used]
    even = bool((weight == weight[0]).all())
    return metrics.auc(hits, state["window_score"][used], weight=None if even else weight)
