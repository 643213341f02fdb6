"""Relays of cutting planes and smoothing: models where there are any, a direction where not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from auctor.core.needs import Need
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

#: Cuts after which the zero model is no longer expected to be beaten, and a direction is looked
#: for.
TRIES = 30
#: Or a gap below this share of the objective, which says so earlier.
SURE = 0.01
#: Cuts after which smoothing takes over where the best point still is the zero model.
MOST = 100
#: Steps of smoothing after which the cuts go on.
TURN = 80
#: Width, in null losses, of the smoothed loss whose minimiser is the direction to rank by.
DIRECTION_WIDTH = 1.5
#: Steps towards that minimiser.
DIRECTION_STEPS = 10
#: How far above the zero model, as a share of its objective, the direction is followed.
ABOVE = 1e-6
#: Width, in null losses, below which the smoothed form of F-beta costs more than cuts.
NARROW = 4e-3
#: Steps of smoothing after which cuts take over even if the width is above that.
SMOOTH_STEPS = 60
#: What a plane gives up for the rounding of its offset, as a share of the terms it sums.
ROUNDING = 1e-14
#: The solvers that smooth the loss; the table says which comes first.
SMOOTHINGS = ("proximal_point", "continuation")


def _smoothing(problem: Problem) -> Solver[Any]:
    """Centred smoothing where the loss allows it, plain smoothing elsewhere."""
    return choose(problem, among=SMOOTHINGS)


# --- cutting planes that end in a model -----------------------------------------------------


@dataclass(frozen=True)
class ModelCutsState(State):
    """The cuts, and a point beside the zero model where that is the best they have found.

    ``steps`` counts the cuts.
    """

    cuts: BmrmState
    ray: Point | None
    rng: np.random.Generator
    steps: int = 0

    @property
    def empty(self) -> bool:
        """Whether the best point of the cuts is a model without columns."""
        best = self.cuts.point
        return not best.problem.coef(best.w).any()


@dataclass(frozen=True)
class ModelCuts:
    """Cutting planes that do not end in the zero model, which ranks nothing.

    The minimiser of a widely smoothed loss is a direction to rank by, and a short way along it is
    within any tolerance of the zero model, whose bound the cuts go on to prove. Until there is such
    a point the lower bound is withheld, so that the run does not stop at the zero model.
    """

    needs = Bmrm.needs | Need.SMOOTHABLE_LOSS

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ModelCutsState:
        """State at the starting point."""
        cuts = Bmrm().init(problem, w, rng)
        return _shown(problem, ModelCutsState(cuts.point, cuts, None, rng))

    def step(self, problem: Problem, state: ModelCutsState) -> ModelCutsState:
        """One cut, and a direction where the zero model will not be beaten."""
        cuts = Bmrm().step(problem, state.cuts)
        state = replace(state, cuts=cuts, steps=state.steps + 1)
        sure = cuts.gap <= SURE * abs(cuts.point.value) or state.steps >= TRIES
        if state.empty and sure and state.ray is None and not cuts.stalled:
            state = replace(state, ray=_ray(problem, cuts.point, state.rng))
        return _shown(problem, state)


def _shown(problem: Problem, state: ModelCutsState) -> ModelCutsState:
    """The state with its point and bound."""
    cuts, lower = state.cuts, state.cuts.lower
    point = state.ray if state.ray is not None and state.empty else cuts.point
    if state.empty and state.ray is None:
        lower = problem.loss.infimum(problem.data.target)
    return replace(state, point=point, lower=lower, stalled=cuts.stalled)


def _ray(problem: Problem, empty: Point, rng: np.random.Generator) -> Point | None:
    """A point close to the zero model in the direction of the widely smoothed loss's minimiser."""
    smoothed = smoothed_problem(problem, DIRECTION_WIDTH * null_unit(problem))
    solver = choose(smoothed, role=Role.SMOOTHED)
    state = solver.init(smoothed, empty.w, rng)
    for _ in range(DIRECTION_STEPS):
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


# --- cuts, then smoothing where they find no model --------------------------------------------


