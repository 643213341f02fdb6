"""What all members of an additive model share: the loss, the rows, and how a problem is solved."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auctor.additive.newton import BlockNewton
from auctor.core.errors import DataError
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray, IntArray, Target
from auctor.core.watching import step_callback
from auctor.data import Stacked
from auctor.data.binned import BinnedMatrix
from auctor.data.coded import CodedShards, SideBySide
from auctor.fit.metric_parts import HasOffsets
from auctor.fit.solve import Resume, resumed
from auctor.losses.smoothed import MovedScores
from auctor.minimise import OnStep, Solver, minimise
from auctor.penalties import Repeated
from auctor.problem import Problem
from auctor.solvers import resolve
from auctor.solvers.base import spec_of

#: Rows as codes, in memory or in shards.
Coded: TypeAlias = BinnedMatrix | CodedShards
#: The same, or two such sets of columns.
Columns: TypeAlias = Coded | SideBySide


class Fold(NamedTuple):
    """Rows that a member is fitted to, and rows that it leaves out."""

    train: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class Task:
    """A loss on rows, with ``times`` scores for each row.

    Parameters
    ----------
    loss : Loss
    target : Target
        Of all ``n * times`` scores.
    times : int
        Number of classes of a joint loss; else 1.
    offset : (n times,) array, optional
        Scores to which those of the model are added.
    fit_intercept : bool
    solver, tol, max_iter
        As in `auctor.minimise`; "auto" is `BlockNewton` where the loss has second derivatives.
    end : float
        Time of `time.perf_counter` at which to stop.
    n_threads : int, optional
    row_weight : float, optional
        Weight that counts as one row; by default the smallest.
    start : sequence of Solution
        Of the members of an earlier fit, for a warm start.
    resume : Resume, optional
        Where the solves of an interrupted fit go on.
    """

    loss: Loss
    target: Target
    times: int = 1
    offset: FloatArray | None = None
    fit_intercept: bool = True
    solver: Any = "auto"
    tol: float = 1e-4
    max_iter: int = 1000
    end: float = float("inf")
    n_threads: int | None = None
    rng: int = 0
    verbose: int = 0
    row_weight: float | None = None
    start: Sequence[Solution | None] = ()
    resume: Resume | None = None

    def begin(self, problem: Problem) -> tuple[FloatArray | None, OnStep | None]:
        """Where a solve goes on after an interruption, and the callback of its steps."""
        if self.resume is None:
            return None, None
        start = resumed(problem, self.resume.start())
        return start, step_callback(0, lambda: problem.tolerance(self.tol))

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.end

    def last(self, k: int, problem: Problem) -> FloatArray | None:
        """The parameters of member k of the last fit for a problem; ``None`` if it has others."""
        solution = self.start[k % len(self.start)] if self.start else None
        count = problem.n_columns // self.times
        coef = None if solution is None else solution.coef.reshape(self.times, -1)
        if solution is None or coef is None or coef.shape[1] < count:
            return None
        return problem.join(coef[:, :count].ravel(), solution.intercept)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.target.n_rows // self.times

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of each row, (n,)."""
        if self.target.weight is None:
            return np.ones(self.n_rows)
        return np.ascontiguousarray(self.target.weight.reshape(-1, self.times)[:, 0])

    @property
    def unit(self) -> float:
        """Weight that counts as one row."""
        if self.row_weight is not None:
            return self.row_weight
        return float(self.weight[self.weight > 0.0].min())

    def per_score(self, rows: IntArray) -> IntArray:
        """Positions of the scores of some rows."""
        if self.times == 1:
            return rows
        return (rows[:, None] * self.times + np.arange(self.times)).ravel()

    def on(self, rows: IntArray | None) -> Task:
        """The task with weight 0 for all rows but some."""
        if rows is None:
            return self
        kept = np.zeros(self.n_rows)
        kept[rows] = self.weight[rows]
        weight = kept if self.times == 1 else np.repeat(kept, self.times)
        return replace(self, target=replace(self.target, weight=weight), row_weight=self.unit)

    def problem(
        self, matrix: Columns, penalty: Penalty, shift: FloatArray | None = None
    ) -> Problem:
        """The problem on coded columns, with scores moved by ``shift`` and the offset."""
        data: Data = matrix.data(self.target, self.n_threads)
        if self.times > 1:
            data = Stacked(data, self.target, self.times)
            penalty = Repeated.of(penalty, self.times)
        loss = self.loss
        if self.offset is not None:
            shift = self.offset if shift is None else shift + self.offset
        if shift is not None:
            loss = MovedScores(loss, shift)
        free = self.fit_intercept and self.times == 1
        return Problem(loss, penalty, data, fit_intercept=free)

    def solver_for(self, problem: Problem, leading: Coded | None = None) -> Solver[Any]:
        """The solver: `BlockNewton` where it can, else that of the decision table."""
        one = isinstance(self.solver, str) and self.solver == "auto" and self.times == 1
        if not one or BlockNewton.needs & ~problem.provides:
            return resolve(self.solver, problem)
        if spec_of(problem).l1[0 if leading is None else leading.arrays.n_params :].any():
            return resolve(self.solver, problem)  # maps with kinks
        return BlockNewton(None if leading is None else leading.data(self.target, self.n_threads))

    def solve(
        self, problem: Problem, w0: FloatArray | None = None, leading: Coded | None = None
    ) -> Solution:
        """Minimise a problem from a start; ``leading`` are its first columns, if not all."""
        left = self.end - time.perf_counter()
        start, on_step = self.begin(problem)
        solution = minimise(
            problem,
            self.solver_for(problem, leading),
            w0=w0 if start is None else start,
            on_step=on_step,
            tol=self.tol,
            max_iter=self.max_iter,
            max_seconds=None if left == float("inf") else max(left, 0.0),
            rng=self.rng,
            on_failure="ignore",
        )
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return solution

    def held_out(self, scores: FloatArray, rows: IntArray) -> float:
        """Weighted mean loss of some rows at the scores of all rows; NaN where it is undefined."""
        at = self.per_score(rows)
        seen = scores[at] if self.offset is None else scores[at] + self.offset[at]
        part = self.target.take(at)
        try:
            self.loss.check_target(part)
        except DataError:  # a loss on pairs, and rows of one class
            return math.nan
        return float(self.loss.value(seen, part))


