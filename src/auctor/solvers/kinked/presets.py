"""Relays of cutting planes and smoothing, which return a model other than w = 0 if they can."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from auctor.core.needs import Need
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import Role, choose
from auctor.solvers.kinked.cutting_planes import Bmrm, BmrmState, resumed
from auctor.solvers.kinked.smoothing import (
    Continuation,
    SmoothingState,
    null_unit,
    smoothed_problem,
)
from auctor.solvers.relay import Relay, RelayState, Stage

#: Cuts after which, if the zero model is still the best point, a point near it is searched for.
#: Source: constants.md: nothing changes from 15 to 60.
TRIES = 30
#: Gap, as a share of the objective, below which that search starts before `TRIES` cuts. Source:
#: constants.md: 0.0025 takes 0.43 times the passes and 0.51 times the CPU seconds (1 case), 0.04
#: changes nothing.
SURE = 0.01
#: Cuts after which smoothing takes over if the best point still is the zero model. Source:
#: constants.md: nothing changes from 50 to 200.
MOST = 100
#: Steps of smoothing after which the cutting planes continue. Set by hand; no case of constants.md
#: reads it.
TURN = 80
#: Smoothing width, in null losses, of the problem whose minimiser gives the direction of a point
#: near the zero model. Source: constants.md: from 1.125 to 3 passes change by less than 4 % (3
#: cases).
DIRECTION_WIDTH = 1.5
#: Most steps of the solve for that direction. Source: constants.md: 5 takes 0.88 times the passes
#: and 0.90 times the CPU seconds (2 cases), 20 changes nothing.
DIRECTION_STEPS = 10
#: Largest rise of the objective above the zero model's, as a share of it, of a point near it.
#: Source: constants.md: from 1e-8 to 1e-4 passes change by less than 1 % (1 case).
ABOVE = 1e-6
#: Smoothing width, in null losses, below which the smoothed F-beta loss costs more than cuts.
#: Source: constants.md: 0.001 takes 1.30 times the passes (3 cases), 0.016 takes 0.96 times the
#: passes and 0.96 times the CPU seconds (3 cases).
NARROW = 4e-3
#: Steps of smoothing after which cuts take over even if the width is above `NARROW`. Source:
#: constants.md: nothing changes from 30 to 120.
SMOOTH_STEPS = 60


def _smoothing(problem: Problem) -> Solver[Any]:
    """Centred smoothing if the loss supports it, otherwise plain smoothing."""
    return choose(problem, role=Role.SMOOTHING)


# --- cutting planes that do not end in the zero model -----------------------------------------


@dataclass(frozen=True)
class ModelCutsState(State):
    """State of the cutting planes, and a point near the zero model if that is their best point.

    ``steps`` counts the cuts.
    """

    cuts: BmrmState
    near_zero: Point | None
    rng: np.random.Generator
    steps: int = 0

    @property
    def is_zero(self) -> bool:
        """Whether the best point of the cuts is the zero model: all coefficients are 0."""
        best = self.cuts.point
        return not best.problem.coef(best.w).any()


@dataclass(frozen=True)
class ModelCuts:
    """Cutting planes that do not end in the zero model, which gives all rows the same score.

    If the zero model is optimal, a short step from it towards the minimiser of a widely smoothed
    loss ranks the rows, and its objective is within any tolerance of the minimum. Until such a
    point is found the lower bound is withheld, so that the run does not stop at the zero model.
    """

    needs = Bmrm.needs | Need.SMOOTHABLE_LOSS

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ModelCutsState:
        """State at the starting point."""
        cuts = Bmrm().init(problem, w, rng)
        return _shown(problem, ModelCutsState(cuts.point, cuts, None, rng))

    def step(self, problem: Problem, state: ModelCutsState) -> ModelCutsState:
        """One cut, and a point near the zero model if that seems to be optimal."""
        cuts = Bmrm().step(problem, state.cuts)
        state = replace(state, cuts=cuts, steps=state.steps + 1)
        # The zero model seems optimal: search once for a point near it that ranks the rows.
        sure = cuts.gap <= SURE * abs(cuts.point.value) or state.steps >= TRIES
        if state.is_zero and sure and state.near_zero is None and not cuts.stalled:
            state = replace(state, near_zero=_point_near_zero(problem, cuts.point, state.rng))
        return _shown(problem, state)


def _shown(problem: Problem, state: ModelCutsState) -> ModelCutsState:
    """The state with the point and the lower bound that `minimise` reads."""
    cuts, lower = state.cuts, state.cuts.lower
    point = state.near_zero if state.near_zero is not None and state.is_zero else cuts.point
    if state.is_zero and state.near_zero is None:
        # Withhold the bound of the cuts: the infimum of the loss holds for every penalty.
        lower = problem.loss.infimum(problem.data.target)
    return replace(state, point=point, lower=lower, stalled=cuts.stalled)


def _point_near_zero(problem: Problem, zero: Point, rng: np.random.Generator) -> Point | None:
    """A point near the zero model, in the direction of the minimiser of a widely smoothed loss."""
    # A few steps on the widely smoothed problem give the direction.
    smoothed = smoothed_problem(problem, DIRECTION_WIDTH * null_unit(problem))
    solver = choose(smoothed, role=Role.SMOOTHED)
    state = solver.init(smoothed, zero.w, rng)
    for _ in range(DIRECTION_STEPS):
        state = solver.step(smoothed, state)
        if state.stalled:
            break
    change, scores = state.point.w - zero.w, state.point.scores - zero.scores
    # Shorten the step until the objective is within ABOVE of the zero model's.
    share = 1.0
    while share > ABOVE * ABOVE:
        point = problem.evaluate(zero.w + share * change, scores=zero.scores + share * scores)
        if point.value <= zero.value + ABOVE * abs(zero.value) and problem.coef(point.w).any():
            return point
        share *= 0.25
    return None


# --- cuts, then smoothing if they only find the zero model --------------------------------------


@dataclass(frozen=True)
class CutsFirst(Relay):
    """Cutting planes first; smoothing if their best point stays the zero model.

    The minimum of a max-margin loss may be at the zero model or near it. If the cuts neither find a
    better point nor soon prove that the zero model is optimal, a smoothed solve takes over; if that
    does not end soon either, the cuts continue from its point. If the cuts find better points than
    the zero model, this is `Bmrm` until it stalls.

    Parameters
    ----------
    solver : Solver, optional
        Solver that smooths the loss; by default `ProximalPoint` if the smoothing can be centred,
        otherwise `Continuation`.
    """

    solver: Solver[Any] | None = None

    needs = ModelCuts.needs

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Cuts, smoothing, the same cuts again, and smoothing after those stall."""
        smoothing = self.solver or _smoothing
        return (
            Stage(ModelCuts(), until=_no_model),
            Stage(smoothing, until=_turn_is_over, begin=_from_null_if_zero),
            Stage(ModelCuts(), begin=_cut_again),
            Stage(smoothing),
        )