@dataclass(frozen=True)
class CutsFirst(Relay):
    """Cutting planes while they find models; smoothing where the best they find is none.

    A max-margin loss may be lowest at the zero model, or so close to it that nothing is gained by
    another. Where cuts neither find a model nor soon prove the bound of the zero model, a smoothed
    solve takes over; if that does not end soon either, the cuts go on from its point. Where they
    find models this is `Bmrm`, until that stalls.

    Parameters
    ----------
    solver : Solver, optional
        Of smoothed problems; by default `ProximalPoint` where the smoothing can be centred, else
        `Continuation`.
    """

    solver: Solver[Any] | None = None

    needs = ModelCuts.needs

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Cuts, smoothing, the same cuts again, and smoothing where those stall."""
        smoothing = self.solver or _smoothing
        return (
            Stage(ModelCuts(), until=_no_model),
            Stage(smoothing, until=_turn_is_over, begin=_from_start_if_empty),
            Stage(ModelCuts(), begin=_cut_again),
            Stage(smoothing),
        )


def _no_model(problem: Problem, state: RelayState) -> bool:
    """Whether the cuts have long found no model."""
    cuts = cast(ModelCutsState, state.inner)
    return cuts.empty and cuts.steps >= MOST


def _from_start_if_empty(problem: Problem, solver: Solver[Any], state: RelayState) -> State:
    """Smoothing begins at the best point of the cuts, at the null model where that is empty."""
    cuts = cast(ModelCutsState, state.inner)
    w = problem.start() if cuts.empty else cuts.point.w
    return cast(State, solver.init(problem, w, state.rng))


def _turn_is_over(problem: Problem, state: RelayState) -> bool:
    """Whether smoothing has had its steps, and the cuts before it have not stalled."""
    return state.steps >= TURN and not state.ended[-1].stalled


def _cut_again(problem: Problem, solver: Solver[Any], state: RelayState) -> State:
    """The cuts go on from the best point of the smoothed solve."""
    before = cast(ModelCutsState, state.ended[-1])
    again = resumed(problem, before.cuts, state.point)
    return _shown(problem, replace(before, cuts=again))


# --- smoothing while it is wide, then cuts ----------------------------------------------------


@dataclass(frozen=True)
class PlanesState(State):
    """A smoothed solve and the planes below the exact loss that it has found."""

    smooth: SmoothingState
    planes: tuple[tuple[FloatArray, float], ...] = ()


@dataclass(frozen=True)
class PlanesOfSmoothing:
    """`Continuation` that keeps the gradients of its smoothed losses as cutting planes."""

    needs = Continuation.needs

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
    """`Continuation` while the smoothing is wide, `CutsFirst` from there on.

    For losses whose smoothed form costs more the narrower it is, as that of F-beta does, which
    mixes more and more levels. The gradients of the smoothed losses are planes below the exact
    loss, with which the cutting planes start.
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
    """Whether the width is narrow, or the steps are many, and there is a model to begin from."""
    smooth = cast(PlanesState, state.inner).smooth
    wide = smooth.width >= NARROW * null_unit(problem) and state.steps < SMOOTH_STEPS
    # Where no model beats the empty one, cuts would end in that.
    return not wide and smooth.point.value < problem.null.loss


def _with_planes(problem: Problem, solver: Solver[Any], state: RelayState) -> State:
    """Cuts begin with the planes that the smoothed solve has found."""
    begun: RelayState = solver.init(problem, state.point.w, state.rng)
    bundle = cast(ModelCutsState, begun.inner).cuts.bundle
    for plane in cast(PlanesState, state.inner).planes:
        bundle.add(*plane)
    return begun


def _plane(problem: Problem, dual: Point | None) -> tuple[tuple[FloatArray, float], ...]:
    """Slope and offset in the column weights of a plane below the loss, whatever the intercept."""
    if dual is None or dual.imbalance or not dual.exact:
        return ()
    offset = dual.tangent
    if offset is None:
        offset = dual.loss - float(dual.dscores @ dual.scores)
    rounding = ROUNDING * (abs(dual.loss) + float(np.abs(dual.dscores) @ np.abs(dual.scores)))
    return ((problem.coef(dual.gradient), offset - rounding),)
