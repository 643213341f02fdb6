"""Non-smooth losses by a sequence of smoothed ones, with the duality gap of the exact problem."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from auctor.core.capabilities import CENTRABLE
from auctor.core.checks import check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import Role, choose, holding
from auctor.solvers.kinked.cuts import smoothed_cut

#: Smoothing width of the first problem if L-BFGS steps solve it, in units of the null loss.
WARM_WIDTH = 0.05
#: First smoothing width, in units of the null loss.
FIRST_WIDTH = 1.5
#: Largest gap of the first width, as a multiple of the smallest gap of all that were tried.
GOOD_START = 1.5
#: Ratio to the smallest gap from which gaps count as rising again, which ends the trials.
RISING_GAP = 2.0
#: Plain smoothing: largest gap of a solved problem, as a share of the smoothing error.
SOLVED = 0.2
#: Centred smoothing: largest gap of a solved problem, as a share of the exact problem's gap.
CENTRE_SOLVED = 0.4
#: Needs that the smoothed loss provides, whatever the given one does.
OF_SMOOTHED_LOSS = (
    Need.SMOOTH_LOSS | Need.CURVATURE | Need.LOW_RANK_CURVATURE | Need.MATRIX_CURVATURE
)


@dataclass(frozen=True)
class SmoothingState(State):
    """The point on the exact problem, and the smoothed problem being solved.

    ``width`` is the smoothing width, ``solver`` the solver of the smoothed problem and ``inner``
    that solver's state; ``later`` solves the smoothed problems that follow. ``planes`` are the
    cuts of the loss that were kept, each a slope and an offset; a step appends to this list.
    """

    width: float
    smoothed: Problem
    solver: Solver[Any]
    inner: State
    later: Solver[Any]
    rng: np.random.Generator
    planes: list[tuple[FloatArray, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Smoothing:
    """Solve smoothed problems of decreasing width with warm starts.

    The gradient of a smoothed loss is a dual point of the exact one, so every step gives a duality
    gap of the **non-smooth** objective. Plain smoothing reduces the width whenever the gap of the
    smoothed problem is below its smoothing error.

    Centred smoothing converges at a fixed width. The derivatives u of the loss in the scores are
    its dual variables; a quadratic around the last ones, ``width/2 |u - u_k|^2``, shifts the scores
    of the smoothed loss by ``width * u_k``. As u converges the smoothing error goes to zero at any
    width, and the problems stay well conditioned for Newton-type steps.

    Parameters
    ----------
    solver : Solver, optional
        Solver of the smoothed problems; chosen by `auctor.solvers.choose` by default.
    shrink : float in (0, 1)
        Factor between widths.
    min_width : float > 0
        Smallest width, as a share of the null model's loss or, if centred, of the loss's margin.
    keep_planes : bool
        Whether the state keeps the gradients of the smoothed losses, which give cuts of the loss.

    Notes
    -----
    The class attribute ``centred`` says whether the smoothing is centred at the last derivatives,
    which not every loss supports: `Continuation` is plain, `ProximalPoint` centred.

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
    keep_planes: bool = False

    centred: ClassVar[bool] = False

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real("min_width", self.min_width, low=0.0, open_low=True)

    @property
    def needs(self) -> Need:
        """A smoothed form of the loss, and what the given solver needs besides that."""
        needs = Need.SMOOTHABLE_LOSS
        if self.centred:
            needs |= Need.CENTRED_SMOOTHING
        if self.solver is not None:
            needs |= self.solver.needs & ~OF_SMOOTHED_LOSS
        return needs

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SmoothingState:
        """State at the starting point, at the width that gives the smallest gap there.

        At w = 0 the first smoothed problem is a narrow one if the decision table has a solver for
        it.
        """
        solver = self.solver or choose(
            smoothed_problem(problem, null_unit(problem)), role=Role.SMOOTHED
        )
        if self.solver is None and not self.centred and not problem.coef(w).any():
            width = WARM_WIDTH * null_unit(problem)
            smoothed = smoothed_problem(problem, width)
            warm = next(holding(smoothed, Role.SMOOTHED_START), None)
            if warm is not None:
                start = self._at_width(smoothed, problem, w, width, warm.make(), rng)
                return replace(start, later=solver)
        first = problem.evaluate(w)
        best = self._best_start(problem, first, solver, rng)
        return replace(best, point=first) if first.value <= best.point.value else best

    def step(self, problem: Problem, state: SmoothingState) -> SmoothingState:
        """One step on the smoothed problem; once it is solved, set up the next one."""
        inner: State = state.solver.step(state.smoothed, state.inner)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        dual = inner.point if self.centred or inner.dual is None else inner.dual
        if self.keep_planes:
            state.planes.extend(smoothed_cut(problem, dual))
        state = replace(state, point=point, dual=dual, inner=inner)
        if not inner.stalled and not self._solved(problem, state):
            return state
        return self._new_centre(problem, state) if self.centred else self._narrower(problem, state)

    def _solved(self, problem: Problem, state: SmoothingState) -> bool:
        """Whether the gap of the smoothed problem is small compared with the smoothing error."""
        inner, point = state.inner, state.point
        if self.centred:
            gap = problem.certificate(point, state.dual).gap
            return state.smoothed.certificate(inner.point).gap <= CENTRE_SOLVED * gap
        # The smoothed loss is a lower bound; the difference is the smoothing error.
        error = point.loss - inner.point.loss
        gap = state.smoothed.certificate(inner.point, inner.dual).gap
        return gap <= problem.tolerance(SOLVED * error / null_unit(problem))

    def _narrower(self, problem: Problem, state: SmoothingState) -> SmoothingState:
        """Plain smoothing: start the problem of the next width."""
        width = state.width * self.shrink
        if width < self.min_width * null_unit(problem):
            return replace(state, stalled=True)
        smoothed, w = smoothed_problem(problem, width), state.inner.point.w
        new = self._at_width(smoothed, problem, w, width, state.later, state.rng)
        return replace(new, point=state.point, dual=state.dual, planes=state.planes)

    def _new_centre(self, problem: Problem, state: SmoothingState) -> SmoothingState:
        """Centred smoothing: start the problem centred at the last point's derivatives."""
        last = state.inner
        width = max(state.width * self.shrink, self.min_width * margin_unit(problem))
        slopes = last.point.dscores
        loss = CENTRABLE.of(problem.loss).smoothed_around(width, slopes, problem.data.target)
        assert loss is not None
        smoothed, w = problem.with_loss(loss), last.point.w
        new = self._at_width(smoothed, problem, w, width, state.solver, state.rng)
        # A new centre at the same point: no further progress.
        stuck = last.stalled and new.inner.point.value == last.point.value
        kept = replace(new, point=state.point, dual=state.dual, planes=state.planes)
        return replace(kept, stalled=stuck)

    def _best_start(
        self, problem: Problem, start: Point, solver: Solver[Any], rng: np.random.Generator
    ) -> SmoothingState:
        """State at the width that gives the smallest duality gap of the starting point."""
        if not self.centred:
            width = first_width(problem, start, self.shrink)
            smoothed = smoothed_problem(problem, width)
            return self._at_width(smoothed, problem, start.w, width, solver, rng)
        unit = margin_unit(problem)
        widths = [unit]
        # For a warm start, the width with the smallest gap of the exact problem.
        while problem.coef(start.w).any() and widths[-1] > self.min_width * unit:
            widths.append(widths[-1] * self.shrink)
        starts = []
        for width in widths:
            smoothed = smoothed_problem(problem, width)
            starts.append(self._at_width(smoothed, problem, start.w, width, solver, rng))
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
        """State of a smoothed problem at its start, evaluated on the exact problem."""
        inner: State = solver.init(smoothed, w, rng)
        point = problem.evaluate(inner.point.w, scores=inner.point.scores)
        return SmoothingState(point, width, smoothed, solver, inner, solver, rng, dual=inner.point)