def _no_model(problem: Problem, state: RelayState) -> bool:
    """Whether the best point is still the zero model after `MOST` cuts."""
    cuts = cast(ModelCutsState, state.inner)
    return cuts.is_zero and cuts.steps >= MOST


def _from_null_if_zero(problem: Problem, solver: Solver[Any], state: RelayState) -> State:
    """Start smoothing at the best point of the cuts, or at the null model if that is zero."""
    cuts = cast(ModelCutsState, state.inner)
    w = problem.start() if cuts.is_zero else cuts.point.w
    return cast(State, solver.init(problem, w, state.rng))


def _turn_is_over(problem: Problem, state: RelayState) -> bool:
    """Whether smoothing has taken `TURN` steps, and the cuts before it had not stalled."""
    return state.steps >= TURN and not state.ended[-1].stalled


def _cut_again(problem: Problem, solver: Solver[Any], state: RelayState) -> State:
    """Continue the cuts from the best point of the smoothed solve."""
    before = cast(ModelCutsState, state.ended[-1])
    again = resumed(problem, before.cuts, state.point)
    return _shown(problem, replace(before, cuts=again))


# --- smoothing down to a width, then cuts -------------------------------------------------------


@dataclass(frozen=True)
class PlanesState(State):
    """A smoothed solve and its planes, each the slope and offset of a bound below the loss."""

    smooth: SmoothingState
    planes: tuple[tuple[FloatArray, float], ...] = ()


@dataclass(frozen=True)
class PlanesOfSmoothing:
    """`Continuation` that stores the gradients of its smoothed losses as cutting planes."""

    needs = Need.SMOOTHABLE_LOSS

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> PlanesState:
        """State at the starting point."""
        smooth = Continuation().init(problem, w, rng)
        return PlanesState(smooth.point, smooth, dual=smooth.dual)

    def step(self, problem: Problem, state: PlanesState) -> PlanesState:
        """One step of the smoothed solve, and the plane of its gradient."""
        smooth = Continuation().step(problem, state.smooth)
        return replace(
            state,
            point=smooth.point,
            dual=smooth.dual,
            stalled=smooth.stalled,
            smooth=smooth,
            planes=state.planes + _plane(problem, smooth.dual),
        )


@dataclass(frozen=True)
class SmoothFirst(Relay):
    """`Continuation` while the smoothing is wide, then `CutsFirst`.

    For losses whose smoothed form costs more at smaller widths, such as F-beta. The gradients of
    the smoothed losses give planes below the exact loss, with which the cutting planes start.
    """

    needs = CutsFirst.needs

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Smoothing, then cuts."""
        return (
            Stage(PlanesOfSmoothing(), until=_narrow),
            Stage(CutsFirst(), begin=_with_planes),
        )


def _narrow(problem: Problem, state: RelayState) -> bool:
    """Whether w beats the null model, and the width or the number of steps is at its limit."""
    smooth = cast(PlanesState, state.inner).smooth
    wide = smooth.width >= NARROW * null_unit(problem) and state.steps < SMOOTH_STEPS
    # From a point no better than the null model, the cuts would end in the null model.
    return not wide and smooth.point.value < problem.null.loss


def _with_planes(problem: Problem, solver: Solver[Any], state: RelayState) -> State:
    """Start the cuts with the planes of the smoothed solve."""
    begun: RelayState = solver.init(problem, state.point.w, state.rng)
    bundle = cast(ModelCutsState, begun.inner).cuts.bundle
    for plane in cast(PlanesState, state.inner).planes:
        bundle.add(*plane)
    return begun


def _plane(problem: Problem, dual: Point | None) -> tuple[tuple[FloatArray, float], ...]:
    """Slope (in the coefficients) and offset of a plane below the loss for every intercept.

    Empty if the dual point gives none.
    """
    if dual is None or dual.imbalance or not dual.exact:
        return ()
    offset = dual.tangent
    if offset is None:
        offset = dual.loss - float(dual.dscores @ dual.scores)
    rounding = ROUNDING * (abs(dual.loss) + float(np.abs(dual.dscores) @ np.abs(dual.scores)))
    return ((problem.coef(dual.gradient), offset - rounding),)
