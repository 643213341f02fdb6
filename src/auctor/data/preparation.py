"""Preparation of dense or sparse matrices: splitting off held-out rows, scaling columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auctor.core.rounding import VARIANCE_ROUNDING
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.coerce import in_shards, wrap
from auctor.data.matrices import is_dense

#: Entries that are moved or scaled at a time: 8 MB of float64, instead of a copy of the matrix.
STRIP_ENTRIES = 1 << 20
#: Variance, as a share of the squared mean, below which a dense column counts as constant.
EXACT_ROUNDING = 1e-26
#: Distance of deviations from one, and of means from zero, that counts as scaled already.
ALREADY = 1e-5
#: Distance of squared row lengths from one up to which rows count as normalised.
UNIT_LENGTH = 1e-4


def share_stored(matrix: Any) -> float:
    """Number of stored entries over rows times columns.

    Examples
    --------
    >>> share_stored(sparse.csr_array(np.eye(4)))
    0.25
    """
    size = matrix.shape[0] * matrix.shape[1]
    return n_stored(matrix) / size if size else 0.0


def n_stored(matrix: Any) -> float:
    """Number of stored entries: all of an array, the nonzeros of a sparse matrix; shards: inf."""
    n, d = matrix.shape
    return float(getattr(matrix, "nnz", n * d))


def writeable(matrix: Any) -> bool:
    """Whether the entries of a matrix can be changed in place."""
    return bool((matrix if is_dense(matrix) else matrix.data).flags.writeable)


# --- rows ---------------------------------------------------------------------------------------


def split_rows(matrix: Any, held: IntArray) -> tuple[Any, Any]:
    """The other rows, and the rows ``held``; destroys the matrix to save memory.

    Only the held rows are copied. If the arrays are writeable, the other rows are moved up inside
    them, a strip at a time, and the memory after them is released.
    """
    rest = matrix[held]
    stays = np.ones(matrix.shape[0], dtype=bool)
    stays[held] = False
    if is_dense(matrix):
        return _rows_together(matrix, stays), rest
    parts = [_owner(array) for array in (matrix.data, matrix.indices)]
    if matrix.format != "csr" or any(array is None for array in parts):
        return matrix[stays], rest
    indptr, shape = matrix.indptr, (int(stays.sum()), matrix.shape[1])
    canonical = matrix.has_canonical_format
    # Drop the matrix's references to its arrays, so that they can be resized in place.
    matrix.data, matrix.indices = np.empty(0), np.empty(0, dtype=np.intp)
    lengths = np.diff(indptr)
    size = 0
    # Move the entries of staying rows up, a strip of rows at a time.
    for low, high in _strips(indptr):
        moved = np.repeat(stays[low:high], lengths[low:high])
        count = int(moved.sum())
        for array in parts:
            array[size : size + count] = array[indptr[low] : indptr[high]][moved]
        size += count
    for array in parts:
        array.resize(size, refcheck=False)
    ends = np.concatenate(([0], np.cumsum(lengths[stays]))).astype(indptr.dtype)
    kept = sparse.csr_array((*parts, ends), shape=shape)
    kept.has_canonical_format = canonical
    return kept, rest


def _owner(array: Array) -> Any:
    """The array that owns the memory of this one, if it is writeable and has the same shape."""
    whole = array if array.base is None else array.base
    alone = (
        isinstance(whole, np.ndarray)
        and whole.flags.owndata
        and whole.flags.writeable
        and whole.dtype == array.dtype
        and whole.shape == array.shape
    )
    return whole if alone else None


def _strips(indptr: Array) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about `STRIP_ENTRIES` entries each."""
    n = indptr.shape[0] - 1
    low = 0
    while low < n:
        high = int(np.searchsorted(indptr, indptr[low] + STRIP_ENTRIES, side="right"))
        high = min(max(high, low + 1), n)
        yield low, high
        low = high


