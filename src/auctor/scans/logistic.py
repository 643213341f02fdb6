"""The logistic loss over pairs: all pairs of small batches, else interpolation on a grid of scores.

Within a cell of the score axis a smooth function of a difference of scores is a polynomial in both
to 1e-12. So the sums over all rows need only the moments of every cell: Chebyshev moments by
running sums over the sorted rows, products of the moments of all cells (which depend on the
distance of the cells alone, and so are a convolution), and the polynomials at the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from auctor.scans.ops import A, Ops
from auctor.scans.rows import PairRows, arrange, before, up_to

#: Rows up to which all pairs are computed: 32 MB for a matrix of them.
DENSE_ROWS = 2048
#: Chebyshev moments of a cell of unit width: an error of 1e-12, as in `PairwiseLogistic`.
MOMENTS = 12
#: Cells of the grid; a larger range of scores makes them wider than one, and the sums less exact.
CELLS = 4096
#: Gaps between neighbours count up to this: beyond it ``exp(-gap)`` is below rounding.
LARGEST_GAP = 40.0


def logistic_pairs(ops: Ops, scores: A, rows: PairRows) -> tuple[A, A]:
    """Mean over pairs of ``log(1 + exp(-(s_i - s_j)))`` and its slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.scans.ops import NumpyOps
    >>> from auctor.scans.rows import pair_rows
    >>> ops, positive = NumpyOps(), np.array([True, False])
    >>> value, slopes = logistic_pairs(ops, np.zeros(2), pair_rows(ops, positive, None))
    >>> round(float(value), 6), slopes.tolist()
    (0.693147, [-0.5, 0.5])
    """
    if rows.group is not None or scores.shape[0] <= DENSE_ROWS:
        return _all_pairs(ops, scores, rows)
    return _on_grid(ops, scores, rows)


def _all_pairs(ops: Ops, scores: A, rows: PairRows) -> tuple[A, A]:
    """Blocks of positives against all negatives."""
    wide, n = ops.wide(scores), scores.shape[0]
    value, falls, rises = 0.0 * wide.sum(), [], 0.0 * wide
    p = rows.weighted(rows.p)
    step = max(1, DENSE_ROWS * DENSE_ROWS // max(n, 1))
    for low in range(0, n, step):
        here = slice(low, low + step)
        z = wide[None, :] - wide[here, None]
        weight = p[here, None] * rows.q[None, :]
        if rows.group is not None:
            same = rows.group[here, None] == rows.group[None, :]
            weight = ops.where(same, weight, 0.0 * weight)
        value = value + (weight * ops.softplus(z)).sum()
        slopes = weight * ops.sigmoid(z)
        falls.append(slopes.sum(1))
        rises = rises + slopes.sum(0)
    return value, rises - ops.concat(falls)


class _Grid(NamedTuple):
    """Cells of sorted values: the cell of each row, its place in it, and the first row of each."""

    width: A
    cell: A
    place: A  # in [-1, 1]
    edges: A

    @classmethod
    def of(cls, ops: Ops, value: A) -> _Grid:
        low, high = ops.frozen(value[:1]), ops.frozen(value[-1:])
        width = ops.clip((high - low) / CELLS, 1.0, None)
        at = (value - low) / width
        cell = ops.clip(ops.floor(ops.frozen(at)), 0, CELLS - 1)
        edges = ops.search(cell, ops.arange(CELLS + 1, cell), False)
        return cls(width, cell, 2.0 * (at - cell) - 1.0, edges)

    def moments(self, ops: Ops, weight: A) -> A:
        """``sum weight T_k(place)`` over the rows of every cell, for k below `MOMENTS`."""
        found = []
        for polynomial in self._polynomials():
            sums = ops.concat([ops.zeros(1, weight), ops.cumsum(weight * polynomial)])
            found.append(ops.take(sums, self.edges[1:]) - ops.take(sums, self.edges[:-1]))
        return ops.concat([x[:, None] for x in found], 1)

    def at_rows(self, ops: Ops, coefficients: A) -> A:
        """The polynomials of the cells at every row."""
        total = 0.0 * self.place
        for k, polynomial in enumerate(self._polynomials()):
            total = total + polynomial * ops.take(coefficients[:, k], self.cell)
        return total

    def _polynomials(self) -> list[A]:
        found = [0.0 * self.place + 1.0, self.place]
        while len(found) < MOMENTS:
            found.append(2.0 * self.place * found[-1] - found[-2])
        return found

    def between(self, ops: Ops, function: Callable[[A], A]) -> A:
        """Matrices that turn moments into coefficients of ``sum_j weight_j f(v - v_j)``, by cell.

        One for each distance of cells, on a circle of twice as many.
        """
        nodes = np.cos(np.pi * (np.arange(MOMENTS) + 0.5) / MOMENTS)
        to_coefficients = np.polynomial.chebyshev.chebvander(nodes, MOMENTS - 1).T
        to_coefficients *= np.where(np.arange(MOMENTS) > 0, 2.0, 1.0)[:, None] / MOMENTS
        apart = np.arange(2 * CELLS)
        apart = np.where(apart < CELLS, apart, apart - 2 * CELLS)
        steps = apart[:, None, None] + 0.5 * (nodes[:, None] - nodes[None, :])
        turn = ops.constant(to_coefficients, self.width)
        values = function(ops.constant(steps, self.width) * self.width)
        return turn @ values @ ops.constant(to_coefficients.T, self.width)


def _on_grid(ops: Ops, scores: A, rows: PairRows) -> tuple[A, A]:
    """Sums over all pairs by the moments of cells."""
    found = arrange(ops, scores, None)
    p, q = ops.take(rows.p, found.order), ops.take(rows.q, found.order)
    capped = ops.clip(found.gap, None, LARGEST_GAP)
    grid = _Grid.of(ops, ops.cumsum(capped))
    of_p, of_q = grid.moments(ops, p), grid.moments(ops, q)
    # For negatives v_j, over positives: sigmoid(v_j - v_i) is the slope of softplus(v_j - v_i).
    levels = grid.at_rows(ops, ops.convolve(grid.between(ops, ops.softplus), of_p)[:CELLS])
    rises = grid.at_rows(ops, ops.convolve(grid.between(ops, ops.sigmoid), of_p)[:CELLS])
    falls = grid.at_rows(
        ops, ops.convolve(grid.between(ops, lambda z: ops.sigmoid(-z)), of_q)[:CELLS]
    )
    # Beyond a capped gap softplus is linear: the part that was cut off is added again.
    cut = up_to(ops, found, before(ops, found, p) * (found.gap - capped))
    return (q * (levels + cut)).sum(), found.back(ops, q * rises - p * falls)


def largest_error(span: float) -> float:
    """Error per pair of the grid, for scores that span this much (gaps count up to 40).

    Examples
    --------
    >>> largest_error(1000.0) < 1e-12 < largest_error(20000.0)
    True
    """
    # Interpolation of a function with poles at +-i pi, on cells of the width h.
    rate = 2.0 * math.pi / max(1.0, span / CELLS)
    return float((rate + math.hypot(rate, 1.0)) ** -MOMENTS)
