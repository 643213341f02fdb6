"""The most violated ranking of the max-margin loss of average precision, in O(n log n)."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel

#: Size of the stack of open intervals.
DEPTH = 130


@kernel
def worst_places(pos: FloatArray, neg: FloatArray, weight: float, place: IntArray) -> None:
    """Find the most violated ranking: how many positives are above each negative.

    ``pos`` and ``neg`` are in descending order; a negative counts ``weight`` times as much as a
    positive. With P positives and N negatives a ranking has the value

        ``1 - AP + 2/(P N) sum over (i, j), j above i, of (neg_j - pos_i)``

    In the best ranking each class is in the order of its scores. Moving negative j (counted from 0)
    above positive k, when the j negatives before it are already above, adds

        ``g_j(k) = 1/P [weight x / ((x + weight j) (x + weight (j+1))) - 2/N (pos_k - neg_j)]``

    with ``x = k + 1``, so the best position of negative j maximises the sum of ``g_j`` over all
    later positives. As ``g_j(k)`` decreases in j, that position does not move up from one negative
    to the next. So the middle negative is placed by a scan, which divides the positives into those
    for the negatives before it and those for the negatives after it. O(P log N + N). Negatives keep
    their order, so the positions together are a ranking.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    margin = 2.0 / n_neg
    # Open interval: negatives first..last, whose places are known to lie in low..high.
    stack = np.empty((DEPTH, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n_neg, 0, n_pos
    size = 1
    while size > 0:
        size -= 1
        first, last, low, high = stack[size]
        if low == high:
            place[first:last] = low
            continue
        j = (first + last) // 2
        before, after = weight * j, weight * (j + 1)
        # best = the k that maximises total(k) = sum over i >= k of P g_j(i). The sum over positives
        # from `high` on is common to all positions that are compared.
        total = most = 0.0
        best = high
        for k in range(high - 1, low - 1, -1):
            x = k + 1.0
            total += weight * x / ((x + before) * (x + after)) - margin * (pos[k] - neg[j])
            if total > most:
                most, best = total, k
        place[j] = best
        if first < j:
            stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3] = first, j, low, best
            size += 1
        if j + 1 < last:
            stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3] = j + 1, last, best, high
            size += 1


@kernel
def ranking_slopes(
    place: IntArray, weight: float, n_pos: int, pos_slope: FloatArray, neg_slope: FloatArray
) -> float:
    """1 - AP of a ranking; writes the slopes of its value in the descending scores of both classes.

    ``place[j]`` positives are above negative j.
    """
    n_neg = place.shape[0]
    unit = 2.0 / (float(n_pos) * n_neg)
    missing = 0.0
    above = 0
    for k in range(n_pos):
        while above < n_neg and place[above] <= k:
            above += 1
        wrong = weight * above
        missing += wrong / (k + 1.0 + wrong)
        pos_slope[k] = -unit * above
    for j in range(n_neg):
        neg_slope[j] = unit * (n_pos - place[j])
    return missing / n_pos
