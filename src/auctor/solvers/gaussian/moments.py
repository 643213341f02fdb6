"""Class means and covariances of a data set, in a basis where they are small or diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh

from auctor.core.data_capabilities import DENSE, GRAM, ROWS, SECOND_ORDER
from auctor.core.errors import DataError, IncompatibleError
from auctor.core.linalg import RANK_SHARE, product_passes
from auctor.core.protocols import Data
from auctor.core.result import Counts
from auctor.core.rounding import ROUNDING, SMALLEST_DIVISOR
from auctor.core.types import ClassRows, FloatArray, IntArray
from auctor.solvers.gaussian.forms import Covariance, covariance_form

#: Largest matrix that is decomposed, in columns, or in rows if those are fewer.
LARGEST_SIZE = 4000
#: Entries up to which a dense copy of wide data is made: 1 GB as float64.
DENSE_ENTRIES = 1 << 27
#: Variances below this share of the squared mean are computed again from centred columns.
CANCELLED = 1e-7
#: Variance, as a share of the largest, below which a column counts as constant.
CONSTANT_VARIANCE = 1e-28
#: Entries of a dense chunk of rows: 32 MB as float64.
CHUNK_ENTRIES = 1 << 22

Lift: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class ClassMoments:
    """Moments of both classes, the positive one first.

    Attributes
    ----------
    prior : (2,) array
        Weight of each class.
    mean : (2, k) array
    covariance : (2, k, k) array
        (2, k) variances if the covariances are diagonal.
    lift : callable
        Maps coefficients of the k directions to coefficients of the columns.
    """

    prior: FloatArray
    mean: FloatArray
    covariance: FloatArray
    lift: Lift

    @property
    def contrast(self) -> FloatArray:
        """Difference of the means; differences within rounding error are set to zero."""
        apart = self.mean[0] - self.mean[1]
        rounding = ROUNDING * np.abs(self.mean).max(axis=0)
        return np.asarray(np.where(np.abs(apart) <= rounding, 0.0, apart))

    @property
    def diagonal(self) -> bool:
        """Whether the covariances are diagonal."""
        return self.covariance.ndim == 2

    @property
    def variances(self) -> FloatArray:
        """Variances of both classes, (2, k)."""
        full = self.covariance
        own = full if self.diagonal else np.stack([np.diag(matrix) for matrix in full])
        return np.asarray(np.maximum(own, 0.0))

    def times(self, factor: FloatArray) -> ClassMoments:
        """Moments with the covariance of each class multiplied by a factor."""
        shape = (2,) + (1,) * (self.covariance.ndim - 1)
        return replace(self, covariance=self.covariance * factor.reshape(shape))

    def plus(self, ridge: FloatArray) -> ClassMoments:
        """Moments with ``ridge`` (2, k) added to the variances."""
        if self.diagonal:
            return replace(self, covariance=self.covariance + ridge)
        covariance = self.covariance.copy()
        for matrix, level in zip(covariance, ridge, strict=True):
            matrix[np.diag_indices_from(matrix)] += level
        return replace(self, covariance=covariance)

    def scores(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and variances (2,) of the scores for coefficients w of the k directions."""
        return self.mean @ w, np.maximum((self.spread(w) * w).sum(axis=1), 0.0)

    def spread(self, w: FloatArray) -> FloatArray:
        """Covariances times w, (2, k)."""
        return self.covariance * w if self.diagonal else self.covariance @ w

    def diagonalised(self) -> ClassMoments:
        """Moments in a basis where both covariances are diagonal and sum to the identity.

        Directions without variance are dropped.
        """
        if self.diagonal:
            return self
        total = self.covariance[0] + self.covariance[1]
        scale = unit_scale(np.diag(total))
        values, vectors = eigh(total * scale * scale[:, None], check_finite=False)
        kept = values > RANK_SHARE * max(float(values[-1]), SMALLEST_DIVISOR)
        # Whiten the sum S+ + S-, then rotate so that S+ is diagonal; S- = I - S+ then is, too.
        white = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        share, rotation = eigh(white.T @ self.covariance[0] @ white, check_finite=False)
        share, basis = np.clip(share, 0.0, 1.0), white @ rotation
        return replace(
            self,
            mean=self.mean @ basis,
            covariance=np.stack([share, 1.0 - share]),
            lift=lambda w: self.lift(basis @ w),
        )


