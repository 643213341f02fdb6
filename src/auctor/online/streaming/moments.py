"""Learners that keep class means and covariances, and solve when asked."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from auctor.core.linalg import spd_solve
from auctor.core.types import Columns, FloatArray
from auctor.kernels.online import moments
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.online.base import AnswerCache, OnlineClassifier, State, pad_columns
from auctor.online.streaming import merging

#: Which axes of the arrays of the state belong to columns.
AXES = {"mean": (1,), "total": (1,), "scatter": (1, 2), "block": (1,)}
NAMES = (
    "mass",
    "mean",
    "total",
    "scatter",
    "block",
    "block_side",
    "block_weight",
    "waiting",
    "latest",
    "width",
)


class Moments(NamedTuple):
    """Class weights (2,), means (2, d) and covariances, the positive class first.

    ``covariance`` has shape (2, d, d), or (1, d, d) with their sum.
    """

    mass: FloatArray
    mean: FloatArray
    covariance: FloatArray

    @property
    def known(self) -> bool:
        """Whether both classes have rows."""
        return bool((self.mass > 0.0).all())

    def first(self, columns: int) -> Moments:
        """Of the first columns."""
        if columns == self.mean.shape[1]:
            return self
        mean = np.ascontiguousarray(self.mean[:, :columns])
        return Moments(self.mass, mean, self.covariance[:, :columns, :columns])


def fresh_moments(d: int, *, grow: bool = False) -> State:
    """Moments of no rows; with ``grow`` columns count from the row that first has them."""
    return {
        "mass": np.zeros((2, 2)),
        "mean": np.zeros((2, d)),
        "total": np.zeros((2, d)),
        "scatter": np.zeros((2, d, d)),
        "block": np.zeros((moments.BLOCK, d)),
        "block_side": np.zeros(moments.BLOCK, dtype=np.int64),
        "block_weight": np.zeros(moments.BLOCK),
        "waiting": np.zeros(1, dtype=np.int64),
        "latest": np.ones(1),
        "width": np.array([0 if grow else d]),
    }


def growth_of(forget: float | None) -> float:
    """How much heavier each row is than the one before it."""
    return 1.0 if forget is None else 1.0 / (1.0 - 1.0 / forget)


def add_rows(
    state: State,
    rows: Columns,
    y: FloatArray,
    weight: FloatArray,
    *,
    low: int = 0,
    high: int | None = None,
    forget: float | None = None,
) -> None:
    """Take rows low..high into the moments."""
    stop = y.size if high is None else high
    arrays = [state[name] for name in NAMES]
    moments.add_rows(*rows, y, weight, low, stop, growth_of(forget), *arrays)


def flush(state: State) -> None:
    """Join the rows of an unfinished block."""
    names = ("mass", "mean", "scatter", "block", "block_side", "block_weight", "waiting")
    moments.flush(*[state[name] for name in names])


def columns_seen(state: State) -> int:
    """Columns that rows have had so far, however many the latest chunk has; at least one."""
    return max(1, int(state["width"][0]))


def class_moments(state: State, *, pooled: bool = False) -> Moments:
    """Moments of all rows so far; the state stays as it is."""
    if state["waiting"][0]:
        state = {name: state[name].copy() for name in NAMES}
        flush(state)
    d = state["mean"].shape[1]
    means, covariance = np.zeros((2, d)), np.zeros((1 if pooled else 2, d, d))
    arrays = [state[name] for name in ("mass", "mean", "total", "scatter")]
    moments.class_moments(means, covariance, *arrays)
    return Moments(state["mass"].sum(axis=1), means, covariance)


def ridge_solution(found: Moments, ridge: float, *, between: bool) -> FloatArray:
    """``(S+ + S- + ridge)^-1 (m+ - m-)``, with the contrast's square in the matrix or not.

    Zero until both classes have rows.
    """
    apart: FloatArray = found.mean[0] - found.mean[1]
    if not found.known:
        return np.zeros_like(apart)
    matrix: FloatArray = found.covariance.sum(axis=0)
    if between:
        matrix += np.outer(apart, apart)
    matrix[np.diag_indices_from(matrix)] += ridge
    with quiet_blas():
        solution: FloatArray = spd_solve(matrix)(apart)
    return solution


def midpoint(mean: FloatArray, w: FloatArray) -> float:
    """Middle between the mean scores of the classes, whatever columns of weight zero there are."""
    (used,) = np.nonzero(w)
    middle = 0.5 * (mean[0, used] + mean[1, used])
    return float((middle * w[used]).sum())  # a dot product may use threads


class MomentClassifier(OnlineClassifier):
    """A learner whose state is the moments of both classes; its weights are solved for when asked.

    A subclass writes `_solve`. The solution is kept until more rows come.
    """

    def _solve(self, state: State, found: Moments) -> FloatArray:
        raise NotImplementedError

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        return {**fresh_moments(d, grow=self.grow), "clock": np.zeros(1, dtype=np.int64)}

    def state_numbers(self, d: int) -> int:
        """About how many numbers a state of d columns holds."""
        return 2 * d * d

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, AXES, extra)

    def _learn(self, state: State, rows: Columns, y: FloatArray, weight: FloatArray) -> None:
        add_rows(state, rows, y, weight)
        state["clock"] += y.size

    def merge(self, other: Self) -> Self:
        """Take in what another learner has learned from other rows.

        Class means and covariances add up: the result is that of one learner that has seen the rows
        of both, up to rounding. The other learner stays as it is.

        Parameters
        ----------
        other : learner of the same class
            With the same parameters and columns, which forgets nothing.
        """
        merging.check_alike(self, other)
        theirs = {name: array.copy() for name, array in other.state_.items()}
        self._merge(self.state_, theirs)
        self.rows_seen_ += other.rows_seen_
        self.skipped_rows_ += other.skipped_rows_
        self._answers = AnswerCache()
        return self

    def _merge(self, state: State, theirs: State) -> None:
        """Add the state of a learner of other rows."""
        for each in (state, theirs):
            flush(each)
        merging.add_moments(state, theirs)

    def _solution(self, state: State, found: Moments) -> FloatArray:
        """Weights of all columns, zero for those that no row has had yet."""
        w = self._solve(state, found.first(columns_seen(state)))
        return np.pad(w, (0, found.mean.shape[1] - w.size))

    def _weights(self, state: State) -> FloatArray:
        return self._solved(state)[0]

    def _threshold(self, state: State) -> float:
        return self._solved(state)[1]

    def _solved(self, state: State) -> tuple[FloatArray, float]:
        """Weights and threshold, kept for as long as rows and parameters stay the same."""
        key = (int(state["clock"][0]), self._width(state), self.get_params())
        return self._answers.get("weights", key, lambda: self._answer(state))

    def _width(self, state: State) -> int:
        """Columns that there is room for."""
        return int(state["mean"].shape[1])

    def _answer(self, state: State) -> tuple[FloatArray, float]:
        """Weights and threshold now."""
        found = class_moments(state, pooled=True)
        w = self._solution(state, found)
        return w, midpoint(found.mean, w)
