"""Costs in passes over the data, the unit in which solvers compare their options."""

from __future__ import annotations

#: Columns of a dense product of matrices that cost as much as one product with a vector.
COLUMNS_PER_PASS = 6.0


def product_passes(columns: float) -> float:
    """Passes over the data that the products of all columns with ``columns`` of them cost in BLAS.

    One pass scales the entries; the rest is arithmetic.

    Examples
    --------
    >>> product_passes(12)
    3.0
    """
    return 1.0 + columns / COLUMNS_PER_PASS
