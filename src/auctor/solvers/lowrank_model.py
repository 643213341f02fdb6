"""The quadratic model shared by the proximal quasi-Newton family, and how a step is taken on it.

A matrix is ``diag(base) - G M^-1 G'``: compact L-BFGS pairs, or a plain diagonal. A `Subproblem` is
the model of the loss plus the penalty on the coordinates that may move; coordinate descent in
`auctor.kernels.lowrank` solves it, exactly or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.types import Array, FloatArray, SeparableSpec
from auctor.kernels import lowrank as kernels
from auctor.problem import Point, Problem

#: A pair is kept when ``s't`` exceeds this times ``|s| |t|``.
LEAST_CURVATURE = 1e-12
#: The scale of the matrix stays within this factor of the first pair's, either way.
THETA_RANGE = 1e10
#: Rounding allowed in tests of decrease, relative to the objective.
ROUNDING = 1e-14
#: The prox parameter grows at most this often in one step.
MOST_TRIALS = 60
#: Steps in a row without a decrease before rounding is blamed.
MOST_IDLE = 20

ORDERS = {"cyclic": kernels.CYCLIC, "shuffled": kernels.SHUFFLED, "iid": kernels.IID}


class Restricted(NamedTuple):
    """``diag(base) - rows hats'`` on k coordinates, with its diagonal."""

    base: FloatArray
    diagonal: FloatArray
    rows: FloatArray
    hats: FloatArray

    def matrix(self) -> FloatArray:
        """The matrix in full, for tests."""
        out: FloatArray = np.diag(self.base) - self.rows @ self.hats.T
        return out


class Matrix(Protocol):
    """A symmetric positive matrix that can be restricted to some coordinates."""

    def restrict(self, index: Array) -> Restricted:
        """The principal submatrix of ``index``."""


@dataclass(frozen=True)
class Diagonal:
    """A diagonal matrix."""

    base: FloatArray

    def restrict(self, index: Array) -> Restricted:
        """The principal submatrix of ``index``."""
        base = self.base[index]
        empty = np.zeros((base.shape[0], 0))
        return Restricted(base, base, empty, empty)


