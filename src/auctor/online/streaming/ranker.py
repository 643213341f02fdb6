"""The minimiser of a pairwise loss over remembered rows, and the strength that suits it.

Columns are divided by the root of their standard deviation first. A penalty on the squares of their
weights then lies between one on the columns as they are, and one on columns of equal variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import Dense, Sparse, wrap
from auctor.data.matrices import divided_columns, from_lines
from auctor.losses import BaseLoss, PairwiseHinge, PairwiseLogistic, PairwiseSquaredHinge
from auctor.minimise import minimise
from auctor.online.streaming.memory import Kept
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose

#: Losses of a pair by the names that `MetricClassifier` has for them; the hinge is rounded.
SURROGATES: dict[str, BaseLoss] = {
    "hinge": PairwiseHinge(width=1.0),
    "squared_hinge": PairwiseSquaredHinge(),
    "logistic": PairwiseLogistic(),
}
#: Strengths to choose from, as multiples of the squared mean deviation of a column over the number
#: of rows.
LEVELS = (3e4, 1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 10.0, 1.0, 0.1, 0.01)
#: Place in `LEVELS` of the strength to start with: the middle. Set by hand.
START = 5
#: Folds of the cross-validation that chooses a strength.
PARTS = 3
#: Rows that it uses at most, taken evenly from the memory: they bound the cost of a choice.
JUDGES = 12_288
#: With more rows a choice moves by one level at most.
SETTLED = 1024
#: Relative gap of weights to keep.
TOLERANCE = 1e-4
#: Relative gap of weights to judge a strength by, which only have to rank.
ROUGH = 1e-2
#: Iterations of the solver, where the tolerance is not met before.
MOST_STEPS = 200
#: A variance below this share of the mean square is rounding.
ROUNDING = 1e-12
#: Share of the squared distance of the class means in the spread of a column.
BETWEEN = 0.01


class Scaled(NamedTuple):
    """Rows whose columns were divided by ``scale``; only ``columns`` of all vary."""

    data: Dense | Sparse
    columns: IntArray
    scale: FloatArray
    unit: float


def known(kept: Kept) -> bool:
    """Whether both classes have rows."""
    return bool((kept.signed > 0.0).any() and (kept.signed < 0.0).any())


def scaled(kept: Kept, age: FloatArray, *, plain: bool) -> Scaled:
    """Rows ready to learn from; with ``plain`` the columns stay as they are."""
    weight = np.abs(kept.signed) * age
    even = bool((weight == weight[0]).all())
    target = Target(np.where(kept.signed > 0.0, 1.0, -1.0), None if even else weight)
    matrix = from_lines(kept.lines, kept.signed.size)
    spread, square = _spread(wrap(matrix, target, n_threads=1))
    columns = np.flatnonzero(spread > ROUNDING * square)
    deviation = np.sqrt(spread[columns])
    unit = float(deviation.mean()) if columns.size else 1.0
    scale = np.ones(columns.size) if plain else np.sqrt(deviation / unit)
    matrix = divided_columns(matrix, columns, scale)
    return Scaled(wrap(matrix, target, n_threads=1), columns, scale, unit**2)


def _spread(data: Dense | Sparse) -> tuple[FloatArray, FloatArray]:
    """Per column: variances of both classes and squared distance of their means; mean squares."""
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
    """Weights of the scaled columns, from a starting point."""
    if not rows.columns.size:
        return start
    problem = Problem(loss, L2(strength), rows.data, fit_intercept=False)
    solver = choose(problem)
    solution = minimise(
        problem, solver, w0=start, tol=tol, max_iter=MOST_STEPS, on_failure="ignore", rng=0
    )
    return solution.coef


def rank(rows: Scaled, loss: BaseLoss, strength: float, start: FloatArray) -> FloatArray:
    """Weights of all columns, from weights to start with."""
    first = start[rows.columns] * rows.scale
    coef = np.zeros(start.size)
    coef[rows.columns] = solve(rows, loss, strength, first, TOLERANCE) / rows.scale
    return coef


def strength_of(rows: Scaled, level: int) -> float:
    """The strength of a level."""
    return 2.0 * LEVELS[level] * rows.unit / rows.data.n_rows


def judge_levels(rows: Scaled, loss: BaseLoss, level: int) -> tuple[range, FloatArray]:
    """Levels, near the given one if rows are many, and their AUC on rows not learned from.

    All zero where rows are too few to tell.
    """
    data = rows.data
    if data.n_rows > JUDGES:
        data = data.rows(np.linspace(0, data.n_rows - 1, JUDGES).astype(np.int64))
    near = 1 if data.n_rows > SETTLED else len(LEVELS)
    levels = range(max(0, level - near), min(len(LEVELS), level + near + 1))
    order = np.empty(data.n_rows, dtype=np.int64)
    for own in data.target.classes:
        order[own.rows] = np.arange(own.rows.size)
        if own.rows.size < PARTS:
            return levels, np.zeros(len(levels))
    judged = [
        _judged(rows._replace(data=data), order % PARTS == part, loss, levels)
        for part in range(PARTS)
    ]
    return levels, np.mean(judged, axis=0)


def _judged(rows: Scaled, judges: IntArray, loss: BaseLoss, levels: range) -> FloatArray:
    """AUC on the judges of weights from the other rows, from the strongest level on."""
    learn, test = (rows.data.rows(np.flatnonzero(own)) for own in (~judges, judges))
    others = rows._replace(data=learn)
    w, found = np.zeros(rows.columns.size), np.zeros(len(levels))
    for k, level in enumerate(levels):
        w = solve(others, loss, strength_of(others, level), w, ROUGH)
        hits, weight = test.target.y > 0.0, test.target.weight
        found[k] = metrics.auc(hits, test.scores(w), weight=weight)
    return found
