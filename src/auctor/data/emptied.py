"""Data in which some columns are read as zeros."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np

from auctor.core.capabilities import Capability
from auctor.core.data_capabilities import FullData
from auctor.core.protocols import Data
from auctor.core.types import CompressedColumns, DuplicateRows, FloatArray, IntArray, Target


class Emptied:
    """A data set whose columns ``empty`` are zero; the other columns are those of ``data``.

    It has the capabilities of ``data``, of which it makes no copy unless asked for single rows or
    columns.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> data = Emptied(as_data(np.array([[1.0, 7.0], [2.0, 7.0]]), [1.0, -1.0]), np.array([1]))
    >>> data.scores(np.array([1.0, 1.0])), data.gradient(np.array([1.0, 1.0]))
    (array([1., 2.]), array([3., 0.]))
    """

    def __init__(self, data: Data, empty: IntArray) -> None:
        #: Typed with every capability; one is used only if the data offer it.
        self._data = cast(FullData, data)
        self._empty = empty
        self._kept = np.ones(data.n_columns)
        self._kept[empty] = 0.0
        self.n_rows, self.n_columns = data.n_rows, data.n_columns

    def offers(self, capability: Capability[Data, Any]) -> bool:
        """The capabilities of the data behind it."""
        return capability.has(self._data)

    @property
    def target(self) -> Target:
        """Target and weights of the rows."""
        return self._data.target

    @property
    def n_entries(self) -> int:
        """Number of entries that one pass over the data reads."""
        return self._data.n_entries

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        return self._data.scores(self._kept * w, offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return self._kept * self._data.gradient(dscores)

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        pulled, total = self._data.sandwich(h, self._kept * v, offset)
        return self._kept * pulled, total

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        return self._kept * self._data.square_gradient(h)

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``."""
        gram = self._data.gram(h)
        gram[self._empty, :] = 0.0
        gram[:, self._empty] = 0.0
        return gram

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram`, for all rows or some, in units of the cost of `sandwich` for them."""
        return self._data.gram_passes(index)

    @property
    def duplicate_rows(self) -> DuplicateRows:
        """Rows that are equal in all columns, the empty ones included."""
        return self._data.duplicate_rows

    def entries(self, index: IntArray) -> float:
        """Number of stored entries of the rows ``index``."""
        return self._data.entries(index)

    def rows(self, index: IntArray) -> Emptied:
        """The rows ``index`` with their targets."""
        return Emptied(self._data.rows(index), self._empty)

    def differences(self, first: IntArray, second: IntArray) -> Emptied:
        """One row ``X[i] - X[j]`` per pair, without a target."""
        return Emptied(self._data.differences(first, second), self._empty)

    @cached_property
    def _row_lines(self) -> CompressedColumns:
        lines = self._data.row_lines()
        return lines._replace(values=lines.values * self._kept[lines.indices])

    def row_lines(self) -> CompressedColumns:
        """Compressed rows, ``indptr`` and ``indices`` unsigned; one copy, made once."""
        return self._row_lines

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""
        return self._data.row_lengths(self._kept * scale)

    def row_gram(self, index: IntArray, scale: FloatArray, middle: FloatArray) -> FloatArray:
        """``Z @ diag(scale) @ Z.T`` for ``Z = X[index] - middle``; middle is 0 where X is empty."""
        return self._data.row_gram(index, self._kept * scale, middle)

    @cached_property
    def _columns(self) -> CompressedColumns:
        return self._emptied(self._data.columns(), self._empty)

    def columns(self) -> CompressedColumns:
        """All columns in compressed form; one copy, made once."""
        return self._columns

    def some_columns(self, index: IntArray, share: float) -> CompressedColumns | None:
        """Only the columns ``index``; ``None`` if they hold more than this share of all entries."""
        columns = self._data.some_columns(index, share)
        if columns is None:
            return None
        return self._emptied(columns, np.flatnonzero(np.isin(index, self._empty)))

    @staticmethod
    def _emptied(columns: CompressedColumns, empty: IntArray) -> CompressedColumns:
        """Compressed columns with zeros in the columns at the positions ``empty``."""
        values = columns.values.copy()
        for j in empty.tolist():
            values[columns.indptr[j] : columns.indptr[j + 1]] = 0.0
        return columns._replace(values=values)

    def only(self, index: IntArray) -> Emptied:
        """The columns ``index`` with the targets of all rows."""
        return Emptied(self._data.only(index), np.flatnonzero(np.isin(index, self._empty)))

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""
        return self._data.to_dense() * self._kept

    def replaced(self, X: FloatArray) -> FullData:
        """A data set with the dense matrix X instead, and the same targets."""
        return self._data.replaced(X)

    def with_target(self, target: Target) -> Emptied:
        """The same matrix with another target."""
        return Emptied(self._data.with_target(target), self._empty)

    @classmethod
    def examples(cls, X: FloatArray, target: Target, n_threads: int | None) -> dict[str, Data]:
        """Instances the conformance kit tests: the zero columns of X are filled, then emptied."""
        from auctor.data.dense import Dense

        empty = np.flatnonzero(~X.any(axis=0))
        filled = X.copy()
        filled[:, empty] = 7.0
        return {"dense": cls(Dense(filled, target, n_threads=n_threads), empty)}
