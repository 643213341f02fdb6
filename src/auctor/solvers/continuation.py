"""Non-smooth losses through a sequence of smoothed ones, stopped by the exact certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.minimise import Solver, State
from auctor.problem import Point, Problem
from auctor.solvers.newton import Newton
from auctor.solvers.proximal import Fista


@dataclass(frozen=True)
class ContinuationState:
    """The point on the exact problem, and the smoothed problem being solved."""

    point: Point
    dual: Point
    width: float
    smoothed: Problem
    solver: Solver[Any]
    inner: State
    stalled: bool = False


@dataclass(frozen=True)
class Continuation:
    """Solve smoothed problems of falling width with warm starts.

    The gradient of a smoothed loss is a dual point of the exact one, so every step carries a
    duality gap on the **non-smooth** objective; the width falls whenever the smoothed problem is
    solved better than its smoothing error.

    Parameters
    ----------
    solver : Solver, optional
        For the smoothed problems; `Newton`, or `Fista` when the penalty is not smooth.
    shrink : float in (0, 1)
        Factor between widths.
    min_width : float > 0
        Narrowest width, as a fraction of the null model's loss.

    References
    ----------
    Zhang, Saha, Vishwanathan, Smoothing multivariate performance measures, JMLR 2012; Nesterov,
    Smooth minimization of non-smooth functions, 2005.
    """

    solver: Solver[Any] | None = None
    shrink: float = 0.4
    min_width: float = 1e-9

    needs = Need.SMOOTHABLE_LOSS

    def __post_init__(self) -> None:
        who = "Continuation"
        check_real(who, "shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real(who, "min_width", self.min_width, low=0.0, open_low=True)
        if self.solver is not None:
            # Smoothing supplies the loss; what the inner solver needs of the rest stays needed.
            rest = self.solver.needs & ~(Need.SMOOTH_LOSS | Need.CURVATURE)
            object.__setattr__(self, "needs", Need.SMOOTHABLE_LOSS | rest)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ContinuationState:
        """State at the starting point, with the width of the null model's loss."""
        solver = self.solver
        if solver is None:
            solver = Newton() if problem.penalty.smooth else Fista()
        return self._at_width(problem, w, abs(problem.null.loss) or 1.0, solver, rng)

    def step(self, problem: Problem, state: ContinuationState) -> ContinuationState:
        """One step on the smoothed problem, then a narrower width if it is solved."""
        inner = state.solver.step(state.smoothed, state.inner)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        dual = inner.point if inner.dual is None else inner.dual
        error = point.loss - inner.point.loss
        gap = state.smoothed.certificate(inner.point, inner.dual).gap
        solved = gap <= problem.tolerance(0.2 * error / (abs(problem.null.loss) or 1.0))
        if solved or inner.stalled:
            width = state.width * self.shrink
            if width < self.min_width * (abs(problem.null.loss) or 1.0):
                return ContinuationState(
                    point, dual, state.width, state.smoothed, state.solver, inner, stalled=True
                )
            rng = np.random.default_rng(0)
            narrower = self._at_width(problem, inner.point.w, width, state.solver, rng)
            return ContinuationState(
                point, dual, width, narrower.smoothed, state.solver, narrower.inner
            )
        return ContinuationState(point, dual, state.width, state.smoothed, state.solver, inner)

    def _at_width(
        self,
        problem: Problem,
        w: FloatArray,
        width: float,
        solver: Solver[Any],
        rng: np.random.Generator,
    ) -> ContinuationState:
        loss = problem.loss.smoothed(width)
        assert loss is not None
        smoothed = problem.with_loss(loss)
        inner = solver.init(smoothed, w, rng)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        return ContinuationState(point, inner.point, width, smoothed, solver, inner)
