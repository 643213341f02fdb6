"""A whole problem over a few columns, minimised in one call."""

from __future__ import annotations

from typing import cast

import numpy as np

from auctor.core.needs import Need
from auctor.core.protocols import PointwiseLoss
from auctor.core.types import Array, IntArray, SeparableSpec
from auctor.kernels.descent import lines
from auctor.kernels.linalg import columns
from auctor.problem import Point, Problem
from auctor.solvers.sparse.models.columns import Store
from auctor.solvers.sparse.models.matrix import dense_lines

#: Multiply-adds of a Newton step up to which one call pays, and what a row costs beside its matrix.
ONE_CALL, ROW_WORK = 1 << 22, 500
#: Newton steps in one call.
STEPS = 10


def in_one_call(problem: Problem, size: int) -> bool:
    """Whether a problem over so many columns is small enough, and its loss compiled.

    Decided on rows that differ and have weight, so that weights are repetitions.
    """
    if size == 0 or Need.POINTWISE_LOSS not in problem.provides:
        return False
    data, most = problem.data, ONE_CALL / (size**2 + ROW_WORK)
    return data.n_rows <= most or problem.n_distinct <= most


def lines_of(problem: Problem, index: IntArray) -> Array:
    """Columns as lines of a dense array; of sparse data only where a path has left columns."""
    store: Store | None = None if problem.kept is None else problem.kept.get(Store)
    if store is None:
        return dense_lines(problem, index)
    out = np.zeros((index.size, problem.data.n_rows))
    columns.spread(*store.columns, index, out)
    return out


def minimise_over(
    problem: Problem,
    point: Point,
    index: IntArray,
    *,
    goal: float,
    least: float,
    sigma: float,
    max_sweeps: int,
) -> Point:
    """The point after Newton steps over the columns ``index``, all others being at 0.

    Ends when about ``goal`` is left to gain, or all violations are below ``least``. The intercept
    is one more line, without a penalty.
    """
    loss, target = cast(PointwiseLoss, problem.loss), problem.data.target
    spec = problem.penalty.separable(problem.n_columns)
    assert spec is not None
    chosen, where = lines_of(problem, index), index
    levels = SeparableSpec(*(level[index] for level in spec))
    if problem.has_intercept:
        chosen = np.vstack([chosen, np.ones(problem.data.n_rows)])
        free = (0.0, 0.0, -np.inf, np.inf)
        levels = SeparableSpec(*map(np.append, levels, free))
        where = np.append(index, problem.n_columns)
    part, scores = point.w[where], point.scores.copy()
    steps = lines.newton_on_lines(
        loss.kind, loss.param, loss.width, chosen, target.y, target.share, *levels,
        part, scores, goal, least, sigma, STEPS, max_sweeps,
    )  # fmt: skip
    problem.counts.passes += 2.0 * steps * chosen.size / max(1, problem.data.n_entries)
    w = np.zeros(problem.n_params)
    w[where] = part
    return problem.centred(problem.evaluate(w, scores=scores))
