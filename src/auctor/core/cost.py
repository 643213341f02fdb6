"""Costs in passes over the data, the unit in which solvers compare their options."""

from __future__ import annotations

#: Columns of a dense product of matrices that cost as much as one product with a vector. The former
#: is limited by arithmetic, the latter by memory. Measured with OpenBLAS on one thread and 20,000
#: rows: 7 at 100 columns, 11 at 200 and 400, and 1.3 at 50, where the data fit into the cache; 6 is
#: a compromise. Source: constants.md: between 2.25 and 21 passes are counted differently, and CPU
#: seconds change by less than 4 %.
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
