"""Pairs of rows of two classes, drawn from reservoir samples of the rows so far."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.descent.coordinate import next_random
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.streaming.moments import add_squares
from auctor.lab.kernels.opauc import dense_row


@kernel
def keep_row(
    x: FloatArray,
    weight: float,
    rows: FloatArray,
    weights: FloatArray,
    seen: IntArray,
    side: int,
    random: Array,
) -> None:
    """Reservoir sampling: every row so far is stored with the same probability."""
    capacity = rows.shape[0]
    slot = seen[side]
    seen[side] += 1
    if slot >= capacity:
        slot = np.int64(next_random(random) % np.uint64(seen[side]))
    if slot < capacity:
        rows[slot] = x
        weights[slot] = weight


@kernel
def draw_pairs(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    pairs: int,
    kept: FloatArray,
    kept_weight: FloatArray,
    seen: IntArray,
    mass: FloatArray,
    contrast: FloatArray,
    squares: FloatArray,
    random: Array,
) -> None:
    """Compare each row with random stored rows of the other class, then offer it to the sample.

    A stored row represents all rows of its class so far, so the weight of a pair is multiplied by
    their number. Differences of positive and negative rows are summed in ``contrast`` (d,), the
    upper triangle of their products in ``squares`` (d, d), their weights in ``mass`` (1,).
    ``kept`` is (2, capacity, d).
    """
    d = contrast.shape[0]
    x, apart = np.empty(d), np.empty((pairs, d))
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        side = 0 if y[i] > 0.0 else 1
        other = 1 - side
        dense_row(indptr, indices, values, i, x)
        size = min(seen[other], kept.shape[1])
        if size > 0:
            for k in range(pairs):
                slot = np.int64(next_random(random) % np.uint64(size))
                # Weight of the pair: both rows, times the number of rows that the stored one
                # represents.
                share = weight[i] * kept_weight[other, slot] * seen[other]
                mass[0] += share
                root = math.sqrt(share)
                for j in range(d):
                    z = y[i] * (x[j] - kept[other, slot, j])
                    contrast[j] += share * z
                    apart[k, j] = root * z
            add_squares(apart, pairs, squares)
        keep_row(x, weight[i], kept[side], kept_weight[side], seen, side, random)


@kernel
def pick(cumulative: FloatArray, random: Array) -> int:
    """A random index, with probabilities proportional to the steps of ``cumulative``."""
    uniform = float(next_random(random) >> np.uint64(11)) * 2.0**-53
    index = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return int(min(index, cumulative.shape[0] - 1))


@kernel
def draw_rounds(
    indptr: Array,
    indices: Array,
    values: Array,
    positive: IntArray,
    negative: IntArray,
    positive_sums: FloatArray,
    negative_sums: FloatArray,
    pairs: int,
    rounds: int,
    kept: FloatArray,
    kept_weight: FloatArray,
    seen: IntArray,
    mass: FloatArray,
    contrast: FloatArray,
    squares: FloatArray,
    random: Array,
) -> None:
    """Rounds of pairs that are drawn from these rows with replacement (MBA, Algorithm 16).

    ``positive`` and ``negative`` are the rows of the classes, the sums the cumulative ones of their
    weights. Together the drawn pairs weigh as much as all pairs.
    """
    d = contrast.shape[0]
    x, z, apart = np.empty(d), np.empty(d), np.empty((pairs, d))
    share = positive_sums[-1] * negative_sums[-1] / (rounds * pairs)
    for _ in range(rounds):
        for k in range(pairs):
            dense_row(indptr, indices, values, positive[pick(positive_sums, random)], x)
            dense_row(indptr, indices, values, negative[pick(negative_sums, random)], z)
            keep_row(x, 1.0, kept[0], kept_weight[0], seen, 0, random)
            keep_row(z, 1.0, kept[1], kept_weight[1], seen, 1, random)
            for j in range(d):
                apart[k, j] = x[j] - z[j]
                contrast[j] += share * apart[k, j]
                apart[k, j] *= math.sqrt(share)
        add_squares(apart, pairs, squares)
    mass[0] += positive_sums[-1] * negative_sums[-1]
