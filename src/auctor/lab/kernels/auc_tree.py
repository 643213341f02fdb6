"""Growing, pruning and reading a tree whose splits are chosen by the AUC.

A split of a node with positives of weight P and negatives of weight N into parts with (p, n) and
(P - p, N - n) orders the pairs of a positive and a negative that it separates. Of all pairs of the
training rows the share ``|p N - n P| / 2``, over their total, is ordered correctly that was half
correct before. These gains add up: with the better part first at every split, the AUC of the leaves
is one half plus the sum of the gains.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel

#: Gains of two splits, relative to the pairs of the node, that differ by less count as equal.
EQUAL = 1e-12


@kernel
def _best_split(
    X: FloatArray,
    order: Array,
    start: int,
    stop: int,
    pos: FloatArray,
    neg: FloatArray,
    least: float,
) -> tuple[float, int, float, bool, float]:
    """Share of the pairs that the best split gains, column, cut, missing to the left, their weight.

    Rows ``order[j, start:stop]`` are sorted by column j, missing values last. Both parts of a split
    have at least the weight ``least``.
    """
    total_pos = total_neg = 0.0
    for k in range(start, stop):
        total_pos += pos[order[0, k]]
        total_neg += neg[order[0, k]]
    best, column, cut, left, missing = 0.0, -1, 0.0, False, 0.0
    if not (total_pos > 0.0 and total_neg > 0.0):
        return best, column, cut, left, missing
    total = total_pos + total_neg
    for j in range(order.shape[0]):
        end = stop
        lost_pos = lost_neg = 0.0  # weight of the rows whose value is missing
        while end > start and np.isnan(X[order[j, end - 1], j]):
            end -= 1
            lost_pos += pos[order[j, end]]
            lost_neg += neg[order[j, end]]
        low_pos = low_neg = 0.0
        for k in range(start, end):
            row = order[j, k]
            low_pos += pos[row]
            low_neg += neg[row]
            value = X[row, j]
            last = k + 1 == end
            if end == stop if last else X[order[j, k + 1], j] == value:
                continue
            for side in range(2 if end < stop and not last else 1):
                p = low_pos + (lost_pos if side else 0.0)
                n = low_neg + (lost_neg if side else 0.0)
                if p + n < least or total - p - n < least:
                    continue
                gain = abs(p / total_pos - n / total_neg)
                if gain > best + EQUAL:
                    best, column, left, missing = gain, j, side == 1, lost_pos + lost_neg
                    if missing == 0.0:  # none to learn from: they follow the greater part
                        left = p + n > 0.5 * total
                    # A cut after the last value separates the missing ones.
                    cut = np.inf
                    if not last:
                        above = X[order[j, k + 1], j]
                        cut = value + 0.5 * (above - value)
                        if not value <= cut < above:
                            cut = value
    share = 0.5 * best * total_pos * total_neg
    return share, column, cut, left, missing


@kernel
def grow(
    X: FloatArray, order: Array, pos: FloatArray, neg: FloatArray, most_leaves: int, least: float
) -> tuple[IntArray, FloatArray, Array, FloatArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """Grow a tree leaf by leaf, the one of the largest gain first; ``order`` is overwritten.

    Returns the arrays of `AucTree` but the last: children follow parents, right ones left ones.
    """
    rows = order.shape[1]
    size = 2 * min(rows, most_leaves) - 1
    column, child = np.full(size, -1), np.zeros(size, dtype=np.int64)
    cut, left = np.zeros(size), np.zeros(size, dtype=np.bool_)
    missing, gain = np.zeros(size), np.zeros(size)
    weight_pos, weight_neg = np.zeros(size), np.zeros(size)
    start, stop = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    found_column, open_gain = np.full(size, -1), np.zeros(size)
    on_left, buffer = np.zeros(X.shape[0], dtype=np.bool_), np.empty_like(order[0])
    stop[0], pairs = rows, max(pos.sum() * neg.sum(), 1e-300)
    count, first = 1, 0
    while True:
        for node in range(first, count):
            for k in range(start[node], stop[node]):
                weight_pos[node] += pos[order[0, k]]
                weight_neg[node] += neg[order[0, k]]
            share, found_column[node], cut[node], left[node], missing[node] = _best_split(
                X, order, start[node], stop[node], pos, neg, least
            )
            open_gain[node] = share / pairs
        node = int(np.argmax(open_gain[:count]))
        if open_gain[node] <= 0.0 or count + 2 > size:
            break
        column[node], gain[node], open_gain[node] = found_column[node], open_gain[node], 0.0
        j = column[node]
        middle = start[node]
        for k in range(start[node], stop[node]):
            row = order[j, k]
            value = X[row, j]
            on_left[row] = left[node] if np.isnan(value) else value <= cut[node]
            middle += on_left[row]
        for j in range(order.shape[0]):  # a stable partition keeps every column sorted
            low, high = start[node], 0
            for k in range(start[node], stop[node]):
                row = order[j, k]
                if on_left[row]:
                    order[j, low] = row
                    low += 1
                else:
                    buffer[high] = row
                    high += 1
            order[j, low : stop[node]] = buffer[:high]
        child[node], first = count, count
        start[count], stop[count] = start[node], middle
        start[count + 1], stop[count + 1] = middle, stop[node]
        count += 2
    return (
        column[:count], cut[:count], left[:count], missing[:count], child[:count],
        weight_pos[:count], weight_neg[:count], gain[:count],
    )  # fmt: skip


@kernel
def weakest_links(column: IntArray, child: IntArray, gain: FloatArray) -> FloatArray:
    """Strength from which each node is a leaf of the tree that minimises the penalised AUC.

    That tree maximises the sum of the gains minus ``strength`` times the leaves (Breiman, Friedman,
    Olshen, Stone, 1984). Again and again the node whose subtree gains least per leaf becomes a
    leaf. Below nodes that are leaves already the strength is that of the cut above them.
    """
    size = column.shape[0]
    parent = np.full(size, -1)
    leaves, gains = np.ones(size), np.zeros(size)
    inner = column >= 0
    strength = np.zeros(size)
    for node in range(size - 1, -1, -1):
        if inner[node]:
            a = child[node]
            parent[a] = parent[a + 1] = node
            leaves[node] = leaves[a] + leaves[a + 1]
            gains[node] = gain[node] + gains[a] + gains[a + 1]
    level = 0.0
    while inner[0]:
        weakest, least = 0, np.inf
        for node in range(size):
            if inner[node] and gains[node] / (leaves[node] - 1.0) < least:
                weakest, least = node, gains[node] / (leaves[node] - 1.0)
        level = max(level, least)
        strength[weakest] = level
        inner[weakest] = False
        for node in range(weakest + 1, size):  # children follow their parents
            above = parent[node]
            below = above == weakest or (above > weakest and strength[above] == -1.0)
            if below and inner[node]:
                inner[node] = False
                strength[node] = -1.0  # marked as below the weakest
        less, lost = leaves[weakest] - 1.0, gains[weakest]
        node = weakest
        while node >= 0:
            leaves[node] -= less
            gains[node] -= lost
            node = parent[node]
        for node in range(weakest + 1, size):
            if strength[node] == -1.0:
                strength[node] = level
    return strength


@kernel
def descend(
    X: FloatArray,
    column: IntArray,
    cut: FloatArray,
    left: Array,
    child: IntArray,
    strength: FloatArray,
    level: float,
    out: IntArray,
) -> None:
    """The node at which each row ends in the tree pruned at ``level``."""
    for i in range(X.shape[0]):
        node = 0
        while column[node] >= 0 and strength[node] > level:
            value = X[i, column[node]]
            on_left = left[node] if np.isnan(value) else value <= cut[node]
            node = child[node] + (0 if on_left else 1)
        out[i] = node
