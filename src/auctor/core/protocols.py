"""Protocols of losses, penalties and data sets."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from auctor.core.curvature import Curvature
from auctor.core.evaluation import Evaluation
from auctor.core.needs import Access, Coupling, Splits
from auctor.core.types import (
    BlockSpec,
    Columns,
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
    for one of the protocols below.
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

    def row_lines(self) -> Columns:
        """Compressed rows, ``indptr`` and ``indices`` unsigned."""

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""

    def row_gram(self, index: IntArray, scale: FloatArray, middle: FloatArray) -> FloatArray:
        """``Z @ diag(scale) @ Z.T`` for ``Z = X[index] - middle``."""


class ColumnAccess(Stored, Protocol):
    """Access to single columns, for coordinate kernels: `Access.COLUMNS`."""

    def columns(self) -> Columns:
        """All columns in compressed form."""

    def some_columns(self, index: IntArray, share: float) -> Columns | None:
        """Only the columns ``index``; ``None`` if they hold more than this share of all entries."""


class ColumnSubsets(Stored, Protocol):
    """Data sets with some of the columns: `Access.SUBSETS`."""

    def only(self, index: IntArray) -> FullData:
        """The columns ``index`` with the targets of all rows."""


class DenseCopies(Stored, Protocol):
    """Data that are small enough for a dense copy: `Access.DENSE`."""

    def to_dense(self) -> FloatArray:
        """A dense float64 copy of the matrix."""

    def replaced(self, X: FloatArray) -> FullData:
        """A data set with the dense matrix X instead, and the same targets."""


class Retargetable(Stored, Protocol):
    """The same matrix for several targets: `Access.RETARGET`."""

    def with_target(self, target: Target) -> FullData:
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


class Shifted(NamedTuple):
    """A loss with a constant added to all scores: its value, and its slope in the constant.

    ``slope`` is the sum of the slopes of the rows, and ``size`` the sum of their absolute values.
    """

    value: float
    slope: float
    size: float


class Shifts(Protocol):
    """A loss as a function of a constant added to all scores."""

    def at(self, t: float) -> Shifted:
        """Value and slope with t added."""

    def curve(self, t: float) -> float:
        """Second derivative with t added; 0 where the loss has none."""

    def root(self) -> float | None:
        """The best constant, accurate to rounding, where it has a closed form; else ``None``."""

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """Where the slope of each row steps up, and minus the slope before; ``None`` if not a step.

        The best constant is then a quantile of the positions (smoothed over the width of the loss).
        """


class Loss(Protocol):
    """A function of scores and target; independent of X, w, storage and threads."""

    coupling: ClassVar[Coupling]

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

    def check_target(self, target: Target) -> None:
        """Raise ``DataError`` if the target is outside the domain of the loss."""

    def value(self, scores: FloatArray, target: Target) -> float:
        """Weighted mean loss."""

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """The loss at some scores; ``near`` is the latest evaluation of a problem."""

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``, or ``None`` when there is no closed form."""

    def infimum(self, target: Target) -> float:
        """Largest known lower bound of R over all scores."""

    def smoothed(self, width: float) -> Loss | None:
        """A smooth lower bound within O(width), or ``None``."""

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """C with ``grad.s + C`` below the loss that this one smooths, grad being its gradient here.

        ``None`` where C is unknown.
        """

    @property
    def supports_centring(self) -> bool:
        """Whether smoothing can be centred at given slopes, by `centre`."""

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes."""

    def smoothed_around(self, width: float, slopes: FloatArray, target: Target) -> Loss | None:
        """The smoothed form that penalises the distance of its slopes from given ones."""

    @property
    def kind(self) -> int | None:
        """Code of the compiled row loss; ``None`` if there is none."""

    @property
    def per_pair(self) -> Loss | None:
        """The row loss of score differences whose mean over pairs this loss is, or ``None``."""

    @property
    def has_row_form(self) -> bool:
        """Whether `by_rows` is available: it is a row loss for a given threshold."""

    def by_rows(self, target: Target) -> ByRows:
        """The row loss whose intercept is the threshold of the scores."""

    def margin(self, target: Target) -> float | None:
        """The margin of the loss in score units; ``None`` if it has none."""

    def response(self, scores: FloatArray) -> FloatArray:
        """Prediction in the units of the target (the inverse link)."""


class PointwiseLoss(Loss, Protocol):
    """A row loss that compiled loops can evaluate: a kind with its parameters."""

    @property
    def kind(self) -> int:
        """Code of the loss in the kernels."""

    @property
    def param(self) -> float:
        """Shape parameter."""

    @property
    def width(self) -> float:
        """Smoothing width in score units."""

    @property
    def closed_prox(self) -> bool:
        """Whether its prox has a closed form: its pieces are quadratic or linear."""


class PairLoss(Loss, Protocol):
    """A mean over (positive, negative) pairs of a row loss of the difference of their scores."""

    @property
    def per_pair(self) -> Loss:
        """The row loss; its targets are all +1."""

    @property
    def pair_square(self) -> Loss:
        """The square loss of the same pairs, whose curvature is constant and of low rank."""


class ByRows(NamedTuple):
    """A loss of scores s as ``constant + outside * min over b of loss(inside * s + b)``."""

    loss: Loss
    inside: float
    outside: float
    constant: float


class ThresholdLoss(Loss, Protocol):
    """A loss on sets of rows that is a row loss for a given threshold of the scores."""

    def by_rows(self, target: Target) -> ByRows:
        """The row loss whose intercept is the threshold."""


class ScaleInvariantLoss(Loss, Protocol):
    """A loss that depends only on ratios of class means and standard deviations of the scores."""

    def value_grad_rate(
        self, scores: FloatArray, target: Target, spread: float
    ) -> tuple[float, FloatArray, float]:
        """Value with ``spread`` added to both variances, its gradient, its derivative in spread."""

    def best_shift(self, scores: FloatArray, target: Target, spread: float = 0.0) -> float:
        """The best constant to add to all scores; not used for shift-invariant losses."""


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

    def separable(self, d: int) -> SeparableSpec | None:
        """The arrays of a penalty that is a sum over coordinates, else ``None``."""

    def blocks(self, d: int) -> BlockSpec | None:
        """The arrays of a penalty on disjoint groups of coordinates, else ``None``."""

    def tree(self, d: int) -> TreeSpec | None:
        """The arrays of a penalty on disjoint or nested groups of coordinates, else ``None``."""

    def with_strength(self, strength: float) -> Penalty:
        """A copy with another strength; raises if the penalty has none."""
