"""Protocols of losses, penalties and data sets."""

from __future__ import annotations

from typing import Protocol

from auctor.core.needs import Access, Coupling, Offers, Splits
from auctor.core.types import (
    BlockSpec,
    CompressedColumns,
    DuplicateRows,
    FloatArray,
    IntArray,
    SeparableSpec,
    Target,
    TreeSpec,
)


class Data(Protocol):
    """A design matrix with its target: sizes, a target and two products.

    Nothing else may be assumed of a data set. ``access`` says what else it offers; each flag stands
    for one of the protocols below, which `auctor.core.data_capabilities` finds.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def target(self) -> Target:
        """Target and weights of the rows."""

    @property
    def access(self) -> Access:
        """Flags of the protocols below that the data set implements."""

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""


class Stored(Data, Protocol):
    """Data with a known size; every data set with a further capability has one."""

    @property
    def n_entries(self) -> int:
        """Number of stored entries, which one pass over the data reads."""


class SecondOrder(Stored, Protocol):
    """Second-order sums that take one pass over the rows: `Access.SECOND_ORDER`."""

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""


class GramMatrices(Stored, Protocol):
    """Weighted Gram matrices of the columns: `Access.GRAM`."""

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``."""

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram`, for all rows or some, in units of the cost of `sandwich` for them."""


class RowAccess(Stored, Protocol):
    """Rows by their numbers: `Access.ROWS`."""

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


class ColumnAccess(Stored, Protocol):
    """Access to single columns, for coordinate kernels: `Access.COLUMNS`."""

    def columns(self) -> CompressedColumns:
        """All columns in compressed form."""

    def some_columns(self, index: IntArray, share: float) -> CompressedColumns | None:
        """Only the columns ``index``; ``None`` if they hold more than this share of all entries."""


class ColumnSubsets(Stored, Protocol):
    """Data sets with some of the columns: `Access.SUBSETS`."""

    def only(self, index: IntArray) -> Stored:
        """The columns ``index`` with the targets of all rows."""


class DenseCopies(Stored, Protocol):
    """Data that are small enough for a dense copy: `Access.DENSE`."""

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""

    def replaced(self, X: FloatArray) -> FullData:
        """A data set with the dense matrix X instead, and the same targets."""


class Retargetable(Stored, Protocol):
    """The same matrix for several targets: `Access.RETARGET`."""

    def with_target(self, target: Target) -> Stored:
        """The same matrix with another target."""


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


class Loss(Protocol):
    """A function of scores and target; independent of X, w, storage and threads.

    It has a value, a gradient and the facts below. ``offers`` says what else it can do; each flag
    stands for one of the protocols of `auctor.core.capabilities`.
    """

    @property
    def coupling(self) -> Coupling:
        """Whether it is a sum over rows or depends on several rows jointly."""

    @property
    def splits(self) -> Splits:
        """How it can be computed from parts of the rows."""

    @property
    def order(self) -> int:
        """0 value only, 1 gradient, 2 curvature."""

    @property
    def smooth(self) -> bool:
        """Whether the gradient is continuous."""

    @property
    def convex(self) -> bool:
        """Whether it is convex in the scores."""

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is constant."""

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""

    @property
    def shift_invariant(self) -> bool:
        """Whether a constant added to all scores does not change it (so it needs no intercept)."""

    @property
    def scale_invariant(self) -> bool:
        """Whether a positive factor on all scores does not change it (a ridge adds variance)."""

    @property
    def weights(self) -> str:
        """Weights it allows: any for "row" (as in `BaseLoss`), equal within a class for "class"."""

    @property
    def exchangeable(self) -> bool:
        """Whether it is the same for any order of the rows (the default of `BaseLoss`: yes)."""

    @property
    def offers(self) -> Offers:
        """Flags of the capabilities beyond value, gradient and curvature."""

    def check_target(self, target: Target) -> None:
        """Raise ``DataError`` if the target is outside the domain of the loss."""

    def value(self, scores: FloatArray, target: Target) -> float:
        """Weighted mean loss."""

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""

    def infimum(self, target: Target) -> float:
        """Largest known lower bound of R over all scores."""

    def response(self, scores: FloatArray) -> FloatArray:
        """Prediction in the units of the target (the inverse link)."""


class Penalty(Protocol):
    """A function of w: value, prox, violation."""

    @property
    def smooth(self) -> bool:
        """Whether it is a quadratic function of w, so that solvers may differentiate it."""

    def value(self, w: FloatArray) -> float:
        """Value of the penalty at w."""

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w, one entry per coordinate."""

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``; may be infinite."""

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""

    @property
    def levels(self) -> SeparableSpec | None:
        """l1, l2 and bounds of a sum over coordinates, one number or array each; else ``None``."""

    def separable(self, d: int) -> SeparableSpec | None:
        """The arrays of a penalty that is a sum over coordinates, else ``None``."""

    def blocks(self, d: int) -> BlockSpec | None:
        """The arrays of a penalty on disjoint groups of coordinates, else ``None``."""

    def tree(self, d: int) -> TreeSpec | None:
        """The arrays of a penalty on disjoint or nested groups of coordinates, else ``None``."""

    def with_strength(self, strength: float) -> Penalty:
        """A copy with another strength; raises if the penalty has none."""
