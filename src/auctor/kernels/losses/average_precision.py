"""The ranking that a max-margin loss of average precision fears most, in O(n log n)."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel

#: Levels of the stack: halving any number of rows takes no more.
DEPTH = 130


@kernel
def worst_places(pos: FloatArray, neg: FloatArray, weight: float, place: IntArray) -> None:
    """For every negative, how many positives stand above it in the ranking of highest value.

    ``pos`` and ``neg`` fall; a negative weighs ``weight`` positives. With P positives and N
    negatives a ranking has the value

        ``1 - AP + 2/(P N) sum over (i, j), j above i, of (neg_j - pos_i)``

    In the best one the rows of a class are in the order of their scores. Putting negative j (from
    0) above positive k (from 0), when the j negatives before it are there already, adds

        ``g_j(k) = 1/P [weight x / ((x + weight j) (x + weight (j+1))) - 2/N (pos_k - neg_j)]``

    with ``x = k + 1``, so negative j goes where the sum of ``g_j`` over all later positives is
    greatest. As ``g_j(k)`` falls with j, that place does not move up from one negative to the next:
    the middle negative is placed by a scan and halves the positives that are left to either side.
    O(P log N + N); negatives never pass each other, so the places together are a ranking.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    margin = 2.0 / n_neg
    stack = np.empty((DEPTH, 4), np.int64)  # negatives first:last, their places low..high
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
        # The sum over positives from `high` on is the same for all places in question.
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
    """1 - AP of a ranking, and the slopes of its value in the falling scores of both classes.

    ``place[j]`` positives stand above negative j.
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
