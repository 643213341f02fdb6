"""Matrices in the memory of a device: dense, compressed rows, and bytes of codes.

Products take and return tensors of float64 on the device, whatever the entries are stored as. On a
GPU they are kernels compiled on first use; elsewhere, and without CuPy, they are PyTorch's own.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import torch

from auctor.data.binned import BinnedMatrix
from auctor.gpu import kernels

Tensor: TypeAlias = Any

#: Entries that PyTorch widens at once: 64 MB of float64.
BLOCK = 1 << 23


class Store(Protocol):
    """A matrix on a device."""

    n_rows: int
    n_columns: int
    n_entries: int
    device: Any

    def scores(self, w: Tensor, offset: float) -> Tensor:
        """``X @ w + offset``."""

    def gradient(self, u: Tensor, *, squared: bool = False) -> Tensor:
        """``X.T @ u``, or that of the squared entries."""

    def block(self, low: int, high: int) -> Tensor:
        """Some rows as a dense matrix of float64."""


def gram(store: Store, h: Tensor) -> Tensor:
    """``X.T @ diag(h) @ X``, a block of rows after the other."""
    d = store.n_columns
    total = torch.zeros((d, d), dtype=torch.float64, device=store.device)
    step = max(1, BLOCK // max(1, d))
    for low in range(0, store.n_rows, step):
        part = store.block(low, min(low + step, store.n_rows))
        total += (part.T * h[low : low + step]) @ part
    return 0.5 * (total + total.T)


class DenseStore:
    """Rows one after the other, as float32, float64 or bfloat16."""

    def __init__(self, X: Tensor) -> None:
        self.X, self.device = X.contiguous(), X.device
        self.n_rows, self.n_columns = (int(k) for k in X.shape)
        self.n_entries = self.n_rows * self.n_columns
        self._fast = kernels.available(self.device) and kernels.dense_fits(self.X)

    def block(self, low: int, high: int) -> Tensor:
        """Some rows as float64."""
        return self.X[low:high].double()

    def _blocks(self) -> list[slice]:
        step = max(1, BLOCK // max(1, self.n_columns))
        return [slice(low, low + step) for low in range(0, self.n_rows, step)]

    def scores(self, w: Tensor, offset: float) -> Tensor:
        """``X @ w + offset``."""
        if self._fast:
            return kernels.dense_scores(self.X, w, offset)
        return torch.cat([self.X[part].double() @ w for part in self._blocks()]) + offset

    def gradient(self, u: Tensor, *, squared: bool = False) -> Tensor:
        """``X.T @ u``, or that of the squared entries."""
        if self._fast:
            return kernels.dense_gradient(self.X, u, squared)
        total = torch.zeros(self.n_columns, dtype=torch.float64, device=self.device)
        for part in self._blocks():
            wide = self.X[part].double()
            total += u[part] @ (wide * wide if squared else wide)
        return total


class CsrStore:
    """Compressed rows, and the compressed rows of the transpose if there is room for them.

    Without the transpose gradients are sums in any order, so that the last digits of two runs
    differ.
    """

    def __init__(
        self, indptr: Tensor, indices: Tensor, values: Tensor, n_columns: int, transposed: bool
    ) -> None:
        self.device, self.n_columns = values.device, n_columns
        self.n_rows, self.n_entries = int(indptr.shape[0]) - 1, int(values.shape[0])
        self.rows = (indptr.to(torch.int64), indices, values)
        self.columns = self._transposed() if transposed else None
        self._fast = kernels.available(self.device)

    def _line_numbers(self, indptr: Tensor) -> Tensor:
        """The line of every entry."""
        every = torch.arange(indptr.shape[0] - 1, device=self.device)
        lengths = indptr[1:] - indptr[:-1]
        return torch.repeat_interleave(every, lengths, output_size=self.n_entries)

    def _transposed(self) -> tuple[Tensor, Tensor, Tensor]:
        _, indices, values = self.rows
        found = torch.sort(indices, stable=True)
        counts = torch.arange(self.n_columns + 1, device=self.device, dtype=indices.dtype)
        indptr = torch.searchsorted(found.values, counts)
        rows = self._line_numbers(self.rows[0])[found.indices].to(indices.dtype)
        return indptr, rows, values[found.indices]

    def block(self, low: int, high: int) -> Tensor:
        """Some rows as a dense matrix."""
        indptr, indices, values = self.rows
        out = torch.zeros((high - low, self.n_columns), dtype=torch.float64, device=self.device)
        begin, end = int(indptr[low]), int(indptr[high])
        lengths = indptr[low + 1 : high + 1] - indptr[low:high]
        lines = torch.repeat_interleave(torch.arange(high - low, device=self.device), lengths)
        out[lines, indices[begin:end].long()] = values[begin:end].double()
        return out

    def scores(self, w: Tensor, offset: float) -> Tensor:
        """``X @ w + offset``."""
        return self._times(self.rows, w, False) + offset

    def gradient(self, u: Tensor, *, squared: bool = False) -> Tensor:
        """``X.T @ u``, or that of the squared entries."""
        if self.columns is not None:
            return self._times(self.columns, u, squared)
        if self._fast:
            return kernels.csr_scatter(*self.rows, u, self.n_columns, squared)
        indptr, indices, values = self.rows
        return self._added(values, indices.long(), u[self._line_numbers(indptr)], squared)

    def _times(self, lines: tuple[Tensor, Tensor, Tensor], w: Tensor, squared: bool) -> Tensor:
        if self._fast:
            return kernels.csr_scores(*lines, w, 0.0, squared)
        indptr, indices, values = lines
        lines_of = self._line_numbers(indptr)
        return self._added(values, lines_of, w[indices.long()], squared, indptr.shape[0] - 1)

    def _added(
        self, values: Tensor, to: Tensor, factor: Tensor, squared: bool, size: int | None = None
    ) -> Tensor:
        """Sums of entries times a factor, by the number of the entry's line or column."""
        wide = values.double()
        terms = (wide * wide if squared else wide) * factor
        size = self.n_columns if size is None else size
        return torch.zeros(size, dtype=torch.float64, device=self.device).index_add_(0, to, terms)


