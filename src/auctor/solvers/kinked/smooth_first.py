"""Smoothing while it is wide, cutting planes for the last digits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.kinked.continuation import Continuation, ContinuationState, null_unit
from auctor.solvers.kinked.cuts_first import CutsFirst, CutsFirstState

#: Width, in null losses, below which cutting planes take over, and steps after which they do.
NARROW, STEPS = 4e-3, 60
#: What a plane gives up for the rounding of its offset.
ROUNDING = 1e-14


@dataclass(frozen=True)
class SmoothFirstState:
    """The smoothed solve, the planes that it has found, and then the cuts."""

    smooth: ContinuationState
    planes: tuple[tuple[FloatArray, float], ...] = ()
    steps: int = 0
    cuts: CutsFirstState | None = None

    @property
    def at_work(self) -> ContinuationState | CutsFirstState:
        """Whoever is at work."""
        return self.smooth if self.cuts is None else self.cuts

    @property
    def point(self) -> Point:
        """The point of whoever is at work."""
        return self.at_work.point

    @property
    def dual(self) -> Point | None:
        """Of a smoothed solve."""
        return self.at_work.dual

    @property
    def lower(self) -> float | None:
        """Of the cuts."""
        return None if self.cuts is None else self.cuts.lower

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.cuts is not None and self.cuts.stalled


@dataclass(frozen=True)
class SmoothFirst:
    """`Continuation` while the smoothing is wide, `CutsFirst` from there on.

    For losses whose smoothed form costs more the narrower it is, as that of F-beta does, which
    mixes more and more levels. The gradients of the smoothed losses are planes below the exact
    loss, with which the cutting planes start.
    """

    needs = CutsFirst.needs

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SmoothFirstState:
        """State at the starting point."""
        return SmoothFirstState(Continuation().init(problem, w, rng))

    def step(self, problem: Problem, state: SmoothFirstState) -> SmoothFirstState:
        """One step of whoever is at work, and perhaps a change of hands."""
        if state.cuts is not None:
            return replace(state, cuts=CutsFirst().step(problem, state.cuts))
        smooth = Continuation().step(problem, state.smooth)
        planes = state.planes + _plane(problem, smooth.dual)
        state = replace(state, smooth=smooth, planes=planes, steps=state.steps + 1)
        wide = smooth.width >= NARROW * null_unit(problem) and state.steps < STEPS
        # Where no model beats the empty one, cuts would end in that.
        if not smooth.stalled and (wide or smooth.point.value >= problem.null.loss):
            return state
        cuts = CutsFirst().init(problem, smooth.point.w, smooth.rng)
        for plane in state.planes:
            cuts.cuts.bundle.add(*plane)
        return replace(state, planes=(), cuts=cuts)


def _plane(problem: Problem, dual: Point) -> tuple[tuple[FloatArray, float], ...]:
    """Slope and offset in the column weights of a plane below the loss, whatever the intercept."""
    if dual.imbalance or not dual.exact:
        return ()
    offset = dual.tangent
    if offset is None:
        offset = dual.loss - float(dual.dscores @ dual.scores)
    rounding = ROUNDING * (abs(dual.loss) + float(np.abs(dual.dscores) @ np.abs(dual.scores)))
    return ((problem.coef(dual.gradient), offset - rounding),)
