"""Losses around a threshold of the scores: a quantile, exact or smoothed."""

from __future__ import annotations

from numbers import Integral

from auctor.scans.ops import A, Ops
from auctor.scans.rows import SetRows, arrange, run_ends

#: Difference of shares of the total weight that counts as a rounding error.
SHARE_ERROR = 1e-12


def ramp_threshold(ops: Ops, values: A, share: A, goal: A, width: float) -> A:
    """The t with ``sum share ramp((t - value) / width) = goal``, the ramp bounded by 0 and 1.

    The sum is piecewise linear in t, with kinks at the values and at the values plus the width. One
    sort and two running sums give the piece of the goal; t then solves the equation of that piece.
    """
    kinks = ops.concat([values, values + width])
    slopes = ops.concat([share, -share]) / width
    found = arrange(ops, ops.frozen(kinks), None)
    # Slope of the piece before each kink, and the sum at each kink.
    slope = ops.cumsum(ops.take(slopes, found.order))
    at = ops.cumsum(ops.concat([ops.zeros(1, slope), slope[:-1]]) * found.gap)
    size = found.value.shape[0]
    end = ops.clip((at < goal).sum(), 1, size - 1)
    middle = 0.5 * (ops.take(found.value, end) + ops.take(found.value, end - 1))
    # The equation of the piece: rows below it count fully, rows on the ramp in part.
    full = (ops.where(values + width <= middle, share, 0.0 * share)).sum()
    active = ops.where((values < middle) & (middle < values + width), share, 0.0 * share)
    mass = active.sum()
    some = mass > SHARE_ERROR
    root = (width * (goal - full) + (active * values).sum()) / ops.where(some, mass, mass * 0 + 1)
    return ops.where(some, root, middle)


def quantile(ops: Ops, values: A, share: A, goal: A) -> tuple[A, A]:
    """The value at which the running sum of shares reaches a goal, and the flipped part of each.

    Rows below it have part 1, rows above it 0, and rows equal to it the same part, so that the
    parts sum to the goal.
    """
    found = arrange(ops, values, None)
    sums = ops.cumsum(ops.take(share, found.order))
    size = found.value.shape[0]
    place = ops.clip((sums < goal - SHARE_ERROR).sum(), 0, size - 1)
    first, last = run_ends(ops, found.value[1:] != found.value[:-1])
    sums = ops.concat([ops.zeros(1, sums), sums])
    below = ops.take(sums, ops.take(first, place))
    tied = ops.take(sums, ops.take(last, place)) - below
    part = ops.clip((goal - below) / ops.where(tied > 0.0, tied, tied * 0 + 1), 0.0, 1.0)
    at = ops.take(found.value, place)
    wide = ops.wide(values)
    one = 0.0 * wide + 1.0
    return at, ops.where(wide < at, one, ops.where(wide == at, one * part, 0.0 * one))


def precision_at_k(ops: Ops, scores: A, rows: SetRows, k: float, width: float = 0.0) -> tuple[A, A]:
    """Max-margin loss of 1 - precision among the top k (see `auctor.losses.PrecisionAtK`), slopes.

    An integer k is an amount of weight (a number of rows without weights), at most the total of the
    batch; a fraction is a share of it.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import set_rows
    >>> ops, positive = NumpyOps(), np.array([True, False, False])
    >>> float(precision_at_k(ops, np.zeros(3), set_rows(ops, positive, None), 1)[0])
    1.0
    """
    counts = isinstance(k, Integral)
    top = ops.clip((k + 0.0 * rows.total) / (rows.total if counts else 1.0), None, 1.0)
    positive, margin = rows.p.sum(), 0.5 / top
    # Shares of each class that the average ideal labelling flips, and the loss of that labelling.
    ideal_pos = ops.clip(1.0 - top / _some(ops, positive), 0.0, None)
    ideal_neg = ops.clip((top - positive) / _some(ops, 1.0 - positive), 0.0, None)
    floor = 2.0 * (1.0 - positive) * margin * ideal_neg
    raised = ops.wide(scores) + ops.where(rows.positive, 0.0 * rows.p, (margin - width))
    if width > 0.0:
        at = ramp_threshold(ops, raised, rows.share, 1.0 - top, width)
        part = ops.clip((at - raised) / width, 0.0, 1.0)
        bent = part * (at - raised - 0.5 * width * part)
    else:
        at, part = quantile(ops, raised, rows.share, 1.0 - top)
        bent = ops.clip(at - raised, 0.0, None)
    rest = ops.where(rows.positive, ideal_pos + 0.0 * rows.p, 1.0 - ideal_neg)
    tilt = bent - rest * (at - raised)
    tilt = ops.where(rows.positive, tilt, tilt + width * (rest - 0.5))
    value = floor + 2.0 * (rows.share * tilt).sum()
    return rows.both * value, rows.both * 2.0 * rows.share * (rest - part)


def _some(ops: Ops, x: A) -> A:
    """A share, or 1 in place of none."""
    return ops.where(x > 0.0, x, x * 0.0 + 1.0)
