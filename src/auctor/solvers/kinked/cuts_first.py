"""Cutting planes, and a smoothed solve where they find no better model than none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.minimise import Solver, State
from auctor.problem import Point, Problem
from auctor.solvers.kinked.continuation import (
    Continuation,
    inner_solver,
    null_unit,
    smoothed_problem,
)
from auctor.solvers.kinked.cutting_planes import Bmrm, BmrmState, first_query
from auctor.solvers.kinked.proximal_point import ProximalPoint

#: Cuts after which the zero model is no longer expected to be beaten, and a gap, as a share of the
#: objective, that says so earlier; cuts after which smoothing takes over, and for how many steps.
TRIES, SURE, MOST, TURN = 30, 0.01, 100, 80
#: Width, in null losses, of the smoothed loss whose minimiser is the direction, and steps to it.
WIDTH, STEPS = 1.5, 10
#: How far above the zero model, as a share of its objective, the direction is followed.
ABOVE = 1e-6


@dataclass(frozen=True)
class CutsFirstState:
    """The cuts, a point beside the zero model where that is their best, and the smoothed solve."""

    problem: Problem
    start: FloatArray
    rng: np.random.Generator
    cuts: BmrmState
    ray: Point | None = None
    smooth: State | None = None
    tries: int = 0
    turns: int = 0

    @property
    def empty(self) -> bool:
        """Whether the best point of the cuts is a model without columns."""
        return not self.problem.coef(self.cuts.point.w).any()

    @property
    def point(self) -> Point:
        """The point of whoever is at work."""
        if self.smooth is not None:
            return self.smooth.point
        return self.ray if self.ray is not None and self.empty else self.cuts.point

    @property
    def dual(self) -> Point | None:
        """Of the smoothed solve."""
        return None if self.smooth is None else self.smooth.dual

    @property
    def lower(self) -> float | None:
        """Of the cuts, kept back while the point has no columns: that shall not be the end."""
        if self.smooth is not None:
            return getattr(self.smooth, "lower", None)
        if self.empty and self.ray is None:
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
    another; cutting planes then return zeros, which rank nothing. The minimiser of a widely
    smoothed loss is a direction to rank by, and a short way along it is within any tolerance of the
    zero model, whose bound the cuts go on to prove. Where they cannot soon, a smoothed solve takes
    over; if that does not end soon either, the cuts go on from its point.

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
            smooth = self._smoothing(problem).step(problem, state.smooth)
            state = replace(state, smooth=smooth, turns=state.turns + 1)
            back = state.turns == TURN and not state.cuts.stalled
            return _cut_again(problem, state) if back else state
        cuts = Bmrm().step(problem, state.cuts)
        state = replace(state, cuts=cuts, tries=state.tries + 1)
        if cuts.stalled or (state.empty and state.tries >= MOST and not state.turns):
            start = state.start if state.empty else cuts.point.w
            return replace(state, smooth=self._smoothing(problem).init(problem, start, state.rng))
        sure = cuts.gap <= SURE * abs(cuts.point.value) or state.tries >= TRIES
        if state.empty and sure and state.ray is None:
            return replace(state, ray=_ray(problem, cuts.point, state.rng))
        return state

    def _smoothing(self, problem: Problem) -> Solver[Any]:
        if self.solver is not None:
            return self.solver
        centred = Need.CENTRED_SMOOTHING in problem.provides
        return ProximalPoint() if centred else Continuation()


def _cut_again(problem: Problem, state: CutsFirstState) -> CutsFirstState:
    """Go on with cuts, from the best point of the smoothed solve."""
    query = first_query(problem, state.point)
    best = min(query, state.cuts.best, key=lambda q: q.value)
    known = state.cuts.known and best is state.cuts.best
    cuts = replace(state.cuts, best=best, query=query, known=known)
    return replace(state, smooth=None, cuts=cuts)


def _ray(problem: Problem, empty: Point, rng: np.random.Generator) -> Point | None:
    """A point close to the zero model in the direction of the widely smoothed loss's minimiser."""
    smoothed = smoothed_problem(problem, WIDTH * null_unit(problem))
    solver = inner_solver(problem)
    state = solver.init(smoothed, empty.w, rng)
    for _ in range(STEPS):
        state = solver.step(smoothed, state)
        if state.stalled:
            break
    change, scores = state.point.w - empty.w, state.point.scores - empty.scores
    share = 1.0
    while share > ABOVE * ABOVE:
        point = problem.evaluate(empty.w + share * change, scores=empty.scores + share * scores)
        if point.value <= empty.value + ABOVE * abs(empty.value) and problem.coef(point.w).any():
            return point
        share *= 0.25
    return None