def _rows_together(matrix: FloatArray, stays: Array) -> FloatArray:
    """The rows that stay, moved up to the first rows of the array if it is writeable."""
    if not (matrix.flags.c_contiguous and matrix.flags.writeable):
        return matrix[stays]
    n, d = matrix.shape
    step = max(1, STRIP_ENTRIES // d)
    size = 0
    for low in range(0, n, step):
        part = matrix[low : low + step][stays[low : low + step]]
        matrix[size : size + part.shape[0]] = part
        size += part.shape[0]
    return matrix[:size]


# --- columns ------------------------------------------------------------------------------------


class Scaling(NamedTuple):
    """Scaling of columns to ``(x - mean) * factor``; entries that are not stored stay zero."""

    mean: FloatArray
    factor: FloatArray

    def apply(self, matrix: Any) -> Any:
        """A scaled copy of another matrix of the same columns.

        A sparse matrix must store every entry of the columns with a nonzero mean, as the matrix of
        the scaling does.
        """
        if in_shards(matrix):
            return matrix.scaled(self.factor)
        if is_dense(matrix):
            changed = np.empty_like(matrix)
            self._write(matrix, changed)
            return changed
        values = np.empty_like(matrix.data)
        changed = type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)
        self._write(matrix, changed)
        changed.has_canonical_format = True  # as `as_matrix` guarantees for the source
        return changed

    def apply_in_place(self, matrix: Any) -> None:
        """Scale the columns of a matrix in place."""
        self._write(matrix, matrix)

    def undo(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, Any]:
        """Coefficients and intercept of the original columns, from those of the scaled ones."""
        coef = coef * self.factor
        return coef, intercept - coef @ self.mean

    def redo(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, Any]:
        """Coefficients and intercept of the scaled columns, from those of the original ones."""
        return coef / self.factor, intercept + coef @ self.mean

    def _write(self, source: Any, out: Any) -> None:
        """Write the scaled entries of ``source`` into ``out``, a strip at a time."""
        if is_dense(source):
            for part in _parts(source):
                columns = part[1]
                out[part] = (source[part] - self.mean[columns]) * self.factor[columns]
            return
        column_of = _columns_of(source)
        for low in range(0, source.data.size, STRIP_ENTRIES):
            strip = slice(low, low + STRIP_ENTRIES)
            at = column_of[strip]
            out.data[strip] = (source.data[strip] - self.mean[at]) * self.factor[at]


def standardise(matrix: Any, *, centre: bool) -> Scaling:
    """Scale columns to standard deviation one and, if dense, mean zero; in place.

    Columns of zeros and ones, and constant columns, do not change.
    """
    scaling = column_scaling(matrix, centre=centre and is_dense(matrix))
    scaling.apply_in_place(matrix)
    return scaling


def column_scaling(matrix: Any, *, centre: bool, weight: FloatArray | None = None) -> Scaling:
    """The scaling to standard deviation one.

    Columns whose entries are all 0 or 1, such as those of a one-hot encoding, do not change.
    Constant columns are centred only: beside the others a large constant would slow every solver
    that has no second derivatives.

    Parameters
    ----------
    matrix : array, sparse matrix or data in shards
        As `auctor.data.as_matrix` returns it.
    centre : bool
        Whether to subtract the means too: in dense columns, and in sparse ones that store every
        entry; other sparse columns would become dense. Shards are never centred.
    weight : (n,) array, optional
        Row weights; rows of weight 0 are ignored.

    Examples
    --------
    >>> scaling = column_scaling(np.array([[1.0, 0.0], [5.0, 1.0]]), centre=True)
    >>> scaling.mean, scaling.factor
    (array([3., 0.]), array([0.5, 1. ]))
    """
    if in_shards(matrix):  # not centred: that would make sparse shards dense
        return Scaling(np.zeros(matrix.n_columns), matrix.column_factors(weight))
    n = matrix.shape[0]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    mean, variance, full = _moments(matrix, share)
    numbers = ~_only_zero_one(matrix, share)
    varies = (variance > 0.0) & numbers
    factor = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 1.0)
    return Scaling(np.where(numbers & full & centre, mean, 0.0), factor)


