"""Newton steps of several members at once, which read the codes of the columns together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auctor.additive.newton import BlockNewton
from auctor.core.types import Array, FloatArray
from auctor.data import Binned
from auctor.data.codebook import Codebook
from auctor.kernels.additive.sweeps import sweep_columns
from auctor.kernels.runtime.eight import EIGHT
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.problem import Point, Problem
from auctor.problem.memory import WarmStart
from auctor.solvers.base import spec_of
from auctor.solvers.line_search import composite, violations
from auctor.solvers.sparse.path import PathRun
from auctor.solvers.sparse.proximal import feasible

#: Newton steps, at most; what is left is for the solver that certifies each member.
STEPS = 30
#: Sweeps over the columns per Newton step, at most.
SWEEPS = 20
#: Changes of a last sweep, as a share of those of the first.
SHARE = 1e-2


def starts_at(runs: Sequence[PathRun], strength: float, tol: float) -> Sequence[FloatArray | None]:
    """Where paths start at a strength: at points that the members reach together, if they can.

    The solver of each path certifies such a point, or goes on from it.
    """
    starts = [run.start(strength) for run in runs]
    problems = [run.problem for run in runs]
    if not in_lockstep(problems):
        return starts
    whole = [problem.start(w) for problem, w in zip(problems, starts, strict=True)]
    points = advance(problems, whole, tol)
    for run, point in zip(runs, points, strict=True):
        run.memory.warm_start = WarmStart(point.w, point.scores)
    return [point.w for point in points]


def together(
    problems: Sequence[Problem], starts: Sequence[FloatArray | None], tol: float
) -> Sequence[FloatArray | None]:
    """Better starts, that the members reach together, if they can."""
    if not problems or not in_lockstep(problems):
        return starts
    whole = [problem.start(w) for problem, w in zip(problems, starts, strict=True)]
    return [point.w for point in advance(problems, whole, tol)]


def in_lockstep(problems: Sequence[Problem]) -> bool:
    """Whether all problems are on the same codes, with what `advance` needs."""
    first = problems[0]
    data = first.data
    if not isinstance(data, Binned) or BlockNewton.needs & ~first.provides:
        return False
    if data.matrix.uncoded is not None or data.matrix.where is not None:
        return False
    same = all(
        isinstance(problem.data, Binned) and problem.data.matrix is data.matrix
        for problem in problems
    )
    return same and all(isinstance(book, Codebook) for book in data.matrix.books)


def advance(problems: Sequence[Problem], starts: Sequence[FloatArray], tol: float) -> list[Point]:
    """Points of least objective up to ``tol``, or where Newton steps no longer help.

    A step minimises the quadratic model of each member by sweeps over the columns, in which all
    members share the codes, and takes a line search for each.
    """
    with quiet_blas():
        return _advanced(problems, starts, tol)


def _advanced(problems: Sequence[Problem], starts: Sequence[FloatArray], tol: float) -> list[Point]:
    """As `advance`, whatever the threads of BLAS."""
    points = []
    for problem, w in zip(problems, starts, strict=True):
        points.append(problem.with_best_intercept(feasible(problem, w)))
    going = list(range(len(problems)))
    for _ in range(STEPS):
        going = [
            k
            for k in going
            if not problems[k].certificate(points[k]).gap <= problems[k].tolerance(tol)
        ]
        for start in range(0, len(going), EIGHT):
            some = going[start : start + EIGHT]
            for k, direction in zip(some, directions([points[k] for k in some]), strict=True):
                problem, new = problems[k], None
                if direction is not None and direction.any():
                    change = problem.score_change(direction)
                    new = composite(problem, points[k], direction, change, sigma=0.01)
                if new is None:
                    going.remove(k)
                else:
                    points[k] = problem.with_best_intercept(new)
        if not going:
            break
    return points


def directions(points: Sequence[Point]) -> list[FloatArray | None]:
    """Steps of at most eight members to the minimisers of their models; ``None`` without one."""
    problem, count = points[0].problem, len(points)
    data = problem.data
    assert isinstance(data, Binned)
    arrays, n, d = data.matrix.arrays, data.n_rows, data.n_columns
    bounds = arrays.bounds.astype(np.int64)
    r, h = np.zeros((n, EIGHT)), np.zeros((n, EIGHT))
    theta = np.zeros((count, d + 1))  # the last is the intercept
    active = np.zeros((len(data.matrix.books), count), dtype=bool)
    plain = []
    for m, point in enumerate(points):
        curvature = point.problem.loss_at(point.scores).curvature()
        plain.append(curvature.factors is None and not curvature.by_pairs)
        r[:, m], h[:, m] = point.dscores, curvature.diagonal
        theta[m, : point.w.size] = point.w
        moves = (point.w[:d] != 0.0) | (violations(point) > 0.0)
        sums = np.append(0, np.cumsum(moves))[bounds[: len(active) + 1]]
        active[:, m] = sums[1:] > sums[:-1]
    if not any(plain):
        return [None] * count
    before = theta.copy()
    levels: Array = np.ascontiguousarray(np.array(spec_of(problem)))
    sweep_columns(
        data.matrix.words, h, r, data.joint_histograms(h), active, arrays.sizes, arrays.line,
        arrays.centre, arrays.step, arrays.own, levels, theta, problem.has_intercept, SWEEPS, SHARE,
    )  # fmt: skip
    moved = theta - before
    return [moved[m, : point.w.size] if plain[m] else None for m, point in enumerate(points)]