def unit_scale(variance: FloatArray) -> FloatArray:
    """``1 / standard deviation`` of every column, 0 for constant columns."""
    flat = variance <= CONSTANT_VARIANCE * float(variance.max(initial=0.0))
    return np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, variance)))


# --- estimates ------------------------------------------------------------------------------


def wide(data: Data) -> bool:
    """Whether there are fewer rows than columns, so that a basis of the rows is smaller."""
    return data.n_rows < data.n_columns


def outnumbered(data: Data) -> bool:
    """Whether a class has fewer distinct rows of positive weight than there are columns."""
    duplicates = ROWS.of(data).duplicate_rows
    rows = (duplicates.total(class_shares(data, side)) for side in data.target.classes)
    return min(int(np.count_nonzero(some)) for some in rows) < data.n_columns


def fits(data: Data) -> bool:
    """Whether the covariance of the columns, or the Gram matrix of the rows, is small enough."""
    return min(data.n_rows, data.n_columns) <= LARGEST_SIZE


def class_moments(
    data: Data,
    covariance: Covariance = "full",
    *,
    reduce: bool = True,
    counts: Counts | None = None,
) -> ClassMoments:
    """Means and covariances of both classes, weighted, with divisor n.

    One pass for the means and one weighted Gram matrix, or with fewer rows than columns the inner
    products of the rows. Columns whose mean is much larger than their standard deviation are
    centred in a further pass.

    Parameters
    ----------
    covariance : "full", "diagonal", blocks or int
        Blocks are lists of column indices, outside which covariances are zero. An integer m keeps
        the covariances of columns at most m apart; if that matrix is indefinite, because columns
        farther apart are correlated, the covariances are tapered linearly with the distance.
    reduce : bool
        Whether wide data may be expressed in a basis of its rows.
    counts : Counts, optional
        Counter to which the passes are added.
    """
    if min(rows.rows.size for rows in data.target.classes) == 0:
        raise DataError(
            f"rows of both classes, -1 and +1; got {np.unique(data.target.y)[:4]}. Encode them."
        )
    work = Counts() if counts is None else counts
    work.passes += 2
    form = covariance_form(covariance)
    # Prior and mean of each class; wide data are first expressed in a basis of the rows.
    totals = np.array([rows.total for rows in data.target.classes])
    prior = totals / totals.sum()
    if reduce and form.full and wide(data):
        return _of_rows(data, prior, work)
    mean = np.stack([data.gradient(class_shares(data, rows)) for rows in data.target.classes])
    if form.diagonal:
        work.passes += 2
        square = SECOND_ORDER.of(data).square_gradient
        squares = [square(class_shares(data, rows)) for rows in data.target.classes]
        variance = np.stack(squares) - mean * mean
        # Mean square less squared mean: variances that cancel are computed from centred columns.
        again = np.flatnonzero((variance < CANCELLED * mean * mean).any(axis=0))
        for low in range(0, again.size, LARGEST_SIZE):
            some = again[low : low + LARGEST_SIZE]
            variance[:, some] = _centred_variance(data, mean, some)
        return ClassMoments(prior, mean, np.maximum(variance, 0.0), lambda w: w)
    if data.n_columns > LARGEST_SIZE:
        raise IncompatibleError(
            f"at most {LARGEST_SIZE} columns for this covariance; got {data.n_columns}. Use "
            "`solver='lbfgs'`, which needs no covariance matrix."
        )
    # Full covariances from Gram matrices, with entries outside the blocks or the band set to zero.
    estimated = form.on(data.n_columns)
    work.passes += GRAM.of(data).gram_passes()
    parts = [
        estimated(_class_covariance(data, rows, m, work))
        for rows, m in zip(data.target.classes, mean, strict=True)
    ]
    return ClassMoments(prior, mean, np.stack(parts), lambda w: w)


