"""Approximate curvature of losses on pairs: a preconditioner for L-BFGS."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from auctor.core.capabilities import PAIRED
from auctor.core.data_capabilities import ROWS, SECOND_ORDER
from auctor.core.protocols import Data
from auctor.core.rng import systematic
from auctor.core.types import FloatArray, Target
from auctor.problem import Problem
from auctor.problem.hessian import FACTOR_PARAMS, Hessian
from auctor.problem.needs import Need

#: Curvature of a kinked pair loss as a share of that of the square loss.
SHARE = 0.25
#: Least number of sampled rows; fewer estimate the curvature of all pairs too badly.
LEAST_ROWS = 2500
#: Least number of sampled rows per column.
PER_COLUMN = 12
#: Distinct rows times columns below which plain L-BFGS steps cost less than the preconditioner.
SMALL_WORK = 20_000


def pair_metric(problem: Problem) -> FloatArray | None:
    """Upper Cholesky factor of the penalty's Hessian plus a share of the pairwise square's.

    For many rows the Hessian of the pairwise square is computed on a sample, with each diagonal
    entry raised to that of all rows if lower. None for losses that are not `PairLoss`, pairs in
    groups, many columns, small data, columns whose variance is lost in rounding, and if all
    eigenvalues are alike.
    """
    fits = problem.n_params <= FACTOR_PARAMS and problem.data.target.groups is None
    lacks = (Need.PAIR_LOSS | Need.GRAM | Need.ROWS) & ~problem.provides
    if lacks or not fits or problem.n_distinct * problem.n_columns < SMALL_WORK:
        return None
    # Hessian of the pairwise square, without the ridge, on all or sampled rows.
    rows = _sample(problem)
    whole = rows is problem.data
    sampled = problem if whole else Problem(problem.loss, problem.penalty, rows)
    hessian = _of_square(sampled)
    matrix = hessian.matrix()
    diagonal = np.diag_indices_from(matrix)
    matrix[diagonal] -= problem.ridge
    squares = SECOND_ORDER.of(rows).square_gradient(hessian.row_curvature)
    # No preconditioner if the variance of a column is below this share of its mean square.
    if np.any(matrix[diagonal] < 1e-8 * squares):
        return None
    # A sample may miss rare columns: raise their diagonal to that of all rows.
    if not whole:
        all_rows = _of_square(problem).diagonal() - problem.ridge
        matrix[diagonal] = np.maximum(matrix[diagonal], all_rows)
        problem.counts.passes += sampled.counts.passes * rows.n_rows / problem.data.n_rows
    matrix *= SHARE
    matrix[diagonal] += problem.ridge
    # Sum of squared entries = sum of squared eigenvalues; trace = sum of eigenvalues.
    entries = matrix[diagonal]
    spread = entries.size * float((matrix * matrix).sum())
    # Mean square of the eigenvalues over their squared mean from which a preconditioner is used.
    if spread <= 1.5 * float(entries.sum()) ** 2:
        return None
    # Added to every diagonal entry, as a share of it, so that the Cholesky factor exists.
    matrix[diagonal] += np.where(entries > 0.0, 1e-8 * entries, entries.max())
    try:
        factor: FloatArray = cholesky(matrix, check_finite=False)
    except LinAlgError:
        return None
    return factor


def _of_square(problem: Problem) -> Hessian:
    """Hessian of the pairwise square loss on the same pairs; it does not depend on w."""
    square = problem.with_loss(PAIRED.of(problem.loss).pair_square)
    zeros = np.zeros(problem.n_params)
    return square.hessian(square.evaluate(zeros, scores=np.zeros(problem.data.n_rows)))


def _sample(problem: Problem) -> Data:
    """Systematic sample of the distinct rows, half of each class; all rows if they are few."""
    data, size = ROWS.of(problem.data), max(LEAST_ROWS, PER_COLUMN * problem.n_columns)
    if problem.n_distinct <= size:
        return data
    duplicates, drawn = data.duplicate_rows, []
    for side in data.target.classes:
        share = np.zeros(data.n_rows)
        share[side.rows] = side.share
        drawn.append(systematic(duplicates.total(share), size // 2)[0])
    rows = duplicates.order[duplicates.starts[np.concatenate(drawn)]]
    return data.rows(rows).with_target(Target(np.repeat([1.0, -1.0], size // 2)))
