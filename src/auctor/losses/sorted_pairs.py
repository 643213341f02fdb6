"""The two classes of a pair loss, sorted so that one sweep covers all pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from auctor.core.capabilities import Evaluation
from auctor.core.curvature import PairCurvature
from auctor.core.rng import spread
from auctor.core.types import FloatArray, IntArray, PairRows, PairSplit, Target
from auctor.kernels.linalg.sorting import AnyRows, ascending_order, ascending_rows
from auctor.kernels.losses import pairs
from auctor.kernels.runtime.parallel import in_parallel

if TYPE_CHECKING:
    from auctor.losses.pairwise import SortedPairwise

A = TypeVar("A")
B = TypeVar("B")

#: Number of rows from which the two classes are processed by two threads.
PARALLEL_ROWS = 20_000
#: Rows of a class that are compared first: scores that differ usually differ there.
FEW_ROWS = 64


class SortedClass(NamedTuple):
    """Rows of one class, ascending by value within each group; see `PairRows`."""

    rows: AnyRows
    values: FloatArray
    share: FloatArray
    weight: FloatArray
    starts: IntArray

    def mirrored(self) -> SortedClass:
        """The class with negated values, in reversed order."""
        share = self.share[::-1]
        weight = share if self.weight is self.share else self.weight[::-1]
        starts = (self.rows.size - self.starts)[::-1].copy()
        return SortedClass(self.rows[::-1], -self.values[::-1], share, weight, starts)


class Opposing(NamedTuple):
    """One class opposed to the other; the term of a pair depends on ``z = other - own``."""

    own: SortedClass
    other: SortedClass


class SortedClasses(NamedTuple):
    """Positives against negatives, and negatives against positives."""

    positive: Opposing
    negative: Opposing

    @classmethod
    def of(cls, scores: FloatArray, target: Target, margin: float) -> SortedClasses:
        """Both classes sorted, with ``z = margin - s_i + s_j``.

        For the negatives, z is the difference of the negated values, so that both classes use the
        same sweep.
        """
        first, second = _sorted_classes(scores, target.pairs, margin)
        # The negatives against the positives: both mirrored, so that values ascend again.
        mirrored = run_both(second.mirrored, first.mirrored, scores.shape[0])
        return cls(Opposing(first, second), Opposing(*mirrored))

    def are_sorted(self, scores: FloatArray, margin: float) -> bool:
        """Whether the sorted values are those of these scores; compares a few rows first."""
        sides = tuple(zip(self.positive, (margin, 0.0), strict=True))
        return all(
            np.array_equal(scores[side.rows[:most]] - by, side.values[:most])
            for most in (FEW_ROWS, None)
            for side, by in sides
        )


class SortedEvaluation(Evaluation):
    """A loss over pairs at some scores, whose classes are sorted once.

    Losses with the same margin, such as other widths, reuse the order of the latest evaluation
    ``near``, if that is at the same scores.
    """

    lasting = True

    def __init__(
        self, loss: SortedPairwise, scores: FloatArray, target: Target, near: Evaluation | None
    ) -> None:
        super().__init__(loss, scores, target)
        self._loss, self.margin = loss, loss.raised
        self._classes: SortedClasses | None = None
        if isinstance(near, SortedEvaluation):
            self._classes = near.classes_for(self)
            if self._classes is None:
                near.forget()

    @property
    def classes(self) -> SortedClasses:
        """Both classes, sorted on first use."""
        if self._classes is None:
            self._classes = SortedClasses.of(self.scores, self.target, self.margin)
        return self._classes

    def forget(self) -> None:
        """Free the memory of the sorted classes; they are sorted again if asked for."""
        self._classes = None

    def classes_for(self, other: SortedEvaluation) -> SortedClasses | None:
        """The sorted classes if another evaluation needs the same order, else ``None``.

        They are compared with the scores of the other evaluation: the caller may have overwritten
        the scores of this one.
        """
        classes = self._classes
        if classes is None or self.target is not other.target or self.margin != other.margin:
            return None
        return classes if classes.are_sorted(other.scores, self.margin) else None

    def value_grad(self) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores."""
        return self._loss.sorted_value_grad(self.scores, self.classes)

    def curvature(self) -> PairCurvature:
        """Second derivative in the scores."""
        return self._loss.sorted_curvature(self.scores, self.classes)


def _sorted_classes(
    scores: FloatArray, split: PairSplit, margin: float
) -> tuple[SortedClass, SortedClass]:
    return run_both(
        lambda: _sorted(scores, split.positive, margin),
        lambda: _sorted(scores, split.negative, 0.0),
        scores.shape[0],
    )


