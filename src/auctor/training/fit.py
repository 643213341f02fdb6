"""Solving the problems of a fit: one, or one per class against the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from auctor.core.protocols import Loss, Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray, Target
from auctor.core.watching import step_callback, tell_stage
from auctor.data import Dense, Sparse
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import resolve
from auctor.solvers.gaussian.moments import fits, outnumbered, shrinkage
from auctor.training.exact import check_maximiser, maximise_exact
from auctor.training.metric import Chosen
from auctor.training.parameters import LinearParameters, generator
from auctor.training.registry import resolve_penalty


def solve(
    given: LinearParameters,
    data: Dense | Sparse,
    loss: Loss,
    penalty: Penalty,
    start: FloatArray | None = None,
) -> Solution:
    """Minimise ``loss + penalty`` on the data.

    Parameters
    ----------
    given : LinearParameters
        The solver, its budget and its tolerance.
    data : Dense or Sparse
        With its target.
    loss : Loss
    penalty : Penalty
    start : array, optional
        Coefficients, and the intercept where there is one; ignored if they do not fit the problem.
    """
    problem = Problem(loss, penalty, data, fit_intercept=bool(given.fit_intercept))
    if start is not None and (
        start.shape != (problem.n_params,) or not math.isfinite(problem.evaluate(start).value)
    ):
        start = None
    return minimise(
        problem,
        resolve(given.solver, problem),
        w0=start,
        tol=given.tol,
        max_iter=given.max_iter,
        max_seconds=given.max_seconds,
        on_step=step_callback(given.verbose, lambda: problem.tolerance(given.tol)),
        rng=generator(given),
        on_failure="ignore",
    )


def solve_classes(
    who: str,
    given: LinearParameters,
    data: Dense | Sparse,
    targets: Sequence[Target],
    chosen: Chosen,
    previous: Sequence[Solution | None] | None = None,
) -> list[Solution]:
    """One solution per target; an interrupt before the last leaves no model."""
    starts = previous if previous and len(previous) == len(targets) else [None] * len(targets)
    solutions: list[Solution] = []
    for target, last in zip(targets, starts, strict=True):
        check_not_interrupted(solutions)
        if len(targets) > 1:
            tell_stage("class", len(solutions) + 1, len(targets))
        rows = data.with_target(target)
        penalty = penalty_for(who, given, rows, chosen)
        start = start_from(given, last, chosen.loss)
        if chosen.exact:
            check_maximiser(who, given)
            first = solve(replace(given, solver="auto"), rows, chosen.loss, penalty, start)
            solutions.append(maximise_exact(given, rows, chosen, first))
        else:
            solutions.append(solve(given, rows, chosen.loss, penalty, start))
    return solutions


def check_not_interrupted(solutions: Sequence[Solution]) -> None:
    """Raise if somebody ended the last solve."""
    if solutions and solutions[-1].status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def penalty_for(who: str, given: LinearParameters, data: Dense | Sparse, chosen: Chosen) -> Penalty:
    """The penalty of a problem.

    Surrogates made of covariances get, on data with more columns than rows, at least the ridge
    that shrinks the covariances best (Ledoit-Wolf).
    """
    penalty = resolve_penalty(who, given.penalty, given.strength, given.l1_ratio)
    ridge = isinstance(given.penalty, str) and given.penalty == "l2"
    if chosen.shrinks and ridge and fits(data) and outnumbered(data):
        return L2(max(given.strength, shrinkage(data).strength))
    return penalty


def start_from(given: LinearParameters, last: Solution | None, loss: Loss) -> FloatArray | None:
    """Parameters of the last solution to continue from under ``warm_start``."""
    if not given.warm_start or last is None:
        return None
    if loss.shift_invariant or not given.fit_intercept:
        return last.coef
    return np.append(last.coef, last.intercept)


def linear_scores(data: Dense | Sparse, coef: FloatArray, intercept: FloatArray) -> FloatArray:
    """Scores of every row for every weight vector, shape (n, k)."""
    return np.column_stack([data.scores(w, float(b)) for w, b in zip(coef, intercept, strict=True)])


def stacked(solutions: Sequence[Solution]) -> tuple[FloatArray, FloatArray]:
    """Coefficients (k, d) and intercepts (k,) of some solutions."""
    coef = np.vstack([solution.coef for solution in solutions])
    return coef, np.array([solution.intercept for solution in solutions])
