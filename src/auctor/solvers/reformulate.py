"""`Reformulated`: solves an equivalent problem and maps its point and lower bound back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.needs import NOTHING, Need
from auctor.solvers.base import Solver, State
from auctor.solvers.relay import Choice, chosen


class Equivalent(Protocol):
    """A problem with the same minimum as another, up to a known change of scale."""

    @property
    def problem(self) -> Problem:
        """The equivalent problem."""

    @property
    def pass_cost(self) -> float:
        """Cost of a pass over the equivalent problem's data, in passes over the given data.

        Used only if the two problems have separate counters of passes.
        """

    def start(self, w: FloatArray) -> FloatArray:
        """Parameters of the equivalent problem for those of the given one."""

    def back(self, inner: State) -> State:
        """A state of the equivalent problem as one of the given problem."""


@dataclass(frozen=True)
class ReformulatedState(State):
    """The equivalent problem (``form``), its solver, and that solver's state (``inner``)."""

    form: Equivalent
    solver: Solver[Any]
    inner: State

    def learned(self) -> object:
        """What the solver of the equivalent problem has learned."""
        return self.inner.learned()

    def resumed(self, learned: object) -> Self:
        """The state with what the solver of the equivalent problem had learned."""
        return replace(self, inner=self.inner.resumed(learned))


class Reformulated:
    """Take steps on an equivalent problem, and map the point and the lower bound back.

    Parameters
    ----------
    make : callable
        ``make(problem)`` gives an `Equivalent`.
    solver : Solver, or a function of a problem that chooses one
        Solver of the equivalent problem.

    Notes
    -----
    A preset is a subclass with a method ``make``, a property ``inner_solver`` and ``needs``.
    """

    needs: Need = NOTHING

    def __init__(self, make: Callable[[Problem], Equivalent], solver: Choice) -> None:
        self._make, self._solver = make, solver

    @property
    def inner_solver(self) -> Choice:
        """Solver of the equivalent problem."""
        return self._solver

    def make(self, problem: Problem) -> Equivalent:
        """The equivalent problem."""
        return self._make(problem)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ReformulatedState:
        """State at the starting point."""
        form = self.make(problem)
        solver = chosen(self.inner_solver, form.problem)
        inner: State = solver.init(form.problem, form.start(w), rng)
        return _shown(ReformulatedState(inner.point, form, solver, inner))

    def step(self, problem: Problem, state: ReformulatedState) -> ReformulatedState:
        """One step on the equivalent problem."""
        form = state.form
        before = form.problem.counts.passes
        inner: State = state.solver.step(form.problem, state.inner)
        # Separate counters: convert the passes to passes over the given data.
        if form.problem.counts is not problem.counts:
            problem.counts.passes += form.pass_cost * (form.problem.counts.passes - before)
        return _shown(replace(state, inner=inner))


def _shown(state: ReformulatedState) -> ReformulatedState:
    """The state with point and bounds of the inner state, mapped back to the given problem."""
    here = state.form.back(state.inner)
    return replace(
        state, point=here.point, dual=here.dual, lower=here.lower, stalled=state.inner.stalled
    )