class Pairs:
    """Compact L-BFGS: the latest (step, gradient change) pairs in a ring of two fixed arrays.

    With ``S``, ``T`` the pairs as columns, oldest first, ``D = diag(s_i't_i)`` and L the strictly
    lower part of ``S'T``::

        B = theta I - G M^-1 G',   G = [theta S, T],   M = [[theta S'S, L], [L', -D]]

    equals m BFGS updates of ``theta I``. A new pair overwrites the oldest row in place; its inner
    products with the others are two products, O(m p). Pairs are stored divided by ``|s|``, which
    leaves B as it is and M well scaled.

    Parameters
    ----------
    size : int
        Pairs kept.
    n_params : int
    theta : float > 0
        Scale before the first pair; afterwards ``shrink t't / s't`` of the latest one.
    shrink : float > 0
        Below 1 the matrix is optimistic in directions it knows nothing about.

    References
    ----------
    Byrd, Nocedal, Schnabel, Representations of quasi-Newton matrices, 1994; Tang, Big data
    optimization in machine learning, Lehigh 2016, section 5.3.
    """

    def __init__(
        self,
        size: int,
        n_params: int,
        theta: float,
        *,
        shrink: float = 1.0,
        metric: FloatArray | None = None,
    ) -> None:
        self.size, self.count, self._next = size, 0, 0
        self.metric = np.ones(n_params) if metric is None else metric
        self.theta, self._shrink, self._first = theta, shrink, 0.0
        self.steps, self.changes = np.zeros((size, n_params)), np.zeros((size, n_params))
        self.ss, self.st = np.zeros((size, size)), np.zeros((size, size))

    @property
    def slots(self) -> Array:
        """Rows in use, oldest first."""
        return (self._next - self.count + np.arange(self.count)) % self.size

    def add(self, s: FloatArray, t: FloatArray) -> bool:
        """Store a pair in place of the oldest if its curvature is positive; whether it was."""
        product, s_s, t_t = float(s @ t), float(s @ s), float(t @ t)
        if not product > LEAST_CURVATURE * math.sqrt(s_s * t_t):
            return False
        slot, norm = self._next, math.sqrt(s_s)
        np.divide(s, norm, out=self.steps[slot])
        np.divide(t, norm, out=self.changes[slot])
        unit = self.steps[slot]
        self.ss[slot] = self.ss[:, slot] = self.steps @ (self.metric * unit)
        self.st[slot] = self.changes @ unit
        self._next = (slot + 1) % self.size
        self.count = min(self.count + 1, self.size)
        theta = float(t @ (t / self.metric)) / product
        self._first = self._first or theta
        bounded = min(max(theta, self._first / THETA_RANGE), self._first * THETA_RANGE)
        self.theta = self._shrink * bounded
        return True

    def clear(self) -> None:
        """Forget every pair; the scale stays."""
        self.count = 0

    def core(self) -> FloatArray:
        """The matrix M."""
        order = np.ix_(self.slots, self.slots)
        st, m = self.st[order], self.count
        out = np.empty((2 * m, 2 * m))
        out[:m, :m] = self.theta * self.ss[order]
        out[:m, m:] = np.tril(st, -1)
        out[m:, :m] = out[:m, m:].T
        out[m:, m:] = -np.diag(np.diag(st))
        return out

    def restrict(self, index: Array) -> Restricted:
        """B on ``index``, O(m^2 k); pairs that rounding has spoilt are dropped, oldest first."""
        base = self.theta * self.metric[index]
        while self.count:
            rows = np.empty((index.shape[0], 2 * self.count))
            slots, where = self.slots.astype(np.uint64), index.astype(np.uint64)
            kernels.gather(self.steps, self.changes, slots, where, base, rows)
            try:
                hats = np.ascontiguousarray(np.linalg.solve(self.core(), rows.T).T)
            except np.linalg.LinAlgError:
                hats = np.full_like(rows, math.nan)
            diagonal = base.copy()
            kernels.row_dots(rows, hats, diagonal)
            if (diagonal > LEAST_CURVATURE * base).all():
                return Restricted(base, diagonal, rows, hats)
            self.count -= 1
        empty = np.zeros((index.shape[0], 0))
        return Restricted(base, base, empty, empty)

    def solve(self, v: FloatArray) -> FloatArray:
        """``B^-1 v`` by the two-loop recursion, O(m p)."""
        out, slots = v.copy(), self.slots
        along = np.zeros(slots.size)
        for q in range(slots.size - 1, -1, -1):
            slot = slots[q]
            along[q] = float(self.steps[slot] @ out) / self.st[slot, slot]
            out -= along[q] * self.changes[slot]
        out /= self.theta * self.metric
        for q, slot in enumerate(slots):
            back = float(self.changes[slot] @ out) / self.st[slot, slot]
            out += (along[q] - back) * self.steps[slot]
        return out


# --- the subproblem -------------------------------------------------------------------------


def spec_of(problem: Problem) -> SeparableSpec:
    """The penalty of every parameter; the intercept has none."""
    spec = problem.penalty.separable(problem.n_columns)
    assert spec is not None
    if not problem.has_intercept:
        return spec
    ends = (0.0, 0.0, -math.inf, math.inf)
    return SeparableSpec(*(np.append(part, end) for part, end in zip(spec, ends, strict=True)))


class Survey(NamedTuple):
    """Minimum-norm subgradient and kind of every coordinate (see `auctor.kernels.lowrank`)."""

    steepest: FloatArray
    kind: Array

    def movable(self) -> Array:
        """Coordinates that do not rest on a kink or bound where they are optimal."""
        return np.flatnonzero(self.kind != kernels.PINNED)


def survey(point: Point, spec: SeparableSpec) -> Survey:
    """Look at every coordinate of a point; O(p)."""
    steepest, kind = np.empty_like(point.w), np.empty(point.w.shape[0], dtype=np.uint8)
    kernels.classify(point.w, point.gradient, *spec, steepest, kind)
    return Survey(steepest, kind)


class Inner(NamedTuple):
    """How coordinate descent runs: order, when steps count as nothing, its random state."""

    order: int
    tiny: float
    state: Array

    @classmethod
    def seeded(cls, rng: np.random.Generator, order: str, *, exact: bool = False) -> Inner:
        """Random state from ``rng``; exact runs go on until steps vanish in rounding."""
        state = rng.integers(1, 2**63, size=1).astype(np.uint64)
        return cls(ORDERS[order], 1e-28 if exact else 1e-20, state)


class Candidate(NamedTuple):
    """A point proposed by the model, with the model's change of the loss alone."""

    w: FloatArray
    rise: float
    steps: int


