"""The loss of class means and variances whose minimiser has the best AUC of Gaussian scores."""

from __future__ import annotations

from auctor.scans.ops import A, Ops
from auctor.scans.rows import PairRows, group_totals


def gaussian_auc(ops: Ops, scores: A, rows: PairRows) -> tuple[A, A]:
    """``((1 - m_pos + m_neg)^2 + v_pos + v_neg) / 2`` and its slopes; a mean over groups.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import pair_rows
    >>> ops, positive = NumpyOps(), np.array([True, False])
    >>> float(gaussian_auc(ops, np.array([1.0, 0.5]), pair_rows(ops, positive, None))[0])
    0.125
    """
    wide, (p, q) = ops.wide(scores), (rows.p, rows.q)
    sums = group_totals(ops, rows.group)
    mean_pos, mean_neg = sums(p * wide), sums(q * wide)
    # Deviations and the distance of the means are differences: no squares of scores cancel.
    off_pos, off_neg = p * (wide - mean_pos), q * (wide - mean_neg)
    both = sums(p) * sums(q)  # 1 in groups with both classes, else 0
    miss = (1.0 - mean_pos + mean_neg) * both
    spread = off_pos * (wide - mean_pos) + off_neg * (wide - mean_neg)
    # miss^2 is the same in all rows of a group: its mean over the positives.
    value = 0.5 * rows.weighted(both * spread + p * miss * miss).sum()
    return value, rows.weighted(both * (off_pos + off_neg) + miss * (q - p))
