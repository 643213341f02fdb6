"""Weights of the rows by class, and rows sorted by group and score."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from auctor.scans.ops import A, Ops

#: Divisor in place of zero; the dividend is zero, too.
TINY = 1e-300
TINY_SINGLE = 1e-37


class PairRows(NamedTuple):
    """Weights of a loss over pairs.

    Parameters
    ----------
    positive : bool vector
    p, q : vectors
        Shares of the positives and of the negatives within their class and group; 0 elsewhere.
    part : vector or None
        Weight of the group of each row; None where all rows are in one group of weight 1.
    group : int vector or None
    """

    positive: A
    p: A
    q: A
    part: A | None = None
    group: A | None = None

    def weighted(self, x: A) -> A:
        """``x`` times the weight of the group."""
        return x if self.part is None else x * self.part


class SetRows(NamedTuple):
    """Weights of a loss over sets: shares of the total; ``both`` is 1 if both classes have one."""

    positive: A
    share: A
    p: A
    q: A
    total: A
    both: A


def _tiny(x: A) -> float:
    return TINY if "64" in str(x.dtype) else TINY_SINGLE


def _share(ops: Ops, x: A, total: A) -> A:
    """``x / total``; zero where the total is."""
    return x / ops.clip(total, _tiny(x), None)


def _by_class(ops: Ops, positive: A, weight: A | None, like: A) -> tuple[A, A]:
    zero = ops.wide(like) * 0.0 if weight is None else ops.wide(weight) * 0.0
    all_rows = zero + 1.0 if weight is None else ops.wide(weight)
    return ops.where(positive, all_rows, zero), ops.where(positive, zero, all_rows)


def set_rows(ops: Ops, positive: A, weight: A | None) -> SetRows:
    """Weights of a loss over sets of rows."""
    p, q = _by_class(ops, positive, weight, positive)
    total = p.sum() + q.sum()
    both = ops.where((p.sum() > 0.0) & (q.sum() > 0.0), 1.0, 0.0)
    p, q = _share(ops, p, total), _share(ops, q, total)
    return SetRows(positive, p + q, p, q, total, ops.wide(both))


def pair_rows(ops: Ops, positive: A, weight: A | None, group: A | None = None) -> PairRows:
    """Weights of a loss over pairs.

    A group has a weight in proportion to that of its rows; groups without one of the classes have
    none.
    """
    p, q = _by_class(ops, positive, weight, positive)
    if group is None:
        return PairRows(positive, _share(ops, p, p.sum()), _share(ops, q, q.sum()))
    totals = group_totals(ops, group)
    by_class = [totals(x) for x in (p, q)]
    used = (by_class[0] > 0.0) & (by_class[1] > 0.0)
    some = [ops.where(used, x, 0.0 * x) for x in (p, q)]
    rows = (some[0] + some[1]).sum()
    part = _share(ops, ops.where(used, by_class[0] + by_class[1], 0.0 * p), rows)
    p, q = (_share(ops, x, total) for x, total in zip(some, by_class, strict=True))
    return PairRows(positive, p, q, part, group)


def group_totals(ops: Ops, group: A | None) -> Callable[[A], A]:
    """A function that gives every row the sum over the rows of its group."""
    if group is None:
        return lambda x: x.sum()
    codes, order = ops.sort(group)
    first, last = group_ends(ops, codes)

    def totals(x: A) -> A:
        sums = ops.concat([ops.zeros(1, x), ops.cumsum(ops.take(x, order))])
        return ops.put(x.shape[0], order, ops.take(sums, last) - ops.take(sums, first), 0)

    return totals


def group_ends(ops: Ops, group: A) -> tuple[A, A]:
    """First row of the group of each row, and the row after its last; groups are contiguous."""
    return run_ends(ops, group[1:] != group[:-1])


def run_ends(ops: Ops, changes: A) -> tuple[A, A]:
    """First row of the run of each row, and the row after its last.

    ``changes[k]`` says whether row k + 1 begins a run.
    """
    n = changes.shape[0] + 1
    index = ops.arange(n, changes)
    begins = ops.concat([index[:1] == 0, changes])
    run = ops.cumsum(ops.where(begins, index * 0 + 1, index * 0)) - 1
    # Rows that begin no run write to the place n + 1, which nothing reads.
    starts = ops.put(n + 2, ops.where(begins, run, index * 0 + n + 1), index, n)
    return ops.take(starts, run), ops.take(starts, run + 1)


class Sorted(NamedTuple):
    """Rows in ascending order of their values, group by group."""

    order: A
    value: A
    gap: A  # distance to the row before, 0 for the first of a group
    first: A | None  # first row of the group; None for one group
    last: A | None  # row after the last of the group

    def back(self, ops: Ops, x: A) -> A:
        """A vector over sorted rows in the order of the rows."""
        return ops.put(x.shape[0], self.order, x, 0)


def arrange(ops: Ops, values: A, group: A | None) -> Sorted:
    """Rows sorted by group and value."""
    found, order = ops.sort(values)
    if group is not None:
        _, again = ops.sort(ops.take(group, order))
        found, order = ops.take(found, again), ops.take(order, again)
    value = ops.wide(found)
    gap = ops.concat([ops.zeros(1, value), value[1:] - value[:-1]])
    if group is None:
        return Sorted(order, value, gap, None, None)
    first, last = group_ends(ops, ops.take(group, order))
    inside = ops.arange(value.shape[0], value) > first
    return Sorted(order, value, ops.where(inside, gap, 0.0 * value), first, last)


def mirrored(ops: Ops, rows: Sorted) -> Sorted:
    """The same rows with negated values, in reverse order."""
    n = rows.value.shape[0]
    gap = ops.concat([ops.zeros(1, rows.value), ops.flip(rows.gap[1:])])
    first = last = None
    if rows.first is not None and rows.last is not None:
        first, last = n - ops.flip(rows.last), n - ops.flip(rows.first)
    return Sorted(ops.flip(rows.order), -ops.flip(rows.value), gap, first, last)


def before(ops: Ops, rows: Sorted, x: A) -> A:
    """Sum of x over the rows before each one in its group."""
    sums = ops.concat([ops.zeros(1, x), ops.cumsum(x)[:-1]])
    return sums if rows.first is None else sums - ops.take(sums, rows.first)


def up_to(ops: Ops, rows: Sorted, x: A) -> A:
    """Sum of x over each row and the rows before it in its group."""
    if rows.first is None:
        return ops.cumsum(x)
    sums = ops.concat([ops.zeros(1, x), ops.cumsum(x)])
    return sums[1:] - ops.take(sums, rows.first)


def count_up_to(ops: Ops, rows: Sorted, x: A) -> A:
    """Number of rows of all groups that come before, or are in the same group and at most x."""
    if rows.first is None or rows.last is None:
        return ops.search(rows.value, x, True)
    low, high = rows.first, rows.last
    n = rows.value.shape[0]
    for _ in range(math.ceil(math.log2(n + 1)) + 1):  # bisection, for all rows at once
        middle = (low + high) // 2
        below = ops.take(rows.value, ops.clip(middle, None, n - 1)) <= x
        open_ = low < high
        low, high = (
            ops.where(open_ & below, middle + 1, low),
            ops.where(open_ & ~below, middle, high),
        )
    return low