@dataclass(frozen=True)
class Subproblem:
    """Minimise ``Q_H(u, w) = gradient.(u - w) + 1/2 |u - w|_H^2 + penalty(u)`` on some coordinates.

    ``H = scale B + extra I``; both may change between solves without rebuilding anything.
    """

    origin: FloatArray
    index: Array
    w: FloatArray
    gradient: FloatArray
    spec: SeparableSpec
    model: Restricted

    @classmethod
    def at(cls, point: Point, matrix: Matrix, spec: SeparableSpec, index: Array) -> Subproblem:
        """The model around a point, with everything gathered into contiguous arrays."""
        part = SeparableSpec(*(level[index] for level in spec))
        return cls(
            point.w, index, point.w[index], point.gradient[index], part, matrix.restrict(index)
        )

    def solve(self, inner: Inner, *, scale: float, extra: float, passes: int) -> Candidate:
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
        return Candidate(w, linear + curve, steps)


# --- a step ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelState:
    """The point, the pairs (updated in place), and counters of the work so far."""

    point: Point
    pairs: Pairs
    spec: SeparableSpec
    inner: Inner
    iteration: int = 0
    free: int = 0
    coordinate_steps: int = 0
    backtracks: int = 0
    idle: int = 0
    stalled: bool = False
    dual: Point | None = None


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
    model: Subproblem,
    inner: Inner,
    *,
    passes: int,
    rho: float,
    scale: float = 1.0,
    extra: float = 0.0,
    harder: Callable[[float, float], tuple[float, float]],
) -> Descent | None:
    """Solve the model with ever larger H until ``F(p) - F(w) <= rho (Q_H(p, w) - F(w))``.

    Every solve starts from w again, so the model never rises. ``harder`` maps (scale, extra) to
    the next pair. ``None`` when H has grown beyond all measure. One pass over the data per trial.
    """
    steps = 0
    for trial in range(MOST_TRIALS):
        candidate = model.solve(inner, scale=scale, extra=extra, passes=passes)
        steps += candidate.steps
        if np.array_equal(candidate.w, point.w):
            return None
        new = problem.evaluate(candidate.w)
        predicted = candidate.rise + new.penalty - point.penalty
        if new.value - point.value <= rho * predicted + ROUNDING * abs(point.value):
            return Descent(new, scale, extra, steps, trial + 1)
        scale, extra = harder(scale, extra)
    return None


def advance(problem: Problem, state: M, done: Descent, *, learn: bool = True) -> M:
    """The state after an accepted step: intercept made exact, the pair stored, work counted."""
    old, new = state.point, problem.centred(done.point)
    if learn:
        state.pairs.add(new.w - old.w, new.gradient - old.gradient)
    idle = 0 if new.value < old.value else state.idle + 1
    return replace(
        state,
        point=new,
        iteration=state.iteration + 1,
        coordinate_steps=state.coordinate_steps + done.steps,
        backtracks=state.backtracks + done.trials - 1,
        idle=idle,
        stalled=idle >= MOST_IDLE,
    )


def curvature_along_gradient(problem: Problem, point: Point) -> float:
    """``g'(Hessian)g / g'g`` by a difference of score gradients; one pass, no second derivatives.

    Where that says nothing, the curvature of a step that would lower the loss to its infimum.
    """
    gradient = point.gradient
    square = float(gradient @ gradient)
    excess = point.loss - problem.loss.infimum(problem.data.target)
    if not (square > 0.0 and math.isfinite(square)):
        return 1.0
    if not 0.0 < excess < math.inf:
        excess = abs(point.loss) or 1.0
    change = -problem.score_change(gradient)
    step = 1e-3 * excess / square
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
MOST_PASSES = 1000


def budget(inner: str, k: int, rate: float) -> int:
    """Passes at iteration k, between 1 and 1000.

    Examples
    --------
    >>> [budget("linear", k, 0.2) for k in (1, 5, 400)]
    [1, 2, 81]
    """
    return int(min(max(BUDGETS[inner](k, rate), 1.0), MOST_PASSES))


def check_model(who: str, memory: int, order: str, rho: float, growth: float) -> None:
    """Refuse settings shared by the family that cannot work."""
    check_int(who, "memory", memory, low=1)
    check_choice(who, "order", order, tuple(ORDERS))
    check_real(who, "rho", rho, low=0.0, high=1.0, open_low=True)
    check_real(who, "growth", growth, low=1.0, open_low=True)
