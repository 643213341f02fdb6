"""Products of a compressed or dense matrix with vectors, over a range of its rows.

Compressed kernels take ``indptr`` and ``indices`` as **unsigned** views: a signed subscript costs
a wrap-around test each. A CSC matrix is the CSR form of its transpose, so `gather` and `scatter`
serve both. Dense kernels take a C-contiguous array; a Fortran-ordered matrix is its transpose.
Sums are accumulated in float64 whatever the type of ``values``.
"""

from __future__ import annotations

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel


@kernel
def increasing(indptr: Array, indices: Array) -> bool:
    """Whether the indices of every row are strictly increasing.

    All neighbouring entries are compared first, across row boundaries too, because that loop
    vectorises; the comparisons across boundaries are subtracted afterwards.
    """
    stop = min(indptr[-1], indices.shape[0])
    falls = 0
    for k in range(1, stop):
        falls += indices[k] <= indices[k - 1]
    for i in range(1, indptr.shape[0]):
        if indptr[i] < indptr[i - 1]:
            return False
        if indptr[i - 1] < indptr[i] < stop:  # a comparison across rows
            falls -= indices[indptr[i]] <= indices[indptr[i] - 1]
    return falls == 0


@kernel
def gather(
    indptr: Array,
    indices: Array,
    values: Array,
    v: FloatArray,
    offset: float,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """``out[i] = A[i] @ v + offset`` for rows low..high."""
    for i in range(low, high):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k] * v[indices[k]]
        out[i] = total + offset


@kernel
def scatter(
    indptr: Array,
    indices: Array,
    values: Array,
    r: FloatArray,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """``out += A[low:high].T @ r[low:high]``."""
    for i in range(low, high):
        ri = r[i]
        if ri != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += ri * values[k]


@kernel
def scatter_squares(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """``out += (A*A)[low:high].T @ h[low:high]``, the diagonal of a weighted Gram matrix."""
    for i in range(low, high):
        hi = h[i]
        if hi != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                x = float(values[k])
                out[indices[k]] += hi * x * x


@kernel
def gather_squares(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """``out[i] = (A*A)[i] @ h`` for rows low..high."""
    for i in range(low, high):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            x = float(values[k])
            total += h[indices[k]] * x * x
        out[i] = total


@kernel
def sandwich(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    v: FloatArray,
    offset: float,
    out: FloatArray,
    low: int,
    high: int,
) -> float:
    """``out += A.T @ z`` in one pass with ``z = h * (A @ v + offset)``; return the sum of z."""
    total = 0.0
    for i in range(low, high):
        hi = h[i]
        if hi != 0.0:
            z = offset
            start, stop = indptr[i], indptr[i + 1]
            for k in range(start, stop):
                z += values[k] * v[indices[k]]
            z *= hi
            total += z
            for k in range(start, stop):
                out[indices[k]] += z * values[k]
    return total


@kernel
def gram_upper(
    indptr: Array,
    indices: Array,
    values: Array,
    h: FloatArray,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """Add the upper triangle of ``A.T @ diag(h) @ A``; indices are sorted and distinct in a row.

    Two entries of a row are processed together, so that each later entry is loaded half as often.
    """
    one, two = indptr.dtype.type(1), indptr.dtype.type(2)
    for i in range(low, high):
        hi = h[i]
        if hi != 0.0:
            a, stop = indptr[i], indptr[i + 1]
            # Rows j0 and j1 of the result get the products of both entries with all entries from
            # the second on; the first one's own square is added apart.
            while a + one < stop:
                j0, j1 = indices[a], indices[a + one]
                row0, row1 = out[j0], out[j1]
                z0, z1 = hi * values[a], hi * values[a + one]
                row0[j0] += z0 * values[a]
                for b in range(a + one, stop):
                    j, x = indices[b], values[b]
                    row0[j] += z0 * x
                    row1[j] += z1 * x
                a += two
            if a < stop:  # the last entry of a row with an odd number of them
                out[indices[a], indices[a]] += hi * values[a] * values[a]


@fast_kernel
def dense_dot(
    rows: Array, v: FloatArray, offset: float, out: FloatArray, low: int, high: int
) -> None:
    """``out[i] = rows[i] @ v + offset`` for rows low..high."""
    d = rows.shape[1]
    for i in range(low, high):
        row = rows[i]
        total = 0.0
        for j in range(d):
            total += row[j] * v[j]
        out[i] = total + offset


@fast_kernel
def dense_axpy(rows: Array, r: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out += rows[low:high].T @ r[low:high]``."""
    d = rows.shape[1]
    for i in range(low, high):
        ri = r[i]
        if ri != 0.0:
            row = rows[i]
            for j in range(d):
                out[j] += ri * row[j]


@fast_kernel
def dense_combine(
    rows: Array, r: FloatArray, offset: float, out: FloatArray, low: int, high: int
) -> None:
    """``out[low:high] = (rows.T @ r)[low:high] + offset``."""
    # Entries of a strip: 16 kB of sums, which stay in the first-level cache.
    strip = 2048
    m = rows.shape[0]
    for start in range(low, high, strip):
        stop = min(start + strip, high)
        part = out[start:stop]
        part[:] = offset
        # Four rows at a time: the strip is read and written a quarter as often.
        for i in range(0, m - 3, 4):
            r0, r1, r2, r3 = r[i], r[i + 1], r[i + 2], r[i + 3]
            a0, a1 = rows[i, start:stop], rows[i + 1, start:stop]
            a2, a3 = rows[i + 2, start:stop], rows[i + 3, start:stop]
            for j in range(stop - start):
                part[j] += r0 * a0[j] + r1 * a1[j] + r2 * a2[j] + r3 * a3[j]
        for i in range(m - m % 4, m):
            ri = r[i]
            row = rows[i, start:stop]
            for j in range(stop - start):
                part[j] += ri * row[j]


@fast_kernel
def dense_squares_dot(rows: Array, h: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out[i] = (rows*rows)[i] @ h`` for rows low..high."""
    d = rows.shape[1]
    for i in range(low, high):
        row = rows[i]
        total = 0.0
        for j in range(d):
            x = float(row[j])
            total += h[j] * x * x
        out[i] = total


@fast_kernel
def dense_squares_axpy(rows: Array, h: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out += (rows*rows)[low:high].T @ h[low:high]``."""
    d = rows.shape[1]
    for i in range(low, high):
        hi = h[i]
        if hi != 0.0:
            row = rows[i]
            for j in range(d):
                x = float(row[j])
                out[j] += hi * x * x


@fast_kernel
def dense_sandwich(
    rows: Array, h: FloatArray, v: FloatArray, offset: float, out: FloatArray, low: int, high: int
) -> float:
    """``out += A.T @ z`` in one pass with ``z = h * (A @ v + offset)``; return the sum of z."""
    d = rows.shape[1]
    sum_z = 0.0
    for i in range(low, high):
        hi = h[i]
        if hi != 0.0:
            row = rows[i]
            z = 0.0
            for j in range(d):
                z += row[j] * v[j]
            z = hi * (z + offset)
            sum_z += z
            for j in range(d):
                out[j] += z * row[j]
    return sum_z
