"""Losses on pairs by the pairs of a sample of rows, corrected by the slope on all pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.needs import Need
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray, Target
from auctor.problem import PathMemory, Point, Problem
from auctor.solvers.kinked.continuation import (
    Continuation,
    ContinuationState,
    first_width,
    null_unit,
    smoothed_problem,
)
from auctor.solvers.kinked.proximal_point import Shifted
from auctor.solvers.lbfgs import Lbfgs, LbfgsState, Memory
from auctor.solvers.line_search import Ray, wolfe

#: Rows of a sample, at least, for every column, and as a share of all rows; the largest share that
#: is worth while.
LEAST, PER_COLUMN, USUAL, SHARE = 2500, 12, 1.0 / 20.0, 1.0 / 10.0
#: Widths in units of the null loss: the first, the factor to the next, and the last.
WIDTH, SHRINK, NARROWEST = 0.05, 0.4, 1e-9
#: Share of the slope that a solve on the sample leaves, at first and in corrected ones, its steps
#: at most, and pairs of points that its L-BFGS remembers.
FIRST, LATER, STEPS, MEMORY = 0.03, 0.1, 30, 20
#: A width is done with when its gap is this share of the smoothing error, and sampling when a step
#: leaves more than this share of the gap.
SOLVED, SLOW = 0.2, 0.6
#: Steps of L-BFGS before Newton where the sample is no good model.
WARM = 4


@dataclass
class Sample:
    """Some of the rows, and what steps on them have found out, also for later solves of a path.

    That is what L-BFGS remembers of the curvature, the latest width, and whether the sample was no
    good model (weaker penalties, which come later, ask for more).
    """

    data: Data
    memory: Memory
    width: float = math.nan
    poor: bool = False


@dataclass
class LastSample:
    """The sample that the solves of a path share."""

    sample: Sample | None = None


@dataclass(frozen=True)
class SampledPairsState:
    """The point on the problem itself, that on the smoothed one, and the sample.

    ``after`` is the state of the solver that takes over where the sample is no good model.
    """

    point: Point
    dual: Point | None
    sample: Sample
    rng: np.random.Generator
    before: float = math.inf
    after: ContinuationState | None = None

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.after is not None and self.after.stalled


@dataclass(frozen=True)
class SampledPairs:
    """Minimise over the pairs of a few rows, whose slope is corrected by that over all pairs.

    A sample of m rows has m^2/4 pairs, so that it takes few rows to know the curvature of the loss
    in few columns. A step minimises the smoothed loss of the sample plus the linear function that
    gives it the slope of all rows at the current point, then searches along the way there; two
    passes over all rows reduce the gap several times. Widths of the smoothing fall as in
    `Continuation`. Where the sample turns out to be a poor model the next best solver takes over.

    References
    ----------
    Shamir, Srebro, Zhang, Communication-efficient distributed optimization using an approximate
    Newton-type method, 2014.
    """

    needs = Need.PAIR_LOSS | Need.SMOOTHABLE_LOSS | (
        Need.SMOOTH_PENALTY | Need.STRONG_PENALTY | Need.ROWS
    )  # fmt: skip

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether a sample has far fewer rows than there are."""
        return _size(problem) > 0

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SampledPairsState:
        """State at the starting point, with a sample of the rows."""
        point, sample = problem.evaluate(w), _sample(problem, rng)
        state = SampledPairsState(point, None, sample, rng)
        if not problem.coef(w).any():
            sample.width = WIDTH * null_unit(problem)
            return state
        if math.isnan(sample.width):
            sample.width = first_width(problem, point, SHRINK)
        else:
            # A little wider than where the last solve ended, which may have been very narrow.
            least, most = (width * null_unit(problem) for width in (SHRINK**2 * WIDTH, WIDTH))
            sample.width = min(max(sample.width / SHRINK, least), most)
        smoothed = smoothed_problem(problem, sample.width)
        state = replace(state, dual=smoothed.evaluate(w, scores=point.scores))
        return _after(smoothed, state) if sample.poor else state

    def step(self, problem: Problem, state: SampledPairsState) -> SampledPairsState:
        """A solve on the sample and a search on all rows, or a step of what comes after."""
        if state.after is not None:
            return _handed(state, Continuation().step(problem, state.after))
        sample, smoothed = state.sample, smoothed_problem(problem, state.sample.width)
        sampled = Problem(smoothed.loss, problem.penalty, sample.data)
        found: Point | None
        if state.dual is None:
            end, solved = _minimiser(sampled, state.point.w, sample.memory, FIRST)
            found = smoothed.evaluate(end)
        else:
            found, solved = _corrected(smoothed, sampled, state)
        share = sample.data.n_rows / problem.data.n_rows
        problem.counts.passes += share * sampled.counts.passes
        if found is None:
            return _after(smoothed, state)
        point = problem.evaluate(found.w, scores=found.scores)
        gap = smoothed.certificate(found).gap
        state = replace(state, point=point, dual=found)
        narrow = sample.width <= NARROWEST * null_unit(problem)
        if gap <= SOLVED * (point.loss - found.loss) and not narrow:
            sample.width *= SHRINK
            return replace(state, before=math.inf)
        if gap > SLOW * state.before or not solved:
            return _after(smoothed, state)
        return replace(state, before=gap)