def _sorted(scores: FloatArray, part: PairRows, margin: float) -> SortedClass:
    values = scores[part.rows]
    values -= margin
    # Equal weights and no groups: only the values and row numbers must be sorted.
    if not part.group.size and part.share.strides == (0,):
        values, rows = ascending_rows(values, part.rows)
        return SortedClass(rows, values, part.share, part.weight, part.start)
    order = ascending_order(values)
    if part.group.size:
        order = pairs.by_group(order, part.group, part.start)
    share = part.share if part.share.strides == (0,) else part.share[order]
    weight = share if part.weight is part.share else part.weight[order]
    return SortedClass(part.rows[order], values[order], share, weight, part.start)


def run_both(first: Callable[[], A], second: Callable[[], B], size: int) -> tuple[A, B]:
    """Results of two independent calls, on two threads from `PARALLEL_ROWS` rows on."""
    if size < PARALLEL_ROWS:
        return first(), second()
    calls: list[Callable[[], Any]] = [first, second]
    a, b = in_parallel(calls)
    return a, b


class PairSweep(NamedTuple):
    """Result of a sweep for the rows of one class: slopes, and windows in the other class."""

    classes: Opposing
    value: float
    slope: FloatArray
    low: IntArray
    high: IntArray

    @property
    def rows(self) -> AnyRows:
        """Rows of the class."""
        return self.classes.own.rows


def gradient(scores: FloatArray, positive: PairSweep, negative: PairSweep) -> FloatArray:
    """Gradient in the scores from the slopes of both classes."""
    grad = np.zeros_like(scores)
    for sign, side in ((-1.0, positive), (1.0, negative)):
        pairs.put(grad, side.rows, sign, side.classes.own.weight, side.slope)
    return grad


def window_curvature(
    n_rows: int, positive: PairSweep, negative: PairSweep, stiffness: float
) -> PairCurvature:
    """Curvature of pairs with second derivative ``stiffness`` if in a window, and 0 otherwise."""
    # Diagonal: stiffness weight_i times the share of the other class in the window of row i.
    diagonal = np.zeros(n_rows)
    for side in (positive, negative):
        own, other = side.classes
        mass = np.empty(own.rows.size)
        pairs.window_mass(side.low, side.high, other.share, mass)
        diagonal[own.rows] = stiffness * own.weight * mass

    def product(v: FloatArray) -> FloatArray:
        flat = v if v.ndim == 2 else v[:, None]
        out = np.zeros_like(flat)

        def one(side: PairSweep) -> None:
            own, other = side.classes
            part = np.empty((own.rows.size, flat.shape[1]))
            pairs.window_product(
                side.low, side.high, flat[own.rows], flat[other.rows], other.share, part
            )
            # Row i of the product: stiffness weight_i sum_j share_j (v_i - v_j) over its window.
            out[own.rows] = (stiffness * own.weight)[:, None] * part

        run_both(lambda: one(positive), lambda: one(negative), flat.size)
        return out if v.ndim == 2 else out[:, 0]

    def partners(side: PairSweep, own: IntArray, at: FloatArray) -> AnyRows:
        other = side.classes.other
        mass = np.concatenate(([0.0], np.cumsum(other.share)))
        low, high = side.low[own], side.high[own]
        # The row at which the given share of the window's weight is reached.
        within = mass[low] + at * (mass[high] - mass[low])
        j = np.clip(np.searchsorted(mass, within, side="right") - 1, low, np.maximum(high - 1, 0))
        rows: AnyRows = other.rows[j]
        return rows

    sides = [(side.rows, partial(partners, side)) for side in (positive, negative)]
    return PairCurvature(diagonal, product, partial(drawn_partners, n_rows, sides))


def drawn_partners(
    n_rows: int,
    sides: Sequence[tuple[AnyRows, Callable[[IntArray, FloatArray], AnyRows]]],
    drawn: IntArray,
) -> IntArray:
    """One partner of the other class for each drawn row, spread evenly over its possible partners.

    A side is the rows of one class and a callable. The callable takes positions among these rows,
    and for each a share in [0, 1] of the total weight of its possible partners.
    """
    at, positions = spread(drawn.size), drawn.copy()
    for rows, partners in sides:
        # Positions of the drawn rows in this class; -1 for rows of the other class.
        place = np.full(n_rows, -1, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        mine = np.flatnonzero(place[drawn] >= 0)
        positions[mine] = partners(place[drawn[mine]], at[mine])
    return positions
