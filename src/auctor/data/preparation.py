"""Matrices before training, whatever their storage: rows held out and columns scaled in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.coerce import wrap

#: Entries that are moved or scaled at a time: 8 MB of numbers, so that no copy of the matrix is
#: made; a larger one gains no time.
STRIP = 1 << 20
#: A sparse column counts as constant when its variance is below this share of its mean square:
#: what rounding leaves of a difference of two sums of many terms.
ROUNDING = 1e-12
#: The same for dense columns, whose variance is computed around the mean and is more exact.
EXACT_ROUNDING = 1e-26


def is_dense(matrix: Any) -> bool:
    """Whether every entry of a matrix is stored."""
    return isinstance(matrix, np.ndarray)


def share_stored(matrix: Any) -> float:
    """Entries that are stored, as a share of all.

    Examples
    --------
    >>> share_stored(sparse.csr_array(np.eye(4)))
    0.25
    """
    n, d = matrix.shape
    return float(getattr(matrix, "nnz", n * d)) / (n * d) if n * d else 0.0


def writeable(matrix: Any) -> bool:
    """Whether the entries of a matrix can be changed in place."""
    return bool((matrix if is_dense(matrix) else matrix.data).flags.writeable)


# --- rows ---------------------------------------------------------------------------------------


def split_rows(matrix: Any, held: IntArray) -> tuple[Any, Any]:
    """The rows that are not ``held`` and those that are; uses up the matrix to save memory.

    Only the held rows are copied. Where the arrays can be written, the others move together inside
    them, a strip at a time, and the rest is given back.
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
    matrix.data, matrix.indices = np.empty(0), np.empty(0, dtype=np.intp)  # nothing points there
    lengths = np.diff(indptr)
    size = 0
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
    """The memory of an array as an array of its own, if nobody else holds a part of it."""
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
    """Ranges of rows with about `STRIP` entries each."""
    n = indptr.shape[0] - 1
    low = 0
    while low < n:
        high = int(np.searchsorted(indptr, indptr[low] + STRIP, side="right"))
        high = min(max(high, low + 1), n)
        yield low, high
        low = high


def _rows_together(matrix: FloatArray, stays: Array) -> FloatArray:
    """Some rows of an array, in their order and in its first rows if it can be written."""
    if not (matrix.flags.c_contiguous and matrix.flags.writeable):
        return matrix[stays]
    n, d = matrix.shape
    step = max(1, STRIP // d)
    size = 0
    for low in range(0, n, step):
        part = matrix[low : low + step][stays[low : low + step]]
        matrix[size : size + part.shape[0]] = part
        size += part.shape[0]
    return matrix[:size]


# --- columns ------------------------------------------------------------------------------------


class Scaling(NamedTuple):
    """Columns were replaced by ``(x - mean) * factor``; sparse ones keep their zeros, mean 0."""

    mean: FloatArray
    factor: FloatArray

    def apply(self, matrix: Any) -> Any:
        """Another matrix of the same columns, scaled the same way, as a copy."""
        if is_dense(matrix):
            return (matrix - self.mean) * self.factor
        return matrix @ sparse.diags_array(self.factor)

    def undo(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, Any]:
        """Weights and intercept for the columns as they were, from those of the scaled columns."""
        coef = coef * self.factor
        return coef, intercept - coef @ self.mean


def standardise(matrix: Any, *, centre: bool) -> Scaling:
    """Give the columns of a matrix deviation one and, if dense, mean zero; in place.

    Columns that do not vary are left as they are.
    """
    if is_dense(matrix):
        return _standardise_dense(matrix, centre)
    n, d = matrix.shape
    data = wrap(matrix, Target(np.empty(0)))
    ones = np.ones(n)
    mean, square = data.gradient(ones) / n, data.square_gradient(ones) / n
    factor = _inverse(square - mean**2, ROUNDING * square)
    for low in range(0, matrix.data.size, STRIP):
        part = slice(low, low + STRIP)
        matrix.data[part] *= factor[matrix.indices[part]]
    return Scaling(np.zeros(d), factor)


def _standardise_dense(matrix: FloatArray, centre: bool) -> Scaling:
    n, d = matrix.shape
    mean = matrix.mean(axis=0, dtype=np.float64)
    size = max(1, STRIP // d)
    variance = np.zeros(d)
    for low in range(0, n, size):
        variance += ((matrix[low : low + size] - mean) ** 2).sum(axis=0, dtype=np.float64) / n
    factor = _inverse(variance, EXACT_ROUNDING * mean**2)
    shift = mean if centre else np.zeros(d)
    for low in range(0, n, size):
        matrix[low : low + size] = (matrix[low : low + size] - shift) * factor
    return Scaling(shift, factor)


def _inverse(variance: FloatArray, rounding: FloatArray) -> FloatArray:
    """One over deviations; one where a column does not vary beyond rounding."""
    varies = variance > rounding
    return np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 1.0)
