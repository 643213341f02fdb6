"""Small dense steps before the active-set method; compiled, as numpy's overhead would dominate."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel

#: Largest violation of a row of length one at a feasible point, relative to its terms.
FEASIBLE = 1e-11


@kernel
def unit_rows(rows: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows and limits divided by the lengths of the rows, and these lengths.

    A row of zeros is kept, with length 1: either every point satisfies it or none does.
    """
    m, d = rows.shape
    A, b, norm = np.zeros((m, d)), np.empty(m), np.ones(m)
    for i in range(m):
        # Squares of entries divided by the largest neither overflow nor vanish.
        largest, total = 0.0, 0.0
        for j in range(d):
            largest = max(largest, abs(rows[i, j]))
        if largest > 0.0:
            for j in range(d):
                total += (rows[i, j] / largest) ** 2
            norm[i] = largest * math.sqrt(total)
            for j in range(d):
                A[i, j] = rows[i, j] / norm[i]
        b[i] = limits[i] / norm[i]
    return A, b, norm


@kernel
def shortfall(A: FloatArray, b: FloatArray, n_equal: int, x: FloatArray) -> FloatArray:
    """Violation of each row of length one at x; 0 where it is not above rounding error."""
    m, d = A.shape
    missed = np.empty(m)
    for i in range(m):
        slack, size = -b[i], 1.0 + abs(b[i])
        for j in range(d):
            slack += A[i, j] * x[j]
            size += abs(A[i, j] * x[j])
        miss = abs(slack) if i < n_equal else max(-slack, 0.0)
        missed[i] = miss if miss > FEASIBLE * size else 0.0
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
