"""Operations on a matrix that `as_matrix` returns, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray
from auctor.kernels.runtime.parallel import in_parallel

#: A matrix of which each row stores its nonzero entries and their columns (CSR).
CompressedRows = csr_array
#: Share of nonzero entries from which a dense array is faster than compressed rows.
DENSE_SHARE = 0.3
#: Entries of a strip of rows that is read twice.
STRIP_ENTRIES = 1 << 16


def is_dense(matrix: Any) -> bool:
    """Whether every entry of a matrix is stored."""
    return isinstance(matrix, np.ndarray)


def is_sparse(matrix: Any) -> bool:
    """Whether an object is a sparse matrix or sparse array of scipy."""
    return bool(issparse(matrix))


def dense_array(matrix: Any) -> Array:
    """A matrix as an array: arrays are returned unchanged, sparse matrices with their zeros.

    Examples
    --------
    >>> dense_array(csr_array(np.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)


def compressed_rows(matrix: Any) -> CompressedRows:
    """A matrix as compressed rows; of an array only the nonzero entries are stored.

    Examples
    --------
    >>> compressed_rows(np.array([[0.0, 2.0], [0.0, 0.0]])).nnz
    1
    """
    return csr_array(matrix)


def join_compressed(
    values: Array, columns: Array, ends: Array, shape: tuple[int, int]
) -> CompressedRows:
    """Compressed rows from their three arrays, which are not copied.

    ``ends[i]`` is the number of entries before row i, and ``ends[-1]`` that of all rows.

    Examples
    --------
    >>> join_compressed(np.array([5.0]), np.array([1]), np.array([0, 0, 1]), (2, 3)).toarray()
    array([[0., 0., 0.],
           [0., 5., 0.]])
    """
    return csr_array((values, columns, ends), shape=shape)


def join_entries(
    values: Array, rows: Array, columns: Array, shape: tuple[int, int]
) -> CompressedRows:
    """Compressed rows from entries in any order; entries at one place are added."""
    return csr_array((values, (rows, columns)), shape=shape)


def stacked_rows(parts: Sequence[Any]) -> Any:
    """Matrices of one kind below each other: an array, or compressed rows."""
    return np.vstack(parts) if is_dense(parts[0]) else vstack(parts, format="csr")


def finite_rows(matrix: Any) -> Array:
    """Mask of the rows without NaN and infinity.

    Examples
    --------
    >>> finite_rows(np.array([[1.0, 2.0], [np.nan, 0.0]])).tolist()
    [True, False]
    """
    if is_dense(matrix):
        return np.asarray(np.isfinite(matrix).all(axis=1))
    finite = np.ones(matrix.shape[0], dtype=bool)
    entries = matrix.tocoo()
    finite[entries.coords[0][~np.isfinite(entries.data)]] = False
    return finite


def column_values(matrix: Any) -> Iterator[Array]:
    """The columns of a matrix one by one, as dense arrays (n,)."""
    if is_dense(matrix):
        yield from matrix.T
        return
    lines = matrix.tocsc()
    for j in range(matrix.shape[1]):
        part = slice(int(lines.indptr[j]), int(lines.indptr[j + 1]))
        column = np.zeros(matrix.shape[0])
        column[lines.indices[part]] = lines.data[part]
        yield column


def column_ends(matrix: Any) -> tuple[FloatArray, FloatArray]:
    """Minimum and maximum of every column.

    Examples
    --------
    >>> column_ends(csr_array([[0.0, -1.0], [3.0, -2.0]]))
    (array([ 0., -2.]), array([ 3., -1.]))
    """
    if not is_dense(matrix):
        low, high = (end.toarray().ravel() for end in (matrix.min(axis=0), matrix.max(axis=0)))
        return low.astype(np.float64), high.astype(np.float64)
    size = max(1, STRIP_ENTRIES // max(matrix.shape[1], 1))
    # Both ends of a strip while it is in the cache.
    ends = in_parallel(
        partial(_ends, matrix[first : first + size]) for first in range(0, matrix.shape[0], size)
    )
    return (
        np.min([low for low, _ in ends], axis=0).astype(np.float64),
        np.max([high for _, high in ends], axis=0).astype(np.float64),
    )


def _ends(strip: Array) -> tuple[Array, Array]:
    return strip.min(axis=0), strip.max(axis=0)


def largest_size(matrix: Any) -> float:
    """The largest absolute entry, ignoring NaN; 0 if there is none."""
    values = matrix if is_dense(matrix) else matrix.data
    # Both ends, as the absolute values would be a second matrix.
    ends = (
        np.fmax.reduce(values, axis=None, initial=0),
        np.fmin.reduce(values, axis=None, initial=0),
    )
    return max(float(ends[0]), -float(ends[1]))


def from_lines(lines: CompressedColumns, n: int) -> Any:
    """The matrix of n compressed rows: an array if many entries are nonzero, otherwise CSR.

    Without column indices, all rows must have the same length and columns 0, 1, and so on.
    """
    indptr, indices, values = lines
    if not indices.size and values.size:
        return values.reshape(n, -1)
    d = int(indices.max(initial=0)) + 1
    parts = (values, indices.astype(np.int32), indptr.astype(np.int32))
    matrix = csr_array(parts, shape=(n, d))
    return matrix.toarray() if values.size > DENSE_SHARE * n * d else matrix


def divided_columns(matrix: Any, columns: IntArray, scale: FloatArray) -> Any:
    """Some columns of a matrix, each divided by its entry of ``scale``."""
    if columns.size < matrix.shape[1]:
        matrix = matrix[:, columns]
    if is_dense(matrix):
        return np.ascontiguousarray(matrix / scale)
    parts = (matrix.data / scale[matrix.indices], matrix.indices, matrix.indptr)
    return csr_array(parts, shape=matrix.shape)


# The finaliser of splitmix64 (Steele, Lea and Flood 2014).
_ADD, _ONE, _TWO = (
    np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def row_keys(matrix: Any) -> Array:
    """A number of 64 bits for each row: the same for equal rows, also with NaN in them.

    Different rows of a table of a million rows have the same key with probability 3e-8.

    Examples
    --------
    >>> keys = row_keys(np.array([[0.0, np.nan], [1.0, 0.0], [-0.0, np.nan]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    keys = np.zeros(matrix.shape[0], dtype=np.uint64)
    if is_sparse(matrix):
        rows = compressed_rows(matrix)
        mixed = _mixed(rows.data, rows.indices)
        owner = np.repeat(np.arange(keys.size), np.diff(rows.indptr))
        np.add.at(keys, owner, mixed)
        return keys
    for j in range(matrix.shape[1]):
        keys += _mixed(np.asarray(matrix[:, j]), np.array([j]))
    return keys


def _mixed(values: Array, columns: Array) -> Array:
    """Random bits that depend on a value and its column; 0 for the value 0."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # -0 becomes 0
    mixed = bits + _ADD * (columns.astype(np.uint64) + np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _ONE
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _TWO
    mixed ^= mixed >> np.uint64(31)
    return np.where(values == 0.0, np.uint64(0), mixed)
