"""What stochastic solvers share: batches of rows, epochs, step sizes and their range test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.needs import Need
from auctor.core.result import Counts
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.base import State
from auctor.solvers.lbfgs import Memory

#: Step sizes of a range test, as powers of four of its unit, one over the mean squared row.
RANGE = range(-4, 6)
#: Most batches that a trial of the range test takes.
RANGE_BATCHES = 20
#: Factor of the step after an epoch of full batches that lowered the objective (bold driver).
BOLD = 1.2
#: Share of its first value below which a step can no longer move anything.
LEAST_STEP = 1e-12


class Batches:
    """Random rows of a problem as problems of their own, each row once in a pass.

    Weighted rows count by their weight in the batch.
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
        """Rows with weight."""
        return int(self._rows.size)

    def draw(self, size: int) -> Problem:
        """The next rows of a random order; all of them are the problem itself."""
        if size >= self.size:
            return self.problem
        if self._order.size < size:
            self._order = self._rng.permutation(self._rows)
        index, self._order = np.sort(self._order[:size]), self._order[size:]
        p, counts = self.problem, Counts()
        self._drawn.append((counts, size / p.data.n_rows))
        return p.on_rows(index, counts)

    def work(self) -> float:
        """Passes over the data since the last call, those on some rows as their share."""
        total = sum(share * counts.passes for counts, share in self._drawn)
        self._drawn.clear()
        return total


@dataclass
class Walk:
    """The moving part of a solver: parameters, steps taken, and what its rule remembers.

    Attributes
    ----------
    w : (p,) array
    k : int
        Steps taken.
    v, u : (p,) array
        Velocity or first moment; second moment, or the point before.
    size : float
        Steps since it was last at rest, or the sequence of Nesterov's second form.
    pairs : Memory, optional
        Curvature of a quasi-Newton method.
    """

    w: FloatArray
    v: FloatArray
    u: FloatArray
    k: int = 0
    size: float = 1.0
    pairs: Memory | None = None

    @classmethod
    def at(cls, w: FloatArray, k: int = 0, pairs: Memory | None = None) -> Walk:
        """At rest."""
        return cls(w.copy(), np.zeros_like(w), np.zeros_like(w), k, pairs=pairs)


@dataclass(frozen=True)
class StochasticState(State):
    """The point after the last epoch, the walk, the batches, their size and the step."""

    walk: Walk
    batches: Batches
    batch: int
    step: float
    first: float


def gradient_at(problem: Problem, w: FloatArray) -> FloatArray:
    """Gradient of the objective on some rows."""
    return problem.total_gradient(problem.evaluate(w))


class Stochastic(ABC):
    """Epochs of steps on batches.

    Three schedules of the step: ``"constant"``; ``"harmonic"``, ``step / (1 + k / decay)`` at step
    k; and ``"halving"``, which after an epoch that does not lower the objective goes back, doubles
    the batch and, once it holds all rows, halves the step. The last one converges; a constant step
    ends at a floor that is proportional to it.
    """

    step_size: float | None
    batch: int
    schedule: str
    decay: float

    needs: ClassVar[Need] = Need.SMOOTH_LOSS | Need.ROW_LOSS | Need.SMOOTH_PENALTY | Need.ROWS

    def __post_init__(self) -> None:
        who = type(self).__name__
        if self.step_size is not None:
            check_real(who, "step_size", self.step_size, low=0.0, open_low=True)
        check_int(who, "batch", self.batch, low=1)
        check_choice(who, "schedule", self.schedule, ("halving", "constant", "harmonic"))
        check_real(who, "decay", self.decay, low=0.0, open_low=True)

    @abstractmethod
    def advance(self, batches: Batches, walk: Walk, batch: int, step: float) -> None:
        """One step of the walk, in place."""

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> StochasticState:
        """State at the starting point, with a step by the range test unless it is given."""
        point = problem.evaluate(w)
        batches, batch = Batches(problem, rng), min(self.batch, problem.data.n_rows)
        step = self.step_size
        if step is None:
            step = self.range_test(batches, w) if np.isfinite(point.value) else 1.0
        return StochasticState(point, Walk.at(w), batches, batch, step, step)

    def range_test(self, batches: Batches, w: FloatArray) -> float:
        """The step after which some batches leave the lowest objective on as many rows."""
        problem = batches.problem
        unit = 1.0 / max(float(problem.column_squares.sum()) + float(problem.ridge.max()), 1e-300)
        rows = min(RANGE_BATCHES * self.batch, batches.size)
        judge = batches.draw(rows)
        tried = {}
        for power in RANGE:
            step, walk = unit * 4.0**power, Walk.at(w)
            with np.errstate(all="ignore"):
                for _ in range(max(1, rows // self.batch)):
                    self.advance(batches, walk, self.batch, step)
                value = judge.evaluate(walk.w).value
            tried[step] = value if np.isfinite(value) else np.inf
        return min(tried, key=lambda step: tried[step])

    def step(self, problem: Problem, state: StochasticState) -> StochasticState:
        """One epoch."""
        walk, batches = state.walk, state.batches
        steps = max(1, batches.size // state.batch)
        with np.errstate(all="ignore"):
            for _ in range(steps):
                walk.k += 1
                decay = 1.0 + walk.k / self.decay if self.schedule == "harmonic" else 1.0
                self.advance(batches, walk, state.batch, state.step / decay)
            problem.counts.passes += batches.work()
            new = problem.evaluate(walk.w)
        if self.schedule != "halving":
            return replace(state, point=new)
        return self._settle(problem, state, new)

    def _settle(self, problem: Problem, state: StochasticState, new: Point) -> StochasticState:
        """The epoch is kept where it lowered the objective; batch and step follow."""
        full = state.batch >= state.batches.size
        if new.value < state.point.value:
            new = problem.with_best_intercept(new)
            state.walk.w = new.w.copy()
            return replace(state, point=new, step=state.step * (BOLD if full else 1.0))
        walk = Walk.at(state.point.w, state.walk.k, state.walk.pairs)
        batch, step = min(2 * state.batch, state.batches.size), state.step
        if full:
            step *= 0.5
        stalled = step < LEAST_STEP * state.first
        return replace(state, walk=walk, batch=batch, step=step, stalled=stalled)
