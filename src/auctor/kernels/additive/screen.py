"""Gains of pairs of columns: the best tree of two cuts on the residuals of every member."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def best_halves(
    slopes: FloatArray,
    curves: FloatArray,
    counts: Array,
    height: int,
    width: int,
    flipped: bool,
    ridge: float,
    fewest: int,
) -> float:
    """Largest gain of one cut of the first side, and one of the second side in either half.

    ``slopes``, ``curves`` and ``counts`` are sums by cell, ``x * width + y``, or ``y * height + x``
    if the table is flipped. The gain of a tree is the sum of ``G^2 / (H + ridge)`` over its leaves.
    """
    # Sums over the first side, from its beginning: below[x, y] of the cells x' < x.
    g = np.zeros((height + 1, width))
    h = np.zeros((height + 1, width))
    c = np.zeros((height + 1, width))
    for x in range(height):
        for y in range(width):
            cell = y * height + x if flipped else x * width + y
            g[x + 1, y] = g[x, y] + slopes[cell]
            h[x + 1, y] = h[x, y] + curves[cell]
            c[x + 1, y] = c[x, y] + counts[cell]
    best = 0.0
    for cut in range(1, height):
        total = 0.0
        for half in range(2):
            # The sums of the half by the second side, and its best cut there.
            sum_g = sum_h = sum_c = 0.0
            for y in range(width):
                if half == 0:
                    sum_g += g[cut, y]
                    sum_h += h[cut, y]
                    sum_c += c[cut, y]
                else:
                    sum_g += g[height, y] - g[cut, y]
                    sum_h += h[height, y] - h[cut, y]
                    sum_c += c[height, y] - c[cut, y]
            left_g = left_h = left_c = 0.0
            gain = sum_g * sum_g / (sum_h + ridge)
            for y in range(width - 1):
                if half == 0:
                    left_g += g[cut, y]
                    left_h += h[cut, y]
                    left_c += c[cut, y]
                else:
                    left_g += g[height, y] - g[cut, y]
                    left_h += h[height, y] - h[cut, y]
                    left_c += c[height, y] - c[cut, y]
                if left_c < fewest or sum_c - left_c < fewest:
                    continue
                right_g, right_h = sum_g - left_g, sum_h - left_h
                both = left_g * left_g / (left_h + ridge) + right_g * right_g / (right_h + ridge)
                gain = max(gain, both)
            total += gain
        best = max(best, total)
    return best


@kernel
def pair_sums(
    levels: Array,
    sizes: Array,
    pairs: Array,
    moments: Array,
    times: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    low: int,
    high: int,
) -> None:
    """Sums by cell of the pairs low..high: ``sums[q, cell]`` of the moments, ``counts`` of times.

    ``levels`` (columns, n) are the levels of the rows, and ``moments`` (n, K) numbers of each row,
    such as the slopes and curvatures of all members, which share one pass over the levels.
    """
    for q in range(low, high):
        first, second = levels[pairs[q, 0]], levels[pairs[q, 1]]
        width = np.uint32(sizes[pairs[q, 1]])
        for i in range(first.shape[0]):
            cell = np.uint32(first[i]) * width + np.uint32(second[i])
            counts[q, cell] += times[i]
            line, row = sums[q, cell], moments[i]
            for k in range(row.shape[0]):
                line[k] += row[k]


@kernel
def pair_gains(
    sums: FloatArray,
    counts: FloatArray,
    sizes: Array,
    pairs: Array,
    ridge: float,
    fewest: int,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """Gains ``out[q, k]`` of the pairs low..high for every member k, from sums of `pair_sums`.

    The moments are the slopes of the K members, and then their curvatures.
    """
    members = sums.shape[2] // 2
    for q in range(low, high):
        height, width = sizes[pairs[q, 0]], sizes[pairs[q, 1]]
        for k in range(members):
            slopes = sums[q, :, k].copy()
            curves = sums[q, :, members + k].copy()
            total = slopes.sum()
            parent = total * total / (curves.sum() + ridge)
            best = 0.0
            for flip in range(2):
                one, two = (width, height) if flip else (height, width)
                gain = best_halves(slopes, curves, counts[q], one, two, flip == 1, ridge, fewest)
                best = max(best, gain)
            out[q, k] = max(best - parent, 0.0)
