"""Data in memory: dense arrays of either order, CSR and CSC matrices.

Results do not depend on the number of threads: sums over rows are cut into blocks whose number
depends on the size of the data alone, and the blocks are added in order.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dsyrk

from auctor.core.cost import product_passes
from auctor.core.needs import Access
from auctor.core.types import Array, Columns, FloatArray, IntArray, Kinds, Target
from auctor.kernels.descent import coordinate
from auctor.kernels.linalg import products as linear
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.runtime.parallel import (
    SERIAL_WORK,
    available_threads,
    balanced_cuts,
    even_cuts,
    quiet_blas,
    run_tasks,
)

#: A block of a reduction reads at least this many entries, and this many times what it writes.
BLOCK_ENTRIES, BLOCK_RATIO = 1 << 17, 8
MOST_BLOCKS = 16
#: Entries of the strip of rows that a dense Gram matrix scales and multiplies at a time.
STRIP_ENTRIES = 1 << 16


class _Memory:
    """What dense and sparse data share: shape, target, threads, blocked reductions."""

    access = Access.STREAM | Access.ROWS | Access.COLUMNS

    def __init__(self, shape: tuple[int, int], target: Target, n_threads: int | None) -> None:
        self.n_rows, self.n_columns = int(shape[0]), int(shape[1])
        self.target = target
        self.n_threads = available_threads(n_threads)

    n_entries: int

    def _cuts(self, parts: int) -> list[int]:
        raise TypeError(f"{type(self).__name__} needs its own cuts")

    def with_target(self, target: Target) -> Self:
        """The same matrix with another target, sharing what was computed from it."""
        other = copy(self)
        other.target = target
        return other

    @cached_property
    def kinds(self) -> Kinds:
        """Equal rows side by side, in an order that depends on what they hold alone.

        Rows are compared by a random projection, which sums every row in the same order.
        """
        keys = self.scores(np.random.default_rng(0).random(self.n_columns) + 0.5)
        order = ascending_order(keys).astype(np.int64)
        keys = keys[order]
        return Kinds(order, np.flatnonzero(np.append(True, keys[1:] != keys[:-1])))

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        raise TypeError(f"{type(self).__name__} needs its own product")

    def replaced(self, X: FloatArray) -> Dense:
        """The rows of a dense matrix instead, with the same targets."""
        return Dense(X, self.target, n_threads=self.n_threads)

    def _map(self, task: Callable[[int, int], object]) -> None:
        """Run ``task(low, high)`` over disjoint ranges of stored rows."""
        parts = self.n_threads if self.n_entries > SERIAL_WORK else 1
        cuts = self._cuts(parts)
        run_tasks([partial(task, a, b) for a, b in pairwise(cuts)], parts)

    def _reduce(
        self, task: Callable[[FloatArray, int, int], float | None], shape: tuple[int, ...]
    ) -> tuple[FloatArray, float]:
        """Sum of what ``task(out, low, high)`` adds to ``out``, block by block, and its returns."""
        size = int(np.prod(shape))
        parts = max(1, self.n_entries // max(BLOCK_ENTRIES, BLOCK_RATIO * size))
        parts = min(MOST_BLOCKS, 1 << (parts.bit_length() - 1))  # a power of two shares evenly
        cuts = self._cuts(parts)
        outs = np.zeros((parts, *shape))
        totals = np.zeros(parts)

        def run(k: int) -> None:
            totals[k] = task(outs[k], cuts[k], cuts[k + 1]) or 0.0

        run_tasks([partial(run, k) for k in range(parts)], self.n_threads)
        return (outs[0] if parts == 1 else outs.sum(axis=0)), float(totals.sum())


class Dense(_Memory):
    """A dense matrix, C or Fortran ordered, float32 or float64, kept as it is.

    Parameters
    ----------
    X : (n, d) float array
    target : Target
    n_threads : int, optional
        Threads for the products; the cores this process may use by default.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dense(np.eye(2), Target(np.array([1.0, -1.0])))
    >>> data.scores(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    def __init__(self, X: Array, target: Target, *, n_threads: int | None = None) -> None:
        super().__init__(X.shape, target, n_threads)
        self.by_rows = bool(X.flags.c_contiguous)
        # Rows of this array are contiguous: rows of X, or columns of X.
        self._lines = X if self.by_rows else X.T
        self.n_entries = int(X.size)

    def _cuts(self, parts: int) -> list[int]:
        return even_cuts(self._lines.shape[0], parts)

    def _dot(self, v: FloatArray, offset: float) -> FloatArray:
        out = np.empty(self._lines.shape[0])
        self._map(lambda low, high: linear.dense_dot(self._lines, v, offset, out, low, high))
        return out

    def _combine(self, r: FloatArray, offset: float) -> FloatArray:
        """``lines.T @ r + offset``, each entry summed in one order whatever the threads."""
        size = self._lines.shape[1]
        out = np.empty(size)
        parts = self.n_threads if self.n_entries > SERIAL_WORK else 1
        cuts = even_cuts(size, parts)
        run_tasks(
            [
                partial(linear.dense_combine, self._lines, r, offset, out, a, b)
                for a, b in pairwise(cuts)
            ],
            parts,
        )
        return out

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        return self._dot(w, offset) if self.by_rows else self._combine(w, offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        if not self.by_rows:
            return self._dot(dscores, 0.0)
        return self._reduce(
            lambda out, low, high: linear.dense_axpy(self._lines, dscores, out, low, high),
            (self.n_columns,),
        )[0]

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``, in one pass over rows."""
        if not self.by_rows:
            z = h * self.scores(v, offset)
            return self.gradient(z), float(z.sum())
        return self._reduce(
            lambda out, low, high: linear.dense_sandwich(self._lines, h, v, offset, out, low, high),
            (self.n_columns,),
        )

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        if not self.by_rows:
            out = np.empty(self.n_columns)
            self._map(lambda a, b: linear.dense_squares_dot(self._lines, h, out, a, b))
            return out
        return self._reduce(
            lambda out, a, b: linear.dense_squares_axpy(self._lines, h, out, a, b),
            (self.n_columns,),
        )[0]

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``, a strip of rows at a time through BLAS."""
        d = self.n_columns
        root = np.sqrt(h)[:, None]
        X = self._lines if self.by_rows else self._lines.T
        parts = min(MOST_BLOCKS, max(1, self.n_rows // max(4 * d, 1)))
        cuts = even_cuts(self.n_rows, 1 << (parts.bit_length() - 1))
        outs = np.zeros((len(cuts) - 1, d, d))

        def add_rows(k: int) -> None:
            size = max(1, STRIP_ENTRIES // d)
            for low in range(cuts[k], cuts[k + 1], size):
                high = min(low + size, cuts[k + 1])
                strip = X[low:high] * root[low:high]
                dsyrk(1.0, strip.T, beta=1.0, c=outs[k].T, overwrite_c=1)  # upper triangle of it

        with quiet_blas():
            run_tasks([partial(add_rows, k) for k in range(len(outs))], self.n_threads)
        return _mirror(outs.sum(axis=0).T)

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram`, of all rows or of some, in units of their `sandwich`."""
        return product_passes(self.n_columns)

    def entries(self, index: IntArray) -> float:
        """Stored entries of the rows ``index``."""
        return float(index.size * self.n_columns)

    def rows(self, index: IntArray) -> Dense:
        """The rows ``index`` with their targets."""
        X = self._lines[index] if self.by_rows else self._lines.T[index]
        return Dense(np.ascontiguousarray(X), self.target.take(index), n_threads=self.n_threads)

    def only(self, index: IntArray) -> Dense:
        """The columns ``index`` with the targets of all rows."""
        X = self._lines.take(index, axis=1) if self.by_rows else self._lines[index].T
        return Dense(X, self.target, n_threads=self.n_threads)

    @cached_property
    def _row_lines(self) -> Columns:
        lines = self._lines if self.by_rows else np.ascontiguousarray(self._lines.T)
        return _compressed(lines)

    def row_lines(self) -> Columns:
        """Compressed rows, every column stored."""
        return self._row_lines

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""
        if self.by_rows:
            out = np.empty(self.n_rows)
            self._map(lambda a, b: linear.dense_squares_dot(self._lines, scale, out, a, b))
            return out
        return self._reduce(
            lambda out, a, b: linear.dense_squares_axpy(self._lines, scale, out, a, b),
            (self.n_rows,),
        )[0]

    def row_gram(self, index: IntArray, scale: FloatArray, middle: FloatArray) -> FloatArray:
        """Products with each other of the rows ``index`` less ``middle``, ``scale`` per column."""
        X = self._lines if self.by_rows else self._lines.T
        if index.size < self.n_rows:
            X = X[index]
        plain = X.dtype == np.float64 and scale.min() == scale.max() and not middle.any()
        with quiet_blas():
            gram = scale[0] * (X @ X.T) if plain else _strips_gram(X, np.sqrt(scale), middle)
        return gram if index.size < self.n_rows else gram[np.ix_(index, index)]

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""
        X = self._lines if self.by_rows else self._lines.T
        return np.array(X, dtype=np.float64, order="C")

    def differences(self, first: IntArray, second: IntArray) -> Dense:
        """One row ``X[i] - X[j]`` per pair, without a target."""
        X = self._lines if self.by_rows else self._lines.T
        rows = np.ascontiguousarray(X[first] - X[second])
        return Dense(rows, Target(np.empty(0)), n_threads=self.n_threads)

    @cached_property
    def _columns(self) -> Columns:
        return _compressed(np.ascontiguousarray(self._lines.T) if self.by_rows else self._lines)

    def columns(self) -> Columns:
        """One contiguous line per column; made once if the rows are the contiguous ones."""
        return self._columns

    def some_columns(self, index: IntArray, share: float) -> Columns | None:
        """The columns ``index`` alone if they hold at most this share of all entries."""
        if index.size > share * self.n_columns:
            return None
        X = self._lines.T if self.by_rows else self._lines
        return _compressed(np.ascontiguousarray(X[index]))


class Sparse(_Memory):
    """A CSR or CSC matrix with 32- or 64-bit indices, kept as it is.

    Parameters
    ----------
    X : scipy CSR or CSC array or matrix in canonical format
    target : Target
    n_threads : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> data = Sparse(csr_array(np.eye(2)), Target(np.array([1.0, -1.0])))
    >>> data.gradient(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    def __init__(self, X: Any, target: Target, *, n_threads: int | None = None) -> None:
        super().__init__(X.shape, target, n_threads)
        self._X = X
        self.by_rows = X.format == "csr"
        self._parts = unsigned(X)
        self.n_entries = int(X.nnz)

    def _cuts(self, parts: int) -> list[int]:
        return balanced_cuts(self._parts[0], parts)

    @property
    def _n_lines(self) -> int:
        return int(self._parts[0].shape[0]) - 1

    def _gather(self, v: FloatArray, offset: float) -> FloatArray:
        out = np.empty(self._n_lines)
        self._map(lambda low, high: linear.gather(*self._parts, v, offset, out, low, high))
        return out

    def _scatter(self, r: FloatArray, size: int) -> FloatArray:
        return self._reduce(
            lambda out, low, high: linear.scatter(*self._parts, r, out, low, high), (size,)
        )[0]

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        if self.by_rows:
            return self._gather(w, offset)
        out = self._scatter(w, self.n_rows)
        return out + offset if offset else out

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        if self.by_rows:
            return self._scatter(dscores, self.n_columns)
        return self._gather(dscores, 0.0)

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``, in one pass over rows."""
        if not self.by_rows:
            z = h * self.scores(v, offset)
            return self.gradient(z), float(z.sum())
        return self._reduce(
            lambda out, low, high: linear.sandwich(*self._parts, h, v, offset, out, low, high),
            (self.n_columns,),
        )

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        if not self.by_rows:
            out = np.empty(self.n_columns)
            self._map(lambda a, b: linear.gather_squares(*self._parts, h, out, a, b))
            return out
        return self._reduce(
            lambda out, a, b: linear.scatter_squares(*self._parts, h, out, a, b),
            (self.n_columns,),
        )[0]

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``, pair by pair of each row's entries."""
        d = self.n_columns
        if not self.by_rows:
            return Sparse(self._X.tocsr(), self.target, n_threads=self.n_threads).gram(h)
        upper = self._reduce(
            lambda out, low, high: linear.gram_upper(*self._parts, h, out, low, high), (d, d)
        )[0]
        return _mirror(upper)

    @cached_property
    def _per_row(self) -> FloatArray:
        """Stored entries of every row."""
        if self.by_rows:
            return np.diff(self._parts[0].astype(np.int64)).astype(np.float64)
        return np.bincount(self._X.indices, minlength=self.n_rows).astype(np.float64)

    @cached_property
    def _gram_passes(self) -> float:
        return self._passes(self._per_row)

    @staticmethod
    def _passes(per_row: FloatArray) -> float:
        return float(1.0 + 0.35 * (per_row @ per_row) / max(1.0, per_row.sum()))

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram`, of all rows or of some, in units of their `sandwich`."""
        return self._gram_passes if index is None else self._passes(self._per_row[index])

    def entries(self, index: IntArray) -> float:
        """Stored entries of the rows ``index``."""
        return float(self._per_row[index].sum())

    def rows(self, index: IntArray) -> Sparse:
        """The rows ``index`` with their targets."""
        X = self._X if self.by_rows else self._X.tocsr()
        return Sparse(X[index], self.target.take(index), n_threads=self.n_threads)

    def only(self, index: IntArray) -> Sparse:
        """The columns ``index`` with the targets of all rows."""
        return Sparse(self._X[:, index], self.target, n_threads=self.n_threads)

    @cached_property
    def _row_lines(self) -> Columns:
        return Columns(*(self._parts if self.by_rows else unsigned(self._X.tocsr())))

    def row_lines(self) -> Columns:
        """Compressed rows; one transposed copy, made once, for CSC data."""
        return self._row_lines

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""
        if self.by_rows:
            out = np.empty(self.n_rows)
            self._map(lambda a, b: linear.gather_squares(*self._parts, scale, out, a, b))
            return out
        return self._reduce(
            lambda out, a, b: linear.scatter_squares(*self._parts, scale, out, a, b),
            (self.n_rows,),
        )[0]

    def row_gram(self, index: IntArray, scale: FloatArray, middle: FloatArray) -> FloatArray:
        """Products with each other of the rows ``index`` less ``middle``, ``scale`` per column."""
        rows = (self._X if self.by_rows else self._X.tocsr())[index].astype(np.float64)
        scaled = rows.multiply(scale).tocsr()
        side = scaled @ middle
        full: FloatArray = (scaled @ rows.T).toarray() - side - side[:, None]
        full += float(middle @ (scale * middle))
        return full

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""
        return np.array(self._X.toarray(), dtype=np.float64, order="C")

    def differences(self, first: IntArray, second: IntArray) -> Sparse:
        """One row ``X[i] - X[j]`` per pair, without a target."""
        X = self._X if self.by_rows else self._X.tocsr()
        return Sparse(X[first] - X[second], Target(np.empty(0)), n_threads=self.n_threads)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(*(unsigned(self._X.tocsc()) if self.by_rows else self._parts))

    def columns(self) -> Columns:
        """Compressed columns; one transposed copy, made once, for CSR data."""
        return self._columns

    @cached_property
    def _column_counts(self) -> IntArray:
        counts = np.zeros(self.n_columns, dtype=np.int64)
        coordinate.count_columns(self._parts[1], counts)
        return counts

    def some_columns(self, index: IntArray, share: float) -> Columns | None:
        """The columns ``index`` alone if they hold at most this share of all entries."""
        if not self.by_rows:
            return None
        indptr, indices, values = self._parts
        start = np.concatenate(([0], np.cumsum(self._column_counts[index])))
        if start[-1] > share * self.n_entries:
            return None
        slot = np.full(self.n_columns, -1, dtype=np.int32)
        slot[index] = np.arange(index.size)
        rows = np.empty(start[-1], dtype=indices.dtype)
        entries = np.empty(start[-1], dtype=values.dtype)
        coordinate.extract_columns(*self._parts, slot, start[:-1].copy(), rows, entries)
        return Columns(start.astype(indptr.dtype), rows, entries)


def _strips_gram(X: Array, root: FloatArray, middle: FloatArray) -> FloatArray:
    """``Z @ Z.T`` with ``Z = (X - middle) * root``, a strip of columns at a time."""
    gram = np.zeros((X.shape[0], X.shape[0]))
    width = max(1, STRIP_ENTRIES // max(1, X.shape[0]))
    for low in range(0, X.shape[1], width):
        columns = slice(low, low + width)
        strip = np.subtract(X[:, columns], middle[columns], dtype=np.float64)
        strip *= root[columns]
        gram += strip @ strip.T
    return gram


def unsigned(X: Any) -> tuple[Array, Array, Array]:
    """Index arrays as unsigned views, and the values."""
    views = [a.view(np.dtype(f"u{a.dtype.itemsize}")) for a in (X.indptr, X.indices)]
    return views[0], views[1], X.data


def _compressed(lines: Array) -> Columns:
    """Contiguous lines in compressed form: every entry stored, in order."""
    count, size = lines.shape
    kind = np.uint32 if lines.size < 2**32 else np.uint64
    indptr = (np.arange(count + 1) * size).astype(kind)
    return Columns(indptr, np.tile(np.arange(size, dtype=kind), count), lines.reshape(-1))


def _mirror(upper: FloatArray) -> FloatArray:
    """Fill the lower triangle, which is zero, from the upper one."""
    full = upper + upper.T
    np.fill_diagonal(full, upper.diagonal())
    return full
