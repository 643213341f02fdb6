"""Learners whose state is the class means and covariances; weights are solved for on demand."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from auctor.core.linalg import spd_solve
from auctor.core.types import CompressedColumns, FloatArray
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.kernels.streaming import moments
from auctor.streaming import merging
from auctor.streaming.estimators.online import AnswerCache, OnlineClassifier, State, pad_columns
from auctor.streaming.state import all_between, require_that

#: Axes of the arrays of the state that have one entry per column.
AXES = {"mean": (1,), "total": (1,), "scatter": (1, 2), "block": (1,)}
#: Arrays of the state in the order of the kernels' arguments.
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


class RunningMoments(NamedTuple):
    """Total weights (2,), means (2, d) and covariances of the classes, the positive one first.

    ``covariance`` has shape (2, d, d), or (1, d, d) with the sum of both.
    """

    mass: FloatArray
    mean: FloatArray
    covariance: FloatArray

    @property
    def known(self) -> bool:
        """Whether both classes have rows."""
        return bool((self.mass > 0.0).all())

    def first(self, columns: int) -> RunningMoments:
        """The moments of the first ``columns`` columns."""
        if columns == self.mean.shape[1]:
            return self
        mean = np.ascontiguousarray(self.mean[:, :columns])
        return RunningMoments(self.mass, mean, self.covariance[:, :columns, :columns])


def fresh_moments(d: int, *, grow: bool = False) -> State:
    """The state before the first row; with ``grow`` the number of columns starts at 0."""
    return {
        "mass": np.zeros((2, 2)),
        "mean": np.zeros((2, d)),
        "total": np.zeros((2, d)),
        "scatter": np.zeros((2, d, d)),
        "block": np.zeros((moments.BLOCK_ROWS, d)),
        "block_side": np.zeros(moments.BLOCK_ROWS, dtype=np.int64),
        "block_weight": np.zeros(moments.BLOCK_ROWS),
        "waiting": np.zeros(1, dtype=np.int64),
        "latest": np.ones(1),
        "width": np.array([0 if grow else d]),
    }


def growth_of(forget: float | None) -> float:
    """Ratio of the weights of a row and of the row before it."""
    return 1.0 if forget is None else 1.0 / (1.0 - 1.0 / forget)


def add_rows(
    state: State,
    rows: CompressedColumns,
    y: FloatArray,
    weight: FloatArray,
    *,
    low: int = 0,
    high: int | None = None,
    forget: float | None = None,
) -> None:
    """Add rows low to high - 1 to the moments."""
    stop = y.size if high is None else high
    arrays = [state[name] for name in NAMES]
    moments.add_rows(*rows, y, weight, low, stop, growth_of(forget), *arrays)


def flush(state: State) -> None:
    """Add the rows that wait in an unfinished block to the moments."""
    names = ("mass", "mean", "scatter", "block", "block_side", "block_weight", "waiting")
    moments.flush(*[state[name] for name in names])


def columns_seen(state: State) -> int:
    """Largest number of columns of the rows so far; at least one."""
    return max(1, int(state["width"][0]))


def class_moments(state: State, *, pooled: bool = False) -> RunningMoments:
    """Moments of all rows so far; the state is not changed."""
    if state["waiting"][0]:
        state = {name: state[name].copy() for name in NAMES}
        flush(state)
    d = state["mean"].shape[1]
    means, covariance = np.zeros((2, d)), np.zeros((1 if pooled else 2, d, d))
    arrays = [state[name] for name in ("mass", "mean", "total", "scatter")]
    moments.class_moments(means, covariance, *arrays)
    return RunningMoments(state["mass"].sum(axis=1), means, covariance)


def ridge_solution(moments: RunningMoments, ridge: float, *, between: bool) -> FloatArray:
    """``(S+ + S- + ridge I)^-1 (m+ - m-)``; zero until both classes have rows.

    With ``between`` the matrix also has ``(m+ - m-)(m+ - m-)'``: the minimiser of the pairwise
    square loss.
    """
    apart: FloatArray = moments.mean[0] - moments.mean[1]
    if not moments.known:
        return np.zeros_like(apart)
    matrix: FloatArray = moments.covariance.sum(axis=0)
    if between:
        matrix += np.outer(apart, apart)
    matrix[np.diag_indices_from(matrix)] += ridge
    with quiet_blas():
        solution: FloatArray = spd_solve(matrix)(apart)
    return solution


def midpoint(mean: FloatArray, w: FloatArray) -> float:
    """Midpoint between the mean scores of the classes; columns of weight zero are skipped.

    The result is the same, bit for bit, with and without columns of weight zero.
    """
    (used,) = np.nonzero(w)
    middle = 0.5 * (mean[0, used] + mean[1, used])
    # Not a dot product: BLAS may use threads, and the result would depend on their number.
    return float((middle * w[used]).sum())


class MomentClassifier(OnlineClassifier):
    """A learner whose state is the moments of both classes; weights are solved for on demand.

    A subclass implements `_solve`. The solution is cached until more rows are learned.
    """

    def _solve(self, state: State, moments: RunningMoments) -> FloatArray:
        raise NotImplementedError

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        return {**fresh_moments(d, grow=self.grow), "clock": np.zeros(1, dtype=np.int64)}

    def state_numbers(self, d: int) -> int:
        """Approximate number of floats in a state of d columns."""
        return 2 * d * d

    def check_state(self, state: State, d: int) -> None:
        """Raise ``ValueError`` if arrays from a file are no valid state."""
        most = moments.BLOCK_ROWS
        require_that(all_between(state["waiting"], 0, most), f"fewer than {most} waiting rows")
        require_that(all_between(state["width"], 0, d + 1), "no more columns than it has")
        finite = [np.isfinite(state[name]).all() for name in ("mean", "total", "scatter")]
        require_that(all(finite), "moments that are finite")

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, AXES, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        add_rows(state, rows, y, weight)
        state["clock"] += y.size

    def merge(self, other: Self) -> Self:
        """Merge with a learner that was trained on other rows.

        Class means and covariances can be added: the result is that of one learner trained on the
        rows of both, up to rounding errors. The other learner is not changed.

        Parameters
        ----------
        other : learner of the same class
            With the same parameters and columns, and without ``forget``.
        """
        merging.check_alike(self, other)
        theirs = {name: array.copy() for name, array in other.state_.items()}
        self._merge(self.state_, theirs)
        self.rows_seen_ += other.rows_seen_
        self.skipped_rows_ += other.skipped_rows_
        self._answers = AnswerCache()
        return self

    def _merge(self, state: State, theirs: State) -> None:
        """Add the state of a learner that was trained on other rows."""
        for each in (state, theirs):
            flush(each)
        merging.add_moments(state, theirs)

    def _solution(self, state: State, moments: RunningMoments) -> FloatArray:
        """Weights of all columns, zero for those that no row has had yet."""
        w = self._solve(state, moments.first(columns_seen(state)))
        return np.pad(w, (0, moments.mean.shape[1] - w.size))

    def _weights(self, state: State) -> FloatArray:
        return self._solved(state)[0]

    def _threshold(self, state: State) -> float:
        return self._solved(state)[1]

    def _solved(self, state: State) -> tuple[FloatArray, float]:
        """Weights and threshold, cached while rows and parameters stay the same."""
        key = (int(state["clock"][0]), self._width(state), self.get_params())
        return self._answers.get("weights", key, lambda: self._answer(state))

    def _width(self, state: State) -> int:
        """Number of columns of the state."""
        return int(state["mean"].shape[1])

    def _answer(self, state: State) -> tuple[FloatArray, float]:
        """Weights and threshold of the present state, computed anew."""
        moments = class_moments(state, pooled=True)
        w = self._solution(state, moments)
        return w, midpoint(moments.mean, w)
