"""The Hessian of a problem at a point: products, diagonal, matrix, preconditioner."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from auctor.core.curvature import Curvature, LowRankCurvature, PairCurvature
from auctor.core.linalg import Solve, floored, spd_solve
from auctor.core.needs import Access
from auctor.core.protocols import FullData
from auctor.core.result import Counts
from auctor.core.rng import systematic
from auctor.core.types import FloatArray, IntArray
from auctor.problem.columns import ColumnStatistics

#: Up to this many parameters a matrix is worth factorising as a preconditioner.
FACTOR_PARAMS = 600
#: Up to this many entries of a dense copy a pair loss's matrix is exact.
DENSE_ENTRIES = 1 << 20
#: Up to this many a model of second order may make one for an exact matrix of pairs.
PAIR_ENTRIES = 1 << 25
#: Rows per parameter in a sampled Hessian.
SAMPLE_RATIO = 12
#: A sampled Hessian may cost this many products, if that buys more rows.
SAMPLE_PASSES = 1.0
#: A full matrix is formed when it costs at most this many products.
FULL_MATRIX_PASSES = 6.0
#: Rows with curvature, as a share of all, up to which they are picked out for a matrix.
ACTIVE_SHARE = 0.5
#: Below this many multiply-adds a matrix is exact whatever else; the same fit on repeated rows then
#: takes the same path as on weighted ones.
SMALL_WORK = 2e7
#: Smallest eigenvalue, after scaling, of a Newton model: flat directions get long steps, not none.
MODEL_FLOOR = 1e-6
#: Factor by which the total curvature may change while rows are drawn by the same odds.
DRIFT = 2.0


@dataclass
class RowParts:
    """``sum_j x_ij^2 / H_jj`` of every row, and the total curvature at which they were found."""

    total: float = 0.0
    parts: FloatArray = field(default_factory=lambda: np.empty(0))


class Hessian:
    """``[X 1]' C [X 1] + diag(ridge)`` with C the curvature of the loss in score space.

    ``kept`` carries the odds of the rows from one Hessian of a solve to the next.
    """

    def __init__(
        self,
        data: FullData,
        curvature: Curvature,
        ridge: FloatArray,
        has_intercept: bool,
        counts: Counts,
        kept: RowParts | None = None,
        columns: ColumnStatistics | None = None,
    ) -> None:
        self._data, self._curvature, self._ridge = data, curvature, ridge
        self._has_intercept, self._counts = has_intercept, counts
        self._columns = ColumnStatistics(data, counts, False) if columns is None else columns
        self._kept = RowParts() if kept is None else kept

    def _join(self, columns: FloatArray, last: float) -> FloatArray:
        return np.append(columns, last) if self._has_intercept else columns

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray] | None:
        """``([X 1]' U, core)`` of a low-rank part."""
        curvature = self._curvature
        if not isinstance(curvature, LowRankCurvature):
            return None
        if curvature.factors is None or curvature.core is None:
            return None
        columns = np.ascontiguousarray(curvature.factors.T)
        self._counts.passes += columns.shape[0]
        pulled = [self._join(self._data.gradient(u), float(u.sum())) for u in columns]
        return np.column_stack(pulled), curvature.core

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a parameter vector: one fused pass, or two passes for pair losses."""
        d = self._data.n_columns
        coef, offset = v[:d], float(v[-1]) if self._has_intercept else 0.0
        self._counts.passes += 2
        fused = Access.SECOND_ORDER in self._data.access
        if fused and isinstance(self._curvature, LowRankCurvature):
            pulled, total = self._data.sandwich(self._curvature.diagonal, coef, offset)
        else:
            z = self._bent(self._data.scores(coef, offset))
            pulled, total = self._data.gradient(z), float(z.sum())
        out = self._join(pulled, total) + self._ridge * v
        if self._factors is not None:
            pulled, core = self._factors
            out += pulled @ (core @ (pulled.T @ v))
        return out

    def _bent(self, change: FloatArray) -> FloatArray:
        """Curvature times a change of the scores, without the low-rank part."""
        if isinstance(self._curvature, LowRankCurvature):
            return self._curvature.diagonal * change
        return self._curvature.matvec(change)

    def diagonal(self) -> FloatArray:
        """Diagonal, or an approximation of it for pair losses and data without squares."""
        h = self._curvature.diagonal
        squares = self._columns.weighted_squares(h)
        out = self._join(squares, float(h.sum())) + self._ridge
        if self._factors is not None:
            pulled, core = self._factors
            out += ((pulled @ core) * pulled).sum(axis=1)
        return out

    def matrix(self) -> FloatArray:
        """The full matrix; for pair losses through a dense copy of the data."""
        if isinstance(self._curvature, LowRankCurvature):
            return self._matrix_from(self._data, self._curvature.diagonal)
        X = self._data.to_dense()
        if self._has_intercept:
            X = np.column_stack([X, np.ones(self._data.n_rows)])
        self._counts.passes += 2
        full = X.T @ self._curvature.matvec(X)
        full = 0.5 * (full + full.T)
        full[np.diag_indices_from(full)] += self._ridge
        return full

    def _matrix_from(self, data: FullData, h: FloatArray) -> FloatArray:
        if Access.ROWS in data.access:
            active = np.flatnonzero(h)
            if active.size <= ACTIVE_SHARE * h.size:
                data, h = data.rows(active), h[active]
        self._counts.passes += data.gram_passes() * data.n_entries / max(1, self._data.n_entries)
        gram = data.gram(h)
        if self._has_intercept:
            side = data.gradient(h)
            gram = np.block([[gram, side[:, None]], [side[None, :], h.sum()]])
        if self._factors is not None:
            pulled, core = self._factors
            gram += pulled @ core @ pulled.T
        gram[np.diag_indices_from(gram)] += self._ridge
        return gram

    def damped(self, damping: FloatArray) -> Hessian:
        """With more on the diagonal, times the total curvature of the rows."""
        ridge = self._ridge + float(self._curvature.diagonal.sum()) * damping
        shared = self._has_intercept, self._counts, self._kept, self._columns
        return Hessian(self._data, self._curvature, ridge, *shared)

    def preconditioner(self) -> tuple[Solve, bool]:
        """An approximate inverse, and whether it is as good as the exact one.

        A factorised matrix when parameters are few: of all rows when that is cheap, otherwise of
        rows drawn in proportion to their part of the diagonal. The diagonal when parameters are
        many.
        """
        p = self._ridge.shape[0]
        exact, size = False, 0
        if self._has_matrix:
            exact, size = self._plan_pairs(p) if self.by_pairs else self._sample_plan()
        undrawn = self.by_pairs and not exact and not self._draws
        if p > FACTOR_PARAMS or undrawn or not self._has_matrix:
            diagonal = floored(self.diagonal())
            return (lambda v: v / diagonal), False
        matrix = self.matrix() if exact else self._sampled(size)
        return spd_solve(matrix, floor=MODEL_FLOOR), exact

    @property
    def _has_matrix(self) -> bool:
        """Whether the data offer what the matrix of this curvature is made of."""
        asked = Access.DENSE | Access.ROWS | Access.GRAM if self.by_pairs else Access.GRAM
        return not asked & ~self._data.access

    @property
    def by_pairs(self) -> bool:
        """Whether the curvature ties pairs of rows, so that `matrix` needs a dense copy."""
        return isinstance(self._curvature, PairCurvature)

    @property
    def _draws(self) -> bool:
        """Whether pairs can be drawn from the curvature."""
        return isinstance(self._curvature, PairCurvature) and self._curvature.partners is not None

    @property
    def row_curvature(self) -> FloatArray:
        """Diagonal of the curvature in score space."""
        return self._curvature.diagonal

    def low_rank(self) -> tuple[FloatArray, FloatArray]:
        """Factors (parameters by k) and core of the low-rank part; k is 0 for a sum over rows."""
        if self._factors is None:
            return np.zeros((self._ridge.shape[0], 0)), np.zeros((0, 0))
        return self._factors

    @property
    def sampled(self) -> bool:
        """Whether `model_matrix` is made of sampled rows or pairs."""
        return not self._sample_plan()[0]

    def _sample_plan(self) -> tuple[bool, int]:
        """Whether to use all rows or pairs, else how many to sample."""
        if not self.by_pairs:
            return self._plan(self._curvature.diagonal)
        exact, size = self._plan_pairs(self._ridge.shape[0])
        return exact or not self._draws, size

    def _sampled(self, size: int) -> FloatArray:
        """Matrix of a sample of rows or pairs."""
        if self.by_pairs:
            return self._sampled_pairs(size)
        return self._sampled_rows(self._curvature.diagonal, size)

    def model_matrix(self, *, whole: bool = False) -> FloatArray:
        """Matrix of the loss alone, of all rows if ``whole`` or cheap, else of sampled ones."""
        exact, size = self._sample_plan()
        matrix = self.matrix() if whole or exact else self._sampled(size)
        matrix[np.diag_indices_from(matrix)] -= self._ridge
        return matrix

    def _plan(self, h: FloatArray) -> tuple[bool, int]:
        """Whether to use all rows, else how many to sample.

        Decided on rows that differ and have weight, so that weights are repetitions.
        """
        data = self._data
        small = data.n_entries * data.gram_passes() <= SMALL_WORK
        if small or Access.ROWS not in data.access:
            return True, 0
        rows = self._distinct
        passes = data.gram_passes(rows)
        size = max(SAMPLE_RATIO * self._ridge.shape[0], int(rows.size * SAMPLE_PASSES / passes))
        few = int(np.count_nonzero(data.duplicate_rows.total(h))) <= 2 * size
        small = data.entries(rows) * passes <= SMALL_WORK
        return few or small or passes <= FULL_MATRIX_PASSES, size

    @cached_property
    def _distinct(self) -> IntArray:
        """One row of each kind that has weight."""
        duplicates, weight = self._data.duplicate_rows, self._data.target.weight
        first = duplicates.order[duplicates.starts]
        return first if weight is None else first[duplicates.total(weight) > 0.0]

    def _plan_pairs(self, p: int) -> tuple[bool, int]:
        """Whether to use all pairs, else how many to sample; decided like `_plan`."""
        few = self._data.n_rows * p <= DENSE_ENTRIES
        return few or self._distinct.size * p <= DENSE_ENTRIES, SAMPLE_RATIO * p

    def _sampled_pairs(self, size: int) -> FloatArray:
        """Matrix of ``size`` pairs, each drawn for one of its rows as in `_sampled_rows`."""
        curvature = self._curvature
        assert isinstance(curvature, PairCurvature)
        assert curvature.partners is not None
        part = self._part_of_diagonal(curvature.diagonal)
        first, total = systematic(curvature.diagonal * part, size)
        second = curvature.partners(first)
        weight = total / size / (part[first] + part[second])
        matrix = self._data.differences(first, second).gram(weight)
        matrix[np.diag_indices_from(matrix)] += self._ridge
        return matrix

    def _sampled_rows(self, h: FloatArray, size: int) -> FloatArray:
        """Matrix of ``size`` systematic draws of rows that differ.

        In proportion to what they have of the diagonal, all columns counting alike: a row that is
        most of a rare column is drawn for sure. What a row has of it for its curvature changes
        slowly and is kept.
        """
        duplicates, kept, whole = self._data.duplicate_rows, self._kept, float(h.sum())
        if not whole < DRIFT * kept.total < DRIFT * DRIFT * whole:
            kept.total, kept.parts = whole, self._part_of_diagonal(h)
        part = kept.parts[duplicates.order[duplicates.starts]]
        curvature = duplicates.total(h)
        draws, total = systematic(curvature * part, size)
        drawn, times = np.unique(draws, return_counts=True)
        rows = duplicates.order[duplicates.starts[drawn]]
        weight = times * (total / size) / part[drawn]
        return self._matrix_from(self._data.rows(rows), weight)

    def _part_of_diagonal(self, h: FloatArray) -> FloatArray:
        """``sum_j x_ij^2 / H_jj`` of every row."""
        self._counts.passes += 1
        diagonal = self._columns.weighted_squares(h) + self._ridge[: self._data.n_columns]
        part = self._data.row_lengths(1.0 / floored(diagonal))
        return part + 1.0 / max(float(h.sum()), np.finfo(float).tiny)
