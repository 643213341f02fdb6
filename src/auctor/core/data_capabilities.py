"""What a data set may offer beyond its sizes, its target and the two products.

A data set that implements a protocol has its capability. Who can use one asks for it by the
constant that follows the protocol, and gets the data with the type of the protocol:

    ROWS.find(data)    the data as `RowAccess`, or ``None`` without access to single rows
    GRAM.of(data)      the data as `GramMatrices`, or an `IncompatibleError`
"""

from __future__ import annotations

from typing import Protocol

from auctor.core.capabilities import Capability, Kind
from auctor.core.protocols import Data
from auctor.core.types import CompressedColumns, DuplicateRows, FloatArray, IntArray, Target

DATA = Kind(Data, "other data", lambda data: f"{type(data).__name__} data")


class Stored(Data, Protocol):
    """Data with a known size; every data set with a further capability has one."""

    @property
    def n_entries(self) -> int:
        """Number of stored entries, which one pass over the data reads."""


STORED: Capability[Data, Stored] = Capability(Stored, "the number of stored entries", DATA)


class SecondOrder(Stored, Protocol):
    """Second-order sums that take one pass over the rows."""

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""


SECOND_ORDER: Capability[Data, SecondOrder] = Capability(
    SecondOrder, "second-order sums of the data", DATA
)


class GramMatrices(Stored, Protocol):
    """Weighted Gram matrices of the columns."""

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``."""

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram`, for all rows or some, in units of the cost of `sandwich` for them."""


GRAM: Capability[Data, GramMatrices] = Capability(
    GramMatrices, "weighted Gram matrices of the data", DATA
)


class RowAccess(Stored, Protocol):
    """Rows by their numbers."""

    @property
    def duplicate_rows(self) -> DuplicateRows:
        """Equal rows next to each other, in an order that depends only on their values."""

    def entries(self, index: IntArray) -> float:
        """Number of stored entries of the rows ``index``."""

    def rows(self, index: IntArray) -> FullData:
        """The rows ``index`` with their targets."""

    def differences(self, first: IntArray, second: IntArray) -> FullData:
        """One row ``X[i] - X[j]`` per pair, without a target."""

    def row_lines(self) -> CompressedColumns:
        """Compressed rows, ``indptr`` and ``indices`` unsigned."""

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""

    def row_gram(self, index: IntArray, scale: FloatArray, middle: FloatArray) -> FloatArray:
        """``Z @ diag(scale) @ Z.T`` for ``Z = X[index] - middle``."""


ROWS: Capability[Data, RowAccess] = Capability(RowAccess, "row access to the data", DATA)


class ColumnAccess(Stored, Protocol):
    """Access to single columns, for coordinate kernels."""

    def columns(self) -> CompressedColumns:
        """All columns in compressed form."""

    def some_columns(self, index: IntArray, share: float) -> CompressedColumns | None:
        """Only the columns ``index``; ``None`` if they hold more than this share of all entries."""


COLUMNS: Capability[Data, ColumnAccess] = Capability(
    ColumnAccess, "column access to the data", DATA
)


class ColumnSubsets(Stored, Protocol):
    """Data sets with some of the columns."""

    def only(self, index: IntArray) -> Stored:
        """The columns ``index`` with the targets of all rows."""


SUBSETS: Capability[Data, ColumnSubsets] = Capability(
    ColumnSubsets, "data that can leave columns out", DATA
)


class DenseCopies(Stored, Protocol):
    """Data that are small enough for a dense copy."""

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""

    def replaced(self, X: FloatArray) -> FullData:
        """A data set with the dense matrix X instead, and the same targets."""


DENSE: Capability[Data, DenseCopies] = Capability(DenseCopies, "a dense copy of the data", DATA)


class Retargetable(Stored, Protocol):
    """The same matrix for several targets."""

    def with_target(self, target: Target) -> Stored:
        """The same matrix with another target."""


RETARGET: Capability[Data, Retargetable] = Capability(Retargetable, "data for other targets", DATA)


class FullData(
    SecondOrder,
    GramMatrices,
    RowAccess,
    ColumnAccess,
    ColumnSubsets,
    DenseCopies,
    Retargetable,
    Protocol,
):
    """All capabilities; data in memory have them."""


EVERYTHING: Capability[Data, FullData] = Capability(FullData, "data in memory", DATA)