def _class_covariance(data: Data, rows: ClassRows, mean: FloatArray, work: Counts) -> FloatArray:
    """Covariance of one class, from its rows or, without row access, a weighted Gram matrix."""
    by_row = ROWS.find(data)
    if by_row is None:
        gram = GRAM.of(data).gram(class_shares(data, rows))
    else:
        gram = by_row.rows(rows.rows).gram(rows.share)
    matrix = gram - np.outer(mean, mean)
    again = np.flatnonzero(np.diag(matrix) < CANCELLED * mean * mean)
    if again.size and by_row is None:
        raise IncompatibleError(
            "columns with means of the size of their deviations, for data without row access; got "
            f"column {again[0]} with a much larger mean. Subtract its mean."
        )
    if again.size:
        work.passes += product_passes(again.size)
        matrix[again] = _centred_gram(data, rows, mean, again)
        matrix[:, again] = matrix[again].T
    return matrix


def class_shares(data: Data, rows: ClassRows) -> FloatArray:
    """Weights of one class's rows as a vector over all rows, 0 elsewhere; they sum to 1."""
    out = np.zeros(data.n_rows)
    out[rows.rows] = rows.share
    return out


def _strips(data: Data, rows: ClassRows) -> list[tuple[FloatArray, FloatArray]]:
    """Dense copies of a class's rows in chunks of 32 MB, with the rows' weights."""
    size, by_row = max(1, CHUNK_ENTRIES // data.n_columns), ROWS.of(data)
    cuts = range(0, rows.rows.size, size)
    return [
        (by_row.rows(rows.rows[low : low + size]).to_dense(), rows.share[low : low + size])
        for low in cuts
    ]


def _centred_gram(data: Data, rows: ClassRows, mean: FloatArray, some: IntArray) -> FloatArray:
    """Covariances of some columns with all columns, from centred dense chunks."""
    out = np.zeros((some.size, data.n_columns))
    for X, share in _strips(data, rows):
        strip = (X - mean) * np.sqrt(share)[:, None]
        out += strip[:, some].T @ strip
    return out


def _centred_variance(data: Data, mean: FloatArray, some: IntArray) -> FloatArray:
    """Variances of some columns in both classes, from centred dense chunks."""
    out = np.zeros((2, some.size))
    for rows, m, into in zip(data.target.classes, mean, out, strict=True):
        for X, share in _strips(data, rows):
            into += share @ (X[:, some] - m[some]) ** 2
    return out


def _of_rows(data: Data, prior: FloatArray, work: Counts) -> ClassMoments:
    """Moments of wide data in an orthonormal basis of its centred rows."""
    n = data.n_rows
    if n > LARGEST_SIZE:
        raise IncompatibleError(
            f"at most {LARGEST_SIZE} rows or columns; got {n} rows and {data.n_columns} columns. "
            "Use `solver='lbfgs'`, which needs no covariance matrix."
        )
    centre = data.gradient(data.target.share)
    inner = _inner_products(data, centre, work)
    # inner = V diag(values) V', so V sqrt(values) are the centred rows in an orthonormal basis.
    values, vectors = eigh(inner, check_finite=False)
    kept = values > RANK_SHARE * max(float(values[-1]), SMALLEST_DIVISOR)
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    rows = vectors * root
    mean, covariance = [], []
    for class_rows in data.target.classes:
        part = rows[class_rows.rows]
        mean.append(class_rows.share @ part)
        part = (part - mean[-1]) * np.sqrt(class_rows.share)[:, None]
        covariance.append(part.T @ part)

    def lift(w: FloatArray) -> FloatArray:
        alpha = vectors @ (w / root)
        return np.asarray(data.gradient(alpha) - centre * alpha.sum())

    return ClassMoments(prior, np.stack(mean), np.stack(covariance), lift)


def _inner_products(data: Data, centre: FloatArray, work: Counts) -> FloatArray:
    """``(x_i - centre)'(x_j - centre)`` of all rows: from a dense copy, or row by row."""
    n = data.n_rows
    if n * data.n_columns <= DENSE_ENTRIES:
        work.passes += product_passes(n) - 1.0
        X = DENSE.of(data).to_dense()
        X -= centre
        return X @ X.T
    work.passes += 2 * n
    inner = np.empty((n, n))
    unit = np.zeros(n)
    for i in range(n):
        unit[i] = 1.0
        inner[i] = data.scores(data.gradient(unit))
        unit[i] = 0.0
    side = data.scores(centre)
    inner += float(centre @ centre) - side - side[:, None]
    return 0.5 * (inner + inner.T)
