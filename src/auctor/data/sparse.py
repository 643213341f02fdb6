"""CSR and CSC matrices."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray, Target
from auctor.data.blocks import InMemory, mirrored
from auctor.data.dense import Dense
from auctor.kernels.descent import coordinate
from auctor.kernels.linalg import products as linear
from auctor.kernels.linalg import several
from auctor.kernels.runtime.parallel import balanced_cuts

#: Cost of a multiply-add of `Sparse.gram`, in units of an entry of `Sparse.sandwich`.
PAIR_COST = 0.35


class Sparse(InMemory):
    """A CSR or CSC matrix with 32- or 64-bit indices, without a copy.

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

    @property
    def matrix(self) -> Any:
        """The rows, CSR or CSC."""
        return self._X

    def __sizeof__(self) -> int:
        """Bytes of the rows, by which Dask decides not to move them."""
        return sum(int(part.nbytes) for part in self._parts)

    def _cuts(self, parts: int) -> list[int]:
        return balanced_cuts(self._parts[0], parts)

    @property
    def _n_lines(self) -> int:
        return int(self._parts[0].shape[0]) - 1

    def _gather(self, v: FloatArray, offset: float) -> FloatArray:
        """Dot product of every stored line (row or column) with v, plus the offset."""
        out = np.empty(self._n_lines)
        self._map(lambda low, high: linear.gather(*self._parts, v, offset, out, low, high))
        return out

    def _scatter(self, r: FloatArray, size: int) -> FloatArray:
        """Sum of the stored lines times r, of length ``size``."""
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

    def several_scores(self, vectors: FloatArray) -> FloatArray:
        """``X @ vectors.T``, (n, K), in one pass over rows."""
        if not self.by_rows:
            return super().several_scores(vectors)
        out, columns = np.empty((self.n_rows, vectors.shape[0])), np.ascontiguousarray(vectors.T)
        self._map(lambda low, high: several.gathers(*self._parts, columns, out, low, high))
        return out

    def several_gradients(self, slopes: FloatArray) -> FloatArray:
        """``slopes.T @ X``, (K, d), in one pass over rows."""
        if not self.by_rows:
            return super().several_gradients(slopes)
        gradients = self._reduce(
            lambda out, low, high: several.scatters(*self._parts, slopes, out, low, high),
            (self.n_columns, slopes.shape[1]),
        )[0]
        return np.ascontiguousarray(gradients.T)

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
            lambda out, a, b: linear.scatter_squares(*self._parts, h, out, a, b), (self.n_columns,)
        )[0]

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``, from all pairs of entries of every row."""
        d = self.n_columns
        if not self.by_rows:
            return Sparse(self._X.tocsr(), self.target, n_threads=self.n_threads).gram(h)
        upper = self._reduce(
            lambda out, low, high: linear.gram_upper(*self._parts, h, out, low, high), (d, d)
        )[0]
        return mirrored(upper)

    @cached_property
    def _per_row(self) -> FloatArray:
        """Number of stored entries of every row."""
        if self.by_rows:
            return np.diff(self._parts[0].astype(np.int64)).astype(np.float64)
        return np.bincount(self._X.indices, minlength=self.n_rows).astype(np.float64)

    @cached_property
    def _gram_passes(self) -> float:
        return self._passes(self._per_row)

    @staticmethod
    def _passes(per_row: FloatArray) -> float:
        """Cost of `gram` for rows with these numbers of entries; it is quadratic in each."""
        return float(1.0 + PAIR_COST * (per_row @ per_row) / max(1.0, per_row.sum()))

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram` in units of `sandwich`, both on the rows ``index`` (all by default)."""
        return self._gram_passes if index is None else self._passes(self._per_row[index])

    def entries(self, index: IntArray) -> float:
        """Number of stored entries of the rows ``index``."""
        return float(self._per_row[index].sum())

    def rows(self, index: IntArray) -> Sparse:
        """The rows ``index`` with their targets."""
        X = self._X if self.by_rows else self._X.tocsr()
        return Sparse(X[index], self.target.take(index), n_threads=self.n_threads)

    def only(self, index: IntArray) -> Sparse:
        """The columns ``index`` with the targets of all rows."""
        return Sparse(self._X[:, index], self.target, n_threads=self.n_threads)

    def without_empty_columns(self) -> tuple[Sparse, IntArray]:
        """Data without empty columns, and the positions of the remaining columns in X."""
        X = self._X if self.by_rows else self._X.tocsr()
        kept, place = np.unique(X.indices, return_inverse=True)
        made = type(X)((X.data, place.astype(X.indices.dtype), X.indptr), (X.shape[0], kept.size))
        return Sparse(made, self.target, n_threads=self.n_threads), kept

    @cached_property
    def _row_lines(self) -> CompressedColumns:
        return CompressedColumns(*(self._parts if self.by_rows else unsigned(self._X.tocsr())))

    def row_lines(self) -> CompressedColumns:
        """Compressed rows; one transposed copy, made once, for CSC data."""
        return self._row_lines

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""
        if self.by_rows:
            out = np.empty(self.n_rows)
            self._map(lambda a, b: linear.gather_squares(*self._parts, scale, out, a, b))
            return out
        return self._reduce(
            lambda out, a, b: linear.scatter_squares(*self._parts, scale, out, a, b), (self.n_rows,)
        )[0]

    def row_gram(self, index: IntArray, scale: FloatArray, middle: FloatArray) -> FloatArray:
        """``Z diag(scale) Z'`` for the rows ``Z = X[index] - middle``; Z is never formed."""
        rows = (self._X if self.by_rows else self._X.tocsr())[index].astype(np.float64)
        # (x - m)'S(z - m) = x'Sz - x'Sm - z'Sm + m'Sm, so that the rows stay sparse.
        scaled = rows.multiply(scale).tocsr()
        side = scaled @ middle
        full: FloatArray = (scaled @ rows.T).toarray() - side - side[:, None]
        full += float(middle @ (scale * middle))
        return full

    def replaced(self, X: FloatArray) -> Dense:
        """Data of another dense matrix with the same targets."""
        return Dense(X, self.target, n_threads=self.n_threads)

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""
        return np.array(self._X.toarray(), dtype=np.float64, order="C")

    def differences(self, first: IntArray, second: IntArray) -> Sparse:
        """One row ``X[i] - X[j]`` per pair, without a target."""
        X = self._X if self.by_rows else self._X.tocsr()
        return Sparse(X[first] - X[second], Target(np.empty(0)), n_threads=self.n_threads)

    @cached_property
    def _columns(self) -> CompressedColumns:
        return CompressedColumns(*(unsigned(self._X.tocsc()) if self.by_rows else self._parts))

    def columns(self) -> CompressedColumns:
        """Compressed columns; one transposed copy, made once, for CSR data."""
        return self._columns

    @cached_property
    def _column_counts(self) -> IntArray:
        """Number of stored entries of every column, for CSR data."""
        counts = np.zeros(self.n_columns, dtype=np.int64)
        coordinate.count_columns(self._parts[1], counts)
        return counts

    def some_columns(self, index: IntArray, share: float) -> CompressedColumns | None:
        """A copy of the columns ``index``, or None if they hold more than this share of entries."""
        if not self.by_rows:
            return None
        indptr, indices, values = self._parts
        start = np.concatenate(([0], np.cumsum(self._column_counts[index])))
        if start[-1] > share * self.n_entries:
            return None
        # Position of every column in the copy, -1 for the others; one pass over the rows fills it.
        slot = np.full(self.n_columns, -1, dtype=np.int32)
        slot[index] = np.arange(index.size)
        rows = np.empty(start[-1], dtype=indices.dtype)
        entries = np.empty(start[-1], dtype=values.dtype)
        coordinate.extract_columns(*self._parts, slot, start[:-1].copy(), rows, entries)
        return CompressedColumns(start.astype(indptr.dtype), rows, entries)


def unsigned(X: Any) -> tuple[Array, Array, Array]:
    """Row pointers and indices as unsigned views, which kernels index without a sign check."""
    views = [a.view(np.dtype(f"u{a.dtype.itemsize}")) for a in (X.indptr, X.indices)]
    return views[0], views[1], X.data
