"""Means, mean squares and variances of the columns, exact or estimated by the two products."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from auctor.core.data_capabilities import SECOND_ORDER
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Counts
from auctor.core.rounding import ROUNDING
from auctor.core.types import Array, FloatArray, IntArray

#: Product of a column with random numbers of sum zero, as a share of its mean: it may be constant.
STEADY = 1e-10
#: Columns up to which mean squares are computed exactly from products, one product per column.
EXACT_COLUMNS = 32
#: Random products that estimate mean squares, with a relative error of sqrt(2 / PROBES).
PROBES = 16


#: No columns at all.
NO_COLUMNS: IntArray = np.empty(0, dtype=np.int64)


class ColumnMoments(NamedTuple):
    """Weighted mean, mean square and variance of every column."""

    mean: FloatArray
    square: FloatArray
    variance: FloatArray


class ColumnStatistics:
    """Statistics of the columns, which problems with the same data share.

    Parameters
    ----------
    counts : Counts
        Counter to which passes over the data are added.
    free : bool
        Whether a constant can be added to all scores without a penalty (an intercept, or a
        shift-invariant loss); columns are then centred.
    """

    def __init__(self, data: Data, counts: Counts, free: bool) -> None:
        self._data, self._counts, self.free = data, counts, free
        self._exact = SECOND_ORDER.find(data)
        self._spread: dict[bool, FloatArray] = {}

    @property
    def exact(self) -> bool:
        """Whether `weighted_squares` are exact."""
        return self._exact is not None

    @cached_property
    def squares(self) -> FloatArray:
        """Weighted mean square of every column; an estimate if the data only offer products."""
        if self.exact:
            return self.weighted_squares(self._data.target.share)
        return self._second_moments(self._data.target.share, np.zeros(self._data.n_columns))

    def weighted_squares(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``; unless ``exact``, h is replaced by its mean."""
        if self._exact is None:
            return float(h.sum()) * self.squares
        self._counts.passes += 1
        return self._exact.square_gradient(h)

    def moments(self, share: FloatArray) -> ColumnMoments:
        """Mean (0 unless ``free``), mean square, and variance around that mean."""
        self._counts.passes += 1
        mean = float(self.free) * self._data.gradient(share)
        if self.exact:
            square = self.weighted_squares(share)
            return ColumnMoments(mean, square, square - mean * mean)
        variance = self._second_moments(share, mean)
        return ColumnMoments(mean, variance + mean * mean, variance)

    @cached_property
    def own(self) -> ColumnMoments:
        """Moments under the weights of the rows."""
        return self.moments(self._data.target.share)

    def _second_moments(self, share: FloatArray, middle: FloatArray) -> FloatArray:
        """``sum_i share_i (x_ij - middle_j)^2`` by the two products."""
        data, d = self._data, self._data.n_columns
        if d <= EXACT_COLUMNS:
            self._counts.passes += d
            columns = (data.scores(unit) for unit in np.eye(d))
            return np.array(
                [share @ (column - m) ** 2 for column, m in zip(columns, middle, strict=True)]
            )
        self._counts.passes += PROBES
        rng, total, root = np.random.default_rng(0), np.zeros(d), np.sqrt(share)
        # Hutchinson's estimate of a diagonal: the mean of (sum_i s_i sqrt(share_i) x_ij)^2 over
        # random signs s.
        for _ in range(PROBES):
            probe = root * rng.choice((-1.0, 1.0), size=root.size)
            total += (data.gradient(probe) - float(probe.sum()) * middle) ** 2
        return total / PROBES

    def spread(self, *, balanced: bool) -> FloatArray:
        """Variance of every column, or mean square unless ``free``.

        If ``balanced``, both classes have the same total weight.
        """
        if balanced not in self._spread:
            target = self._data.target
            share = target.share
            if balanced:
                share = np.zeros(self._data.n_rows)
                for side in target.classes:
                    share[side.rows] = 0.5 * side.share
            _, square, variance = self.moments(share)
            self._spread[balanced] = np.maximum(variance, ROUNDING * square)
        return self._spread[balanced]


class ConstantColumns:
    """The columns of a data set with one nonzero value in all rows of positive weight.

    Each column is checked once, when it is asked for; problems on the same data share the answers.

    Parameters
    ----------
    counts : Counts
        Counter to which passes over the data are added.
    """

    def __init__(self, data: Data, counts: Counts) -> None:
        self.data, self._counts = data, counts
        self._known: dict[int, bool] = {}

    def without_effect(self, loss: Loss, penalty: Penalty) -> IntArray:
        """Unpenalised constant columns under a loss to which a constant makes no difference.

        This does not hold where the ridge is added to variances, which every column changes.
        """
        if not (loss.shift_invariant and penalty.smooth):
            return NO_COLUMNS
        spec = penalty.separable(self.data.n_columns)
        free = np.ones(self.data.n_columns, dtype=bool) if spec is None else spec.l2 == 0.0
        return self.among(np.flatnonzero(free))

    def among(self, columns: IntArray) -> IntArray:
        """The constant columns among these."""
        constant = [j for j in columns.tolist() if self._steady[j] and self._is_constant(j)]
        return np.array(constant, dtype=np.int64)

    @cached_property
    def _steady(self) -> Array:
        """Columns that may be constant: their product with numbers of sum zero vanishes."""
        share = self.data.target.share
        # Random numbers of weighted sum zero: a constant column has product zero with them.
        probe = share * np.random.default_rng(0).choice((-1.0, 1.0), size=share.size)
        probe -= float(probe.sum()) * share
        self._counts.passes += 2
        mean, moved = self.data.gradient(share), np.abs(self.data.gradient(probe))
        limit = STEADY * float(np.abs(probe).sum()) * np.abs(mean)
        return np.asarray((moved <= limit) & (mean != 0.0))

    def _is_constant(self, column: int) -> bool:
        """Whether all rows of positive weight have the same value in a column; one pass."""
        if column not in self._known:
            unit = np.zeros(self.data.n_columns)
            unit[column] = 1.0
            self._counts.passes += 1
            values = self.data.scores(unit)[self.data.target.share > 0.0]
            self._known[column] = bool((values == values[0]).all())
        return self._known[column]
