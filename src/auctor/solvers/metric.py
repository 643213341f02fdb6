"""The curvature of losses on pairs, roughly: a metric for L-BFGS."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.hessian import FACTOR_PARAMS
from auctor.losses import PairwiseSquare
from auctor.problem import Problem

#: Share of the curvature of the square loss that kinked ones have, and what is added to a diagonal,
#: as a share of it.
SHARE, FLOOR = 0.25, 1e-8
#: Rows that differ times columns below which steps take less time than the matrix.
SMALL = 20_000
#: Mean of the squared eigenvalues over the square of their mean below which steps need no metric.
ROUND = 1.5


def pair_metric(problem: Problem) -> FloatArray | None:
    """Upper Cholesky factor of the penalty's Hessian plus a share of the pairwise square's.

    The latter is of a sample where rows are many, but has of every column at least what all rows
    have. None where columns are many, data small, or all eigenvalues alike, where pairs are in
    groups, or the loss is no mean over pairs.
    """
    lacks = (Need.PAIR_LOSS | Need.GRAM) & ~problem.provides
    small = problem.n_distinct * problem.n_columns < SMALL
    if lacks or small or problem.data.target.groups is not None:
        return None
    if problem.n_params > FACTOR_PARAMS:
        return None
    square, zeros = problem.with_loss(PairwiseSquare()), np.zeros(problem.n_params)
    hessian = square.hessian(square.evaluate(zeros, scores=np.zeros(problem.data.n_rows)))
    matrix = hessian.model_matrix()
    diagonal = np.diag_indices_from(matrix)
    matrix[diagonal] = np.maximum(matrix[diagonal], hessian.diagonal() - problem.ridge)
    matrix *= SHARE
    matrix[diagonal] += problem.ridge
    entries = matrix[diagonal]
    if entries.size * float((matrix * matrix).sum()) <= ROUND * float(entries.sum()) ** 2:
        return None
    matrix[diagonal] += np.where(entries > 0.0, FLOOR * entries, entries.max() or 1.0)
    try:
        factor: FloatArray = cholesky(matrix, check_finite=False)
    except LinAlgError:
        return None
    return factor
