"""The hinge and the squared hinge over pairs: one sort and a few running sums."""

from __future__ import annotations

from typing import NamedTuple

from auctor.scans.ops import A, Ops
from auctor.scans.rows import (
    PairRows,
    Sorted,
    arrange,
    before,
    count_up_to,
    mirrored,
    run_ends,
    up_to,
)


class Below(NamedTuple):
    """Sums of a weight over the rows below each row, times powers of the distance.

    All terms are non-negative, so that no sum cancels, whatever the scores.
    """

    mass: A  # weight of the rows before, of this row excluded
    moment: A  # weight times distance
    square: A  # weight times squared distance; None if not asked for

    @classmethod
    def of(cls, ops: Ops, rows: Sorted, weight: A, squares: bool) -> Below:
        """By the distances of neighbours: a step up of the value adds to the sums of all below."""
        mass = before(ops, rows, weight)
        moment = up_to(ops, rows, mass * rows.gap)
        if not squares:
            return cls(mass, moment, None)
        earlier = moment - mass * rows.gap  # the moment about the row before
        return cls(mass, moment, up_to(ops, rows, (earlier + moment) * rows.gap))

    def lower(self, ops: Ops, rows: Sorted, weight: A, by: float) -> Below:
        """The sums over the rows below ``value - by``."""
        count = count_up_to(ops, rows, rows.value - by)
        at = ops.clip(count - 1, 0, None)
        some = count > (0 if rows.first is None else rows.first)
        zero = 0.0 * rows.value
        reach = ops.where(some, rows.value - by - ops.take(rows.value, at), zero)
        mass = ops.where(some, ops.take(self.mass + weight, at), zero)
        moment = ops.where(some, ops.take(self.moment, at), zero)
        square = None
        if self.square is not None:
            square = ops.where(some, ops.take(self.square, at), zero)
            square = square + reach * (2.0 * moment + mass * reach)
        return Below(mass, moment + mass * reach, square)


class _Sides(NamedTuple):
    """Sorted rows with the shares of the classes, and the same seen from above."""

    up: Sorted
    down: Sorted
    p: A
    q: A
    back: A  # weight of the group


def _sides(ops: Ops, scores: A, rows: PairRows, margin: float) -> _Sides:
    values = ops.where(rows.positive, scores - margin, scores)
    up = arrange(ops, values, rows.group)
    return _Sides(
        up,
        mirrored(ops, up),
        ops.take(rows.p, up.order),
        ops.take(rows.q, up.order),
        1.0 if rows.part is None else ops.take(rows.part, up.order),
    )


def _slopes(ops: Ops, sides: _Sides, of_q: A, of_p: A) -> A:
    """Slopes in the order of the rows from those of negatives, and of positives seen from above."""
    slopes = sides.back * (sides.q * of_q - sides.p * ops.flip(of_p))
    return sides.up.back(ops, slopes)


def squared_hinge_pairs(ops: Ops, scores: A, rows: PairRows, margin: float = 1.0) -> tuple[A, A]:
    """Mean over pairs of ``max(0, margin - s_i + s_j)^2`` and its slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import pair_rows
    >>> ops, positive = NumpyOps(), np.array([True, False])
    >>> value, slopes = squared_hinge_pairs(ops, np.zeros(2), pair_rows(ops, positive, None))
    >>> float(value), slopes.tolist()
    (1.0, [-2.0, 2.0])
    """
    sides = _sides(ops, scores, rows, margin)
    below = Below.of(ops, sides.up, sides.p, True)
    above = Below.of(ops, sides.down, ops.flip(sides.q), False)
    value = (sides.back * sides.q * below.square).sum()
    return value, _slopes(ops, sides, 2.0 * below.moment, 2.0 * above.moment)


def hinge_pairs(
    ops: Ops, scores: A, rows: PairRows, width: float = 0.0, margin: float = 1.0
) -> tuple[A, A]:
    """Mean over pairs of the hinge of ``margin - s_i + s_j``, smoothed over ``width``; its slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import pair_rows
    >>> ops, positive = NumpyOps(), np.array([True, False])
    >>> value, slopes = hinge_pairs(ops, np.zeros(2), pair_rows(ops, positive, None))
    >>> float(value), slopes.tolist()
    (1.0, [-1.0, 1.0])
    """
    sides = _sides(ops, scores, rows, margin)
    levels, rises = hinge_levels(ops, sides.up, sides.p, width)
    _, falls = hinge_levels(ops, sides.down, ops.flip(sides.q), width)
    value = (sides.back * sides.q * levels).sum()
    return value, _slopes(ops, sides, rises, falls)


def hinge_levels(ops: Ops, rows: Sorted, weight: A, width: float) -> tuple[A, A]:
    """Sums over rows of ``weight H(value - value_i)`` and of ``weight H'``, for every row."""
    if width > 0.0:
        # Gaps count up to the width: beyond it the hinge is linear, and what was cut off is added
        # again. So rows far away do not cancel in the differences below.
        gap = ops.clip(rows.gap, None, width)
        near = rows._replace(value=ops.cumsum(gap), gap=gap)
        here = Below.of(ops, near, weight, True)
        there = here.lower(ops, near, weight, width)
        levels = (here.square - there.square) / (2.0 * width)
        cut = up_to(ops, rows, here.mass * (rows.gap - gap))
        return levels + cut, (here.moment - there.moment) / width
    below = Below.of(ops, rows, weight, False)
    # Equal values do not violate the margin: the weight before the first of them counts.
    changes = rows.value[1:] != rows.value[:-1]
    if rows.first is not None:
        changes = changes | (rows.first[1:] != rows.first[:-1])
    first, _ = run_ends(ops, changes)
    return below.moment, ops.take(below.mass, first)
