"""Blocks of kernel values between some rows and all of a set of points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.matrices import dense_array, is_dense
from auctor.data.sparse import unsigned
from auctor.kernel.functions import KernelFunction
from auctor.kernels.linalg.blocks import products_with_block

#: Values of one strip of a block.
STRIP_VALUES = 1 << 20
#: Columns per stored entry of a row from which compressed rows are faster than a dense product.
SPARSE_COLUMNS = 8
#: Most entries of a dense copy of sparse rows: 256 MB of float32. Larger ones stay compressed.
DENSE_ENTRIES = 1 << 26
#: Most entries of the dense block that compressed rows are multiplied with: 64 MB of float32.
BLOCK_ENTRIES = 1 << 24

#: Writes the kernel of some rows with the points from ``start`` to ``stop`` into an array.
Strip = Callable[[int, int, Array], None]


class Points(Protocol):
    """A set of points, and the kernel between them and other rows."""

    size: int
    dtype: np.dtype[Any]
    most_rows: int

    def against(self, left: Any) -> Strip:
        """A function that writes the kernel of the rows ``left`` with a range of the points."""

    def rows(self, index: IntArray) -> Any:
        """Some of the points, in the form of the argument of ``against``."""

    def only(self, index: IntArray) -> Points:
        """Some of the points."""


class ProductPoints:
    """Points in a matrix, for a kernel that is a function of inner products.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    dtype : float32 or float64
        Type of products and kernel values; squared lengths are summed in float64.
    """

    def __init__(self, matrix: Any, kernel: KernelFunction, dtype: Any) -> None:
        self.matrix, self.kernel, self.dtype = matrix, kernel, np.dtype(dtype)
        self.size, self.columns = matrix.shape
        offset = kernel.offset(squared_lengths(matrix))
        self.most_rows = self.size
        self._sparse = self._dense = None
        if is_dense(matrix) or not self._stays_sparse(matrix):
            # One column of ones and one of offsets make the product add both offsets.
            dense = np.empty((self.size, self.columns + 2), self.dtype)
            dense[:, :-2] = dense_array(matrix)
            dense[:, -2], dense[:, -1] = 1.0, offset
            self._dense = dense
        else:
            indptr, indices, values = unsigned(matrix)
            self._sparse = indptr, indices, values.astype(self.dtype)
            self._offset = offset.astype(self.dtype)
            self.most_rows = max(1, BLOCK_ENTRIES // self.columns)

    def _stays_sparse(self, matrix: Any) -> bool:
        entries = self.size * self.columns
        return bool(entries > min(SPARSE_COLUMNS * matrix.nnz, DENSE_ENTRIES))

    def rows(self, index: IntArray) -> Any:
        """Some of the points."""
        return self.matrix[index]

    def only(self, index: IntArray) -> ProductPoints:
        """Some of the points."""
        return ProductPoints(self.matrix[index], self.kernel, self.dtype)

    def against(self, left: Any) -> Strip:
        """A function that writes the kernel of the rows ``left`` with a range of the points."""
        # scale <x, z> + offset(x) + offset(z): as one product with two extra columns if dense.
        offset = self.kernel.offset(squared_lengths(left)).astype(self.dtype)
        rows = dense_array(left)
        if self._sparse is not None:
            block = np.ascontiguousarray((self.kernel.scale * rows).T, dtype=self.dtype)
            return partial(self._sparse_strip, block, offset)
        block = np.empty((rows.shape[0], self.columns + 2), self.dtype)
        np.multiply(rows, self.kernel.scale, out=block[:, :-2], casting="same_kind")
        block[:, -2], block[:, -1] = offset, 1.0
        return partial(self._dense_strip, block)

    def _dense_strip(self, block: Array, start: int, stop: int, out: Array) -> None:
        """Kernel values by one dense matrix product."""
        assert self._dense is not None
        np.matmul(block, self._dense[start:stop].T, out=out)
        self.kernel.final(out)

    def _sparse_strip(
        self, block: Array, block_offset: Array, start: int, stop: int, out: Array
    ) -> None:
        """Kernel values by products with compressed rows."""
        assert self._sparse is not None
        products_with_block(*self._sparse, self._offset, block, block_offset, start, stop, out)
        self.kernel.final(out)


class CalledPoints:
    """Points for a user's kernel function: ``function(A, B)`` is a (len(A), len(B)) array."""

    dtype = np.dtype(np.float64)

    def __init__(self, matrix: Any, function: Callable[[Any, Any], Any]) -> None:
        self.matrix, self.function = matrix, function
        self.size = self.most_rows = matrix.shape[0]

    def rows(self, index: IntArray) -> Any:
        """Some of the points."""
        return self.matrix[index]

    def only(self, index: IntArray) -> CalledPoints:
        """Some of the points."""
        return CalledPoints(self.matrix[index], self.function)

    def against(self, left: Any) -> Strip:
        """A function that writes the kernel of the rows ``left`` with a range of the points."""

        def strip(start: int, stop: int, out: Array) -> None:
            values = np.asarray(self.function(left, self.matrix[start:stop]), dtype=np.float64)
            wanted = (left.shape[0], stop - start)
            if values.shape != wanted or not np.isfinite(values).all():
                got = f"shape {values.shape}" if values.shape != wanted else "NaN or infinity"
                raise DataError(
                    f"a kernel function that returns finite numbers of shape {wanted}; got {got}. "
                    "Return one row for each row of its first argument."
                )
            out[:] = values

        return strip


class GivenPoints:
    """Points given by their kernel matrix only; other rows are rows of such a matrix."""

    dtype = np.dtype(np.float64)

    def __init__(self, matrix: Any, columns: IntArray | None = None) -> None:
        self.matrix = matrix
        self.columns = np.arange(matrix.shape[0]) if columns is None else columns
        self.size = self.most_rows = self.columns.size

    def rows(self, index: IntArray) -> Any:
        """Rows of the kernel matrix."""
        return self.matrix[self.columns[index]]

    def only(self, index: IntArray) -> GivenPoints:
        """Some of the points."""
        return GivenPoints(self.matrix, self.columns[index])

    def against(self, left: Any) -> Strip:
        """A function that copies columns of rows of a kernel matrix."""

        def strip(start: int, stop: int, out: Array) -> None:
            out[:] = left[:, self.columns[start:stop]]

        return strip


def squared_lengths(matrix: Any) -> FloatArray:
    """Squared length of every row, summed in float64."""
    if is_dense(matrix):
        squares: FloatArray = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
        return squares
    wide = matrix.astype(np.float64)
    return np.asarray(wide.multiply(wide).sum(axis=1)).ravel()


def strips(points: int, rows: int) -> list[tuple[int, int]]:
    """Ranges of points whose kernel with ``rows`` rows has about `STRIP_VALUES` values."""
    width = max(64, STRIP_VALUES // max(rows, 1))
    return [(start, min(start + width, points)) for start in range(0, points, width)]
