"""The minimiser of a pairwise loss over the rows in memory, and the choice of its strength.

Columns are first divided by the square root of their standard deviation. The ridge is then a
compromise between a ridge on the original columns and one on standardised columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.rounding import VARIANCE_ROUNDING
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import Dense, Sparse, wrap
from auctor.data.matrices import divided_columns, from_lines
from auctor.losses import BaseLoss, PairwiseHinge, PairwiseLogistic, PairwiseSquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose
from auctor.streaming.memory import KeptRows

#: Pair losses by their names in `MetricClassifier`; the hinge is smoothed.
SURROGATES: dict[str, BaseLoss] = {
    "hinge": PairwiseHinge(width=1.0),
    "squared_hinge": PairwiseSquaredHinge(),
    "logistic": PairwiseLogistic(),
}
#: Strengths to choose from, in units of (mean standard deviation of the columns)^2 / rows.
LEVELS = (3e4, 1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 10.0, 1.0, 0.1, 0.01)
#: Position in `LEVELS` of the first strength: the middle.
START = 5
#: Folds of the cross-validation that chooses a strength.
FOLDS = 3
#: Rows, evenly spaced in the memory, that a choice uses at most.
MAX_JUDGED_ROWS = 12_288
#: With more rows than this a choice tries only the neighbours of the present strength.
NEIGHBOURS_FROM = 1024
#: Tolerance of the weights that are used, relative to the null loss.
SOLVE_TOLERANCE = 1e-4
#: Tolerance of the weights by which a strength is judged.
ROUGH_TOLERANCE = 1e-2
#: Iterations of the solver, at most.
MOST_STEPS = 200
#: Weight of the squared distance of the class means in the spread of a column.
BETWEEN = 0.01


class Scaled(NamedTuple):
    """Rows with only those ``columns`` that vary, divided by ``scale``.

    ``unit`` is the square of the mean standard deviation, the unit of strengths.
    """

    data: Dense | Sparse
    columns: IntArray
    scale: FloatArray
    unit: float


def known(kept: KeptRows) -> bool:
    """Whether both classes have rows."""
    return bool((kept.signed > 0.0).any() and (kept.signed < 0.0).any())


def scaled(kept: KeptRows, age: FloatArray, *, plain: bool) -> Scaled:
    """The rows with scaled columns; with ``plain`` all scales are 1. ``age`` are row weights."""
    weight = np.abs(kept.signed) * age
    even = bool((weight == weight[0]).all())
    target = Target(np.where(kept.signed > 0.0, 1.0, -1.0), None if even else weight)
    matrix = from_lines(kept.lines, kept.signed.size)
    spread, square = _spread(wrap(matrix, target, n_threads=1))
    columns = np.flatnonzero(spread > VARIANCE_ROUNDING * square)
    deviation = np.sqrt(spread[columns])
    unit = float(deviation.mean()) if columns.size else 1.0
    scale = np.ones(columns.size) if plain else np.sqrt(deviation / unit)
    matrix = divided_columns(matrix, columns, scale)
    return Scaled(wrap(matrix, target, n_threads=1), columns, scale, unit**2)


def _spread(data: Dense | Sparse) -> tuple[FloatArray, FloatArray]:
    """Spread and mean square of each column, both summed over the classes.

    The spread is the sum of the class variances plus `BETWEEN` times the squared distance of the
    class means.
    """
    spread, square, middle = np.zeros(data.n_columns), np.zeros(data.n_columns), []
    for rows in data.target.classes:
        share = np.zeros(data.n_rows)
        share[rows.rows] = rows.share
        mean, own = data.gradient(share), data.square_gradient(share)
        spread += np.maximum(own - mean * mean, 0.0)
        square += own
        middle.append(mean)
    return spread + BETWEEN * (middle[0] - middle[1]) ** 2, square


def solve(
    rows: Scaled, loss: BaseLoss, strength: float, start: FloatArray, tol: float
) -> FloatArray:
    """Weights of the scaled columns, by a solve from ``start``."""
    if not rows.columns.size:
        return start
    problem = Problem(loss, L2(strength), rows.data, fit_intercept=False)
    solver = choose(problem)
    solution = minimise(
        problem, solver, w0=start, tol=tol, max_iter=MOST_STEPS, on_failure="ignore", rng=0
    )
    return solution.coef


def rank(rows: Scaled, loss: BaseLoss, strength: float, start: FloatArray) -> FloatArray:
    """Weights of all original columns, by a solve from ``start``."""
    first = start[rows.columns] * rows.scale
    coef = np.zeros(start.size)
    coef[rows.columns] = solve(rows, loss, strength, first, SOLVE_TOLERANCE) / rows.scale
    return coef


def strength_of(rows: Scaled, level: int) -> float:
    """The strength at a position of `LEVELS`."""
    return 2.0 * LEVELS[level] * rows.unit / rows.data.n_rows


def judge_levels(rows: Scaled, loss: BaseLoss, level: int) -> tuple[range, FloatArray]:
    """Positions in `LEVELS` and their cross-validated AUC.

    With many rows only the neighbours of ``level`` are tried. The AUCs are all zero if a class has
    fewer rows than folds.
    """
    data = rows.data
    if data.n_rows > MAX_JUDGED_ROWS:
        data = data.rows(np.linspace(0, data.n_rows - 1, MAX_JUDGED_ROWS).astype(np.int64))
    near = 1 if data.n_rows > NEIGHBOURS_FROM else len(LEVELS)
    levels = range(max(0, level - near), min(len(LEVELS), level + near + 1))
    # The k-th row of a class is in fold k modulo FOLDS.
    order = np.empty(data.n_rows, dtype=np.int64)
    for own in data.target.classes:
        order[own.rows] = np.arange(own.rows.size)
        if own.rows.size < FOLDS:
            return levels, np.zeros(len(levels))
    judged = [
        _judged(rows._replace(data=data), order % FOLDS == part, loss, levels)
        for part in range(FOLDS)
    ]
    return levels, np.mean(judged, axis=0)


def _judged(rows: Scaled, judges: IntArray, loss: BaseLoss, levels: range) -> FloatArray:
    """Held-out AUC of each level, largest strength first, each solve starting from the last.

    ``judges`` marks the held-out rows.
    """
    learn, test = (rows.data.rows(np.flatnonzero(own)) for own in (~judges, judges))
    others = rows._replace(data=learn)
    w, scores = np.zeros(rows.columns.size), np.zeros(len(levels))
    for k, level in enumerate(levels):
        w = solve(others, loss, strength_of(others, level), w, ROUGH_TOLERANCE)
        hits, weight = test.target.y > 0.0, test.target.weight
        scores[k] = metrics.auc(hits, test.scores(w), weight=weight)
    return scores