class Fit(NamedTuple):
    """Parameters of one member: of the coded columns, by score, and the intercepts."""

    coef: FloatArray  # (times, p)
    intercept: FloatArray  # (times,)
    scores: FloatArray  # (n times,), without the offset
    solution: Solution
    twin: Solution | None = None  # of the l1 twin, whose mean with ``solution`` this is


def fit_of(task: Task, problem: Problem, solution: Solution) -> Fit:
    """A solution with its scores of all rows; without those by which its loss is moved."""
    coef = solution.coef.reshape(task.times, -1)
    scores = problem.data.scores(solution.coef, solution.intercept)
    if task.times == 1:
        return Fit(coef, np.array([solution.intercept]), scores, solution)
    loss = problem.loss
    moved = scores
    if isinstance(loss, MovedScores):
        moved, loss = scores + loss.shift, loss.loss
    intercept = np.zeros(task.times)
    if isinstance(loss, HasOffsets):
        intercept = loss.offsets_at(moved, problem.data.target)
    return Fit(coef, intercept, scores + np.tile(intercept, task.n_rows), solution)


def mean_fit(fit: Fit, twin: Fit) -> Fit:
    """The mean of a fit and its l1 twin."""
    return Fit(
        (fit.coef + twin.coef) / 2.0,
        (fit.intercept + twin.intercept) / 2.0,
        (fit.scores + twin.scores) / 2.0,
        fit.solution,
        twin.solution,
    )


def start_of(problem: Problem, fit: Fit | None) -> FloatArray | None:
    """Parameter vector of a problem at a fit."""
    if fit is None:
        return None
    return problem.join(fit.coef.ravel(), float(fit.intercept[0]))


def joined(first: Coded, second: Coded) -> Columns:
    """Coded columns of the same rows, side by side."""
    if isinstance(first, CodedShards):
        assert isinstance(second, CodedShards)
        return first.joined(second)
    assert isinstance(second, BinnedMatrix)
    return first.joined(second)


def derivatives(task: Task, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and curvatures of the loss in the scores, (n, times), in units of one row."""
    total = float(task.weight.sum())
    rows = total / task.unit
    seen = scores if task.offset is None else scores + task.offset
    slope = task.loss.value_grad(seen, task.target)[1]
    if task.loss.order >= 2:
        curve = task.loss.curvature(seen, task.target).diagonal  # type: ignore[attr-defined]
    elif task.times > 1:  # p (1 - p) of a joint log-loss: the slope is p - y
        share = np.repeat(task.weight / total, task.times)
        p = np.divide(slope, share, out=np.zeros_like(slope), where=share > 0.0)
        p += task.target.y > 0.0
        curve = share * p * (1.0 - p)
    else:
        curve = task.target.share
    shape = (task.n_rows, task.times)
    return rows * slope.reshape(shape), rows * curve.reshape(shape)
