"""Compressed rows: whether they are well formed, and which of them are equal."""

from __future__ import annotations

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def first_bad_row(indptr: Array, indices: Array, n_columns: int) -> int:
    """The first row whose pointers fall, or whose columns are out of range or order; -1 if none.

    Both arrays are unsigned, so that a negative number is one out of range.
    """
    if indptr[0] != 0:
        return 0
    n_rows, n_entries = len(indptr) - 1, len(indices)
    for i in range(n_rows):
        start, stop = indptr[i], indptr[i + 1]
        if stop < start or stop > n_entries:
            return i
        least = 0  # the least column that may follow
        for k in range(start, stop):
            j = int(indices[k])
            if j < least or j >= n_columns:
                return i
            least = j + 1
    return -1 if indptr[n_rows] == n_entries else n_rows


@kernel
def same_row(indptr: Array, indices: Array, values: Array, i: int, k: int) -> bool:
    """Whether two rows hold the same non-zero entries; indices are sorted within a row."""
    a, b = indptr[i], indptr[k]
    a_stop, b_stop = indptr[i + 1], indptr[k + 1]
    one = indptr.dtype.type(1)
    while True:
        while a < a_stop and values[a] == 0.0:
            a += one
        while b < b_stop and values[b] == 0.0:
            b += one
        if a == a_stop or b == b_stop:
            return bool(a == a_stop and b == b_stop)
        if indices[a] != indices[b] or values[a] != values[b]:
            return False
        a += one
        b += one


@kernel
def first_duplicates(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    keys: FloatArray,
    order: IntArray,
    first: IntArray,
) -> int:
    """Map every row to the first one equal to it, in ``first``; return the number of distinct rows.

    ``order`` sorts the rows by ``keys``, which are equal for equal rows. The first row of each
    group of equal rows is moved to the front of ``order``. A row is compared only with the
    distinct rows of the same key, which are ``order[run:distinct]``.
    """
    distinct = run = 0
    for s in range(order.shape[0]):
        i = order[s]
        if distinct == 0 or keys[i] != keys[order[distinct - 1]]:
            run = distinct
        first[i] = i
        for k in range(run, distinct):
            other = order[k]
            if y[i] == y[other] and same_row(indptr, indices, values, i, other):
                first[i] = other
                break
        if first[i] == i:
            order[distinct] = i
            distinct += 1
    return distinct
