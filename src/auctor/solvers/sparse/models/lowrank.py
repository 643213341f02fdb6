"""The quadratic model shared by the proximal quasi-Newton family, and how a step is taken on it.

A `Subproblem` is the model of the loss, with a matrix of `auctor.solvers.sparse.matrices`, plus the
penalty on the coordinates that may move; coordinate descent in `auctor.kernels.descent.lowrank`
solves it, exactly or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.linalg import floored
from auctor.core.rng import kernel_state
from auctor.core.rounding import ROUNDING
from auctor.core.types import Array, FloatArray, SeparableSpec
from auctor.kernels.descent import lowrank as kernels
from auctor.problem import Point, Problem
from auctor.solvers.base import State
from auctor.solvers.line_search import MOST_TRIALS, first_accepted
from auctor.solvers.sparse.matrices import LbfgsMatrix, Matrix, Restricted

#: Squared change of a coordinate, as a share of its scale, below which a pass has converged.
TINY_STEP = 1e-20
#: The same for exact subproblems: the square of a rounding error.
EXACT_STEP = 1e-28
#: Decrease along a difference that measures curvature, as a share of the excess over the infimum.
DIFFERENCE = 1e-3

ORDERS = {"cyclic": kernels.CYCLIC, "shuffled": kernels.SHUFFLED, "iid": kernels.IID}


class Survey(NamedTuple):
    """Minimum-norm subgradient and kind of every coordinate (see `kernels.descent.lowrank`)."""

    steepest: FloatArray
    kind: Array

    def movable(self) -> Array:
        """Coordinates that do not rest on a kink or bound where they are optimal."""
        return np.flatnonzero(self.kind != kernels.PINNED)


def survey(point: Point, spec: SeparableSpec) -> Survey:
    """Classify every penalised coordinate of a point; O(p)."""
    size = spec.l1.shape[0]
    steepest, kind = np.empty(size), np.empty(size, dtype=np.uint8)
    kernels.classify(point.w[:size], point.gradient[:size], *spec, steepest, kind)
    return Survey(steepest, kind)


class Inner(NamedTuple):
    """Order of the coordinates, squared step below which a pass ends, random state.

    The random state is an array that every solve advances in place.
    """

    order: int
    tiny: float
    state: Array

    @classmethod
    def seeded(cls, rng: np.random.Generator, order: str, *, exact: bool = False) -> Inner:
        """Random state from ``rng``; exact runs go on until steps vanish in rounding."""
        state = kernel_state(rng)
        return cls(ORDERS[order], EXACT_STEP if exact else TINY_STEP, state)


class ModelStep(NamedTuple):
    """A point proposed by the model, with the model's change of the loss alone."""

    w: FloatArray
    rise: float
    steps: int


class Model(Protocol):
    """A quadratic model of the loss plus the penalty, on the coordinates that may move."""

    def solve(self, inner: Inner, *, scale: float, extra: float, passes: int) -> ModelStep:
        """Minimise it for ``H = scale B + extra B_0`` by some passes of coordinate descent."""


@dataclass(frozen=True)
class Subproblem:
    """Minimise ``Q_H(u, w) = gradient.(u - w) + 1/2 |u - w|_H^2 + penalty(u)`` on some coordinates.

    ``H = scale B + extra B_0``; both may change between solves without rebuilding anything.
    """

    origin: FloatArray
    index: Array
    w: FloatArray
    gradient: FloatArray
    spec: SeparableSpec
    model: Restricted

    @classmethod
    def at(cls, point: Point, matrix: Matrix, spec: SeparableSpec, index: Array) -> Subproblem:
        """The model around a point, with everything gathered into contiguous arrays.

        Pairs that rounding errors have spoilt are dropped from the matrix.
        """
        part, model = SeparableSpec(*(level[index] for level in spec)), matrix.restrict(index)
        matrix.keep(model.pairs)
        return cls(point.w, index, point.w[index], point.gradient[index], part, model)

    def solve(self, inner: Inner, *, scale: float, extra: float, passes: int) -> ModelStep:
        """Coordinate descent from w (from its projection, if w is outside the box)."""
        u = np.clip(self.w, self.spec.lower, self.spec.upper)
        base, diagonal, rows, hats = self.model
        project = (u - self.w) @ hats
        order, tiny, state = inner
        data = (self.w, self.gradient, base, diagonal, rows, hats)
        steps = kernels.sweeps(
            *data, *self.spec, scale, extra, order, passes, tiny, state, u, project
        )
        linear, curve = kernels.model_change(
            self.w, u, self.gradient, base, rows, project, scale, extra
        )
        w = self.origin.copy()
        w[self.index] = u
        return ModelStep(w, linear + curve, steps)


# --- a step ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelState(State):
    """The point, the pairs, which a step updates in place, and counters of the work so far."""

    pairs: LbfgsMatrix
    inner: Inner
    iteration: int = 0
    free: int = 0
    coordinate_steps: int = 0
    backtracks: int = 0
    least: float = math.inf
    without_progress: int = 0


M = TypeVar("M", bound=ModelState)


@dataclass(frozen=True)
class Descent:
    """An accepted step: the new point, the ``scale`` and ``extra`` of its H, and the work."""

    point: Point
    scale: float
    extra: float
    steps: int
    trials: int


