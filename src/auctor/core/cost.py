"""What work costs, in passes over the data: the unit in which solvers weigh their choices."""

from __future__ import annotations

#: Columns (or rows) of a dense product of matrices that cost as much as one product with a vector.
#: A product with a vector is bound by memory, a product of matrices by arithmetic. Measured with
#: OpenBLAS on one thread and 20,000 rows: 7 at 100 columns, 11 at 200 and 400, and 1.3 at 50, which
#: fit into the cache. 6 lies between.
COLUMNS_PER_PASS = 6.0


def product_passes(columns: float) -> float:
    """Passes that the products of all columns with ``columns`` of them cost, through BLAS.

    One pass scales the entries, the rest is arithmetic.

    Examples
    --------
    >>> product_passes(12)
    3.0
    """
    return 1.0 + columns / COLUMNS_PER_PASS
