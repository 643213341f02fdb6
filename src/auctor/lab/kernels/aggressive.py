"""One-pass learners with margin steps: pairs with buffered rows, single rows, exponential loss.

``w = table[:, 0]`` (times SCALE in `uni_exp`); the sum of the iterates is
``SUM_SCALE table[:, 0] - table[:, 1]``.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.descent.coordinate import next_random
from auctor.kernels.runtime.compiled import inline_kernel, kernel
from auctor.kernels.streaming.rescaling import SMALL_SCALE

#: Largest exponent of the exponential loss: exp(30) = 1e13 moves every row as far as is allowed.
LARGEST_EXPONENT = 30.0


class Margin(IntEnum):
    """Positions in the vector ``s`` of scalars, here and in the state of a learner."""

    #: Steps so far.
    STEPS = 0
    #: Rows so far.
    ROWS = 1
    #: Weight of the rows so far.
    TOTAL = 2
    #: Sum of the weighted squared lengths of the rows.
    SQUARES = 3
    #: Weight of the positive rows so far.
    POSITIVE = 4
    #: Factor of ``table[:, 0]`` in w.
    SCALE = 5
    #: Factor of ``table[:, 0]`` in the sum of the iterates.
    SUM_SCALE = 6
    #: Total weight of the averaged iterates.
    MASS = 7


@kernel
def oam(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    cost: float,
    sequential: bool,
    kept: Array,
    kept_values: FloatArray,
    length: Array,
    seen: FloatArray,
    random: Array,
    scratch: FloatArray,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """Online AUC maximisation: a step for each row against the buffered rows of the other class.

    A row costs O(entries of the buffered rows). Class c (0 negative, 1 positive) has had
    ``seen[c]`` rows; some of them are stored as ``kept[c, b]`` with ``length[c, b]`` entries.
    ``scratch`` is zero between rows.
    """
    size = kept.shape[1]
    moves = np.zeros(size)
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        label, own = (1.0, 1) if y[i] > 0.0 else (-1.0, 0)
        other = 1 - own
        s[Margin.ROWS] += 1.0
        s[Margin.TOTAL] += weight[i]
        seen[own] += 1.0
        # The row may replace a buffered row of its own class.
        slot = reservoir_slot(int(seen[own]), size, random)
        if slot < size:
            keep(indices, values, start, stop, kept[own, slot], kept_values[own, slot])
            length[own, slot] = stop - start
        count = min(int(seen[other]), size)
        if count == 0:
            continue
        # A buffered row represents seen / size rows; the largest step is C/2 times that number.
        most = 0.5 * cost * max(1.0, seen[other] / size)
        most = most * weight[i] * s[Margin.ROWS] / s[Margin.TOTAL]
        # Score and squared length of the row; its entries are spread out in ``scratch``.
        wx = square = total = 0.0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            scratch[j] = x
            wx += x * table[j, 0]
            square += x * x
        for b in range(count):
            wz = across = far = 0.0
            for k in range(length[other, b]):
                j, z = kept[other, b, k], kept_values[other, b, k]
                wz += z * table[j, 0]
                across += z * scratch[j]
                far += z * z
            # The row's own multiple, ``total``, is added to w only after all pairs.
            margin = label * (wx - wz - total * across)
            apart = square + far - 2.0 * across
            moves[b] = 0.0
            # Passive-aggressive: move = min(C, (1 - margin) / |x - z|^2). Gradient: move = C.
            if not sequential:
                moves[b] = label * most if margin <= 1.0 else 0.0
            elif margin < 1.0 and apart > 0.0:
                moves[b] = label * min(most, (1.0 - margin) / apart)
                wx += moves[b] * (square - across)
                total += moves[b]
                add_kept(
                    kept[other, b], kept_values[other, b], length[other, b], -moves[b], table, s
                )
        if not sequential:
            for b in range(count):
                total += moves[b]
                if moves[b] != 0.0:
                    rows, entries = kept[other, b], kept_values[other, b]
                    add_kept(rows, entries, length[other, b], -moves[b], table, s)
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            scratch[j] = 0.0
            table[j, 0] += total * x
            table[j, 1] += s[Margin.SUM_SCALE] * total * x
        s[Margin.STEPS] += 1.0
        s[Margin.SUM_SCALE] += 1.0
        s[Margin.MASS] += 1.0


@kernel
def reservoir_slot(seen: int, size: int, random: Array) -> int:
    """Reservoir sampling: slot for row number ``seen``, or ``size`` if it is not stored."""
    if seen <= size:
        return seen - 1
    slot = int(np.int64(next_random(random) % np.uint64(seen)))
    return min(slot, size)


@inline_kernel
def keep(indices: Array, values: Array, start: int, stop: int, to: Array, entries: Array) -> None:
    """Copy a compressed row into the buffer."""
    for at, k in enumerate(range(start, stop)):
        to[at], entries[at] = indices[k], values[k]


@inline_kernel
def add_kept(
    indices: Array, values: Array, length: int, move: float, table: FloatArray, s: FloatArray
) -> None:
    """Add a multiple of a buffered row to w."""
    for k in range(length):
        j, z = indices[k], values[k]
        table[j, 0] += move * z
        table[j, 1] += s[Margin.SUM_SCALE] * move * z


@inline_kernel
def score_and_square(
    indices: Array, values: Array, start: int, stop: int, table: FloatArray
) -> tuple[float, float]:
    """Product of a compressed row with ``table[:, 0]``, and its squared length."""
    product = square = 0.0
    for k in range(start, stop):
        x = float(values[k])
        product += x * table[indices[k], 0]
        square += x * x
    return product, square


@inline_kernel
def add_row(
    indices: Array,
    values: Array,
    start: int,
    stop: int,
    move: float,
    past: float,
    table: FloatArray,
) -> None:
    """Add a compressed row times ``move`` to ``table[:, 0]`` and times ``past`` to the next."""
    for k in range(start, stop):
        j, x = indices[k], float(values[k])
        table[j, 0] += move * x
        table[j, 1] += past * x


@kernel
def passive_aggressive(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    cost: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """Passive-aggressive steps: the nearest w without loss on the row, step at most ``cost``."""
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        label = 1.0 if y[i] > 0.0 else -1.0
        wx, square = score_and_square(indices, values, start, stop, table)
        s[Margin.ROWS] += 1.0
        s[Margin.TOTAL] += weight[i]
        # w + (lack / |x|^2) y x has the margin 1; the step is limited by the cost, weighted by the
        # row.
        lack = 1.0 - label * wx
        if lack > 0.0 and square > 0.0:
            move = label * min(lack / square, cost * weight[i] * s[Margin.ROWS] / s[Margin.TOTAL])
            add_row(indices, values, start, stop, move, s[Margin.SUM_SCALE] * move, table)
        s[Margin.STEPS] += 1.0
        s[Margin.SUM_SCALE] += 1.0
        s[Margin.MASS] += 1.0


@kernel
def uni_exp(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    l2: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """Steps on ``(mean_pos exp(-w.x) + mean_neg exp(w.x)) / 2`` with a ridge.

    Step t has the length ``rate / sqrt(t)`` divided by the mean squared length of the rows; no row
    changes its own score by more than 1.
    """
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        label = 1.0 if y[i] > 0.0 else -1.0
        vx, square = score_and_square(indices, values, start, stop, table)
        s[Margin.ROWS] += 1.0
        s[Margin.TOTAL] += weight[i]
        s[Margin.SQUARES] += weight[i] * square
        if label > 0.0:
            s[Margin.POSITIVE] += weight[i]
        if not (0.0 < s[Margin.POSITIVE] < s[Margin.TOTAL] and s[Margin.SQUARES] > 0.0):
            continue
        s[Margin.STEPS] += 1.0
        p = s[Margin.POSITIVE] / s[Margin.TOTAL]
        eta = rate / math.sqrt(s[Margin.STEPS]) * s[Margin.TOTAL] / s[Margin.SQUARES]
        # w <- (w + eta share y exp(-y w.x) x) / (1 + eta l2), with w = SCALE table[:, 0].
        share = weight[i] * s[Margin.ROWS] / s[Margin.TOTAL] * 0.5 / (p if label > 0.0 else 1.0 - p)
        # The exponent is capped, as exp could overflow; beyond it the bound below applies anyway.
        move = eta * share * math.exp(min(-label * s[Margin.SCALE] * vx, LARGEST_EXPONENT))
        if move * square > 1.0:
            move = 1.0 / square
        move *= label / s[Margin.SCALE]
        add_row(indices, values, start, stop, move, s[Margin.SUM_SCALE] * move, table)
        s[Margin.SCALE] /= 1.0 + eta * l2
        s[Margin.SUM_SCALE] += s[Margin.STEPS] * s[Margin.SCALE]
        s[Margin.MASS] += s[Margin.STEPS]
        # Multiply a small scale into the columns.
        if s[Margin.SCALE] < SMALL_SCALE:
            for j in range(table.shape[0]):
                table[j, 1] -= s[Margin.SUM_SCALE] * table[j, 0]
                table[j, 0] *= s[Margin.SCALE]
            s[Margin.SCALE], s[Margin.SUM_SCALE] = 1.0, 0.0
