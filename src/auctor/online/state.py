"""Checks of arrays from a file before they become the state of a learner.

Kernels do not check shapes and indices of a state, so that an invalid one could crash the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from auctor.core.rng import as_rng
from auctor.core.types import Array
from auctor.kernels.online import moments
from auctor.kernels.online.buckets import BUCKETS
from auctor.online.base import OnlineClassifier, State
from auctor.online.learners.mini_batch import MiniBatchAuc
from auctor.online.learners.oam import Oam
from auctor.online.learners.spam import Spam
from auctor.online.streaming.memory import GROWING
from auctor.online.streaming.moments import MomentClassifier
from auctor.online.streaming.ranker import LEVELS
from auctor.online.streaming.running_auc import POINTS
from auctor.online.streaming.streaming import StreamingAUC

#: Rows are counted in floats, which represent all integers up to 2^53.
MOST_ROWS = 1 << 53


def check_state(learner: OnlineClassifier, state: State, d: int) -> None:
    """Raise ``ValueError`` unless the arrays can be the state of the learner with d columns."""
    _require(type(d) is int and d >= 1, "a number of columns")
    expected = _expected(learner, state, d)
    _require(state.keys() == expected.keys(), "the arrays of this learner")
    for name, (dtype, shape) in expected.items():
        array = state[name]
        free = [size if size >= 0 else array.shape[k] for k, size in enumerate(shape[: array.ndim])]
        good = array.dtype == dtype and len(shape) == array.ndim and array.shape == tuple(free)
        _require(good and array.flags.c_contiguous, f"{name} of {dtype} and shape {shape}")
        if dtype.kind in "iu" and name != "random":
            _require(_between(array, 0, MOST_ROWS), f"{name} from 0 to {MOST_ROWS}")
    for kind, check in _CHECKS:
        if isinstance(learner, kind):
            check(state, d)


def _expected(learner: OnlineClassifier, state: State, d: int) -> dict[str, tuple[Any, list[int]]]:
    """Dtype and shape of every array of the state; -1 is any length."""
    # Parameters that change the state or cannot be used without data get neutral values.
    params: dict[str, Any] = learner.get_params(deep=False)
    if isinstance(learner, Spam):
        params |= {"means": "running", "penalty": "none", "l1_ratio": None}
    if isinstance(learner, StreamingAUC):
        params |= {"max_exact_columns": 2 if "scatter" in state else 0}
    like = type(learner)(**params)
    # Axes that grow from one column to two grow in proportion to the columns.
    one, two = (like.fresh_state(columns, as_rng(0)) for columns in (1, 2))
    shapes = {
        name: [
            size + (d - 1) * (wider - size)
            for size, wider in zip(array.shape, two[name].shape, strict=True)
        ]
        for name, array in one.items()
    }
    if isinstance(learner, Oam):
        shapes["kept"][2] = shapes["kept_values"][2] = -1
    if isinstance(learner, Spam):
        shapes["links"][0] = shapes["heads"][0] = shapes["levels"][1] = -1
    if isinstance(learner, StreamingAUC) and "counted" in shapes:
        for name in GROWING:
            shapes[name][0] = -1
    return {name: (one[name].dtype, shape) for name, shape in shapes.items()}


def _check_moments(state: State, d: int) -> None:
    if "waiting" in state:
        _require(_between(state["waiting"], 0, moments.BLOCK), "fewer rows that wait")
        _require(_between(state["width"], 0, d + 1), "no more columns than it has")
        finite = [np.isfinite(state[name]).all() for name in ("mean", "total", "scatter")]
        _require(all(finite), "moments that are finite")


def _check_streaming(state: State, d: int) -> None:
    """Checks of the counters and choices of `StreamingAUC`."""
    _require(_between(state["trace_points"], 0, POINTS), "fewer points of the trace")
    _require(_between(state["trace_every"], 1, MOST_ROWS), "rows between points of the trace")
    if "scatter" in state:
        _require(
            _between(state["chosen"], 0, state["coef"].shape[0]), "a choice among the strengths"
        )
        _require(bool(state["refresh"][0] > state["rows"][0]), "a refresh that is to come")
    if "counted" in state:
        _check_memory(state, d)


def _check_memory(state: State, d: int) -> None:
    """Checks of the rows in memory: ends, columns, positions and weights."""
    n, ends = int(state["kept_rows"][0]), state["kept_ends"]
    room = min(state["kept_signed"].size, state["kept_place"].size, ends.size - 1)
    _require(n <= room, "room for the rows that it keeps")
    lines, place = ends[: n + 1], state["kept_place"][: n + 1]
    _require(lines[0] == 0 and bool((np.diff(lines) >= 0).all()), "lines that follow each other")
    _require(lines[-1] <= state["kept_values"].size, "room for the entries that it keeps")
    columns, longest = state["kept_columns"], int(np.diff(lines).max(initial=0))
    _require(columns.size in (0, state["kept_values"].size), "a column for each entry")
    _require(_between(columns, 0, d) and longest <= d, "kept rows with columns of the data")
    _require(bool((np.diff(place[:n]) > 0).all()), "kept rows in their order")
    finite = (state["kept_values"], state["kept_signed"], state["kept_coef"])
    _require(all(bool(np.isfinite(array).all()) for array in finite), "kept rows that are finite")
    _require(bool(state["kept_signed"][:n].all()), "kept rows with weight")
    _require(bool(state["renew"][0] > state["counted"][0]), "weights that are to be renewed")
    _require(_between(state["level"], 0, len(LEVELS)), "a choice among the strengths")
    _require(_between(state["kept_share"], 0.0, 1.0 + 1e-9), "shares of rows to keep")


def _check_oam(state: State, d: int) -> None:
    kept, length = state["kept"], state["length"]
    _require(kept.shape == state["kept_values"].shape, "as many values as columns of kept rows")
    _require(_between(kept, 0, d), "kept rows with columns of the data")
    _require(_between(length, 0, kept.shape[2] + 1), "kept rows no longer than their room")
    _require(_between(state["seen"], 0, MOST_ROWS), "a number of rows")
    _require(not state["scratch"].any(), "a scratch of zeros")


def _check_mini_batch(state: State, d: int) -> None:
    _require(_between(state["kept_weight"], 0, np.inf), "weights of at least zero")


def _check_spam(state: State, d: int) -> None:
    """Checks of the penalty and of the linked lists of its buckets."""
    heads, links, levels = state["heads"], state["links"], state["levels"]
    _require(levels.shape[1] in (1, d) and not np.isnan(levels).any(), "a penalty for the columns")
    used = bool(levels[0].any())
    _require(heads.size == used * BUCKETS and len(links) == used * d, "buckets for l1 alone")
    bucket, after = links.T
    _require(_between(after, 0, d + 1) and _between(heads, 0, d + 1), "buckets of columns")
    _require(not used or _linked(bucket, after, heads), "buckets that are lists")


def _linked(bucket: Array, after: Array, heads: Array) -> bool:
    """Whether each column with a bucket number is exactly once in the linked list of its bucket."""
    (some,) = np.nonzero(bucket)
    (used,) = np.nonzero(heads)
    found, places = [heads[used] - 1], [used]
    # Follow all lists at once, one link at a time; a cycle ends at the second condition.
    while found[-1].size and sum(map(len, found)) <= some.size:
        last = after[found[-1]]
        found.append(last[last > 0] - 1)
        places.append(places[-1][last > 0])
    listed, place = np.concatenate(found), np.concatenate(places)
    once = bool(np.array_equal(np.sort(listed), some))
    return once and bool((bucket[listed] - 1 == place).all())


_CHECKS: tuple[tuple[type[OnlineClassifier], Callable[[State, int], None]], ...] = (
    (MomentClassifier, _check_moments),
    (StreamingAUC, _check_streaming),
    (Oam, _check_oam),
    (MiniBatchAuc, _check_mini_batch),
    (Spam, _check_spam),
)


def _between(array: Array, low: float, high: float) -> bool:
    """Whether all entries are in [low, high)."""
    return bool(((array >= low) & (array < high)).all())


def _require(good: bool, what: str) -> None:
    """Raise ``ValueError`` unless a condition on the state holds."""
    if not good:
        raise ValueError(f"a state without {what}")
