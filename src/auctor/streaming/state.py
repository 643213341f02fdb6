"""Checks of arrays from a file before they become the state of a learner.

Kernels do not check shapes and indices of a state, so that an invalid one could crash the process.
"""

from __future__ import annotations

from typing import Any

from auctor.core.errors import DataError
from auctor.core.rng import as_rng
from auctor.core.types import Array
from auctor.streaming.estimators.online import OnlineClassifier, State

#: Rows are counted in floats, which represent all integers up to 2^53.
MOST_ROWS = 1 << 53


def check_state(learner: OnlineClassifier, state: State, d: int) -> None:
    """Raise ``DataError`` unless the arrays can be the state of the learner with d columns."""
    require_that(type(d) is int and d >= 1, "a number of columns")
    expected = _expected(learner, state, d)
    require_that(state.keys() == expected.keys(), "the arrays of this learner")
    for name, (dtype, shape) in expected.items():
        array = state[name]
        free = [size if size >= 0 else array.shape[k] for k, size in enumerate(shape[: array.ndim])]
        good = array.dtype == dtype and len(shape) == array.ndim and array.shape == tuple(free)
        require_that(good and array.flags.c_contiguous, f"{name} of {dtype} and shape {shape}")
        if dtype.kind in "iu" and name != "random":
            require_that(all_between(array, 0, MOST_ROWS), f"{name} from 0 to {MOST_ROWS}")
    learner.check_state(state, d)


def _expected(learner: OnlineClassifier, state: State, d: int) -> dict[str, tuple[Any, list[int]]]:
    """Dtype and shape of every array of the state; -1 is any length."""
    like = learner.with_arrays_of(state)
    # Axes that grow from one column to two grow in proportion to the columns.
    one, two = (like.fresh_state(columns, as_rng(0)) for columns in (1, 2))
    shapes = {
        name: [
            size + (d - 1) * (wider - size)
            for size, wider in zip(array.shape, two[name].shape, strict=True)
        ]
        for name, array in one.items()
    }
    for name in learner.free_axes.keys() & shapes.keys():
        shapes[name][learner.free_axes[name]] = -1
    return {name: (one[name].dtype, shape) for name, shape in shapes.items()}


def all_between(array: Array, low: float, high: float) -> bool:
    """Whether all entries are in [low, high)."""
    return bool(((array >= low) & (array < high)).all())


def require_that(good: bool, needs: str) -> None:
    """Raise ``DataError`` unless a state from a file has what its learner needs."""
    if not good:
        raise DataError(needs, got="a damaged state", todo="Save the model again.")