def column_moments(matrix: Any) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every column.

    Examples
    --------
    >>> column_moments(np.array([[1.0, 2.0], [5.0, 2.0]]))
    (array([3., 2.]), array([2., 0.]))
    """
    n = matrix.shape[0]
    mean, variance, _ = _moments(matrix, np.full(n, 1.0 / n))
    return mean, np.sqrt(variance)


def _moments(matrix: Any, share: FloatArray) -> tuple[FloatArray, FloatArray, Array]:
    """Weighted mean and variance of every column, and whether it stores all its entries.

    The variance of a column that is constant up to rounding errors is set to 0.
    """
    n, d = matrix.shape
    data = wrap(matrix, Target(np.empty(0)))
    mean = data.gradient(share)
    if is_dense(matrix):
        variance, full = _variance_around(matrix, mean, share), np.ones(d, dtype=bool)
        varies = variance > EXACT_ROUNDING * mean**2
    else:
        square = data.square_gradient(share)
        full = np.bincount(_columns_of(matrix), minlength=d) == n
        variance = square - mean**2
        varies = variance > VARIANCE_ROUNDING * square
        if full.any():  # their means may be much larger than their deviations: centre first
            dense = matrix[:, np.flatnonzero(full)].toarray()
            variance[full] = _variance_around(dense, mean[full], share)
            varies[full] = variance[full] > EXACT_ROUNDING * mean[full] ** 2
    varies &= variance > np.finfo(np.float64).tiny
    return mean, np.where(varies, variance, 0.0), full


def looks_scaled(matrix: Any, scaling: Scaling) -> bool:
    """Whether a matrix is scaled already.

    It is if the scaling would change nothing (up to `ALREADY`), or if all rows of a sparse matrix
    have length one, as after a tf-idf encoding of text: then the rows were scaled on purpose, and
    scaling columns would undo that.
    """
    if in_shards(matrix):  # scaled without a copy: nothing is saved
        return False
    if np.abs(scaling.factor - 1.0).max() <= ALREADY and np.abs(scaling.mean).max() <= ALREADY:
        return True
    if is_dense(matrix):
        return False
    lengths = wrap(matrix, Target(np.empty(0))).row_lengths(np.ones(matrix.shape[1]))
    return bool((np.abs(lengths[lengths > 0.0] - 1.0) <= UNIT_LENGTH).all())


def _variance_around(matrix: FloatArray, mean: FloatArray, share: FloatArray) -> FloatArray:
    """Weighted mean square of the deviations of every column from ``mean``."""
    variance = np.zeros(mean.size)
    for rows, columns in _parts(matrix):
        variance[columns] += share[rows] @ (matrix[rows, columns] - mean[columns]) ** 2
    return variance


def _only_zero_one(matrix: Any, share: FloatArray) -> Array:
    """Mask of the columns that only have zeros and ones in the rows of positive weight."""
    binary = np.ones(matrix.shape[1], dtype=bool)
    if is_dense(matrix):
        for rows, columns in _parts(matrix):
            part = matrix[rows, columns][share[rows] > 0.0]
            binary[columns] &= ((part == 0.0) | (part == 1.0)).all(axis=0)
        return binary
    other = (matrix.data != 0.0) & (matrix.data != 1.0)
    if share.min() == 0.0:
        by_rows = matrix.format == "csr"
        weighs = share > 0.0
        other &= np.repeat(weighs, np.diff(matrix.indptr)) if by_rows else weighs[matrix.indices]
    binary[_columns_of(matrix)[other]] = False
    return binary


def _columns_of(matrix: Any) -> Array:
    """The column of each stored entry of a sparse matrix."""
    if matrix.format == "csc":
        return np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    columns: Array = matrix.indices
    return columns


def _parts(matrix: FloatArray) -> Iterator[tuple[slice, slice]]:
    """Slices of rows and columns of about `STRIP_ENTRIES` entries that are contiguous in memory."""
    n, d = matrix.shape
    by_rows = bool(matrix.flags.c_contiguous)
    lines, length = (n, d) if by_rows else (d, n)
    step, every = max(1, STRIP_ENTRIES // length), slice(None)
    for low in range(0, lines, step):
        part = slice(low, low + step)
        yield (part, every) if by_rows else (every, part)
