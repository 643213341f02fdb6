"""Relays of cutting planes and smoothing, which return a model other than w = 0 if they can."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from auctor.problem import Problem
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import Role, choose
from auctor.solvers.kinked.cutting_planes import Bmrm, BmrmState
from auctor.solvers.kinked.smoothing import Continuation, SmoothingState, null_unit
from auctor.solvers.relay import Relay, RelayState, Stage

#: Cuts after which smoothing takes over if the best point still is the zero model.
ZERO_MODEL_MOST_CUTS = 100
#: Most steps of smoothing before cutting planes take over or continue.
SMOOTHING_TURN = 80
#: Smoothing width, in null losses, below which the smoothed F-beta loss costs more than cuts.
NARROWEST_WIDTH = 4e-3


def _smoothing(problem: Problem) -> Solver[Any]:
    """Centred smoothing if the loss supports it, otherwise plain smoothing."""
    return choose(problem, role=Role.SMOOTHING)


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

    needs = Bmrm(leave_zero=True).needs

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """Cuts, smoothing, the same cuts again, and smoothing after those stall."""
        cuts, smoothing = Bmrm(leave_zero=True), self.solver or _smoothing
        return (
            Stage(cuts, until=_no_model),
            Stage(smoothing, until=_turn_is_over, begin=_from_null_if_zero),
            Stage(cuts, begin=partial(_cut_again, cuts)),
            Stage(smoothing),
        )


def _no_model(problem: Problem, state: RelayState[BmrmState]) -> bool:
    """Whether the best point is still the zero model after `ZERO_MODEL_MOST_CUTS` cuts."""
    return state.inner.is_zero and state.steps >= ZERO_MODEL_MOST_CUTS


def _from_null_if_zero(
    problem: Problem, solver: Solver[Any], state: RelayState[BmrmState]
) -> State:
    """Start smoothing at the best point of the cuts, or at the null model if that is zero."""
    w = problem.start() if state.inner.is_zero else state.point.w
    begun: State = solver.init(problem, w, state.rng)
    return begun


def _turn_is_over(problem: Problem, state: RelayState[Any]) -> bool:
    """Whether smoothing has taken its steps, and the cuts before it had not stalled."""
    cuts: BmrmState = state.ended[-1]
    return state.steps >= SMOOTHING_TURN and not cuts.stalled


def _cut_again(
    cuts: Bmrm, problem: Problem, solver: Solver[BmrmState], state: RelayState[Any]
) -> BmrmState:
    """Continue the cuts from the best point of the smoothed solve."""
    return cuts.resume(problem, state.ended[-1], state.point)


@dataclass(frozen=True)
class SmoothFirst(Relay):
    """`Continuation` while the smoothing is wide, then `CutsFirst`.

    For losses whose smoothed form costs more at smaller widths, such as F-beta. The gradients of
    the smoothed losses give planes below the exact loss, with which the cutting planes start.
    """

    needs = CutsFirst.needs

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """Smoothing, then cuts."""
        return (
            Stage(Continuation(keep_planes=True), until=_narrow),
            Stage(CutsFirst(), begin=_with_planes),
        )


def _narrow(problem: Problem, state: RelayState[SmoothingState]) -> bool:
    """Whether w beats the null model, and the width or the number of steps is at its limit."""
    smooth = state.inner
    wide = smooth.width >= NARROWEST_WIDTH * null_unit(problem) and state.steps < SMOOTHING_TURN
    # From a point no better than the null model, the cuts would end in the null model.
    return not wide and smooth.point.value < problem.null.loss


def _with_planes(
    problem: Problem, solver: Solver[RelayState[Any]], state: RelayState[SmoothingState]
) -> RelayState[Any]:
    """Start the cuts with the planes of the smoothed solve."""
    begun = solver.init(problem, state.point.w, state.rng)
    return replace(begun, inner=Bmrm.add_cuts(begun.inner, state.inner.planes))
