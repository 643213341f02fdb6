"""Cutting planes: bundle methods for regularised risk minimisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from auctor.core.checks import check_int
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import STALL_STEPS, State, memory_of
from auctor.solvers.choose import Role, choose
from auctor.solvers.kinked.bundle import Bundle
from auctor.solvers.kinked.cuts import Query, balanced, first_query
from auctor.solvers.kinked.smoothing import FIRST_WIDTH, null_unit, smoothed_problem
from auctor.solvers.line_search import first_accepted, lowest_on, sizes

#: Most steps of the smoothed solve that gives the direction away from the zero model.
DIRECTION_STEPS = 10
#: Largest rise of the objective above the zero model's, as a share of it, of a point near it.
LARGEST_RISE = 1e-6
#: Factor on the step from the zero model until the objective is low enough.
STEP_DECREASE = 0.25
#: Most such factors: the last step is 4e-12 of the first.
MOST_DECREASES = 20


def point_near_zero(problem: Problem, zero: Point, rng: np.random.Generator) -> Point | None:
    """A point near the zero model, in the direction of the minimiser of a widely smoothed loss."""
    # A few steps on the widely smoothed problem give the direction.
    smoothed = smoothed_problem(problem, FIRST_WIDTH * null_unit(problem))
    solver = choose(smoothed, role=Role.SMOOTHED)
    state = solver.init(smoothed, zero.w, rng)
    for _ in range(DIRECTION_STEPS):
        state = solver.step(smoothed, state)
        if state.stalled:
            break
    change, scores = state.point.w - zero.w, state.point.scores - zero.scores

    # Shorten the step until the objective is low enough.
    def trial(share: float) -> Point:
        return problem.evaluate(zero.w + share * change, scores=zero.scores + share * scores)

    def low(share: float, point: Point) -> bool:
        limit = zero.value + LARGEST_RISE * abs(zero.value)
        return point.value <= limit and bool(problem.coef(point.w).any())

    accepted_step = first_accepted(trial, low, sizes(1.0, STEP_DECREASE, most=MOST_DECREASES))
    return None if accepted_step is None else accepted_step[1]


#: Points of an objective above this multiple of the null loss give no cut, which would be rounding.
HIGHEST_VALUE = 1e6


class CutTrial(NamedTuple):
    """A query on a line and the slope of the objective there."""

    step: float
    query: Query
    slope: float

    @property
    def value(self) -> float:
        """Objective at the trial; infinite if the trial has no finite cut."""
        return self.query.value if math.isfinite(self.query.offset) else math.inf


class CutLine:
    """Objective on the line from a query to ``aim``, minimised over the intercept.

    One pass over the data at the start, none per trial.
    """

    def __init__(self, problem: Problem, start: Query, aim: FloatArray, accuracy: float) -> None:
        self.problem, self.accuracy, self._origin = problem, accuracy, start.point
        self._direction = aim - start.point.w
        self._change = problem.score_change(self._direction)
        ridge = problem.ridge * self._direction
        self._pull = float(ridge @ start.point.w)
        self.curve = float(ridge @ self._direction)
        self.start = self._trial(0.0, start)

    def _trial(self, step: float, query: Query) -> CutTrial:
        slope = float(query.dscores @ self._change) + self._pull + step * self.curve
        return CutTrial(step, query, slope)

    def at(self, step: float) -> CutTrial:
        """Trial at ``start + step (aim - start)``."""
        origin, moved = self._origin, step * self._change
        moved += origin.scores
        point = self.problem.evaluate(origin.w + step * self._direction, scores=moved)
        scale = max(abs(self.start.query.value), abs(self.problem.null.loss))
        if point.value <= HIGHEST_VALUE**2 * scale:
            query = balanced(self.problem, point, self.accuracy)
            if query.value <= HIGHEST_VALUE * scale:
                return self._trial(step, query)
        return CutTrial(step, Query(point, origin.dscores, math.inf), math.inf)


#: ``w -> (risk, subgradient)``: the source of cuts in place of the loss.
Oracle: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

#: Accuracy of a line search, as a share of the gap.
SEARCH_ACCURACY = 0.1
#: Number of cuts up to which the line search is accurate only to the gap: the model is still poor.
ROUGH_SEARCH_CUTS = 3
#: If the line search yields no new cut, cut at the model's minimiser.
ENOUGH_REDUCTION = 0.999
#: Least first step of a line search; from it, `MOST_TRIALS` expansions still reach a step of 1.
LEAST_FIRST_STEP = 1e-9
#: Cuts after which, if the zero model is still the best point, a point near it is searched for.
ZERO_MODEL_CUTS = 30
#: Gap, as a share of the objective, from which the search near the zero model starts early.
ZERO_MODEL_GAP = 0.01


@dataclass(frozen=True)
class BmrmState(State):
    """The best point, the next cut (``query``) and the cuts so far (``bundle``).

    ``proved`` is the lower bound of the cuts, which may differ from the ``lower`` that is shown.
    ``reach`` is the step of the last line search, ``cut_at_best`` whether there is a cut at the
    best point, ``minimiser_gap`` the gap when the last cut was taken at the model's minimiser
    because the line search gave nothing new, ``quiet`` the number of cuts since one improved the
    bound or the best value, and ``near_zero`` a point near the zero model if that is the best one.
    A step adds a cut to the bundle itself; all other fields are new.
    """

    best: Query
    query: Query
    bundle: Bundle
    rng: np.random.Generator
    reach: float = 1.0
    cut_at_best: bool = False
    minimiser_gap: float = math.inf
    quiet: int = 0
    proved: float | None = None
    n_cuts: int = 0
    near_zero: Point | None = None

    @property
    def gap(self) -> float:
        """Best objective less the lower bound; infinite before the first model."""
        return math.inf if self.proved is None else max(self.best.value - self.proved, 0.0)

    @property
    def is_zero(self) -> bool:
        """Whether the best point is the zero model: all coefficients are 0."""
        best = self.best.point
        return not best.problem.coef(best.w).any()

    @property
    def zero_seems_optimal(self) -> bool:
        """Whether the zero model is the best point at a small gap, or after many cuts."""
        sure = self.gap <= ZERO_MODEL_GAP * abs(self.best.value) or self.n_cuts >= ZERO_MODEL_CUTS
        return sure and self.is_zero and not self.stalled


@dataclass(frozen=True)
class Bmrm:
    """Cutting planes: minimise the penalty plus the maximum of all tangents of the loss so far.

    A step adds the tangent at the latest point, two passes over the data, and solves a quadratic
    program over the simplex exactly; its value is a lower bound on the objective, so the gap to the
    best point is a certificate. For any convex loss, with kinks or without. The intercept is
    minimised exactly at every point, where a combination of two tangents does not depend on it.

    Parameters
    ----------
    line_search : bool
        Search the line from the best point to the model's minimiser, which costs evaluations of
        the loss but no pass over the data, and take the cut at the nearest trial beyond the
        line's minimum. If False, the published method: cuts at the model's minimisers, unless the
        loss is infinite there.
    patience : int >= 1
        Cuts whose weight in the model was 0 for this many steps are dropped.
    oracle : callable, optional
        ``oracle(w) -> (risk, subgradient)`` of the loss at w, to choose among subgradients.
    leave_zero : bool
        Do not end in the zero model, which gives all rows the same score. If it seems optimal, the
        point is a short step from it towards the minimiser of a widely smoothed loss: it ranks the
        rows, and its objective is within any tolerance of the minimum.

    References
    ----------
    Teo et al., Bundle methods for regularized risk minimization, JMLR 2010; Joachims, A support
    vector method for multivariate performance measures, 2005; Franc, Sonnenburg, Optimized cutting
    plane algorithm for large-scale risk minimization, JMLR 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.data import as_data
    >>> from auctor.losses import Hinge
    >>> from auctor.penalties import L2
    >>> data = as_data(np.array([[1.0], [-1.0]]), [1.0, -1.0])
    >>> minimise(Problem(Hinge(), L2(0.5), data), Bmrm(), tol=1e-9).coef.round(6)
    array([1.])
    """

    line_search: bool = True
    patience: int = 100
    oracle: Oracle | None = None
    leave_zero: bool = False

    @property
    def needs(self) -> Need:
        """A convex loss and an l2 penalty; a smoothed form of the loss to leave the zero model."""
        needs = Need.CONVEX_LOSS | Need.SMOOTH_PENALTY | Need.STRONG_PENALTY
        return needs | Need.SMOOTHABLE_LOSS if self.leave_zero else needs

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("patience", self.patience, low=1)

    @classmethod
    def examples(cls) -> list[Bmrm]:
        """Instances the conformance kit tests."""
        return [cls(), cls(line_search=False)]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BmrmState:
        """State at the starting point, with the cuts of an earlier solve along a path, if any."""
        query = first_query(problem, problem.evaluate(w))
        bundle = Bundle(problem.coef(problem.ridge), self.patience, _most_cuts(problem))
        memory = memory_of(problem)
        bundle.take(memory.bundle)
        memory.bundle = bundle
        proved = None if self.oracle is None else -math.inf
        state = BmrmState(query.point, query, query, bundle, rng, proved=proved)
        return self._shown(problem, state)

    def step(self, problem: Problem, state: BmrmState) -> BmrmState:
        """Add the latest cut, minimise the model, and search the line to the minimiser."""
        state = replace(self._cut_and_search(problem, state), n_cuts=state.n_cuts + 1)
        if self.leave_zero and state.zero_seems_optimal and state.near_zero is None:
            point = point_near_zero(problem, state.best.point, state.rng)
            state = replace(state, near_zero=point)
        return self._shown(problem, state)

    def resume(self, problem: Problem, state: BmrmState, point: Point) -> BmrmState:
        """The state with its next cut at a point that another solver has found."""
        query = first_query(problem, point)
        best = min(query, state.best, key=lambda q: q.value)
        has_cut = state.cut_at_best and best is state.best
        state = replace(state, best=best, query=query, cut_at_best=has_cut, stalled=False)
        return self._shown(problem, state)

    @staticmethod
    def add_cuts(state: BmrmState, cuts: Iterable[tuple[FloatArray, float]]) -> BmrmState:
        """The state after cuts (slope in the coefficients, offset) were added to its bundle."""
        for slope, offset in cuts:
            state.bundle.add(slope, offset)
        return state

    def _shown(self, problem: Problem, state: BmrmState) -> BmrmState:
        """The state with the point and the lower bound that `minimise` reads."""
        point, lower = state.best.point, state.proved
        if self.leave_zero and state.is_zero:
            if state.near_zero is None:
                # Report the infimum of the loss, a valid but weak bound, so that the run does not
                # stop at the zero model.
                lower = problem.loss.infimum(problem.data.target)
            else:
                point = state.near_zero
        return replace(state, point=point, lower=lower)

    def _cut_and_search(self, problem: Problem, state: BmrmState) -> BmrmState:
        """A step without the fields that `_shown` sets."""
        bundle, best = state.bundle, state.best
        if not math.isfinite(state.query.offset):
            return replace(state, stalled=True)
        bundle.add(*self._cut(problem, state.query))
        lowest = bundle.lowest()
        before = -math.inf if state.proved is None else state.proved
        quiet = 0 if lowest.value > before else state.quiet + 1
        cut_at_best = state.cut_at_best or state.query is best
        state = replace(
            state, proved=max(lowest.value, before), quiet=quiet, cut_at_best=cut_at_best
        )
        aim = problem.join(lowest.w, problem.intercept(best.point.w))
        if np.array_equal(aim, best.point.w):
            return _with_query(state, best, best)
        # Slack allowed when a cut is made independent of the intercept, relative to the gap.
        line = CutLine(problem, best, aim, 1e-4 * state.gap)
        if not self.line_search:  # the published method; a search only if the loss is infinite
            trial = line.at(1.0)
            if math.isfinite(trial.value):
                return _with_query(state, trial.query, best)
        sharp = 1.0 if bundle.count <= ROUGH_SEARCH_CUTS else SEARCH_ACCURACY
        # First trial of a line search, as a multiple of the step of the last one.
        low, beyond = lowest_on(line, min(1.0, 2.0 * state.reach), sharp * state.gap)
        state = replace(state, reach=low.step or max(0.5 * state.reach, LEAST_FIRST_STEP))
        if not (beyond.query is best and state.cut_at_best):
            return _with_query(replace(state, minimiser_gap=math.inf), beyond.query, low.query)
        # The best point minimises the line and has a cut: the search gave nothing new. Cut at the
        # model's minimiser, unless the last such cut hardly reduced the gap.
        aimed = line.at(1.0)
        if state.gap > ENOUGH_REDUCTION * state.minimiser_gap or not math.isfinite(aimed.value):
            return replace(state, stalled=True)
        return _with_query(replace(state, minimiser_gap=state.gap), aimed.query, best)

    def _cut(self, problem: Problem, query: Query) -> tuple[FloatArray, float]:
        """Slope and offset of a cut as a function of the coefficients; one pass over the data."""
        coef = problem.coef(query.point.w)
        if self.oracle is not None:
            risk, slope = self.oracle(coef)
            return slope, risk - float(slope @ coef)
        if query.dscores is query.point.dscores:
            return problem.coef(query.point.gradient), query.offset
        return problem.coef(problem.pull_back(query.dscores)), query.offset


def _most_cuts(problem: Problem) -> int:
    """Number of cuts that fit into their memory; each has an entry per column."""
    # A quarter of the memory of the data, and at least 100 MB of float64 entries.
    room = max(12_500_000, 0.25 * problem.n_entries)
    return int(room) // max(1, problem.data.n_columns)


def _with_query(state: BmrmState, query: Query, answer: Query) -> BmrmState:
    """The state with ``query`` as its next cut and the best of all points so far."""
    best = min((query, answer, state.best), key=lambda q: q.value)
    again = query is state.query or np.array_equal(query.point.w, state.query.point.w)
    same = best is state.best
    quiet = state.quiet if same else 0
    return replace(
        state,
        best=best,
        query=query,
        cut_at_best=state.cut_at_best and same,
        quiet=quiet,
        stalled=again or quiet >= STALL_STEPS,
    )
