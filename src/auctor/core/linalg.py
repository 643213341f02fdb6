"""Linear systems with symmetric positive semi-definite matrices, and the cost of products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from auctor.core.types import FloatArray

Solve = Callable[[FloatArray], FloatArray]

#: Eigenvalues below this share of the largest count as zero; their directions get no solution.
RANK_SHARE = 1e-12


def spd_solve(matrix: FloatArray, *, floor: float = 0.0) -> Solve:
    """A function that solves systems with a symmetric positive semi-definite matrix.

    The matrix is scaled to a unit diagonal first, so that the scales of the columns do not matter.
    If it is singular, ``floor`` is added to that diagonal; with ``floor`` 0 the solution is the
    minimum-norm one.

    Examples
    --------
    >>> import numpy as np
    >>> spd_solve(np.diag([2.0, 4.0]))(np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    scale = 1.0 / np.sqrt(floored(np.diag(matrix).copy()))
    scaled = matrix * scale * scale[:, None]
    factor = _factor(scaled)
    # Singular to working precision: add the floor and try again.
    if factor is None and floor > 0.0:
        scaled[np.diag_indices_from(scaled)] += floor
        factor = _factor(scaled)
    if factor is not None:
        return lambda v: scale * cho_solve(factor, scale * v, check_finite=False)
    # Singular: the pseudo-inverse from the eigenvalues that are above rounding errors.
    values, vectors = eigh(scaled, check_finite=False)
    regular = values > RANK_SHARE * values[-1]
    inverse = np.where(regular, 1.0 / np.maximum(values, 1e-300), 0.0)
    return lambda v: scale * (vectors @ (inverse * (vectors.T @ (scale * v))))


def _factor(matrix: FloatArray) -> tuple[FloatArray, bool] | None:
    """Cholesky factor, or ``None`` when the matrix is singular to working precision."""
    try:
        factor: tuple[FloatArray, bool] = cho_factor(matrix, lower=False, check_finite=False)
    except LinAlgError:
        return None
    # Smallest pivot of a Cholesky factor of a matrix with unit diagonal that counts as regular.
    return factor if np.diag(factor[0]).min() > 1e-6 else None


def floored(diagonal: FloatArray) -> FloatArray:
    """The diagonal with a tiny positive lower bound, so that it can be divided by."""
    top = float(diagonal.max(initial=0.0))
    # Smallest diagonal entry, as a share of the largest one.
    return np.maximum(diagonal, 1e-14 * top if top > 0.0 else 1.0)


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
