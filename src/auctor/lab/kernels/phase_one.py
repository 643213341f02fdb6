"""Small dense steps before the active-set method; compiled, as numpy's overhead would dominate."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel

#: Largest violation of a row of length one at a point that counts as feasible, relative to 1 + the
#: size of its limit and of x. Far above rounding errors, below the tolerances of KKT tests. Set by
#: hand.
FEASIBLE = 1e-11
#: A row shorter than this share of the longest one counts as zero: some 50 times machine epsilon.
#: Set by hand.
EMPTY_ROW = 1e-14


@kernel
def unit_rows(rows: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows and limits divided by the lengths of the rows, and these lengths.

    A row of zeros is kept, with length 1: either every point satisfies it or none does.
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
    """Violation of each row of length one at x; 0 where it is not above rounding error."""
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
    """The program in (x, t): t is added to each violated row, and ``t >= 0`` is one more row.

    The objective becomes ``x'Gx/2 + c'x + price * t``. Rows are scaled to length one again.
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
