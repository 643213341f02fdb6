"""Cutting planes, and a smoothed solve where they find no better model than none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.minimise import Solver, State
from auctor.problem import Point, Problem
from auctor.solvers.bmrm import Bmrm, BmrmState
from auctor.solvers.continuation import Continuation
from auctor.solvers.proximal_point import ProximalPoint

#: Cuts after which the zero model is no longer expected to be beaten, and a gap, as a share of the
#: objective, that says so earlier.
TRIES, SURE = 30, 0.01


@dataclass(frozen=True)
class CutsFirstState:
    """The cuts, and the smoothed solve once it has begun."""

    problem: Problem
    start: FloatArray
    rng: np.random.Generator
    cuts: BmrmState
    smooth: State | None = None
    tries: int = 0

    @property
    def empty(self) -> bool:
        """Whether the best point of the cuts is a model without columns."""
        return not self.problem.coef(self.cuts.point.w).any()

    @property
    def point(self) -> Point:
        """The point of whoever is at work."""
        return self.cuts.point if self.smooth is None else self.smooth.point

    @property
    def dual(self) -> Point | None:
        """Of the smoothed solve."""
        return None if self.smooth is None else self.smooth.dual

    @property
    def lower(self) -> float | None:
        """Of the cuts, kept back while they have no model: such a one shall not be the answer."""
        if self.smooth is not None:
            return getattr(self.smooth, "lower", None)
        if self.empty:
            return self.problem.loss.infimum(self.problem.data.target)
        return self.cuts.lower

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.smooth is not None and self.smooth.stalled


@dataclass(frozen=True)
class CutsFirst:
    """Cutting planes while they find models; smoothing where the best they find is none.

    A max-margin loss may be lowest at the zero model, or so close to it that nothing is gained by
    another; cutting planes then return zeros, which rank nothing. A smoothed solve comes within
    the tolerance of the same minimum with a direction to rank by. Where the cuts find a model they
    need fewer passes than smoothing, unless the penalty is weak.

    Parameters
    ----------
    solver : Solver, optional
        Of smoothed problems; by default `ProximalPoint` where the smoothing can be centred, else
        `Continuation`.
    """

    solver: Solver[Any] | None = None

    needs = Bmrm.needs | Need.SMOOTHABLE_LOSS

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> CutsFirstState:
        """State at the starting point."""
        return CutsFirstState(problem, w, rng, Bmrm().init(problem, w, rng))

    def step(self, problem: Problem, state: CutsFirstState) -> CutsFirstState:
        """One step of whoever is at work, and perhaps a change of hands."""
        if state.smooth is not None:
            return replace(state, smooth=self._smoothing(problem).step(problem, state.smooth))
        cuts = Bmrm().step(problem, state.cuts)
        state = replace(state, cuts=cuts, tries=state.tries + 1)
        sure = cuts.gap <= SURE * abs(cuts.point.value) or state.tries >= TRIES
        if not cuts.stalled and not (state.empty and sure):
            return state
        start = state.start if state.empty else cuts.point.w
        return replace(state, smooth=self._smoothing(problem).init(problem, start, state.rng))

    def _smoothing(self, problem: Problem) -> Solver[Any]:
        if self.solver is not None:
            return self.solver
        centred = Need.CENTRED_SMOOTHING in problem.provides
        return ProximalPoint() if centred else Continuation()
