"""Sums over pairs of softplus and its derivatives in O(n): expansions on unit cells.

``softplus(z) = log(1 + e^z)`` is analytic up to a distance of pi from the real line. Between two
cells of unit length it is therefore, to about 1e-14, a polynomial of degree `ORDER` - 1 in each of
the two positions inside the cells, expanded in Chebyshev polynomials. The rows of one cell act on
those of another through `ORDER` moments. Between cells further apart than `REACH`, softplus equals
zero or its argument to machine precision. Cells with few rows are summed pair by pair.

Arrays are as in `kernels.pairs`: ascending within groups, ``z = t - a``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel

#: Chebyshev coefficients per cell and class.
ORDER = 12
#: Distance of cells from which softplus is replaced by its asymptotes.
REACH = 38
#: Cells with at most this many pairs between them are summed directly.
DIRECT_PAIRS = 16

#: Sum softplus itself.
VALUE = 0
#: Sum the first derivative of softplus.
SLOPE = 1
#: Sum the second derivative of softplus.
CURVE = 2


class Cells(NamedTuple):
    """Consecutive rows of one group whose values lie in the same unit cell."""

    at: FloatArray  # lower end of each cell
    first: IntArray  # rows first[k]:first[k + 1]
    starts: IntArray  # cells starts[g]:starts[g + 1] belong to group g


@lru_cache(maxsize=3)
def table(kind: int) -> FloatArray:
    """Chebyshev coefficients ``[d + REACH, m, n]`` of the function at ``d + (x - y)/2``.

    d is the distance of two cells. The coefficients belong to ``T_m(x) T_n(y)``, x being the
    position of t in its cell and y that of a, both in [-1, 1].
    """
    # Chebyshev nodes of both positions, and the discrete transform to coefficients.
    angle = np.pi * (np.arange(ORDER) + 0.5) / ORDER
    node = np.cos(angle)
    basis = np.cos(np.outer(np.arange(ORDER), angle)) * (2.0 / ORDER)
    basis[0] *= 0.5
    far = np.arange(-REACH, REACH + 1.0)[:, None, None]
    z = far + 0.5 * (node[:, None] - node[None, :])
    small = np.exp(-np.abs(z))
    values = (
        np.maximum(z, 0.0) + np.log1p(small),
        np.where(z >= 0.0, 1.0, small) / (1.0 + small),
        small / (1.0 + small) ** 2,
    )[kind]
    out: FloatArray = np.ascontiguousarray(basis @ values @ basis.T)
    return out


@kernel
def find_cells(x: FloatArray, starts: IntArray) -> Cells:
    """Cells of ascending x: consecutive rows of a group with equal ``floor(x)``."""
    n = x.shape[0]
    at, first = np.empty(n), np.empty(n + 1, dtype=np.int64)
    cell_starts = np.empty_like(starts)
    k = 0
    for g in range(starts.shape[0] - 1):
        cell_starts[g] = k
        for i in range(starts[g], starts[g + 1]):
            low = np.floor(x[i])
            if i == starts[g] or low != at[k - 1]:
                at[k], first[k] = low, i
                k += 1
    cell_starts[-1] = k
    first[k] = n
    return Cells(at[:k].copy(), first[: k + 1].copy(), cell_starts)


@inline_kernel
def _one(kind: int, z: float) -> float:
    small: float = np.exp(-abs(z))
    if kind == VALUE:
        return max(z, 0.0) + float(np.log1p(small))
    if kind == SLOPE:
        return (1.0 if z >= 0.0 else small) / (1.0 + small)
    return small / (1.0 + small) ** 2


@kernel
def pair_sums(
    kind: int,
    coefficients: FloatArray,
    a: FloatArray,
    own: Cells,
    t: FloatArray,
    other: Cells,
    c: FloatArray,
    direct: int,
    out: FloatArray,
) -> None:
    """``out[i] = sum_j c_j f(t_j - a_i)`` over the rows of the group, f chosen by ``kind``."""
    moments = _moments(t, other, c)
    for g in range(own.starts.shape[0] - 1):
        begin, end = other.starts[g], other.starts[g + 1]
        # Moments of all cells beyond REACH: their mass, and the first moment about their first row.
        top = other.first[end]
        mass = moment = 0.0
        ahead = end
        last = end
        for k in range(own.starts[g + 1] - 1, own.starts[g] - 1, -1):
            here = own.at[k]
            # Cells further than REACH above: f(z) = z there (slope 1, curvature 0), so that mass
            # and first moment are enough: sum_j c_j (t_j - a_i) = moment + mass (t_first - a_i).
            while ahead > begin and other.at[ahead - 1] - here > REACH:
                ahead -= 1
                for j in range(other.first[ahead + 1] - 1, other.first[ahead] - 1, -1):
                    if j + 1 < top:
                        moment += mass * (t[j + 1] - t[j])
                    mass += c[j]
            last = min(last, ahead)
            rows_begin, rows_end = own.first[k], own.first[k + 1]
            for i in range(rows_begin, rows_end):
                out[i] = 0.0
                if ahead < end and kind == VALUE:
                    out[i] = moment + mass * (t[other.first[ahead]] - a[i])
                elif kind == SLOPE:
                    out[i] = mass
            # Cells within REACH: f between two cells is a Chebyshev sum, so that the moments of
            # the far cell become a polynomial in a_i; few pairs are summed one by one.
            local = np.zeros(ORDER)
            expanded = False
            j_cell = last - 1
            while j_cell >= begin and here - other.at[j_cell] <= REACH:
                j_begin, j_end = other.first[j_cell], other.first[j_cell + 1]
                if (rows_end - rows_begin) * (j_end - j_begin) <= direct:
                    for i in range(rows_begin, rows_end):
                        for j in range(j_begin, j_end):
                            out[i] += c[j] * _one(kind, t[j] - a[i])
                else:
                    expanded = True
                    shift = coefficients[int(other.at[j_cell] - here) + REACH]
                    for m in range(ORDER):
                        weight = moments[j_cell, m]
                        for n in range(ORDER):
                            local[n] += weight * shift[m, n]
                j_cell -= 1
            if expanded:
                for i in range(rows_begin, rows_end):
                    out[i] += _clenshaw(local, 2.0 * (a[i] - here) - 1.0)


@kernel
def _moments(x: FloatArray, cells: Cells, c: FloatArray) -> FloatArray:
    """Chebyshev moments ``sum_i c_i T_m(x_i)`` of the rows in each cell, (cells, ORDER)."""
    out = np.zeros((cells.at.shape[0], ORDER))
    sums = np.empty(ORDER)
    for k in range(out.shape[0]):
        sums[:] = 0.0
        for i in range(cells.first[k], cells.first[k + 1]):
            place = 2.0 * (x[i] - cells.at[k]) - 1.0
            # T_m = 2 x T_{m-1} - T_{m-2}, each times c_i.
            before, now = c[i], c[i] * place
            sums[0] += before
            sums[1] += now
            for m in range(2, ORDER):
                before, now = now, 2.0 * place * now - before
                sums[m] += now
        out[k] = sums
    return out


@kernel
def _clenshaw(coefficients: FloatArray, x: float) -> float:
    """Value of a Chebyshev series at x in [-1, 1]."""
    after = now = 0.0
    for m in range(ORDER - 1, 0, -1):
        after, now = now, coefficients[m] + 2.0 * x * now - after
    total: float = coefficients[0] + x * now - after
    return total


@kernel
def draw_partners(
    a: FloatArray,
    group: IntArray,
    t: FloatArray,
    mass: FloatArray,
    starts: IntArray,
    inside: FloatArray,
    tries: int,
    out: IntArray,
) -> None:
    """Draw one row j for each threshold, nearly in proportion to ``q_j softplus''(t_j - a)``.

    ``mass[j]`` is the sum of q before j. All rows of the group are candidates if they are at most
    ``tries``; otherwise ``tries`` rows at equal steps of mass are. ``inside`` in [0, 1) holds the
    uniform random numbers that select among them.
    """
    weight = np.empty(tries)
    place = np.empty(tries, dtype=np.int64)
    for k in range(a.shape[0]):
        begin, end = starts[group[k]], starts[group[k] + 1]
        size = min(tries, end - begin)
        if size < end - begin:
            # Rows more than 8 away hold under 0.1 % of the curvature unless all are far away.
            low = begin + np.searchsorted(t[begin:end], a[k] - 8.0)
            high = begin + np.searchsorted(t[begin:end], a[k] + 8.0)
            if high > low:
                begin, end = low, high
            size = min(tries, end - begin)
        step = (mass[end] - mass[begin]) / size
        total = 0.0
        # Cumulative weights of the candidates: total_m = sum_(j <= m) q_j softplus''(t_j - a).
        for m in range(size):
            j, q = begin + m, step
            if size < end - begin:
                j = np.searchsorted(mass[begin:end], mass[begin] + (m + 0.5) * step, side="right")
                j = min(max(begin + j - 1, begin), end - 1)
            else:
                q = mass[j + 1] - mass[j]
            total += q * _one(CURVE, t[j] - a[k])
            weight[m], place[m] = total, j
        drawn = np.searchsorted(weight[:size], inside[k] * total, side="right")
        out[k] = place[min(drawn, size - 1)]
