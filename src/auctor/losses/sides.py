"""The two classes of a pair loss, sorted so that one sweep sees all pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from auctor.core.curvature import PairCurvature
from auctor.core.rng import spread
from auctor.core.types import FloatArray, IntArray, PairRows, Target
from auctor.kernels.linalg.sorting import ascending_order
from auctor.kernels.losses import pairs
from auctor.kernels.runtime.parallel import available_threads, run_tasks

A = TypeVar("A")
B = TypeVar("B")

#: From this many rows on the two classes are worked on by two threads.
PARALLEL_ROWS = 20_000


class Side(NamedTuple):
    """Rows of one class, ascending by value within each group; see `PairRows`."""

    rows: IntArray
    values: FloatArray
    share: FloatArray
    weight: FloatArray
    starts: IntArray

    def mirrored(self) -> Side:
        """The side read from the other end: values negated, order reversed."""
        share = self.share[::-1].copy()
        weight = share if self.weight is self.share else self.weight[::-1].copy()
        starts = (self.rows.size - self.starts)[::-1].copy()
        return Side(self.rows[::-1].copy(), -self.values[::-1], share, weight, starts)


class Facing(NamedTuple):
    """One class as seen against the other: a pair enters through ``z = other - own``."""

    own: Side
    other: Side


def facings(scores: FloatArray, target: Target, margin: float) -> tuple[Facing, Facing]:
    """Positives facing negatives, and negatives facing positives, with ``z = margin - s_i + s_j``.

    From the negatives' side z is the difference of the negated values, so both are the same sweep.
    The target remembers the last one: value, curvature and other widths at the same scores share
    its sorting.
    """
    last: _Last | None = vars(target).get("_last_facings")
    if last is not None and last.margin == margin and np.array_equal(last.scores, scores):
        return last.facings
    split = target.pairs
    first, second = both(
        lambda: _side(scores, split.positive, margin),
        lambda: _side(scores, split.negative, 0.0),
        scores.shape[0],
    )
    mirrored = both(second.mirrored, first.mirrored, scores.shape[0])
    found = Facing(first, second), Facing(*mirrored)
    vars(target)["_last_facings"] = _Last(scores.copy(), margin, found)
    return found


class _Last(NamedTuple):
    scores: FloatArray
    margin: float
    facings: tuple[Facing, Facing]


def _side(scores: FloatArray, part: PairRows, margin: float) -> Side:
    values = scores[part.rows] - margin
    order = ascending_order(values)
    if part.group.size:
        order = pairs.by_group(order, part.group, part.start)
    share = part.share[order]
    weight = share if part.weight is part.share else part.weight[order]
    return Side(part.rows[order], values[order], share, weight, part.start)


def both(first: Callable[[], A], second: Callable[[], B], size: int) -> tuple[A, B]:
    """Results of two independent calls, on two threads when ``size`` rows are worth it."""
    a: list[A] = []
    b: list[B] = []
    tasks = [lambda: a.append(first()), lambda: b.append(second())]
    run_tasks(tasks, available_threads() if size >= PARALLEL_ROWS else 1)
    return a[0], b[0]


class Swept(NamedTuple):
    """What a sweep finds for the rows of one side: slopes, and windows in the other side."""

    facing: Facing
    value: float
    slope: FloatArray
    low: IntArray
    high: IntArray

    @property
    def rows(self) -> IntArray:
        """Rows of the side."""
        return self.facing.own.rows


def gradient(scores: FloatArray, positive: Swept, negative: Swept) -> FloatArray:
    """Gradient in the scores from the slopes of both sides."""
    grad = np.zeros_like(scores)
    grad[positive.rows] = -positive.facing.own.weight * positive.slope
    grad[negative.rows] = negative.facing.own.weight * negative.slope
    return grad


def springs(n_rows: int, positive: Swept, negative: Swept, stiffness: float) -> PairCurvature:
    """Curvature that ties each row to those in its window by springs of one stiffness."""
    diagonal = np.zeros(n_rows)
    for side in (positive, negative):
        own, other = side.facing
        mass = np.empty(own.rows.size)
        pairs.window_mass(side.low, side.high, other.share, mass)
        diagonal[own.rows] = stiffness * own.weight * mass

    def product(v: FloatArray) -> FloatArray:
        flat = v if v.ndim == 2 else v[:, None]
        out = np.zeros_like(flat)

        def one(side: Swept) -> None:
            own, other = side.facing
            part = np.empty((own.rows.size, flat.shape[1]))
            pairs.window_product(
                side.low, side.high, flat[own.rows], flat[other.rows], other.share, part
            )
            out[own.rows] = (stiffness * own.weight)[:, None] * part

        both(lambda: one(positive), lambda: one(negative), flat.size)
        return out if v.ndim == 2 else out[:, 0]

    def partners(side: Swept, own: IntArray, at: FloatArray) -> IntArray:
        other = side.facing.other
        mass = np.concatenate(([0.0], np.cumsum(other.share)))
        low, high = side.low[own], side.high[own]
        within = mass[low] + at * (mass[high] - mass[low])
        j = np.clip(np.searchsorted(mass, within, side="right") - 1, low, np.maximum(high - 1, 0))
        rows: IntArray = other.rows[j]
        return rows

    sides = [(side.rows, partial(partners, side)) for side in (positive, negative)]
    return PairCurvature(diagonal, product, partial(drawn_partners, n_rows, sides))


def drawn_partners(
    n_rows: int,
    sides: Sequence[tuple[IntArray, Callable[[IntArray, FloatArray], IntArray]]],
    drawn: IntArray,
) -> IntArray:
    """Partners of rows of both classes, evenly spread over those they may have.

    A side is its rows and a callable, which takes places among them, and for each a share of the
    total weight of its partners.
    """
    at, found = spread(drawn.size), drawn.copy()
    for rows, partners in sides:
        place = np.full(n_rows, -1, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        mine = np.flatnonzero(place[drawn] >= 0)
        found[mine] = partners(place[drawn[mine]], at[mine])
    return found
