"""`Relay`: runs several solvers one after the other, each from the last point of the one before."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np

from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.needs import NOTHING, Need
from auctor.solvers.base import Solver, State

S = TypeVar("S", bound=State)

#: A solver, or a function that chooses one for the problem when its turn comes.
Choice: TypeAlias = Solver[Any] | Callable[[Problem], Solver[Any]]


def chosen(solver: Choice, problem: Problem) -> Solver[Any]:
    """The solver itself, or the one that a function chooses for the problem."""
    return solver(problem) if callable(solver) else solver


@dataclass(frozen=True)
class RelayState(State, Generic[S]):
    """The stage that is active, with the state of its solver.

    Parameters
    ----------
    solver : Solver
        Solver of the active stage.
    inner : State
        State of that solver.
    rng : Generator
        Random numbers of the later stages.
    stage : int
        Number of the active stage, from 0.
    steps : int
        Steps of the active stage.
    gaps : list of float
        Objective less the solver's lower bound after every step of this stage; a step appends to
        it.
    ended : tuple of State
        Last states of the earlier stages, each of its own solver's class.
    """

    solver: Solver[S]
    inner: S
    rng: np.random.Generator
    stage: int = 0
    steps: int = 0
    gaps: list[float] = field(default_factory=list)
    ended: tuple[Any, ...] = ()

    def learned(self) -> object:
        """What the solver of the first stage has learned; later stages begin there again."""
        return self.inner.learned() if self.stage == 0 else None

    def resumed(self, learned: object) -> Self:
        """The state with what the solver of the first stage had learned."""
        return replace(self, inner=self.inner.resumed(learned))


def never(problem: Problem, state: RelayState[Any]) -> bool:
    """Exit condition of a stage that ends only when its solver stalls."""
    return False


def from_last_point(problem: Problem, solver: Solver[S], state: RelayState[Any]) -> S:
    """Start the next solver at the last point."""
    return solver.init(problem, state.point.w, state.rng)


@dataclass(frozen=True)
class After:
    """Ends a stage after a number of steps."""

    steps: int

    def __call__(self, problem: Problem, state: RelayState[Any]) -> bool:
        """Whether the stage has taken these steps."""
        return state.steps >= self.steps


@dataclass(frozen=True)
class Stage(Generic[S]):
    """A solver and the condition that ends its turn.

    Parameters
    ----------
    until : callable
        ``until(problem, state)`` with a `RelayState`; a stall of the solver, or a point that is
        not finite, ends its turn as well. The last stage ignores it.
    begin : callable
        ``begin(problem, solver, state)`` makes the first state of this stage from the last
        `RelayState` of the one before.
    """

    solver: Solver[S] | Callable[[Problem], Solver[S]]
    until: Callable[[Problem, RelayState[S]], bool] = never
    begin: Callable[[Problem, Solver[S], RelayState[Any]], S] = from_last_point


class Relay:
    """Runs solvers one after the other, each from the last point of the one before.

    Notes
    -----
    A preset is a subclass with a property ``stages`` and ``needs`` of its own.

    Examples
    --------
    >>> from auctor.solvers import Lbfgs, Newton
    >>> relay = Relay(Stage(Lbfgs(), until=After(5)), Stage(Newton()))
    >>> [type(stage.solver).__name__ for stage in relay.stages]
    ['Lbfgs', 'Newton']
    """

    needs: Need = NOTHING

    def __init__(self, *stages: Stage[Any]) -> None:
        self._stages = stages
        for stage in stages:
            if not callable(stage.solver):
                self.needs |= stage.solver.needs

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """The stages in the order in which they run."""
        return self._stages

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> RelayState[Any]:
        """State of the first stage at the starting point."""
        solver = chosen(self.stages[0].solver, problem)
        inner = solver.init(problem, w, rng)
        return _shown(RelayState(inner.point, solver, inner, rng))

    def step(self, problem: Problem, state: RelayState[Any]) -> RelayState[Any]:
        """Advance the active stage; move to the next when its exit condition holds."""
        before, stages = state, self.stages
        inner: State = state.solver.step(problem, state.inner)
        # Gaps are recorded for exit conditions that watch their progress.
        gap = math.inf if inner.lower is None else inner.point.value - inner.lower
        state.gaps.append(gap)
        state = _shown(replace(state, inner=inner, steps=state.steps + 1))
        if state.stage + 1 == len(stages):
            return state
        if not math.isfinite(inner.point.value):
            # The solver diverged: the next stage starts from the last finite point.
            return _next(problem, before, stages)
        if inner.stalled or stages[state.stage].until(problem, state):
            return _next(problem, state, stages)
        return state


def _next(
    problem: Problem, state: RelayState[Any], stages: tuple[Stage[Any], ...]
) -> RelayState[Any]:
    """The first state of the next stage."""
    stage = stages[state.stage + 1]
    solver = chosen(stage.solver, problem)
    inner = stage.begin(problem, solver, state)
    ended = (*state.ended, state.inner)
    begun = replace(
        state, solver=solver, inner=inner, stage=state.stage + 1, steps=0, gaps=[], ended=ended
    )
    return _shown(begun)


def _shown(state: RelayState[Any]) -> RelayState[Any]:
    """The state with point, bounds and stall flag copied from the active solver's state."""
    inner = state.inner
    return replace(
        state,
        point=inner.point,
        dual=inner.dual,
        lower=inner.lower,
        violation=inner.violation,
        stalled=inner.stalled,
    )
