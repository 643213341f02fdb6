"""Small dense work around the active-set method, where each call to numpy would cost as much."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel

#: Largest amount by which a row of length one may be missed by a point that counts as feasible,
#: beside the size of its limit and of x. Far above rounding, below what tests of KKT ask for.
FEASIBLE = 1e-11
#: A row shorter than this share of the longest one counts as zero.
EMPTY_ROW = 1e-14


@kernel
def unit_rows(rows: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows divided by their lengths, the limits likewise, and the lengths.

    A row of zeros stays one, with length 1: it is satisfied by every point or by none.
    """
    m, d = rows.shape
    norm = np.empty(m)
    longest = 0.0
    for i in range(m):
        total = 0.0
        for j in range(d):
            total += rows[i, j] * rows[i, j]
        norm[i] = math.sqrt(total)
        longest = max(longest, norm[i])
    A, b = np.zeros((m, d)), np.empty(m)
    for i in range(m):
        if norm[i] <= EMPTY_ROW * longest:
            norm[i] = 1.0
        else:
            for j in range(d):
                A[i, j] = rows[i, j] / norm[i]
        b[i] = limits[i] / norm[i]
    return A, b, norm


@kernel
def shortfall(A: FloatArray, b: FloatArray, n_equal: int, x: FloatArray) -> FloatArray:
    """By how much each row of length one is missed at x, 0 where by no more than rounding."""
    m, d = A.shape
    largest = 0.0
    for j in range(d):
        largest = max(largest, abs(x[j]))
    missed = np.empty(m)
    for i in range(m):
        slack = -b[i]
        for j in range(d):
            slack += A[i, j] * x[j]
        miss = abs(slack) if i < n_equal else max(-slack, 0.0)
        missed[i] = miss if miss > FEASIBLE * (1.0 + abs(b[i]) + largest) else 0.0
    return missed


@kernel
def with_shortfall(
    G: FloatArray, c: FloatArray, price: float, A: FloatArray, b: FloatArray, missed: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The program in (x, t): rows that are missed get t added, and ``t >= 0`` is one more row.

    The objective gets ``price * t`` added. Rows have length one again.
    """
    m, d = A.shape
    wide_G, wide_c = np.zeros((d + 1, d + 1)), np.empty(d + 1)
    wide_G[:d, :d] = G
    wide_c[:d] = c
    wide_c[d] = price
    rows, limits = np.zeros((m + 1, d + 1)), np.zeros(m + 1)
    for i in range(m):
        shorter = 1.0 / math.sqrt(2.0) if missed[i] > 0.0 else 1.0
        for j in range(d):
            rows[i, j] = shorter * A[i, j]
        if missed[i] > 0.0:
            rows[i, d] = shorter
        limits[i] = shorter * b[i]
    rows[m, d] = 1.0
    return wide_G, wide_c, rows, limits
