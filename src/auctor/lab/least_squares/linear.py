"""Linear least squares by the textbook methods: QR, minimum norm, SVD, ridge, lasso.

Objectives are sums, ``|A x - b|^2 / 2 + strength * penalty``, as in linear algebra, not means over
rows as elsewhere in the library: divide a strength by the number of rows to compare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from auctor.core.checks import check_real, check_vector
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.types import FloatArray
from auctor.lab.qp import QuadraticProgram
from auctor.lab.qp import solve as solve_program
from auctor.lab.qp.solver import settled

#: Singular values or pivots below this times the size times the largest count as zero.
RANK_SHARE = float(np.finfo(np.float64).eps)


@speaks_as("solve_qr")
def solve_qr(A: Any, b: Any) -> FloatArray:
    """The least-squares solution of full-rank equations ``A x = b``, by QR with column pivots.

    Parameters
    ----------
    A : (n, d) array
        With at least as many rows as columns, and independent columns.
    b : (n,) array

    Raises
    ------
    DataError
        If columns are linearly dependent: then there are many solutions, and `solve_svd` gives the
        shortest.

    Examples
    --------
    >>> solve_qr([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0]).round(12)
    array([1., 2.])
    """
    matrix, right = _read(A, b)
    n, d = matrix.shape
    Q, R, order = qr(matrix, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > max(n, d) * RANK_SHARE * pivots.max(initial=0.0)))
    if rank < d:
        raise DataError(
            f"independent columns; got rank {rank} of {d} columns. Call solve_svd, which gives the "
            "shortest of the solutions."
        )
    x = np.empty(d)
    x[order] = solve_triangular(R, Q.T @ right, check_finite=False)
    return x


@speaks_as("min_norm")
def min_norm(A: Any, b: Any) -> FloatArray:
    """The shortest solution of ``A x = b``, ``A'(AA')^-1 b``, for independent rows.

    Parameters
    ----------
    A : (n, d) array
        With at most as many rows as columns.
    b : (n,) array

    Notes
    -----
    By QR of the transpose, ``A' = QR``: ``x = Q R^-T b``. ``AA'`` is never formed, because it
    squares the condition number.

    Examples
    --------
    >>> min_norm([[1.0, 1.0]], [2.0]).round(12)
    array([1., 1.])
    """
    matrix, right = _read(A, b)
    n, d = matrix.shape
    Q, R, order = qr(matrix.T, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > max(n, d) * RANK_SHARE * pivots.max(initial=0.0)))
    if rank < n:
        raise DataError(
            f"independent rows; got rank {rank} of {n} rows. Call solve_svd, which works for any "
            "rank."
        )
    x: FloatArray = Q @ solve_triangular(R, right[order], trans="T", check_finite=False)
    return x


@speaks_as("solve_svd")
def solve_svd(A: Any, b: Any) -> FloatArray:
    """The shortest of all least-squares solutions, ``V S^-1 U'b``, for any rank.

    Parameters
    ----------
    A : (n, d) array
    b : (n,) array

    Examples
    --------
    >>> solve_svd([[1.0, 1.0], [1.0, 1.0]], [1.0, 3.0]).round(12)
    array([1., 1.])
    """
    matrix, right = _read(A, b)
    U, sigma, Vt = np.linalg.svd(matrix, full_matrices=False)
    kept = sigma > max(matrix.shape) * RANK_SHARE * sigma.max(initial=0.0)
    x: FloatArray = Vt[kept].T @ ((U[:, kept].T @ right) / sigma[kept])
    return x


@speaks_as("tikhonov")
def tikhonov(A: Any, b: Any, strengths: Any) -> FloatArray:
    """Ridge solutions for many strengths from one singular value decomposition.

    Minimises ``|A x - b|^2 / 2 + strength * |x|^2 / 2`` for every strength: each singular
    direction is multiplied by ``s / (s^2 + strength)``. Strength 0 is `solve_svd`.

    Parameters
    ----------
    A : (n, d) array
    b : (n,) array
    strengths : (k,) array or float >= 0

    Returns
    -------
    x : (k, d) array, or (d,) for a single strength

    Examples
    --------
    >>> tikhonov([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0], [0.0, 1.0, 4.0])
    array([[1. , 1. ],
           [0.5, 0.8],
           [0.2, 0.5]])
    """
    matrix, right = _read(A, b)
    grid = check_vector("strengths", np.atleast_1d(strengths))
    for strength in grid:
        check_real("strengths", float(strength), low=0.0)
    U, sigma, Vt = np.linalg.svd(matrix, full_matrices=False)
    sigma = np.where(sigma > max(matrix.shape) * RANK_SHARE * sigma.max(initial=0.0), sigma, 0.0)
    # Filter factors s / (s^2 + strength); 0 for singular values that count as zero.
    bottom = sigma * sigma + grid[:, None]
    factors = np.divide(sigma, bottom, out=np.zeros_like(bottom), where=bottom > 0.0)
    x: FloatArray = (factors * (U.T @ right)) @ Vt
    return x[0] if np.ndim(strengths) == 0 else x


@speaks_as("lasso")
def lasso(A: Any, b: Any, *, strength: float | None = None, length: float | None = None) -> Any:
    """The lasso as a quadratic program, exact up to rounding error; for small problems.

    With ``strength`` it minimises ``|A x - b|^2 / 2 + strength * |x|_1``; with ``length``,
    ``|A x - b|^2 / 2`` over ``|x|_1 <= length``, the form of Tibshirani. The variables are the
    positive and the negative part of x, so that the penalty is linear.

    Parameters
    ----------
    A : (n, d) array
    b : (n,) array
    strength : float >= 0, optional
    length : float >= 0, optional
        Pass exactly one of the two.

    Returns
    -------
    x : (d,) array

    Notes
    -----
    The cost grows with the cube of d: for more than a few hundred columns use
    ``minimise(Problem(Squared(), L1(...), data))``.

    Examples
    --------
    >>> lasso([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5], strength=1.0).round(12)
    array([2., 0.])
    >>> lasso([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5], length=2.0).round(12)
    array([2., 0.])
    """
    if (strength is None) == (length is None):
        raise ParameterError(
            "either strength or length",
            got="none" if strength is None else "both",
            todo="Pass {option} or {option2}.",
            option=("strength", "length"),
        )
    matrix, right = _read(A, b)
    d = matrix.shape[1]
    # With x = p - q and p, q >= 0, |x|_1 = sum p + sum q is linear. Dividing A by its largest entry
    # a and b by its own, the unit of x is b / a.
    tall, high = _unit(matrix), _unit(right)
    matrix, right = matrix / tall, right / high
    gram, slope = matrix.T @ matrix, matrix.T @ right
    G = np.block([[gram, -gram], [-gram, gram]])
    linear = np.concatenate((-slope, slope))
    if strength is not None:
        linear += check_real("strength", strength, low=0.0) / (tall * high)
        program = QuadraticProgram(G, linear, lower=0.0)
    else:
        limit = check_real("length", length, low=0.0) * tall / high
        program = QuadraticProgram(G, linear, -np.ones((1, 2 * d)), [-limit], lower=0.0)
    parts = settled(solve_program(program, start=np.zeros(2 * d))).x
    return (parts[:d] - parts[d:]) * (high / tall)


def _unit(values: FloatArray) -> float:
    """The largest size rounded to a power of two, by which dividing rounds nothing."""
    largest = float(np.abs(values).max(initial=0.0))
    return float(np.exp2(np.round(np.log2(largest)))) if largest > 0.0 else 1.0


def _read(A: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """A finite matrix with at least one column and a right-hand side of its length."""
    matrix = np.asarray(A, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise DataError(
            f"a matrix with rows and columns; got shape {matrix.shape}. Pass an array of two "
            "dimensions."
        )
    if not np.isfinite(matrix).all():
        raise DataError("`A` to be finite; got NaN or infinity. Drop such rows.")
    return matrix, check_vector("b", b, size=matrix.shape[0])
