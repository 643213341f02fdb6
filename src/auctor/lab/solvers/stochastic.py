"""Base class of stochastic solvers: batches of rows, epochs, step sizes and their range test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.result import Counts
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.lbfgs import Memory

#: Exponents k of the step sizes ``4^k`` over the mean squared row length of a range test.
RANGE = range(-4, 6)
#: Most batches per trial of the range test.
RANGE_BATCHES = 20
#: Factor on the step size after an epoch of full batches that lowered the objective.
BOLD = 1.2
#: Step size, relative to the first, below which the solver has stalled.
LEAST_STEP = 1e-12


class Batches:
    """Random batches of rows as problems, each row once per epoch.

    Rows of positive weight are drawn uniformly; the loss on a batch is their weighted mean.
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self._rng = problem, rng
        weight = problem.data.target.weight
        n = problem.data.n_rows
        self._rows = np.arange(n) if weight is None else np.flatnonzero(weight)
        self._order = self._rows[:0]
        self._drawn: list[tuple[Counts, float]] = []

    @property
    def size(self) -> int:
        """Number of rows of positive weight."""
        return int(self._rows.size)

    def draw(self, size: int) -> Problem:
        """The problem on the next rows of a random order; the whole problem if ``size`` is all."""
        if size >= self.size:
            return self.problem
        if self._order.size < size:
            self._order = self._rng.permutation(self._rows)
        index, self._order = np.sort(self._order[:size]), self._order[size:]
        p, counts = self.problem, Counts()
        self._drawn.append((counts, size / p.data.n_rows))
        return p.on_rows(index, counts)

    def work(self) -> float:
        """Passes over the data since the last call; a batch counts as its share of the rows."""
        total = sum(share * counts.passes for counts, share in self._drawn)
        self._drawn.clear()
        return total


@dataclass
class Iterate:
    """Current parameters of a solver, with the memory of its update rule; steps update it in place.

    Attributes
    ----------
    w : (p,) array
    k : int
        Steps taken.
    v, u : (p,) array
        Velocity or first moment; second moment, or the previous point.
    size : float
        Steps since the last reset, or Nesterov's sequence ``t_k``.
    pairs : Memory, optional
        Curvature pairs of a quasi-Newton method.
    """

    w: FloatArray
    v: FloatArray
    u: FloatArray
    k: int = 0
    size: float = 1.0
    pairs: Memory | None = None

    @classmethod
    def at(cls, w: FloatArray, k: int = 0, pairs: Memory | None = None) -> Iterate:
        """An iterate at w with empty memory."""
        return cls(w.copy(), np.zeros_like(w), np.zeros_like(w), k, pairs=pairs)


@dataclass(frozen=True)
class StochasticState(State):
    """The point after the last epoch, the iterate, the batches, and the step size.

    An epoch updates the iterate and the batches in place. ``batch`` is the number of rows of a
    batch, ``first`` the first step size.
    """

    iterate: Iterate
    batches: Batches
    batch: int
    step: float
    first: float


def gradient_at(problem: Problem, w: FloatArray) -> FloatArray:
    """Gradient of a problem's objective at w; the problem is usually a batch."""
    return problem.total_gradient(problem.evaluate(w))


class Schedule(NamedTuple):
    """How the step size changes.

    ``divisor`` gives the number that divides the step size at step k, for a parameter ``decay``;
    ``undoes`` says whether epochs that do not lower the objective are undone.
    """

    divisor: Callable[[int, float], float]
    undoes: bool


#: Schedules by the name that users type.
SCHEDULES = {
    "halving": Schedule(lambda k, decay: 1.0, undoes=True),
    "constant": Schedule(lambda k, decay: 1.0, undoes=False),
    "harmonic": Schedule(lambda k, decay: 1.0 + k / decay, undoes=False),
}


