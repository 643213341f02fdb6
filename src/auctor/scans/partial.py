"""The pair hinge over the highest-scoring negatives, a surrogate of 1 - partial AUC."""

from __future__ import annotations

from auctor.scans.ops import A, Ops
from auctor.scans.pairs import hinge_levels
from auctor.scans.rows import PairRows, arrange, mirrored
from auctor.scans.threshold import quantile, ramp_threshold


def partial_pairs(
    ops: Ops, scores: A, rows: PairRows, max_fpr: float, width: float = 0.0
) -> tuple[A, A]:
    """Mean over positives and the top share of negatives of the pair hinge, and its slopes.

    See `auctor.losses.PartialPairwiseHinge`; for one group of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import pair_rows
    >>> ops, positive = NumpyOps(), np.array([True, False, False])
    >>> weights = pair_rows(ops, positive, None)
    >>> float(partial_pairs(ops, np.array([0.0, 1.0, -5.0]), weights, 0.5)[0])
    2.0
    """
    up = arrange(ops, ops.where(rows.positive, scores - 1.0, scores), None)
    p, q = ops.take(rows.p, up.order), ops.take(rows.q, up.order)
    levels, rises = hinge_levels(ops, up, p, width)
    # How much of each negative is in the top.
    if max_fpr >= 1.0:
        part = 0.0 * levels + 1.0
    elif width > 0.0:
        at = ramp_threshold(ops, -levels, q, max_fpr + 0.0 * q.sum(), width)
        part = ops.clip((levels + at) / width, 0.0, 1.0)
    else:
        # Infinite values for the positives: they are beyond every negative.
        negative = ops.where(q > 0.0, -up.value, 0.0 * up.value + _beyond(ops, up.value))
        _, part = quantile(ops, negative, q, max_fpr + 0.0 * q.sum())
    top = q * part / max_fpr
    down = mirrored(ops, up)
    _, falls = hinge_levels(ops, down, ops.flip(top), width)
    mean = (top * levels).sum()
    spread = (q * (part - max_fpr) ** 2).sum()
    value = mean - 0.5 * width / max_fpr * spread
    value = ops.where(value > (q * levels).sum(), value, (q * levels).sum())
    return value, up.back(ops, top * rises - p * ops.flip(falls))


def _beyond(ops: Ops, value: A) -> A:
    """A number above all negated values."""
    return -ops.frozen(value[0]) + 1.0
