"""Non-smooth losses through a sequence of smoothed ones, stopped by the exact certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.minimise import Solver, State
from auctor.problem import Point, Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.solvers.kinked.preconditioner import pair_metric
from auctor.solvers.lbfgs import Lbfgs
from auctor.solvers.smooth.newton import Newton
from auctor.solvers.sparse.proximal import Fista
from auctor.solvers.sparse.proximal_newton import ProximalNewton
from auctor.solvers.sparse.quasi_newton import ProximalQuasiNewton
from auctor.solvers.sparse.subspace import SubspaceNewton

#: Losses on pairs start at this width, in units of the null loss, with so many steps of L-BFGS, or
#: so many where there is a metric.
WARM_WIDTH, WARM_STEPS, METRIC_STEPS = 0.05, 16, 8


@dataclass(frozen=True)
class ContinuationState:
    """The point on the exact problem, and the smoothed problem being solved."""

    point: Point
    dual: Point
    width: float
    smoothed: Problem
    solver: Solver[Any]
    inner: State
    rng: np.random.Generator
    warm_steps: int = 0  # left of a warm-up by L-BFGS
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
        For the smoothed problems; by default of Newton type where the loss has curvature, else of
        quasi-Newton type, and `Fista` where neither fits the penalty.
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
        """State at the starting point, at the width that certifies it best.

        From zero, pair losses are first brought near their minimum by L-BFGS at a narrow width,
        which costs less than their first Newton steps.
        """
        solver = self.solver or inner_solver(problem)
        if isinstance(solver, Newton) and not problem.loss.low_rank and not problem.coef(w).any():
            width = WARM_WIDTH * null_unit(problem)
            metric = pair_metric(problem)
            start = self._at_width(problem, w, width, Lbfgs(metric=metric), rng)
            return replace(start, warm_steps=WARM_STEPS if metric is None else METRIC_STEPS)
        given = problem.evaluate(w)
        best = self._at_width(problem, w, first_width(problem, given, self.shrink), solver, rng)
        return replace(best, point=given) if given.value <= best.point.value else best

    def step(self, problem: Problem, state: ContinuationState) -> ContinuationState:
        """One step on the smoothed problem, then a narrower width if it is solved."""
        inner = state.solver.step(state.smoothed, state.inner)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        dual = inner.point if inner.dual is None else inner.dual
        state = replace(state, point=point, dual=dual, inner=inner)
        unit = null_unit(problem)
        error = point.loss - inner.point.loss
        gap = state.smoothed.certificate(inner.point, inner.dual).gap
        solved = gap <= problem.tolerance(0.2 * error / unit) or inner.stalled
        if not solved and state.warm_steps != 1:
            return replace(state, warm_steps=max(0, state.warm_steps - 1))
        width = state.width * self.shrink if solved else state.width
        if width < self.min_width * unit:
            return replace(state, stalled=True)
        solver = Newton() if state.warm_steps else state.solver
        narrower = self._at_width(problem, inner.point.w, width, solver, state.rng)
        return replace(narrower, point=point, dual=dual)

    def _at_width(
        self,
        problem: Problem,
        w: FloatArray,
        width: float,
        solver: Solver[Any],
        rng: np.random.Generator,
    ) -> ContinuationState:
        smoothed = smoothed_problem(problem, width)
        inner = solver.init(smoothed, w, rng)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        return ContinuationState(point, inner.point, width, smoothed, solver, inner, rng)


def null_unit(problem: Problem) -> float:
    """The loss without a model, in whose units widths are measured."""
    return abs(problem.null.loss) or 1.0


def smoothed_problem(problem: Problem, width: float) -> Problem:
    """The problem with its loss smoothed."""
    loss = problem.loss.smoothed(width)
    assert loss is not None
    return problem.with_loss(loss)


def first_width(problem: Problem, given: Point, shrink: float) -> float:
    """The widest that certifies a point nearly as well as the best: narrow ones are slow."""
    # Half as wide again as the null loss: at w = 0 no margin then sits exactly on a kink.
    unit = null_unit(problem)
    widths, gaps = [1.5 * unit], [np.inf]
    if not problem.coef(given.w).any():
        return widths[0]
    while widths[-1] > 1e-6 * unit:
        smoothed = smoothed_problem(problem, widths[-1])
        dual = smoothed.centred(smoothed.evaluate(given.w, scores=given.scores))
        same = dual.scores is given.scores
        point = given if same else problem.evaluate(dual.w, scores=dual.scores)
        gaps.append(problem.certificate(point, dual).gap)
        if min(gaps[-2:]) > 2.0 * min(gaps):
            break  # past the best
        widths.append(widths[-1] * shrink)
    pairs = zip(widths, gaps[1:], strict=False)
    return next(width for width, gap in pairs if gap <= 1.5 * min(gaps))


def inner_solver(problem: Problem) -> Solver[Any]:
    """For smoothed problems: of Newton or quasi-Newton type where loss and penalty allow."""
    smoothed = problem.loss.smoothed(1.0)
    curved = smoothed is not None and smoothed.order >= 2
    separable = problem.penalty.separable(problem.n_columns) is not None
    if problem.penalty.smooth:
        # Where products are all there is, L-BFGS takes fewer of them than conjugate gradients.
        return Newton() if curved and Need.GRAM in problem.provides else Lbfgs()
    rest = Need.COLUMNS | Need.COLUMN_SUBSETS | Need.ROWS
    if not curved or rest & ~problem.provides:
        return ProximalQuasiNewton() if separable else Fista()
    assert smoothed is not None
    nested, few = Need.TREE_PENALTY in problem.provides, problem.n_params <= FACTOR_PARAMS
    by_matrix = Need.MATRIX_CURVATURE in problem.with_loss(smoothed).provides
    if separable and by_matrix and (few or not nested):
        return ProximalNewton()
    return SubspaceNewton() if nested else Fista()
