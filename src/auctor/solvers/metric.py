"""The curvature of losses on pairs, roughly, from a sample of rows: a metric for L-BFGS."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from auctor.core.needs import Need
from auctor.core.types import FloatArray, IntArray, Target
from auctor.hessian import FACTOR_PARAMS, Hessian
from auctor.losses import PairwiseSquare
from auctor.problem import Problem

#: Rows of a sample, at least and for every column.
LEAST, PER_COLUMN = 2500, 12
#: Share of the curvature of the square loss that kinked ones have, and what is added to a diagonal,
#: as a share of it.
SHARE, FLOOR = 0.25, 1e-8


def pair_metric(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Upper Cholesky factor of the penalty's Hessian plus a share of the pairwise square's.

    The latter is of a sample of rows, but has of every column at least what all rows have. None
    where columns are many, pairs are in groups, the loss is not on pairs, or rows are out of reach.
    """
    data = problem.data
    able = not (Need.PAIR_LOSS | Need.ROWS) & ~problem.provides
    if not able or data.target.groups is not None or problem.n_params > FACTOR_PARAMS:
        return None
    size = max(LEAST, PER_COLUMN * problem.n_columns)
    if size >= data.n_rows:
        matrix = _of_square(problem).matrix()
    else:
        rows = data.rows(drawn(data.target, size, rng))
        matrix = _of_square(Problem(problem.loss, problem.penalty, rows)).matrix()
        diagonal = np.diag_indices_from(matrix)
        matrix[diagonal] = np.maximum(matrix[diagonal], _of_square(problem).diagonal())
    return _factor(matrix, problem.ridge)


def _of_square(problem: Problem) -> Hessian:
    square, zeros = problem.with_loss(PairwiseSquare()), np.zeros(problem.n_params)
    return square.hessian(square.evaluate(zeros, scores=np.zeros(problem.data.n_rows)))


def _factor(matrix: FloatArray, ridge: FloatArray) -> FloatArray | None:
    total = SHARE * matrix
    diagonal = np.diag_indices_from(total)
    total[diagonal] += (1.0 - SHARE) * ridge
    entries = total[diagonal]
    total[diagonal] += np.where(entries > 0.0, FLOOR * entries, entries.max() or 1.0)
    try:
        factor: FloatArray = cholesky(total, check_finite=False)
    except LinAlgError:
        return None
    return factor


def drawn(target: Target, size: int, rng: np.random.Generator) -> IntArray:
    """Rows of a sample, as many of each class where there are: a class is weighed by itself."""
    few, many = sorted((side.rows for side in target.classes), key=len)
    n_few = min(few.size, size // 2)
    n_many = min(many.size, size - n_few)
    parts = [rng.choice(few, n_few, replace=False), rng.choice(many, n_many, replace=False)]
    return np.sort(np.concatenate(parts))
