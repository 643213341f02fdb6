"""Merging the states of two learners that were trained on different rows."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import IncompatibleError
from auctor.core.types import FloatArray
from auctor.streaming import memory, running_auc
from auctor.streaming.estimators.online import OnlineClassifier, State


def check_alike(one: OnlineClassifier, other: OnlineClassifier) -> None:
    """Raise for learners whose states cannot be merged."""
    if type(one) is not type(other):
        raise _unlike("a learner of the same class", type(other).__name__)
    mine, theirs = one.get_params(), other.get_params()
    for name, value in mine.items():
        if name != "random_state" and value != theirs[name]:
            raise _unlike(f"the same {name}, {value!r}", repr(theirs[name]))
    if mine.get("forget") is not None:
        raise _unlike("learners that forget nothing", f"forget={mine['forget']}")
    for learner in (one, other):
        if not hasattr(learner, "state_"):
            raise _unlike("learners that have learned rows", "one without rows")
    if one.n_features_in_ != other.n_features_in_:
        raise _unlike(f"{one.n_features_in_} columns in both", f"{other.n_features_in_}")
    names = [list(getattr(each, "feature_names_in_", ())) for each in (one, other)]
    if all(names) and names[0] != names[1]:
        raise _unlike("the same names of columns in both", "others")
    if one.classes_.tolist() != other.classes_.tolist():
        raise _unlike(f"the classes {one.classes_.tolist()}", f"{other.classes_.tolist()}")


def _unlike(needs: str, got: str) -> IncompatibleError:
    return IncompatibleError(
        needs, got=got, todo="Train both parts with the same parameters and columns."
    )


def add_moments(state: State, other: State) -> None:
    """Add the moments of another state, by the parallel formula of Chan, Golub and LeVeque.

    Scatter of both = sum of the scatters + ``old new / (old + new) (m1 - m2)(m1 - m2)'``. Rows that
    wait in blocks must have been added to the moments of both.
    """
    for side in range(2):
        old, new = state["mass"][side, 0], other["mass"][side, 0]
        if new > 0.0:
            share = new / (old + new)
            apart: FloatArray = other["mean"][side] - state["mean"][side]
            between = old * share * np.outer(apart, apart)
            state["scatter"][side] += np.triu(between)
            state["mean"][side] += share * apart
    for name in ("mass", "total", "scatter"):
        state[name] += other[name]
    state["width"][0] = max(state["width"][0], other["width"][0])
    state["clock"] += other["clock"]


def check_complete(state: State) -> None:
    """Raise if a memory holds only a sample: samples of different shares cannot be joined."""
    if not memory.complete(state):
        raise IncompatibleError(
            "memories that hold all rows, or `surrogate='square'`, which needs none; got "
            f"{int(state['kept_rows'][0])} of {int(state['counted'][0])} rows. Increase `memory`."
        )


def add_memory(state: State, other: State, room: float) -> None:
    """Add the rows of another memory after those of this one."""
    kept = memory.remembered(other, 0, int(other["counted"][0]))
    size, counted = state["parts"].shape[1], int(state["counted"][0])
    noted = int(other["counted"][0])
    # The latest scores of the other learner, in the ring buffer behind those of this one.
    order = np.arange(noted)[-size:]
    state["parts"][:, (counted + order) % size] = other["parts"][:, order % size]
    y, weight, lines = np.sign(kept.signed), np.abs(kept.signed), kept.lines
    if not lines.indices.size:
        lines = lines._replace(indices=memory.prefixes(np.diff(lines.indptr)))
    memory.add_rows(state, lines, y, weight, 0, y.size, room=room, latest=False)


def add_window(state: State, other: State) -> None:
    """Add the latest scores of the other learner to the window, after those of this one."""
    size, rows = other["window_score"].size, int(other["rows"][0])
    order = np.arange(rows)[-size:] % size
    parts = [other[f"window_{name}"][order] for name in ("score", "label", "weight")]
    state["rows"] += rows - order.size  # earlier rows, whose scores were overwritten
    low = 0
    while low < order.size:
        high = min(order.size, low + running_auc.until_point(state))
        running_auc.remember(state, *(part[low:high] for part in parts))
        low = high
