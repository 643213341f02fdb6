"""Dense matrices, stored by rows or by columns."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from scipy.linalg.blas import dsyrk

from auctor.core.linalg import product_passes
from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray, Target
from auctor.data.blocks import MOST_BLOCKS, InMemory, mirrored
from auctor.kernels.linalg import products as linear
from auctor.kernels.linalg import several
from auctor.kernels.runtime.parallel import SERIAL_WORK, even_cuts, quiet_blas, run_tasks

#: Entries of the strip of rows that a dense Gram matrix scales and multiplies at a time.
STRIP_ENTRIES = 1 << 16


class Dense(InMemory):
    """A dense matrix, C or Fortran ordered, float32 or float64, without a copy.

    Parameters
    ----------
    X : (n, d) float array
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

    @property
    def matrix(self) -> Array:
        """The rows, (n, d)."""
        return self._lines if self.by_rows else self._lines.T

    def __sizeof__(self) -> int:
        """Bytes of the rows, by which Dask decides not to move them."""
        return int(self._lines.nbytes)

    def _cuts(self, parts: int) -> list[int]:
        return even_cuts(self._lines.shape[0], parts)

    def _dot(self, v: FloatArray, offset: float) -> FloatArray:
        """``lines @ v + offset``."""
        out = np.empty(self._lines.shape[0])
        self._map(lambda low, high: linear.dense_dot(self._lines, v, offset, out, low, high))
        return out

    def _combine(self, r: FloatArray, offset: float) -> FloatArray:
        """``lines.T @ r + offset``; the order of every sum is independent of the threads."""
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

    def several_scores(self, vectors: FloatArray) -> FloatArray:
        """``X @ vectors.T``, (n, K), in one pass over rows."""
        if not self.by_rows:
            return super().several_scores(vectors)
        out = np.empty((self.n_rows, vectors.shape[0]))
        self._map(lambda low, high: several.dense_dots(self._lines, vectors, out, low, high))
        return out

    def several_gradients(self, slopes: FloatArray) -> FloatArray:
        """``slopes.T @ X``, (K, d), in one pass over rows."""
        if not self.by_rows:
            return super().several_gradients(slopes)
        return self._reduce(
            lambda out, low, high: several.dense_axpys(self._lines, slopes, out, low, high),
            (slopes.shape[1], self.n_columns),
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
        # Blocks of at least 4 d rows, so that adding the (d, d) results costs little.
        parts = min(MOST_BLOCKS, max(1, self.n_rows // max(4 * d, 1)))
        cuts = even_cuts(self.n_rows, 1 << (parts.bit_length() - 1))
        outs = np.zeros((len(cuts) - 1, d, d))

        def add_rows(k: int) -> None:
            size = max(1, STRIP_ENTRIES // d)
            for low in range(cuts[k], cuts[k + 1], size):
                high = min(low + size, cuts[k + 1])
                strip = X[low:high] * root[low:high]
                # BLAS is column-major: the transposes make it write the upper triangle in place.
                dsyrk(1.0, strip.T, beta=1.0, c=outs[k].T, overwrite_c=1)

        with quiet_blas():
            run_tasks([partial(add_rows, k) for k in range(len(outs))], self.n_threads)
        return mirrored(outs.sum(axis=0).T)

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram` in units of `sandwich`, both on the rows ``index`` (all by default)."""
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
    def _row_lines(self) -> CompressedColumns:
        lines = self._lines if self.by_rows else np.ascontiguousarray(self._lines.T)
        return compressed(lines)

    def row_lines(self) -> CompressedColumns:
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
        """``Z diag(scale) Z'`` for the rows ``Z = X[index] - middle``."""
        X = self._lines if self.by_rows else self._lines.T
        if index.size < self.n_rows:
            X = X[index]
        unscaled = X.dtype == np.float64 and scale.min() == scale.max() and not middle.any()
        with quiet_blas():
            gram = scale[0] * (X @ X.T) if unscaled else _strips_gram(X, np.sqrt(scale), middle)
        return gram if index.size < self.n_rows else gram[np.ix_(index, index)]

    def replaced(self, X: FloatArray) -> Dense:
        """Data of another dense matrix with the same targets."""
        return Dense(X, self.target, n_threads=self.n_threads)

    def without_empty_columns(self) -> tuple[Dense, IntArray | None]:
        """The data as they are: leaving empty columns out of a dense matrix would copy the rest."""
        return self, None

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
    def _columns(self) -> CompressedColumns:
        return compressed(np.ascontiguousarray(self._lines.T) if self.by_rows else self._lines)

    def columns(self) -> CompressedColumns:
        """Compressed columns, every row stored; one transposed copy, made once, for C order."""
        return self._columns

    def some_columns(self, index: IntArray, share: float) -> CompressedColumns | None:
        """A copy of the columns ``index``, or None if they hold more than this share of entries."""
        if index.size > share * self.n_columns:
            return None
        X = self._lines.T if self.by_rows else self._lines
        return compressed(np.ascontiguousarray(X[index]))


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


def compressed(lines: Array) -> CompressedColumns:
    """Contiguous lines in compressed form: every entry stored, in order."""
    count, size = lines.shape
    kind = np.uint32 if lines.size < 2**32 else np.uint64
    indptr = (np.arange(count + 1) * size).astype(kind)
    return CompressedColumns(indptr, np.tile(np.arange(size, dtype=kind), count), lines.reshape(-1))