def descend(
    problem: Problem,
    point: Point,
    model: Model,
    inner: Inner,
    *,
    passes: int,
    rho: float,
    scale: float = 1.0,
    extra: float = 0.0,
    harder: Callable[[float, float], tuple[float, float]],
) -> Descent | None:
    """Solve the model with ever larger H until ``F(p) - F(w) <= rho (Q_H(p, w) - F(w))``.

    Every solve starts from w again, so the model never rises. The intercept is not in the model: it
    is at its best at w and at every trial, so F is a function of the columns alone. ``harder`` maps
    (scale, extra) to the next pair. ``None`` when nothing moves, or after `MOST_TRIALS` increases
    of H. One pass over the data per trial.
    """
    work: list[int] = []  # coordinate steps of every trial

    def trial(size: tuple[float, float]) -> tuple[Point | None, float]:
        """The point that the model proposes and the model's rise; no point if nothing moves."""
        descent = model.solve(inner, scale=size[0], extra=size[1], passes=passes)
        work.append(descent.steps)
        if np.array_equal(descent.w, point.w):
            return None, descent.rise
        return problem.with_best_intercept(problem.evaluate(descent.w)), descent.rise

    def ends(_: tuple[float, float], descent: tuple[Point | None, float]) -> bool:
        new, rise = descent
        if new is None:
            return True
        predicted = rise + new.penalty - point.penalty
        return new.value - point.value <= rho * predicted + ROUNDING * abs(point.value)

    accepted = first_accepted(trial, ends, _harder_models(scale, extra, harder))
    if accepted is None:
        return None
    (scale, extra), (new, _) = accepted
    if new is None:
        return None
    return Descent(new, scale, extra, sum(work), len(work))


def _harder_models(
    scale: float, extra: float, harder: Callable[[float, float], tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """The first scale and extra diagonal of H, and those of the next `MOST_TRIALS` - 1 trials."""
    for _ in range(MOST_TRIALS):
        yield scale, extra
        scale, extra = harder(scale, extra)


def advance(
    problem: Problem, state: M, done: Descent, *, learn: bool = True, shrink: float = 1.0
) -> M:
    """The state after an accepted step: work counted, the pair stored with ``shrink``."""
    old, new = state.point, done.point
    if learn:
        change = new.gradient - old.gradient
        state.pairs.add(problem.coef(new.w - old.w), problem.coef(change), shrink=shrink)
    # Rounding lets values rise and fall again, so only a new least value is progress.
    without_progress = 0 if new.value < min(state.least, old.value) else state.without_progress + 1
    # Steps in a row without a new least value after which the solver has stalled.
    return replace(
        state,
        point=new,
        iteration=state.iteration + 1,
        coordinate_steps=state.coordinate_steps + done.steps,
        backtracks=state.backtracks + done.trials - 1,
        least=min(state.least, new.value),
        without_progress=without_progress,
        stalled=without_progress >= 100,
    )


def column_metric(problem: Problem, power: float) -> FloatArray:
    """Weighted second moments of the columns to a power: their relative curvature, for any loss.

    One pass, none for power 0. Power 1 would be right for columns that do not overlap, 0 for ones
    of equal scale.
    """
    if power == 0.0:
        return np.ones(problem.n_columns)
    out: FloatArray = floored(problem.column_squares) ** power
    return out


def curvature_along_gradient(problem: Problem, point: Point, metric: FloatArray) -> float:
    """``d'(Hessian)d / d'diag(metric)d`` along ``d = gradient / metric``, by a difference.

    One pass, no second derivatives. Where it says nothing, the curvature of a step that would lower
    the loss to its infimum.
    """
    direction = np.zeros_like(point.w)
    size = metric.shape[0]
    direction[:size] = point.gradient[:size] / metric
    square = float(point.gradient @ direction)
    excess = point.loss - problem.loss.infimum(problem.data.target)
    if not (square > 0.0 and math.isfinite(square)):
        return 1.0
    if not 0.0 < excess < math.inf:
        excess = abs(point.loss) or 1.0
    change = -problem.score_change(direction)
    step = DIFFERENCE * excess / square
    near = problem.loss.value_grad(point.scores + step * change, problem.data.target)[1]
    curve = float(change @ (near - point.dscores)) / (step * square)
    problem.counts.evaluations += 1
    return curve if 0.0 < curve < math.inf else 0.5 * square / excess


# --- inner budgets --------------------------------------------------------------------------


#: Passes of coordinate descent at outer iteration k = 1, 2, ... for a rate.
BUDGETS: dict[str, Callable[[int, float], float]] = {
    "linear": lambda k, rate: 1.0 + rate * k,
    "log": lambda k, rate: 1.0 + rate * math.log(k),
    "constant": lambda k, rate: rate,
}


def budget(inner: str, k: int, rate: float) -> int:
    """Passes at iteration k, between 1 and 1000.

    Examples
    --------
    >>> [budget("linear", k, 0.2) for k in (1, 5, 400)]
    [1, 2, 81]
    """
    # Passes of coordinate descent in one outer iteration, at most.
    return int(min(max(BUDGETS[inner](k, rate), 1.0), 1000))


def check_model(
    memory: int, order: str, scaling: float, *, rho: float = 1.0, growth: float = 2.0
) -> None:
    """Check the parameters that these solvers share."""
    check_int("memory", memory, low=1)
    check_real("scaling", scaling, low=0.0, high=1.0)
    check_choice("order", order, tuple(ORDERS))
    check_real("rho", rho, low=0.0, high=1.0, open_low=True)
    check_real("growth", growth, low=1.0, open_low=True)
