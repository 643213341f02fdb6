"""Fitting support vector machines and kernel ridge regression, and predicting with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from auctor.core.errors import DataError
from auctor.core.types import FloatArray, IntArray
from auctor.kernel.cache import RowCache
from auctor.kernel.dual import (
    EXACT_ROUNDS,
    EXACT_TOL,
    Dual,
    DualSolution,
    solve_blocks,
    solve_matrix,
)
from auctor.kernel.functions import KernelFunction
from auctor.kernel.parameters import KernelParameters
from auctor.kernel.points import (
    CalledPoints,
    GivenPoints,
    Points,
    ProductPoints,
    squared_lengths,
    strips,
)
from auctor.kernel.spectrum import check_kernel_matrix
from auctor.kernels.runtime.parallel import available_threads, quiet_blas, run_tasks

#: Variables of the dual up to which the whole matrix is stored, in float64.
EXACT_SIZE = 1000
#: Rounding error of a float32 kernel value, as a share of the tolerance, that needs float64.
ROUNDING_SHARE = 0.01
#: Most rows of kernel ridge regression, which stores the whole matrix in float64 (3.2 GB).
RIDGE_ROWS = 20_000
#: Rows of a chunk of predictions.
PREDICTED_ROWS = 1024
#: Most rows of which the whole kernel is checked for negative eigenvalues (512 MB).
CHECKED_ROWS = 8192


@dataclass(frozen=True, eq=False)
class KernelModel:
    """Scores ``K(x, points) coef + intercept``.

    Parameters
    ----------
    coef : (n_points, k) array
    intercept : (k,) array
    """

    points: Points
    coef: FloatArray
    intercept: FloatArray
    n_threads: int | None = None

    def scores(self, matrix: Any) -> FloatArray:
        """The k scores of every row, (n, k)."""
        n = matrix.shape[0]
        out = np.empty((n, self.intercept.size))
        # Chunks of rows times strips of points; there may be no points at all.
        step = max(1, min(PREDICTED_ROWS, self.points.most_rows))
        coef = self.coef.astype(self.points.dtype)

        def part(start: int) -> None:
            stop = min(start + step, n)
            strip = self.points.against(matrix[start:stop])
            total = np.tile(self.intercept, (stop - start, 1))
            for first, last in strips(self.points.size, stop - start):
                values = np.empty((stop - start, last - first), self.points.dtype)
                strip(first, last, values)
                total += values @ coef[first:last]
            out[start:stop] = total

        with quiet_blas():
            tasks = [partial(part, start) for start in range(0, n, step)]
            run_tasks(tasks, available_threads(self.n_threads))
        return out


def make_points(
    matrix: Any, kernel: KernelFunction | Callable[[Any, Any], Any] | None, tol: float
) -> Points:
    """Points for a kernel function or a callable; with None, for a matrix of kernel values.

    Kernel values are float32 if their rounding error is small beside the tolerance ``tol``.
    """
    if kernel is None:
        return GivenPoints(matrix)
    if not isinstance(kernel, KernelFunction):
        return CalledPoints(matrix, kernel)
    largest = float(squared_lengths(matrix).max(initial=0.0)) * kernel.scale
    small = matrix.shape[0] <= EXACT_SIZE
    rounding = float(np.finfo(np.float32).eps) * largest
    double = small or rounding > ROUNDING_SHARE * tol
    return ProductPoints(matrix, kernel, np.float64 if double else np.float32)


def whole_matrix(points: Points) -> FloatArray:
    """The kernel matrix of the points in float64, symmetric."""
    index = np.arange(points.size)
    K = np.empty((points.size, points.size), points.dtype)
    for start in range(0, points.size, points.most_rows):
        part = slice(start, start + points.most_rows)
        points.against(points.rows(index[part]))(0, points.size, K[part])
    matrix: FloatArray = 0.5 * (K + K.T).astype(np.float64)
    return matrix


def check_definite(points: Points) -> None:
    """Raise `DataError` if a user's kernel is not symmetric or has a negative eigenvalue.

    Of more than `CHECKED_ROWS` points some are checked, evenly spread: a matrix has a negative
    eigenvalue wherever a part of it has one.
    """
    if not isinstance(points, CalledPoints | GivenPoints):
        return
    n, count = points.size, min(points.size, CHECKED_ROWS)
    index = np.arange(count) * n // count
    part = points if count == n else points.only(index)
    # Of single precision for rows of single precision, whose rounding errors are no eigenvalues.
    K = np.empty((count, count), np.float32 if points.matrix.dtype == np.float32 else np.float64)
    part.against(part.rows(np.arange(count)))(0, count, K)
    check_kernel_matrix(K)


def classification(signs: FloatArray, caps: FloatArray) -> Dual:
    """Dual of the hinge loss: labels as targets, variables with the sign of their label."""
    positive = signs > 0.0
    low, high = np.where(positive, 0.0, -caps), np.where(positive, caps, 0.0)
    return Dual(signs, low, high, np.arange(signs.size))


def regression(y: FloatArray, caps: FloatArray, epsilon: float, shift: float) -> Dual:
    """Dual of the epsilon-insensitive loss with target ``y + shift``: two variables per row."""
    target = np.concatenate((y + shift - epsilon, y + shift + epsilon))
    none = np.zeros_like(caps)
    rows = np.arange(y.size)
    return Dual(
        target, np.concatenate((none, -caps)), np.concatenate((caps, none)), np.tile(rows, 2)
    )


def solve_dual(points: Points, dual: Dual, params: KernelParameters) -> DualSolution:
    """Solve the dual: with the whole matrix if there are few variables, otherwise on blocks."""
    with quiet_blas():
        if dual.target.size <= EXACT_SIZE:
            tol = min(EXACT_TOL * max(1.0, float(np.abs(dual.target).max())), params.tol)
            solution = solve_matrix(whole_matrix(points), dual, tol, EXACT_ROUNDS)
            if solution.violation <= params.tol:
                return replace(solution, converged=True)
        threads = available_threads(params.n_threads)
        cache = RowCache(points, params.cache_bytes, threads)
        return solve_blocks(cache, dual, params.tol, params.max_iter)


def solve_ridge(points: Points, y: FloatArray, caps: FloatArray) -> tuple[FloatArray, float, float]:
    """Kernel ridge regression with an unpenalised intercept: coefficients, intercept and gap.

    Minimises ``b'Kb/2 + sum caps r^2/2`` with ``r = y - K b - intercept``: then ``r = b / caps``.
    """
    if y.size > RIDGE_ROWS:
        raise DataError(
            f"at most {RIDGE_ROWS:,} rows for the squared loss, whose matrix it factorises; got "
            f"{y.size:,}. Use `loss=`, or fewer rows."
        )
    K = whole_matrix(points)
    # (K + diag(1/caps)) b = y - intercept, with sum b = 0.
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += 1.0 / caps
    factor = cho_factor(shifted, overwrite_a=True, check_finite=False)
    # Solve for ones and for y; sum b = 0 gives the intercept.
    both = cho_solve(factor, np.column_stack((np.ones(y.size), y)), check_finite=False)
    intercept = float(both[:, 1].sum() / both[:, 0].sum())
    beta = both[:, 1] - intercept * both[:, 0]
    smooth = K @ beta
    residual = y - smooth - intercept
    primal = 0.5 * beta @ smooth + 0.5 * caps @ residual**2
    dual = y @ beta - 0.5 * beta @ smooth - 0.5 * (beta**2 / caps).sum()
    return beta, intercept, max(0.0, float(primal - dual))


def combine(
    points: Points,
    parts: Sequence[tuple[IntArray, FloatArray]],
    intercepts: Sequence[float],
    n_threads: int | None,
) -> tuple[KernelModel, IntArray]:
    """One model of several score functions, on the union of their support vectors."""
    support = np.unique(np.concatenate([index[beta != 0.0] for index, beta in parts]))
    coef = np.zeros((support.size, len(parts)))
    for k, (index, beta) in enumerate(parts):
        used = beta != 0.0
        coef[np.searchsorted(support, index[used]), k] = beta[used]
    kept = points.only(support)
    return KernelModel(kept, coef, np.asarray(intercepts, dtype=np.float64), n_threads), support