class Stochastic(ABC):
    """Base class: epochs of steps on batches.

    The step size has three schedules: ``"constant"``; ``"harmonic"``, ``step / (1 + k / decay)`` at
    step k; and ``"halving"``: after an epoch that does not lower the objective it restores the
    point before, doubles the batch and, once a batch holds all rows, halves the step. ``"halving"``
    converges; with a constant step the error stays above a floor proportional to the step.
    """

    step_size: float | None
    batch: int
    schedule: str
    decay: float

    needs: ClassVar[Need] = Need.SMOOTH_LOSS | Need.ROW_LOSS | Need.SMOOTH_PENALTY | Need.ROWS

    @speaks_for_itself
    def __post_init__(self) -> None:
        if self.step_size is not None:
            check_real("step_size", self.step_size, low=0.0, open_low=True)
        check_int("batch", self.batch, low=1)
        check_choice("schedule", self.schedule, tuple(SCHEDULES))
        check_real("decay", self.decay, low=0.0, open_low=True)

    @abstractmethod
    def advance(self, batches: Batches, iterate: Iterate, batch: int, step: float) -> None:
        """Move the iterate by one step, in place."""

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> StochasticState:
        """State at the starting point; the range test sets the step size unless it is given."""
        point = problem.evaluate(w)
        batches, batch = Batches(problem, rng), min(self.batch, problem.data.n_rows)
        step = self.step_size
        if step is None:
            step = self.range_test(batches, w) if np.isfinite(point.value) else 1.0
        return StochasticState(point, Iterate.at(w), batches, batch, step, step)

    def range_test(self, batches: Batches, w: FloatArray) -> float:
        """The step size with the lowest objective on a sample of rows after a few batches."""
        problem = batches.problem
        # Unit of the steps: one over the mean squared row length plus the ridge.
        squares = float(problem.column_squares.sum()) + float(problem.ridge.max())
        unit = 1.0 / max(squares, SMALLEST_DIVISOR)
        rows = min(RANGE_BATCHES * self.batch, batches.size)
        judge = batches.draw(rows)
        tried = {}
        for power in RANGE:
            step, iterate = unit * 4.0**power, Iterate.at(w)
            with np.errstate(all="ignore"):  # too long a step may overflow: it then counts as inf
                for _ in range(max(1, rows // self.batch)):
                    self.advance(batches, iterate, self.batch, step)
                value = judge.evaluate(iterate.w).value
            tried[step] = value if np.isfinite(value) else np.inf
        return min(tried, key=lambda step: tried[step])

    def step(self, problem: Problem, state: StochasticState) -> StochasticState:
        """One epoch."""
        iterate, batches, schedule = state.iterate, state.batches, SCHEDULES[self.schedule]
        steps = max(1, batches.size // state.batch)
        with np.errstate(all="ignore"):
            for _ in range(steps):
                iterate.k += 1
                decay = schedule.divisor(iterate.k, self.decay)
                self.advance(batches, iterate, state.batch, state.step / decay)
            problem.counts.passes += batches.work()
            new = problem.evaluate(iterate.w)
        if not schedule.undoes:
            return replace(state, point=new)
        return self._keep_or_undo(problem, state, new)

    def _keep_or_undo(
        self, problem: Problem, state: StochasticState, new: Point
    ) -> StochasticState:
        """Keep the epoch if it lowered the objective, otherwise undo it; adapt batch and step."""
        full = state.batch >= state.batches.size
        if new.value < state.point.value:
            new = problem.with_best_intercept(new)
            moved = replace(state.iterate, w=new.w.copy())
            step = state.step * (BOLD if full else 1.0)
            return replace(state, point=new, iterate=moved, step=step)
        iterate = Iterate.at(state.point.w, state.iterate.k, state.iterate.pairs)
        batch, step = min(2 * state.batch, state.batches.size), state.step
        if full:
            step *= 0.5
        stalled = step < LEAST_STEP * state.first
        return replace(state, iterate=iterate, batch=batch, step=step, stalled=stalled)
