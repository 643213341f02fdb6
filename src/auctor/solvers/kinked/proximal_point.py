"""Non-smooth losses by proximal points of the dual, each a smooth problem for Newton."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.curvature import Curvature
from auctor.core.needs import Need
from auctor.core.protocols import Loss, Shifts
from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss
from auctor.minimise import Solver, State
from auctor.problem import Point, Problem
from auctor.solvers.kinked.continuation import inner_solver

#: A smoothed problem is solved to this share of the gap of the exact one.
INNER = 0.4


@dataclass(frozen=True)
class Shifted(BaseLoss):
    """A smooth loss at scores moved by a constant per row."""

    loss: Loss
    shift: FloatArray

    @property
    def order(self) -> int:
        """0 value only, 1 gradient, 2 curvature."""
        return self.loss.order

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""
        return self.loss.low_rank

    @property
    def shift_invariant(self) -> bool:
        """Whether a constant added to all scores changes nothing."""
        return self.loss.shift_invariant

    def check_target(self, target: Target) -> None:
        """Whatever the loss checks."""
        self.loss.check_target(target)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        return self.loss.value_grad(scores + self.shift, target)

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""
        return self.loss.curvature(scores + self.shift, target)

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return self.loss.shifts(scores + self.shift, target)

    def infimum(self, target: Target) -> float:
        """Largest known lower bound."""
        return self.loss.infimum(target)


@dataclass(frozen=True)
class ProximalPointState:
    """The point on the exact problem, and the smoothed problem being solved."""

    point: Point
    dual: Point
    width: float
    smoothed: Problem
    solver: Solver[Any]
    inner: State
    rng: np.random.Generator
    stalled: bool = False


@dataclass(frozen=True)
class ProximalPoint:
    """Smoothed problems centred at the last dual point, so that the width need not vanish.

    The slopes u of the loss are its dual variables. Smoothing with a quadratic around the last
    slopes, ``width/2 |u - u_k|^2``, moves the scores of the smoothed loss by ``width * u_k``; as
    the slopes converge the smoothing error goes to zero at any width, and steps of Newton type keep
    well-conditioned problems. Each step carries a duality gap on the **non-smooth** objective.

    Parameters
    ----------
    shrink : float in (0, 1)
        Factor between widths at first.
    min_width : float > 0
        Width at which it stays, as a fraction of a margin of 1 or of the null model's loss.

    References
    ----------
    Rockafellar, Augmented Lagrangians and applications of the proximal point algorithm, 1976;
    Li, Sun, Toh, A highly efficient semismooth Newton augmented Lagrangian method, 2018.
    """

    shrink: float = 0.5
    min_width: float = 0.03

    needs = Need.SMOOTHABLE_LOSS | Need.CENTRED_SMOOTHING

    def __post_init__(self) -> None:
        who = "ProximalPoint"
        check_real(who, "shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real(who, "min_width", self.min_width, low=0.0, open_low=True)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ProximalPointState:
        """State at the starting point, at the width that certifies it best."""
        unit = _unit(problem)
        widths = [unit]
        while problem.coef(w).any() and widths[-1] > self.min_width * unit:
            widths.append(widths[-1] * self.shrink)
        none, solver = np.zeros(problem.data.n_rows), inner_solver(problem)
        starts = [self._around(problem, w, width, none, solver, rng) for width in widths]
        best = min(starts, key=lambda s: problem.certificate(s.point, s.dual).gap)
        given = problem.evaluate(w)
        return replace(best, point=given) if given.value <= best.point.value else best

    def step(self, problem: Problem, state: ProximalPointState) -> ProximalPointState:
        """One step on the smoothed problem, then a new centre if it is solved."""
        inner = state.solver.step(state.smoothed, state.inner)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        dual = inner.point
        gap = problem.certificate(point, dual).gap
        left = state.smoothed.certificate(dual).gap
        if left > INNER * gap and not inner.stalled:
            return replace(state, point=point, dual=dual, inner=inner)
        width = max(state.width * self.shrink, self.min_width * _unit(problem))
        centre = problem.loss.centre(dual.dscores, problem.data.target)
        shift = width * centre
        new = self._around(problem, dual.w, width, shift, state.solver, state.rng)
        stuck = inner.stalled and new.inner.point.value == dual.value
        return replace(new, point=point, dual=dual, stalled=stuck)

    @staticmethod
    def _around(
        problem: Problem,
        w: FloatArray,
        width: float,
        shift: FloatArray,
        solver: Solver[Any],
        rng: np.random.Generator,
    ) -> ProximalPointState:
        loss = problem.loss.smoothed(width)
        assert loss is not None
        smoothed = problem.with_loss(Shifted(loss, shift))
        inner = solver.init(smoothed, w, rng)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        return ProximalPointState(point, inner.point, width, smoothed, solver, inner, rng)


def _unit(problem: Problem) -> float:
    """Size of the scores that matter: a margin, or the spread of the target."""
    return problem.loss.margin(problem.data.target) or abs(problem.null.loss) or 1.0
