"""Non-smooth losses through a sequence of smoothed ones, stopped by the exact certificate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from auctor.core.checks import check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import Role, choose
from auctor.solvers.kinked.preconditioner import pair_metric
from auctor.solvers.lbfgs import Lbfgs
from auctor.solvers.relay import After, Relay, Stage

#: Width at which pair losses are warm-started, in units of the null loss: narrow enough for the
#: point to be near the minimum, wide enough for L-BFGS.
WARM_WIDTH = 0.05
#: Steps of L-BFGS of that warm start: they cost less than the first Newton steps on pairs.
WARM_STEPS = 16
#: And where L-BFGS is preconditioned by `pair_metric`, so that fewer will do.
METRIC_STEPS = 8
#: First width, in units of the null loss: half as wide again as the null loss, so that at w = 0 no
#: margin sits exactly on a kink.
FIRST_WIDTH = 1.5
#: Narrowest width that a starting point is tried at, in units of the null loss.
NARROWEST_START = 1e-6
#: Width, as a share of the gap that it certifies, below which narrower ones are not tried: they
#: can take no more off the gap than the width itself. Searches for a strength by F1 on four tables
#: took 2.5 to 6.3 times the CPU seconds without it.
NARROW_ENOUGH = 0.1
#: Plain smoothing: a width is solved when the gap of the smoothed problem is this share of the
#: smoothing error.
SOLVED = 0.2
#: Centred smoothing: a centre is solved when the gap of the smoothed problem is this share of the
#: gap of the exact one.
CENTRE_SOLVED = 0.4
#: What solvers of Newton type for smooth penalties need: L-BFGS can start in their place.
_NEWTON_TYPE = Need.CURVATURE | Need.SMOOTH_PENALTY


@dataclass(frozen=True)
class SmoothingState(State):
    """The point on the exact problem, and the smoothed problem being solved.

    ``width`` is that of the smoothed problem, ``solver`` solves it and ``inner`` is its state;
    ``later`` solves the problems that follow.
    """

    width: float
    smoothed: Problem
    solver: Solver[Any]
    inner: State
    later: Solver[Any]
    rng: np.random.Generator


@dataclass
class Smoothing:
    """Solve smoothed problems of falling width with warm starts.

    The gradient of a smoothed loss is a dual point of the exact one, so every step carries a
    duality gap on the **non-smooth** objective. Plain smoothing makes the width fall whenever the
    smoothed problem is solved better than its smoothing error.

    Centred smoothing need not let the width vanish. The slopes u of the loss are its dual
    variables; a quadratic around the last slopes, ``width/2 |u - u_k|^2``, moves the scores of the
    smoothed loss by ``width * u_k``. As the slopes converge the smoothing error goes to zero at any
    width, and steps of Newton type keep well-conditioned problems.

    Parameters
    ----------
    solver : Solver, optional
        For the smoothed problems; chosen by the table of `auctor.solvers.choose` by default.
    shrink : float in (0, 1)
        Factor between widths.
    min_width : float > 0
        Narrowest width: a fraction of the null model's loss, or with centres of a margin of 1.
    centred : bool
        Whether the smoothing is centred at the last slopes; not every loss allows it.

    References
    ----------
    Zhang, Saha, Vishwanathan, Smoothing multivariate performance measures, JMLR 2012; Nesterov,
    Smooth minimization of non-smooth functions, 2005; Rockafellar, Augmented Lagrangians and
    applications of the proximal point algorithm, 1976; Li, Sun, Toh, A highly efficient semismooth
    Newton augmented Lagrangian method, 2018.
    """

    solver: Solver[Any] | None = None
    shrink: float = 0.4
    min_width: float = 1e-9
    centred: bool = False
    needs: Need = field(default=Need.SMOOTHABLE_LOSS, init=False, repr=False)

    def __post_init__(self) -> None:
        who = type(self).__name__
        check_real(who, "shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real(who, "min_width", self.min_width, low=0.0, open_low=True)
        if self.centred:
            self.needs |= Need.CENTRED_SMOOTHING
        if self.solver is not None:
            # Smoothing supplies the loss; what the inner solver needs of the rest stays needed.
            self.needs |= self.solver.needs & ~(Need.SMOOTH_LOSS | Need.CURVATURE)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SmoothingState:
        """State at the starting point, at the width that certifies it best.

        From zero, pair losses are first brought near their minimum by L-BFGS at a narrow width,
        which costs less than their first Newton steps.
        """
        solver = self.solver or choose(
            smoothed_problem(problem, null_unit(problem)), role=Role.SMOOTHED
        )
        slow_start = not problem.loss.low_rank and _NEWTON_TYPE in solver.needs
        if slow_start and not self.centred and not problem.coef(w).any():
            metric = pair_metric(problem)
            steps = WARM_STEPS if metric is None else METRIC_STEPS
            warm = Relay(Stage(Lbfgs(metric=metric), until=After(steps)), Stage(solver))
            width = WARM_WIDTH * null_unit(problem)
            smoothed = smoothed_problem(problem, width)
            start = self._at_width(smoothed, problem, w, width, warm, rng)
            return replace(start, later=solver)
        given = problem.evaluate(w)
        best = self._best_start(problem, given, solver, rng)
        return replace(best, point=given) if given.value <= best.point.value else best

    def step(self, problem: Problem, state: SmoothingState) -> SmoothingState:
        """One step on the smoothed problem, then the next one if it is solved."""
        inner = cast(State, state.solver.step(state.smoothed, state.inner))
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        dual = inner.point if self.centred or inner.dual is None else inner.dual
        state = replace(state, point=point, dual=dual, inner=inner)
        if not inner.stalled and not self._solved(problem, state):
            return state
        return self._new_centre(problem, state) if self.centred else self._narrower(problem, state)

    def _solved(self, problem: Problem, state: SmoothingState) -> bool:
        """Whether the smoothed problem is solved well enough beside the smoothing error."""
        inner, point = state.inner, state.point
        if self.centred:
            gap = problem.certificate(point, state.dual).gap
            return state.smoothed.certificate(inner.point).gap <= CENTRE_SOLVED * gap
        error = point.loss - inner.point.loss
        gap = state.smoothed.certificate(inner.point, inner.dual).gap
        return gap <= problem.tolerance(SOLVED * error / null_unit(problem))

    def _narrower(self, problem: Problem, state: SmoothingState) -> SmoothingState:
        """Plain smoothing, at the next width."""
        width = state.width * self.shrink
        if width < self.min_width * null_unit(problem):
            return replace(state, stalled=True)
        smoothed, w = smoothed_problem(problem, width), state.inner.point.w
        new = self._at_width(smoothed, problem, w, width, state.later, state.rng)
        return replace(new, point=state.point, dual=state.dual)

    def _new_centre(self, problem: Problem, state: SmoothingState) -> SmoothingState:
        """Centred smoothing, around the slopes of the last point and perhaps narrower."""
        last = state.inner
        width = max(state.width * self.shrink, self.min_width * margin_unit(problem))
        slopes = last.point.dscores
        loss = problem.loss.smoothed_around(width, slopes, problem.data.target)
        assert loss is not None
        smoothed, w = problem.with_loss(loss), last.point.w
        new = self._at_width(smoothed, problem, w, width, state.solver, state.rng)
        stuck = last.stalled and new.inner.point.value == last.point.value
        return replace(new, point=state.point, dual=state.dual, stalled=stuck)

    def _best_start(
        self, problem: Problem, given: Point, solver: Solver[Any], rng: np.random.Generator
    ) -> SmoothingState:
        """At the width that certifies the starting point best."""
        if not self.centred:
            width = first_width(problem, given, self.shrink)
            smoothed = smoothed_problem(problem, width)
            return self._at_width(smoothed, problem, given.w, width, solver, rng)
        unit = margin_unit(problem)
        widths = [unit]
        while problem.coef(given.w).any() and widths[-1] > self.min_width * unit:
            widths.append(widths[-1] * self.shrink)
        starts = []
        for width in widths:
            smoothed = smoothed_problem(problem, width)
            starts.append(self._at_width(smoothed, problem, given.w, width, solver, rng))
        return min(starts, key=lambda s: problem.certificate(s.point, s.dual).gap)

    @staticmethod
    def _at_width(
        smoothed: Problem,
        problem: Problem,
        w: FloatArray,
        width: float,
        solver: Solver[Any],
        rng: np.random.Generator,
    ) -> SmoothingState:
        inner = cast(State, solver.init(smoothed, w, rng))
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        return SmoothingState(point, width, smoothed, solver, inner, solver, rng, dual=inner.point)


@dataclass
class Continuation(Smoothing):
    """Smoothing whose width falls to zero: `Smoothing` with its defaults.

    Parameters
    ----------
    solver, shrink, min_width, centred
        See `Smoothing`.
    """


@dataclass
class ProximalPoint(Smoothing):
    """Proximal points of the dual: `Smoothing` centred at the last slopes.

    Parameters
    ----------
    solver, shrink, min_width, centred
        See `Smoothing`.
    """

    shrink: float = 0.5
    min_width: float = 0.03
    centred: bool = True
    needs: Need = field(
        default=Need.SMOOTHABLE_LOSS | Need.CENTRED_SMOOTHING, init=False, repr=False
    )


def null_unit(problem: Problem) -> float:
    """The loss without a model, in whose units widths are measured."""
    return abs(problem.null.loss) or 1.0


def margin_unit(problem: Problem) -> float:
    """Size of the scores that matter: a margin, or the spread of the target."""
    return problem.loss.margin(problem.data.target) or null_unit(problem)


def smoothed_problem(problem: Problem, width: float) -> Problem:
    """The problem with its loss smoothed."""
    loss = problem.loss.smoothed(width)
    assert loss is not None
    return problem.with_loss(loss)


def first_width(problem: Problem, given: Point, shrink: float) -> float:
    """The widest that certifies a point nearly as well as the best: narrow ones are slow."""
    unit = null_unit(problem)
    widths, gaps = [FIRST_WIDTH * unit], [np.inf]
    if not problem.coef(given.w).any():
        return widths[0]
    while widths[-1] > NARROWEST_START * unit:
        smoothed = smoothed_problem(problem, widths[-1])
        dual = smoothed.with_best_intercept(smoothed.evaluate(given.w, scores=given.scores))
        same = dual.scores is given.scores
        point = given if same else problem.evaluate(dual.w, scores=dual.scores)
        gaps.append(problem.certificate(point, dual).gap)
        if min(gaps[-2:]) > 2.0 * min(gaps) or widths[-1] <= NARROW_ENOUGH * min(gaps):
            break  # past the best, or nothing left to gain
        widths.append(widths[-1] * shrink)
    pairs = zip(widths, gaps[1:], strict=False)
    return next(width for width, gap in pairs if gap <= 1.5 * min(gaps))