def _after(smoothed: Problem, state: SampledPairsState) -> SampledPairsState:
    """Where the sample is a poor model, go on as `Continuation` does, with what L-BFGS knows."""
    state.sample.poor = True
    here = _here(smoothed, state)
    inner = LbfgsState(here, state.sample.memory)
    after = ContinuationState(
        state.point, here, state.sample.width, smoothed, Lbfgs(), inner, state.rng, warm_steps=WARM
    )
    return _handed(state, after)


def _handed(state: SampledPairsState, after: ContinuationState) -> SampledPairsState:
    state.sample.width = after.width
    return replace(state, point=after.point, dual=after.dual, after=after)


def _here(smoothed: Problem, state: SampledPairsState) -> Point:
    """The current point on the smoothed problem."""
    if state.dual is not None and state.dual.problem.loss == smoothed.loss:
        return state.dual
    return smoothed.evaluate(state.point.w, scores=state.point.scores)


def _corrected(
    smoothed: Problem, sampled: Problem, state: SampledPairsState
) -> tuple[Point | None, bool]:
    """The best point on the way to the minimiser on the sample with the slope of all rows.

    A linear function added to the l2 penalty moves its centre: ``w + tilt`` takes the place of
    ``w``, and the scores of the loss move by those of the tilt.
    """
    here = _here(smoothed, state)
    own = sampled.evaluate(here.w)
    tilt = (here.gradient - own.gradient) / smoothed.ridge
    loss = Shifted(sampled.loss, -sampled.score_change(tilt))
    end, solved = _minimiser(sampled.with_loss(loss), here.w + tilt, state.sample.memory, LATER)
    trial = wolfe(Ray(smoothed, here, end - tilt - here.w))
    return (None if trial is None else trial.point), solved


def _minimiser(
    problem: Problem, start: FloatArray, memory: Memory, share: float
) -> tuple[FloatArray, bool]:
    """Where L-BFGS leaves this share of the slope, and whether it does; its memory is kept."""
    solver, state = Lbfgs(), LbfgsState(problem.evaluate(start), memory)
    goal = share * float(np.linalg.norm(problem.total_gradient(state.point)))
    for _ in range(STEPS):
        state = solver.step(problem, state)
        if float(np.linalg.norm(problem.total_gradient(state.point))) <= goal:
            return state.point.w, True
        if state.stalled:
            break
    return state.point.w, False


def _sample(problem: Problem, rng: np.random.Generator) -> Sample:
    """A sample of the rows; the solves of a path share one."""
    left = (problem.memory or PathMemory()).part(LastSample)
    if left.sample is None:
        data, size = problem.data, _size(problem)
        rows = data.rows(_drawn(data.target, size, rng)) if size else data
        left.sample = Sample(rows, Memory(MEMORY, problem.n_params))
    return left.sample


def _size(problem: Problem) -> int:
    """Rows of a sample that models the pairs of all, 0 where these are too few, or in groups."""
    n_rows = problem.data.n_rows
    size = max(LEAST, PER_COLUMN * problem.n_columns, int(USUAL * n_rows))
    return size if size <= SHARE * n_rows and problem.data.target.groups is None else 0


def _drawn(target: Target, size: int, rng: np.random.Generator) -> IntArray:
    """Rows of a sample, as many of each class where there are: a class is weighed by itself."""
    few, many = sorted((side.rows for side in target.classes), key=len)
    n_few = min(few.size, size // 2)
    n_many = min(many.size, size - n_few)
    parts = [rng.choice(few, n_few, replace=False), rng.choice(many, n_many, replace=False)]
    return np.sort(np.concatenate(parts))
