"""Cutting planes: bundle methods for regularised risk minimisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from auctor.core.checks import check_int
from auctor.core.needs import Need
from auctor.core.protocols import Shifts
from auctor.core.rounding import ROUNDING
from auctor.core.shift import ShiftedScores
from auctor.core.types import FloatArray, absolute_sum
from auctor.problem import Point, Problem
from auctor.solvers.base import State
from auctor.solvers.kinked.bundle import Bundle

#: ``w -> (risk, subgradient)``: the source of cuts in place of the loss.
Oracle: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

#: Accuracy of a line search, as a share of the gap. Source: constants.md: 0.025 changes passes by
#: less than 3 % (15 cases), 0.4 takes 1.07 times the passes (15 cases).
SHARP = 0.1
#: Number of cuts up to which the line search is accurate only to the gap: the model is still poor.
#: Source: constants.md: from 1 to 6 passes change by less than 1 % (8 cases).
BLUNT_CUTS = 3
#: First trial of a line search, as a multiple of the step of the last one. Source: constants.md:
#: 1.25 changes passes by less than 1 % (15 cases), 5 takes 1.19 times the CPU seconds (14 cases).
WIDEN = 2.0
#: Factor between trials while the objective still falls. Source: constants.md: from 1.75 to 13
#: passes change by less than 4 % (13 cases).
EXPAND = 4.0
#: If the line search yields no new cut, cut at the model's minimiser; stop when that does not
#: reduce the gap to this share of its size. Set by hand; no case of constants.md reads it.
ENOUGH_REDUCTION = 0.999
#: Consecutive cuts without a higher bound or a lower objective after which the solver has stalled:
#: such changes are rounding errors. Source: constants.md: nothing changes from 15 to 60.
QUIET = 30
#: Least first step of a line search; from it, `MOST_TRIALS` expansions still reach a step of 1.
#: Source: constants.md: nothing changes from 1e-11 to 1e-7.
LEAST_REACH = 1e-9
#: Slack allowed when a cut is made independent of the intercept, relative to the gap. Source:
#: constants.md: from 2.5e-5 to 4e-4 passes change by less than 1 % (8 cases).
PINNED = 1e-4
#: Slack allowed when a cut is made independent of the intercept, relative to the null loss, before
#: a gap is known. Source: constants.md: from 1e-9 to 1e-5 passes change by less than 5 % (3 cases).
FIRST_LOSS = 1e-7
#: Memory of the cuts, as a share of the data's. Source: constants.md: nothing changes from 0.0625
#: to 0.8125.
CUTS_SHARE = 0.25
#: Memory that the cuts may use even if the data are small, in float64 entries: 100 MB. Source:
#: constants.md: nothing changes from 6_250_000 to 25_000_000.
CUTS_ROOM = 12_500_000
#: First trial change of the intercept, in score units. Source: constants.md: from 0.0025 to 0.04
#: passes change by less than 4 % (8 cases).
FIRST_SHIFT = 1e-2
#: Most trials of a line search. Source: constants.md: nothing changes from 10 to 40.
MOST_TRIALS = 20
#: Most trials of intercepts. Source: constants.md: nothing changes from 50 to 200.
MOST_SHIFTS = 100
#: Points of an objective above this multiple of the null loss give no cut, which would be rounding.
#: Source: constants.md: from 1e4 to 1e8 passes change by less than 4 % (1 case).
HIGH = 1e6


class Query(NamedTuple):
    """A point with a cut: ``loss >= dscores.scores + offset`` for every intercept."""

    point: Point
    dscores: FloatArray
    offset: float

    @property
    def value(self) -> float:
        """Objective at the point."""
        return self.point.value


@dataclass
class LastBundle:
    """The cuts that a solve along a path leaves for the next one."""

    bundle: Bundle | None = None


@dataclass(frozen=True)
class BmrmState(State):
    """The best point, the next cut (``query``) and the cuts, which are updated in place.

    ``reach`` is the step of the last line search, ``cut_at_best`` whether there is a cut at the
    best point, ``minimiser_gap`` the gap when the last cut was taken at the model's minimiser
    because the line search gave nothing new, and ``quiet`` the number of cuts since one improved
    the bound or the best value.
    """

    best: Query
    query: Query
    bundle: Bundle
    reach: float = 1.0
    cut_at_best: bool = False
    minimiser_gap: float = math.inf
    quiet: int = 0

    @property
    def gap(self) -> float:
        """Best objective less the lower bound; infinite before the first model."""
        return math.inf if self.lower is None else max(self.best.value - self.lower, 0.0)


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

    needs = Need.CONVEX_LOSS | Need.SMOOTH_PENALTY | Need.STRONG_PENALTY

    def __post_init__(self) -> None:
        check_int("Bmrm", "patience", self.patience, low=1)

    @classmethod
    def examples(cls) -> list[Bmrm]:
        """Instances the conformance kit tests."""
        return [cls(), cls(line_search=False)]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BmrmState:
        """State at the starting point, with the cuts of an earlier solve along a path, if any."""
        query = first_query(problem, problem.evaluate(w))
        bundle = Bundle(problem.coef(problem.ridge), self.patience, _most_cuts(problem))
        if problem.memory is not None:
            last = problem.memory.part(LastBundle)
            bundle.take(last.bundle)
            last.bundle = bundle
        lower = None if self.oracle is None else -math.inf
        return BmrmState(query.point, query, query, bundle, lower=lower)

    def step(self, problem: Problem, state: BmrmState) -> BmrmState:
        """Add the latest cut, minimise the model, and search the line to the minimiser."""
        bundle, best = state.bundle, state.best
        if not math.isfinite(state.query.offset):
            return replace(state, stalled=True)
        bundle.add(*self._cut(problem, state.query))
        lowest = bundle.lowest()
        before = -math.inf if state.lower is None else state.lower
        quiet = 0 if lowest.value > before else state.quiet + 1
        cut_at_best = state.cut_at_best or state.query is best
        state = replace(
            state, lower=max(lowest.value, before), quiet=quiet, cut_at_best=cut_at_best
        )
        aim = problem.join(lowest.w, problem.intercept(best.point.w))
        if np.array_equal(aim, best.point.w):
            return _with_query(state, best, best)
        line = Line(problem, best, aim, PINNED * state.gap)
        if not self.line_search:  # the published method; a search only if the loss is infinite
            trial = line.at(1.0)
            if math.isfinite(trial.value):
                return _with_query(state, trial.query, best)
        sharp = 1.0 if bundle.count <= BLUNT_CUTS else SHARP
        low, beyond = lowest_on(line, min(1.0, WIDEN * state.reach), sharp * state.gap)
        state = replace(state, reach=low.step or max(0.5 * state.reach, LEAST_REACH))
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
    room = max(CUTS_ROOM, CUTS_SHARE * problem.n_entries)
    return int(room) // max(1, problem.data.n_columns)


def _with_query(state: BmrmState, query: Query, found: Query) -> BmrmState:
    """The state with ``query`` as its next cut and the best of all points so far."""
    best = min((query, found, state.best), key=lambda q: q.value)
    again = query is state.query or np.array_equal(query.point.w, state.query.point.w)
    same = best is state.best
    quiet = state.quiet if same else 0
    return replace(
        state,
        point=best.point,
        best=best,
        query=query,
        cut_at_best=state.cut_at_best and same,
        quiet=quiet,
        stalled=again or quiet >= QUIET,
    )


class Trial(NamedTuple):
    """A query on a line and the slope of the objective there."""

    step: float
    query: Query
    slope: float

    @property
    def value(self) -> float:
        """Objective at the trial; infinite if the trial has no finite cut."""
        return self.query.value if math.isfinite(self.query.offset) else math.inf


class Line:
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

    def _trial(self, step: float, query: Query) -> Trial:
        slope = float(query.dscores @ self._change) + self._pull + step * self.curve
        return Trial(step, query, slope)

    def at(self, step: float) -> Trial:
        """Trial at ``start + step (aim - start)``."""
        origin, moved = self._origin, step * self._change
        moved += origin.scores
        point = self.problem.evaluate(origin.w + step * self._direction, scores=moved)
        scale = max(abs(self.start.query.value), abs(self.problem.null.loss))
        if point.value <= HIGH * HIGH * scale:
            query = balanced(self.problem, point, self.accuracy)
            if query.value <= HIGH * scale:
                return self._trial(step, query)
        return Trial(step, Query(point, origin.dscores, math.inf), math.inf)


def lowest_on(line: Line, first: float, accuracy: float) -> tuple[Trial, Trial]:
    """The lowest trial on a line, to an accuracy, and the nearest trial beyond the minimum.

    Both are the start if the objective does not fall from there, and the end (step 1) if it still
    falls there. A tangent of the loss plus the exact quadratic of the penalty is a lower bound of
    the objective; the next trial is at the minimum of the maximum of the two bounds that bracket
    the minimum.
    """
    low = high = best = line.start
    step = first
    for _ in range(MOST_TRIALS):
        if high.slope < 0.0:  # still falling: expand
            if high.step == 1.0:
                break
            low, high, step = high, line.at(step), min(EXPAND * step, 1.0)
            trial = high
        else:
            at = 0.1
            if math.isfinite(high.value):
                at, bound = _lower_model(low, high, line.curve)
                if best.value - bound <= accuracy:
                    break
            at = min(max(at, 0.02), 0.98)  # away from both ends, so that the bracket shrinks
            trial = line.at(low.step + at * (high.step - low.step))
            low, high = (trial, high) if trial.slope < 0.0 else (low, trial)
        best = trial if trial.value < best.value else best
    return best, high if math.isfinite(high.value) else best


def _lower_model(low: Trial, high: Trial, curve: float) -> tuple[float, float]:
    """Minimiser (as a share of the interval) and minimum of the maximum of two parabolas."""
    width = high.step - low.step
    left, right, bend = low.slope * width, high.slope * width, curve * width * width
    # Both have the same curvature, so they cross once; the left one is higher before that.
    apart = right - left - bend
    at = (low.value - high.value + right - 0.5 * bend) / apart if apart > 0.0 else 0.5
    if bend > 0.0:
        at = max(min(at, -left / bend), 1.0 - right / bend)
    at = min(max(at, 0.0), 1.0)
    from_left = low.value + left * at + 0.5 * bend * at * at
    from_right = high.value - right * (1.0 - at) + 0.5 * bend * (1.0 - at) ** 2
    return at, max(from_left, from_right)


def balanced(problem: Problem, point: Point, accuracy: float) -> Query:
    """The point with its best intercept, and a cut there that does not depend on the intercept.

    At a kink the cut is a combination of the tangents on both sides, which is below the loss by at
    most ``accuracy``. The offset is not finite if there is no such cut.
    """
    if problem.loss.smooth:
        point = problem.with_best_intercept(point)
    if not point.imbalance:
        return Query(point, point.dscores, _offset(point))
    loss, scores, target = problem.loss, point.scores, problem.data.target
    # First the loss's own formula for shifted scores. Its rounding may differ from that of the
    # evaluated points; if the slopes then have the same sign, shift the scores themselves.
    for shifts in (loss.shifts(scores, target), ShiftedScores(loss, scores, target)):
        low, high = (_shifted(problem, point, by) for by in _bracketing_shifts(shifts, accuracy))
        left, right = _intercept_slope(low), _intercept_slope(high)
        for end in (low, high):
            if not end.imbalance:
                return Query(end, end.dscores, _offset(end))
        if left < 0.0 < right:
            break
    # The combination whose slope in the intercept is 0: share left + (1 - share) right = 0.
    share = right / (right - left) if left < 0.0 < right else math.nan
    return Query(
        low if low.value <= high.value else high,
        share * low.dscores + (1.0 - share) * high.dscores,
        share * _offset(low) + (1.0 - share) * _offset(high),
    )


def _bracketing_shifts(shifts: Shifts, accuracy: float) -> tuple[float, float]:
    """Two intercepts around the best one, whose tangents cross within ``accuracy`` of the loss."""
    low, high = _bracket(shifts)
    for k in range(MOST_SHIFTS):
        left, right = low.slope, high.slope
        if not left < 0.0 < right:
            break
        fall = (low.value - high.value + right * (high.by - low.by)) / (right - left)
        least = min(low.value, high.value)
        # The crossing of the tangents; every third trial bisects, so that the bracket shrinks.
        at = low.by + (fall if k % 3 < 2 else 0.5 * (high.by - low.by))
        enough = max(accuracy, ROUNDING * abs(least))
        if least - (low.value + left * fall) <= enough or not low.by < at < high.by:
            break
        middle = _Shift.at(shifts, at)
        low, high = (middle, high) if middle.slope < 0.0 else (low, middle)
    return low.by, high.by


def resumed(problem: Problem, state: BmrmState, point: Point) -> BmrmState:
    """The state with its next cut at a point that another solver has found."""
    query = first_query(problem, point)
    best = min(query, state.best, key=lambda q: q.value)
    has_cut = state.cut_at_best and best is state.best
    return replace(
        state, point=best.point, best=best, query=query, cut_at_best=has_cut, stalled=False
    )


def first_query(problem: Problem, point: Point) -> Query:
    """The point with its best intercept and a cut there, before a gap is known."""
    return balanced(problem, point, FIRST_LOSS * abs(problem.null.loss))


class _Shift(NamedTuple):
    """The loss and its slope in the intercept, after a change of the intercept ``by``."""

    by: float
    value: float
    slope: float

    @classmethod
    def at(cls, shifts: Shifts, by: float) -> _Shift:
        """Evaluate the loss with the intercept changed ``by``."""
        shifted = shifts.at(by)
        return cls(by, shifted.value, shifted.slope)


def _bracket(shifts: Shifts) -> tuple[_Shift, _Shift]:
    """Two changes of the intercept that bracket the minimum of the loss."""
    low = high = here = _Shift.at(shifts, 0.0)
    stride = FIRST_SHIFT
    while math.isfinite(stride) and low.slope * high.slope > 0.0:
        if here.slope > 0.0:
            low, high = _Shift.at(shifts, -stride), low
        else:
            low, high = high, _Shift.at(shifts, stride)
        stride *= 4.0
    return low, high


def _intercept_slope(point: Point) -> float:
    """Derivative of the loss in the intercept."""
    return float(point.dscores.sum())


def _offset(point: Point) -> float:
    """Value at zero scores of the tangent at a point, less a bound on its rounding error."""
    scores, dscores = point.scores, point.dscores
    along = float(dscores @ scores)
    rounding = ROUNDING * (abs(point.loss) + absolute_sum(dscores * scores))
    if point.problem.loss.shift_invariant:  # slopes sum to zero, up to rounding errors
        largest = max(float(scores.max()), -float(scores.min()))
        rounding += abs(_intercept_slope(point)) * largest
    return point.loss - along - rounding


def _shifted(problem: Problem, point: Point, by: float) -> Point:
    """The point with another intercept; no pass over the data."""
    w = point.w.copy()
    w[-1] += by
    return problem.evaluate(w, scores=point.scores + by)
