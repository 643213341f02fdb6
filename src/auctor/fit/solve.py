"""Solving the problems of a fit: one for two classes, else one per class or one joint problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from auctor.core.data_capabilities import EVERYTHING
from auctor.core.errors import DataError
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution, Status
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray, Target
from auctor.core.watching import step_callback, tell_stage
from auctor.data import Stacked
from auctor.data.coerce import StoredData
from auctor.fit.exact_metric import check_maximiser, maximise_exact
from auctor.fit.metric import Goal
from auctor.fit.metric_parts import HasOffsets
from auctor.fit.parameters import LinearParameters, generator
from auctor.fit.registry import resolve_penalty
from auctor.losses.softmax import one_hot
from auctor.minimise import minimise
from auctor.penalties import L2, Repeated
from auctor.problem import Problem
from auctor.problem.objective import objective_of
from auctor.solvers import resolve
from auctor.solvers.choose import Role
from auctor.solvers.gaussian.moments import fits, outnumbered
from auctor.solvers.gaussian.shrinkage import shrinkage


class Resume(Protocol):
    """Where the solves of an interrupted fit go on, asked before each solve in turn."""

    def start(self) -> FloatArray | None:
        """Parameters at which the next solve begins; ``None`` for its usual start."""

    def learned(self) -> object:
        """What the solver of the next solve had learned, or ``None``."""


def solve(
    params: LinearParameters,
    problem: Problem,
    start: FloatArray | None = None,
    role: Role = Role.GIVEN,
    resume: Resume | None = None,
) -> Solution:
    """Minimise a problem.

    Parameters
    ----------
    params : LinearParameters
        The solver, its budget and its tolerance.
    start : array, optional
        Coefficients, then the intercept where there is one; ignored if the size is wrong or the
        objective there is not finite.
    role : Role
        Role of the problem in the decision table, if the solver is chosen by it.
    resume : Resume, optional
        Where the solve goes on after an interruption; asked if there is no ``start``.
    """
    learned = None
    if start is None and resume is not None:
        start, learned = resumed(problem, resume.start()), resume.learned()
    elif start is not None and not _fits(problem, start):
        start = None
    return minimise(
        problem,
        resolve(params.solver, problem, role=role),
        w0=start,
        tol=params.tol,
        max_iter=params.max_iter,
        max_seconds=params.max_seconds,
        on_step=step_callback(params.verbose, lambda: problem.tolerance(params.tol)),
        rng=generator(params),
        on_failure="ignore",
        learned=learned,
    )


def _fits(problem: Problem, w: FloatArray) -> bool:
    """Whether w has the size of the problem's parameters and a finite objective."""
    return w.shape == (problem.n_params,) and math.isfinite(problem.evaluate(w).value)


def resumed(problem: Problem, w: FloatArray | None) -> FloatArray | None:
    """The best point of an interrupted solve, which is no worse than where every solve starts."""
    if w is None:
        return None
    null = problem.evaluate(problem.start()).value
    with np.errstate(all="ignore"):
        most = null + ROUNDING * abs(null)
        good = w.shape == (problem.n_params,) and problem.evaluate(w).value <= most
    if not good:
        raise DataError(
            "a point no worse than the model without columns in a checkpoint; got a worse one, or "
            "one of another problem. Start again without the checkpoint."
        )
    return w


def solve_classes(
    params: LinearParameters,
    data: StoredData,
    targets: Sequence[Target],
    goal: Goal,
    previous: Sequence[Solution | None] | None = None,
    resume: Resume | None = None,
) -> list[Solution]:
    """One solution per target; an interrupt before the last target raises KeyboardInterrupt."""
    starts = previous if previous and len(previous) == len(targets) else [None] * len(targets)
    if goal.joint(len(targets)):
        # One problem with the weights of all classes, such as multinomial logistic regression.
        penalty = resolve_penalty(params.penalty, params.strength, params.l1_ratio)
        problem = joint_problem(goal, penalty, data, targets, bool(params.fit_intercept))
        known = [last.coef for last in starts if last is not None and params.warm_start]
        start = np.concatenate(known) if known else None
        solution = solve(params, problem, start, resume=resume)
        return each_class(problem, solution)
    solutions: list[Solution] = []
    for target, last in zip(targets, starts, strict=True):
        check_not_interrupted(solutions)
        if len(targets) > 1:
            tell_stage("class", len(solutions) + 1, len(targets))
        rows = data.with_target(target)
        penalty = penalty_for(params, rows, goal)
        problem = Problem(goal.loss, penalty, rows, fit_intercept=bool(params.fit_intercept))
        start = start_from(params, last, goal.loss)
        if goal.exact:
            # The surrogate's solution is the start of the search on the metric itself.
            check_maximiser(params)
            first = solve(replace(params, solver="auto"), problem, start, resume=resume)
            solutions.append(maximise_exact(params, rows, goal, first))
            continue
        role = role_of(params, rows, goal)
        solutions.append(solve(params, problem, start, role, resume))
    return solutions


