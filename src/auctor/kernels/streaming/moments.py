"""Running means and scatters of two classes, row by row.

Rows with many entries are collected in a block. A full block is added to the moments of its class
by way of its own mean, which has the accuracy of centred sums and the speed of a blocked product.
Rows with few entries are added entry by entry, without centring. Arrays have the positive class
first. Scatters are upper triangles.

Forgetting multiplies the weights of new rows by a growing factor, instead of shrinking all old
sums. All are divided by that factor before it overflows.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel
from auctor.kernels.streaming.rescaling import HEAVY

#: Rows of a block.
BLOCK_ROWS = 128
#: Largest share of non-zero columns with which a row is added entry by entry.
FEW_ENTRIES = 1.0 / 3.0
#: A class whose rows together weigh less than this beside a new row is not scaled down further.
FORGOTTEN = 1e-100


@fast_kernel
def add_squares(rows: FloatArray, count: int, out: FloatArray) -> None:
    """Add the upper triangle of ``rows[:count].T @ rows[:count]``, four rows at a time."""
    d = out.shape[0]
    full = count - count % 4
    for r in range(0, full, 4):
        a, b, c, e = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        for i in range(0, d - 1, 2):
            # Rows i and i + 1 of the result together: each entry of the four rows is loaded once
            # for both.
            one, two = out[i], out[i + 1]
            a0, b0, c0, e0 = a[i], b[i], c[i], e[i]
            a1, b1, c1, e1 = a[i + 1], b[i + 1], c[i + 1], e[i + 1]
            one[i] += a0 * a0 + b0 * b0 + c0 * c0 + e0 * e0
            for j in range(i + 1, d):
                one[j] += a0 * a[j] + b0 * b[j] + c0 * c[j] + e0 * e[j]
                two[j] += a1 * a[j] + b1 * b[j] + c1 * c[j] + e1 * e[j]
        if d % 2:
            k = d - 1
            out[k, k] += a[k] * a[k] + b[k] * b[k] + c[k] * c[k] + e[k] * e[k]
    # The last one to three rows.
    for r in range(full, count):
        row = rows[r]
        for i in range(d):
            z = row[i]
            if z != 0.0:
                line = out[i]
                for j in range(i, d):
                    line[j] += z * row[j]


@kernel
def add_entries(
    indices: Array,
    values: Array,
    start: int,
    stop: int,
    weight: float,
    total: FloatArray,
    out: FloatArray,
) -> None:
    """Add a row to the sum of rows and to the upper triangle of the sum of their products."""
    for a in range(start, stop):
        x = weight * values[a]
        line = out[indices[a]]
        total[indices[a]] += x
        for b in range(a, stop):
            line[indices[b]] += x * values[b]


@fast_kernel
def flush(
    mass: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    block: FloatArray,
    block_side: IntArray,
    block_weight: FloatArray,
    waiting: IntArray,
) -> None:
    """Add the rows of the block to the moments of their classes, and empty the block."""
    count = waiting[0]
    d = mean.shape[1]
    centred = np.empty((count + 1, d))
    for side in range(2):
        own = 0.0
        centre = np.zeros(d)
        for r in range(count):
            if block_side[r] == side:
                own += block_weight[r]
                for j in range(d):
                    centre[j] += block_weight[r] * block[r, j]
        if own == 0.0:
            continue
        for j in range(d):
            centre[j] /= own
        m = 0
        for r in range(count):
            if block_side[r] == side:
                # Rows about the mean of the block, times the root of their weights.
                root = math.sqrt(block_weight[r])
                for j in range(d):
                    centred[m, j] = root * (block[r, j] - centre[j])
                m += 1
        # Chan, Golub and LeVeque, for two sets of weights a and b whose means are apart:
        #   scatter = scatter_a + scatter_b + (a b / (a + b)) apart apart',
        # here with one more row of the product.
        old = mass[side, 0]
        share = own / (old + own)
        root = math.sqrt(old * share)
        for j in range(d):
            apart = centre[j] - mean[side, j]
            centred[m, j] = root * apart
            mean[side, j] += share * apart
        mass[side, 0] = old + own
        add_squares(centred, m + 1, scatter[side])
    waiting[0] = 0


@kernel
def _rescale(mass: FloatArray, total: FloatArray, scatter: FloatArray, latest: FloatArray) -> None:
    """Divide all weights and weighted sums by the weight of the next row."""
    for side in range(2):
        if mass[side].sum() > FORGOTTEN * latest[0]:
            mass[side] /= latest[0]
            total[side] /= latest[0]
            scatter[side] /= latest[0]
    latest[0] = 1.0


@kernel
def add_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    growth: float,
    mass: FloatArray,
    mean: FloatArray,
    total: FloatArray,
    scatter: FloatArray,
    block: FloatArray,
    block_side: IntArray,
    block_weight: FloatArray,
    waiting: IntArray,
    latest: FloatArray,
    width: IntArray,
) -> None:
    """Add rows low..high to the moments; each weighs ``growth`` times as much as the last.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    y, weight : (n,) arrays
        Labels -1 and +1, and row weights.
    low, high : int
        The rows to add.
    growth : float
        Factor by which a row weighs more than the one before (forgetting).
    mass : (2, 2) array
        For each class the weight of the rows added by block and of those added entry by entry.
    mean, total : (2, d) arrays
        Means of the former, sums of the latter.
    scatter : (2, d, d) array
        Centred products of the former plus products about zero of the latter; upper triangles.
    block, block_side, block_weight : arrays of BLOCK_ROWS rows
        Rows that wait to be added, with their class and weight.
    waiting : (1,) int array
        Number of rows in the block.
    latest : (1,) array
        Factor on the weight of the next row, ``growth`` to the number of rows since it was 1.
    width : (1,) int array
        Largest number of columns of a row so far.
    """
    for i in range(low, high):
        if weight[i] == 0.0:
            continue
        # Row number i has the weight w = weight_i growth^i: new rows grow instead of old ones
        # shrinking.
        w = weight[i] * latest[0]
        latest[0] *= growth
        side = 0 if y[i] > 0.0 else 1
        start, stop = indptr[i], indptr[i + 1]
        entries = np.int64(stop) - np.int64(start)
        if entries > 0:
            width[0] = max(width[0], np.int64(indices[np.int64(stop) - 1]) + 1)
        # Few entries: into the sums about zero at once. Many: into the block, centred later.
        if entries <= int(FEW_ENTRIES * width[0]):
            mass[side, 1] += w
            add_entries(indices, values, start, stop, w, total[side], scatter[side])
        else:
            r = waiting[0]
            row = block[r]
            row[:] = 0.0
            for k in range(start, stop):
                row[indices[k]] = values[k]
            block_side[r] = side
            block_weight[r] = w
            waiting[0] = r + 1
        if waiting[0] == BLOCK_ROWS or latest[0] > HEAVY:
            flush(mass, mean, scatter, block, block_side, block_weight, waiting)
        if latest[0] > HEAVY:
            _rescale(mass, total, scatter, latest)


@kernel
def class_moments(
    means: FloatArray,
    out: FloatArray,
    mass: FloatArray,
    mean: FloatArray,
    total: FloatArray,
    scatter: FloatArray,
) -> None:
    """Write the class means (2, d) and the covariances (2, d, d), or their sum (1, d, d).

    ``out`` must be zero at the start. Classes without rows are skipped.
    """
    d = mean.shape[1]
    for side in range(2):
        through_block, by_entry = mass[side]
        both = through_block + by_entry
        if both == 0.0:
            continue
        # Two parts of a class: by block (centred) and by entry (about zero). Their joint covariance
        # is scatter / both - one own own' + two apart apart'.
        own = total[side] / by_entry if by_entry > 0.0 else np.zeros(d)
        apart = mean[side] - own
        means[side] = own + (through_block / both) * apart
        one, two = by_entry / both, (through_block / both) * (by_entry / both)
        matrix = out[side % out.shape[0]]
        for i in range(d):
            line, into = scatter[side, i], matrix[i]
            a, b = one * own[i], two * apart[i]
            into[i] += max(line[i] / both - a * own[i] + b * apart[i], 0.0)
            for j in range(i + 1, d):
                into[j] += line[j] / both - a * own[j] + b * apart[j]
    for matrix in out:
        for i in range(d):
            for j in range(i):
                matrix[i, j] = matrix[j, i]


@kernel
def judge_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    scores: FloatArray,
    coef: FloatArray,
    centre: FloatArray,
    share: FloatArray,
    margins: FloatArray,
    columns: IntArray,
) -> None:
    """Score rows low..high by the chosen one of several weight vectors (k, d), and evaluate all.

    Scores are relative to the middle between the class means, so that they stay comparable when the
    weights change. ``margins`` (2, k) sums the margins and their squares. A margin is the distance
    of a row's score from the mean score of the other class, ``centre`` (2, k); it is weighted by
    one over the share of its class.
    """
    for i in range(low, high):
        side = 0 if y[i] > 0.0 else 1
        part = weight[i] / share[side] if share[side] > 0.0 else 0.0
        for k in range(coef.shape[0]):
            score = 0.0
            for a in range(indptr[i], indptr[i + 1]):
                score += values[a] * coef[k, indices[a]]
            if k == columns[0]:
                scores[i] = score - 0.5 * (centre[0, k] + centre[1, k])
            margin = y[i] * (score - centre[1 - side, k])
            margins[0, k] += part * margin
            margins[1, k] += part * margin * margin
