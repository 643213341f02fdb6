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