def joint_problem(
    goal: Goal, penalty: Penalty, data: StoredData, targets: Sequence[Target], fit_intercept: bool
) -> Problem:
    """The joint problem of all classes, in which every row has a score for each class."""
    assert goal.several is not None
    k = len(targets)
    codes = np.argmax([target.y for target in targets], axis=0)
    target = one_hot(codes, k, targets[0].weight)
    loss = goal.several(k, fit_intercept)
    return Problem(loss, Repeated.of(penalty, k), Stacked(data, target, k), fit_intercept=False)


def class_problems(
    goal: Goal, penalty: Penalty, data: StoredData, targets: Sequence[Target], fit_intercept: bool
) -> list[Problem]:
    """One problem for each target, or a list with the joint problem of all classes."""
    if goal.joint(len(targets)):
        return [joint_problem(goal, penalty, data, targets, fit_intercept)]
    return [
        Problem(goal.loss, penalty, data.with_target(one), fit_intercept=fit_intercept)
        for one in targets
    ]


def each_class(problem: Problem, solution: Solution) -> list[Solution]:
    """One solution per class from that of a joint problem; else a list with the solution."""
    if not isinstance(problem.loss, HasOffsets):
        return [solution]
    scores = problem.data.scores(solution.coef)
    offsets = problem.loss.offsets_at(scores, problem.data.target)
    parts = solution.coef.reshape(offsets.size, -1) + 0.0  # no negative zeros
    pairs = zip(parts, offsets.tolist(), strict=True)
    return [replace(solution, coef=coef, intercept=b) for coef, b in pairs]


def start_at(problem: Problem, solutions: Sequence[Solution]) -> FloatArray | None:
    """Parameter vector of a problem at given solutions; ``None`` if it cannot be a start.

    That is the case if its size is wrong or the objective there is not finite.

    Parameters
    ----------
    problem : Problem
        Of one class against the rest, or the joint problem of all classes.
    solutions : sequence of Solution
        One, or one per class for a joint problem.
    """
    if not solutions:
        return None
    if isinstance(problem.loss, HasOffsets):
        w = np.concatenate([solution.coef for solution in solutions])
    else:
        w = problem.join(solutions[0].coef, solutions[0].intercept)
    fits_problem = w.size == problem.n_params and math.isfinite(problem.evaluate(w).value)
    return w if fits_problem else None


def check_not_interrupted(solutions: Sequence[Solution]) -> None:
    """Raise KeyboardInterrupt if the last solve was interrupted."""
    if solutions and solutions[-1].status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def in_memory(data: Data) -> bool:
    """Whether data have all capabilities, as arrays and sparse matrices in memory do."""
    return EVERYTHING.has(data)


def penalty_for(params: LinearParameters, data: StoredData, goal: Goal) -> Penalty:
    """The penalty of a problem.

    Where a class has fewer rows than columns, surrogates that depend on the sum of the two class
    covariances get at least the ridge of the Ledoit-Wolf shrinkage of that sum.
    """
    penalty = resolve_penalty(params.penalty, params.strength, params.l1_ratio)
    common = not objective_of(goal.loss).ridge_is_variance
    if common and _shrinks(params, data, goal):
        return L2(max(params.strength, shrinkage(data).strength))
    return penalty


def role_of(params: LinearParameters, data: StoredData, goal: Goal) -> Role:
    """Role of a class's problem in the decision table.

    Where a class has fewer rows than columns, each class covariance is shrunk separately
    (Ledoit-Wolf), because the expected error depends on both: a common ridge would shrink the
    covariance of the larger class too much.
    """
    by_class = objective_of(goal.loss).ridge_is_variance
    shrunk = by_class and _shrinks(params, data, goal)
    return Role.SHRUNK if shrunk else Role.GIVEN


def _shrinks(params: LinearParameters, data: StoredData, goal: Goal) -> bool:
    """Whether the surrogate is made of covariances and a class has fewer rows than columns."""
    ridge = isinstance(params.penalty, str) and params.penalty == "l2"
    if not goal.shrinks or not ridge or not in_memory(data):
        return False
    return fits(data) and outnumbered(data)


def start_from(params: LinearParameters, last: Solution | None, loss: Loss) -> FloatArray | None:
    """Start at the last solution under ``warm_start``, else ``None``."""
    if not params.warm_start or last is None:
        return None
    if loss.shift_invariant or not params.fit_intercept:
        return last.coef
    return np.append(last.coef, last.intercept)


def linear_scores(data: StoredData, coef: FloatArray, intercept: FloatArray) -> FloatArray:
    """Scores of every row for each of k coefficient vectors, shape (n, k)."""
    return np.column_stack([data.scores(w, float(b)) for w, b in zip(coef, intercept, strict=True)])


def stacked(solutions: Sequence[Solution]) -> tuple[FloatArray, FloatArray]:
    """Coefficients (k, d) and intercepts (k,) of k solutions."""
    coef = np.vstack([solution.coef for solution in solutions])
    return coef, np.array([solution.intercept for solution in solutions])
