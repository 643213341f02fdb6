"""The largest summands of the scores of rows, by the columns that they belong to.

A row has a part for each of P columns of a table: the weights of the columns of the matrix that
belong to it, times their values, minus the part of a baseline. Parts above 0 are kept, the largest
first; of equal ones the first column is the larger. Unused places have the column P and the part 0.
``rest`` is the sum of the parts that are not kept.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel


@inline_kernel
def _keep(value: float, p: int, i: int, which: Array, parts: FloatArray) -> None:
    """Insert a part at its place among the largest of row i; smaller ones move back."""
    m = parts.shape[1] - 1
    while m > 0 and (value > parts[i, m - 1] or (value == parts[i, m - 1] and p < which[i, m - 1])):
        parts[i, m], which[i, m] = parts[i, m - 1], which[i, m - 1]
        m -= 1
    parts[i, m], which[i, m] = value, p


@kernel
def dense_reasons(
    X: FloatArray,
    coef: FloatArray,
    starts: Array,
    base: FloatArray,
    which: Array,
    parts: FloatArray,
    rest: FloatArray,
) -> None:
    """Reasons of dense rows; column p owns ``starts[p]:starts[p + 1]`` of the matrix."""
    last = parts.shape[1] - 1
    for i in range(X.shape[0]):
        total = 0.0
        for p in range(base.shape[0]):
            part = -base[p]
            for j in range(starts[p], starts[p + 1]):
                part += coef[j] * X[i, j]
            total += part
            if part > parts[i, last]:
                _keep(part, p, i, which, parts)
        for m in range(last + 1):
            total -= parts[i, m]
        rest[i] = total


@kernel
def sparse_reasons(
    values: Array,
    indices: Array,
    indptr: Array,
    coef: FloatArray,
    owner: Array,
    base: FloatArray,
    order: Array,
    which: Array,
    parts: FloatArray,
    rest: FloatArray,
) -> None:
    """Reasons of compressed rows.

    ``owner`` has the column of the table of each column of the matrix, ``order`` the columns of the
    table by rising ``base``: the part of a column without an entry in a row is ``-base``, and the
    walk over these ends where one is too small to be kept.
    """
    last = parts.shape[1] - 1
    row, empty = -base, -base.sum()
    seen = np.full(base.shape[0], -1, dtype=np.int64)  # the last row with an entry of the column
    kept = seen.copy()
    for i in range(which.shape[0]):
        total = empty
        for at in range(indptr[i], indptr[i + 1]):
            p = owner[indices[at]]
            if seen[p] != i:
                seen[p], row[p] = i, -base[p]
            step = coef[indices[at]] * values[at]
            row[p] += step
            total += step
        for at in range(indptr[i], indptr[i + 1]):
            p = owner[indices[at]]
            if kept[p] != i:
                kept[p] = i
                tied = row[p] == parts[i, last] and row[p] > 0.0 and p < which[i, last]
                if row[p] > parts[i, last] or tied:
                    _keep(row[p], p, i, which, parts)
        for p in order:
            if -base[p] <= 0.0 or -base[p] < parts[i, last]:
                break
            if seen[p] != i and (-base[p] > parts[i, last] or p < which[i, last]):
                _keep(-base[p], p, i, which, parts)
        for m in range(last + 1):
            total -= parts[i, m]
        rest[i] = total


@kernel
def binned_reasons(
    codes: Array,
    tables: FloatArray,
    bounds: Array,
    base: FloatArray,
    which: Array,
    parts: FloatArray,
    rest: FloatArray,
) -> None:
    """Reasons of rows given by codes (P, n): part p adds ``tables[bounds[p] + code]``."""
    last = parts.shape[1] - 1
    for i in range(codes.shape[1]):
        total = 0.0
        for p in range(base.shape[0]):
            part = tables[bounds[p] + codes[p, i]] - base[p]
            total += part
            if part > parts[i, last]:
                _keep(part, p, i, which, parts)
        for m in range(last + 1):
            total -= parts[i, m]
        rest[i] = total