class BinnedStore:
    """One byte per entry, a column after the other.

    Parameters
    ----------
    matrix : BinnedMatrix
        Without columns of numbers.
    device : torch.device
    single : bool
        Whether table entries and histograms are in float32: about twice as fast, with a relative
        error of a few 1e-7.
    """

    def __init__(self, matrix: BinnedMatrix, device: Any, *, single: bool = False) -> None:
        self.matrix, self.device = matrix, device
        self.dtype = torch.float32 if single else torch.float64
        self.n_rows, self.n_columns = matrix.shape
        self.n_entries = matrix.nnz
        codes = matrix.codes()
        self.bins = max(1, max((book.size for book in matrix.books), default=1))
        # Lines of a multiple of four bytes: rows are read four at a time.
        line = -(-self.n_rows // 4) * 4
        self.codes = torch.zeros((codes.shape[0], line), dtype=torch.uint8, device=device)
        for j, column in enumerate(codes):
            self.codes[j, : self.n_rows] = torch.from_numpy(column).to(device)
        self._fast = kernels.available(device)

    def _to(self, values: Any) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=self.dtype, device=self.device)

    def block(self, low: int, high: int) -> Tensor:
        """Some rows as a dense matrix."""
        out = torch.zeros((high - low, self.n_columns), dtype=torch.float64, device=self.device)
        first, bounds = self.matrix.positions[0], self.matrix.arrays.bounds.astype(np.int64)
        for j, book in enumerate(self.matrix.books):
            where = torch.from_numpy(first[bounds[j] : bounds[j + 1]]).to(self.device)
            basis = torch.from_numpy(np.ascontiguousarray(book.basis)).to(self.device)
            out[:, where] = basis[self.codes[j, low:high].long()]
        return out

    def scores(self, w: Tensor, offset: float) -> Tensor:
        """``X @ w + offset``."""
        theta = w.cpu().numpy()[self.matrix.positions[0]]
        tables = self._to(self.matrix.arrays.tables(theta)[: self.codes.shape[0], : self.bins])
        return self.look_up(tables, offset)

    def look_up(self, tables: Tensor, offset: float) -> Tensor:
        """Sums over columns of table entries at the rows' codes."""
        if self._fast:
            return kernels.look_up(self.codes, self.n_rows, tables, offset)
        out = torch.full((self.n_rows,), offset, dtype=torch.float64, device=self.device)
        for codes, table in zip(self.codes, tables, strict=True):
            out += table[codes[: self.n_rows].long()]
        return out

    def gradient(self, u: Tensor, *, squared: bool = False) -> Tensor:
        """``X.T @ u``, or that of the squared entries."""
        arrays = self.matrix.arrays
        sums = np.zeros(arrays.centre.shape)
        found = self.histograms(u).cpu().numpy()
        sums[: found.shape[0], : self.bins] = found
        out = np.empty(self.n_columns)
        out[self.matrix.positions[0]] = arrays.pull(sums, squared=squared)
        return torch.from_numpy(out).to(self.device)

    def histograms(self, u: Tensor) -> Tensor:
        """Sums of u by column and code, (p, bins)."""
        if self._fast:
            padded = torch.zeros(self.codes.shape[1], dtype=self.dtype, device=self.device)
            padded[: self.n_rows] = u
            return kernels.histograms(self.codes, self.n_rows, self.bins, padded)
        lines = [
            torch.bincount(codes[: self.n_rows].long(), u.double(), self.bins)
            for codes in self.codes
        ]
        return torch.stack(lines) if lines else torch.zeros((0, self.bins), dtype=torch.float64)
