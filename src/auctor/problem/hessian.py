"""The Hessian of a problem at a point: products, diagonal, matrix, preconditioner."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from auctor.core.curvature import Curvature
from auctor.core.data_capabilities import DENSE, GRAM, ROWS, SECOND_ORDER, STORED, GramMatrices
from auctor.core.linalg import Solve, floored, spd_solve
from auctor.core.protocols import Data
from auctor.core.result import Counts
from auctor.core.rng import systematic
from auctor.core.types import FloatArray, IntArray
from auctor.problem.columns import ColumnStatistics

#: Parameters up to which a matrix is factorised as a preconditioner.
FACTOR_PARAMS = 600
#: Entries of a dense copy up to which the Hessian of a pair loss is formed exactly: 2 MB.
DENSE_ENTRIES = 1 << 18
#: Entries of a dense copy up to which proximal Newton may form the Hessian of a pair loss: 256 MB.
PAIR_ENTRIES = 1 << 25
#: Rows per parameter in a sampled Hessian.
SAMPLE_RATIO = 12
#: Share of the rows with curvature up to which these are copied before a matrix is formed.
ACTIVE_SHARE = 0.5
#: Multiply-adds below which a matrix is always exact.
SMALL_WORK = 2e7
#: Smallest eigenvalue, after scaling, of a Newton model, which bounds steps along flat directions.
MODEL_FLOOR = 1e-6
#: Factor by which the total curvature may change while a sample of the rows is kept.
DRIFT = 2.0


@dataclass
class RowSampling:
    """What rows are sampled by: ``sum_j x_ij^2 / H_jj`` of each, at some total curvature."""

    total: float = 0.0
    parts: FloatArray = field(default_factory=lambda: np.empty(0))


class Hessian:
    """``[X 1]' C [X 1] + diag(ridge)`` with C the curvature of the loss in score space.

    ``kept`` passes the sampling probabilities of the rows from one Hessian of a solve to the next.
    """

    def __init__(
        self,
        data: Data,
        curvature: Curvature,
        ridge: FloatArray,
        has_intercept: bool,
        counts: Counts,
        kept: RowSampling | None = None,
        columns: ColumnStatistics | None = None,
    ) -> None:
        self._data, self._curvature, self._ridge = data, curvature, ridge
        self._has_intercept, self._counts = has_intercept, counts
        self._columns = ColumnStatistics(data, counts, False) if columns is None else columns
        self._kept = RowSampling() if kept is None else kept
        self._fused = None if curvature.by_pairs else SECOND_ORDER.find(data)

    def _join(self, columns: FloatArray, last: float) -> FloatArray:
        return np.append(columns, last) if self._has_intercept else columns

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray] | None:
        """``([X 1]' U, core)`` of a low-rank part."""
        curvature = self._curvature
        if curvature.factors is None or curvature.core is None:
            return None
        # One product with the data per factor, computed once and cached.
        columns = np.ascontiguousarray(curvature.factors.T)
        self._counts.passes += columns.shape[0]
        pulled = [self._join(self._data.gradient(u), float(u.sum())) for u in columns]
        return np.column_stack(pulled), curvature.core

    def matvec(self, v: FloatArray) -> FloatArray:
        """Product with a parameter vector: one fused pass, or two passes for pair losses."""
        d = self._data.n_columns
        coef, offset = v[:d], float(v[-1]) if self._has_intercept else 0.0
        self._counts.passes += 2
        if self._fused is not None:
            pulled, total = self._fused.sandwich(self._curvature.diagonal, coef, offset)
        else:
            z = self._curvature.without_factors(self._data.scores(coef, offset))
            pulled, total = self._data.gradient(z), float(z.sum())
        out = self._join(pulled, total) + self._ridge * v
        if self._factors is not None:
            pulled, core = self._factors
            out += pulled @ (core @ (pulled.T @ v))
        return out

    def diagonal(self) -> FloatArray:
        """Diagonal; an approximation for pair losses and data that only offer products."""
        h = self._curvature.diagonal
        squares = self._columns.weighted_squares(h)
        out = self._join(squares, float(h.sum())) + self._ridge
        if self._factors is not None:
            pulled, core = self._factors
            out += ((pulled @ core) * pulled).sum(axis=1)
        return out

    def matrix(self) -> FloatArray:
        """The full matrix; for pair losses through a dense copy of the data."""
        if not self.by_pairs:
            return self._matrix_from(GRAM.of(self._data), self._curvature.diagonal)
        X = DENSE.of(self._data).to_dense()
        if self._has_intercept:
            X = np.column_stack([X, np.ones(self._data.n_rows)])
        self._counts.passes += 2
        # X' C X, made symmetric: rounding differs between the triangles.
        full = X.T @ self._curvature.matvec(X)
        full = 0.5 * (full + full.T)
        full[np.diag_indices_from(full)] += self._ridge
        return full

    def _matrix_from(self, data: GramMatrices, h: FloatArray) -> FloatArray:
        """``[X 1]' diag(h) [X 1]`` of some rows, plus the low-rank part and the ridge."""
        by_rows, all_entries = ROWS.find(data), STORED.of(self._data).n_entries
        if by_rows is not None:
            active = np.flatnonzero(h)
            if active.size <= ACTIVE_SHARE * h.size:
                data, h = by_rows.rows(active), h[active]
        self._counts.passes += data.gram_passes() * data.n_entries / max(1, all_entries)
        gram = data.gram(h)
        if self._has_intercept:
            # The row and column of the intercept: X'h and the sum of h.
            side = data.gradient(h)
            gram = np.block([[gram, side[:, None]], [side[None, :], h.sum()]])
        if self._factors is not None:
            pulled, core = self._factors
            gram += pulled @ core @ pulled.T
        gram[np.diag_indices_from(gram)] += self._ridge
        return gram

    def damped(self, damping: FloatArray) -> Hessian:
        """The Hessian with ``damping``, times the total curvature, added to the diagonal."""
        ridge = self._ridge + float(self._curvature.diagonal.sum()) * damping
        shared = self._has_intercept, self._counts, self._kept, self._columns
        return Hessian(self._data, self._curvature, ridge, *shared)

    def preconditioner(self) -> tuple[Solve, bool]:
        """An approximate inverse, and whether it is the exact one.

        For few parameters it is a factorised matrix: of all rows if that is cheap, otherwise of
        rows drawn in proportion to their part of the diagonal. For many it is the inverse diagonal.
        """
        p = self._ridge.shape[0]
        exact, size = False, 0
        if self._has_matrix:
            exact, size = self._plan_pairs(p) if self.by_pairs else self._sample_plan()
        # No matrix: too many parameters, or pairs that cannot be sampled.
        undrawn = self.by_pairs and not exact and not self._draws
        if p > FACTOR_PARAMS or undrawn or not self._has_matrix:
            diagonal = floored(self.diagonal())
            return (lambda v: v / diagonal), False
        matrix = self.matrix() if exact else self._sampled(size)
        return spd_solve(matrix, floor=MODEL_FLOOR), exact

    @property
    def _has_matrix(self) -> bool:
        """Whether the data offer the access that forming the matrix needs."""
        needed = (DENSE, ROWS, GRAM) if self.by_pairs else (GRAM,)
        return all(capability.has(self._data) for capability in needed)

    @property
    def by_pairs(self) -> bool:
        """Whether the curvature couples pairs of rows, so that `matrix` needs a dense copy."""
        return self._curvature.by_pairs

    @property
    def _draws(self) -> bool:
        """Whether the curvature can sample pairs."""
        return self._curvature.partners is not None

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
        """Whether to use all rows or pairs, and otherwise how many to sample."""
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
        """Hessian of the loss alone: of all rows if ``whole`` or cheap, otherwise of a sample."""
        exact, size = self._sample_plan()
        matrix = self.matrix() if whole or exact else self._sampled(size)
        matrix[np.diag_indices_from(matrix)] -= self._ridge
        return matrix

    def _plan(self, h: FloatArray) -> tuple[bool, int]:
        """Whether to use all rows, and otherwise how many to sample.

        The decision depends on the distinct rows of positive weight only, so that a weight of 2 and
        a repeated row give the same result.
        """
        data, by_rows = GRAM.of(self._data), ROWS.find(self._data)
        small = data.n_entries * data.gram_passes() <= SMALL_WORK
        if small or by_rows is None:
            return True, 0
        rows = self._distinct
        # At least SAMPLE_RATIO rows per parameter; more if one pass over the data allows it.
        passes = data.gram_passes(rows)
        # As many rows as cost one pass over the data, if those are more.
        size = max(SAMPLE_RATIO * self._ridge.shape[0], int(rows.size / passes))
        few = int(np.count_nonzero(by_rows.duplicate_rows.total(h))) <= 2 * size
        small = by_rows.entries(rows) * passes <= SMALL_WORK
        # Passes over the data up to which the Hessian of all rows is formed.
        return few or small or passes <= 6.0, size

    @cached_property
    def _distinct(self) -> IntArray:
        """First row of every group of equal rows of positive weight."""
        duplicates, weight = ROWS.of(self._data).duplicate_rows, self._data.target.weight
        first = duplicates.order[duplicates.starts]
        return first if weight is None else first[duplicates.total(weight) > 0.0]

    def _plan_pairs(self, p: int) -> tuple[bool, int]:
        """Whether to use all pairs, and otherwise how many to sample; see `_plan`."""
        few = self._data.n_rows * p <= DENSE_ENTRIES
        return few or self._distinct.size * p <= DENSE_ENTRIES, SAMPLE_RATIO * p

    def _sampled_pairs(self, size: int) -> FloatArray:
        """Matrix of ``size`` pairs, each drawn for one of its rows as in `_sampled_rows`."""
        h, partners = self._curvature.diagonal, self._curvature.partners
        assert partners is not None  # see `_draws`
        part = self._part_of_diagonal(h)
        first, total = systematic(h * part, size)
        second = partners(first)
        # Inverse-probability weights: a pair may be drawn for either of its rows.
        weight = total / size / (part[first] + part[second])
        matrix = ROWS.of(self._data).differences(first, second).gram(weight)
        matrix[np.diag_indices_from(matrix)] += self._ridge
        return matrix

    def _sampled_rows(self, h: FloatArray, size: int) -> FloatArray:
        """Matrix of a systematic sample of ``size`` distinct rows.

        The probability of row i is proportional to ``h_i sum_j x_ij^2 / H_jj``, its part of the
        scaled diagonal: a row with most of a rare column is drawn for certain. The sums over j
        change slowly, and are computed again only if the total curvature has changed.
        """
        data, kept, whole = ROWS.of(self._data), self._kept, float(h.sum())
        duplicates = data.duplicate_rows
        # The total curvature changed by more than the factor DRIFT: new probabilities.
        if not whole < DRIFT * kept.total < DRIFT * DRIFT * whole:
            kept.total, kept.parts = whole, self._part_of_diagonal(h)
        part = kept.parts[duplicates.order[duplicates.starts]]
        curvature = duplicates.total(h)
        draws, total = systematic(curvature * part, size)
        # Inverse-probability weights; a row with a large part may be drawn several times.
        drawn, times = np.unique(draws, return_counts=True)
        rows = duplicates.order[duplicates.starts[drawn]]
        weight = times * (total / size) / part[drawn]
        return self._matrix_from(data.rows(rows), weight)

    def _part_of_diagonal(self, h: FloatArray) -> FloatArray:
        """``sum_j x_ij^2 / H_jj`` of every row, plus its part of the intercept."""
        self._counts.passes += 1
        diagonal = self._columns.weighted_squares(h) + self._ridge[: self._data.n_columns]
        part = ROWS.of(self._data).row_lengths(1.0 / floored(diagonal))
        return part + 1.0 / max(float(h.sum()), np.finfo(float).tiny)