@dataclass(frozen=True)
class Continuation(Smoothing):
    """Smoothing whose width falls to zero: `Smoothing` with its defaults.

    Parameters
    ----------
    solver, shrink, min_width, keep_planes
        See `Smoothing`.
    """


@dataclass(frozen=True)
class ProximalPoint(Smoothing):
    """Proximal point method on the dual: `Smoothing` centred at the last derivatives.

    Parameters
    ----------
    solver, shrink, min_width, keep_planes
        See `Smoothing`.
    """

    shrink: float = 0.5
    min_width: float = 0.03

    centred: ClassVar[bool] = True


def null_unit(problem: Problem) -> float:
    """Loss of the null model, the unit of smoothing widths; 1 if that is 0."""
    return abs(problem.null.loss) or 1.0


def margin_unit(problem: Problem) -> float:
    """Unit of centred widths: the loss's margin, or the null loss if it has none."""
    loss = CENTRABLE.find(problem.loss)
    margin = None if loss is None else loss.margin(problem.data.target)
    return margin or null_unit(problem)


def smoothed_problem(problem: Problem, width: float) -> Problem:
    """The problem with its loss smoothed at a width."""
    loss = problem.loss.smoothed(width)
    assert loss is not None
    return problem.with_loss(loss)


def first_width(problem: Problem, start: Point, shrink: float) -> float:
    """The largest width whose gap at a point is within `GOOD_START` times the smallest gap.

    Problems of small width are slow, so the largest good width is the best start.
    """
    unit = null_unit(problem)
    widths, gaps = [FIRST_WIDTH * unit], [np.inf]
    if not problem.coef(start.w).any():
        return widths[0]
    # Smallest width that is tried for a starting point, in units of the null loss.
    while widths[-1] > 1e-6 * unit:
        smoothed = smoothed_problem(problem, widths[-1])
        dual = smoothed.with_best_intercept(smoothed.evaluate(start.w, scores=start.scores))
        same = dual.scores is start.scores
        point = start if same else problem.evaluate(dual.w, scores=dual.scores)
        gaps.append(problem.certificate(point, dual).gap)
        # Width, as a share of the gap at that width, at which the trials stop.
        if min(gaps[-2:]) > RISING_GAP * min(gaps) or widths[-1] <= 0.1 * min(gaps):
            break  # the gaps rise again, or a smaller width cannot reduce them
        widths.append(widths[-1] * shrink)
    pairs = zip(widths, gaps[1:], strict=False)
    return next(width for width, gap in pairs if gap <= GOOD_START * min(gaps))
