"""Limited-memory BFGS: the solver, and the memory of pairs that quasi-Newton solvers share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from auctor.core.checks import check_int
from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import Ray, wolfe

#: A pair is kept if ``s't`` exceeds this times ``|s| |t|``.
LEAST_CURVATURE = 1e-12
#: Largest factor between the scale ``theta`` of the matrix and that of the first pair.
THETA_RANGE = 1e10


#: Largest error of the unit length of a step that another solve has stored.
UNIT_ERROR = 1e-6


@dataclass(frozen=True, eq=False)
class Pairs:
    """What a quasi-Newton solve has learned of the curvature, from which another one can go on.

    Parameters
    ----------
    steps, changes : (m, n_params) arrays
        The pairs in memory, oldest first, divided by the length of the step.
    shrink : float
        Factor on the scale of the latest pair.
    iteration, streak, calm : int
        Counters of `auctor.solvers.Lhac`.
    random : array, optional
        State of the random numbers of its coordinate descent.
    """

    steps: FloatArray
    changes: FloatArray
    shrink: float = 1.0
    iteration: int = 0
    streak: int = 0
    calm: int = 0
    random: Array | None = None

    def fits(self, n_params: int) -> bool:
        """Whether the pairs can be those of a problem with this many parameters."""
        shape = self.steps.shape
        if shape != self.changes.shape or shape[1:] != (n_params,):
            return False
        if not (np.isfinite(self.steps).all() and np.isfinite(self.changes).all()):
            return False
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(self.steps, axis=1)
        return bool((np.abs(lengths - 1.0) < UNIT_ERROR).all())


class Memory:
    """Compact L-BFGS: the latest (step, gradient change) pairs in a ring of two fixed arrays.

    With ``S``, ``T`` the pairs as columns, oldest first, ``B_0 = theta diag(metric)``,
    ``D = diag(s_i't_i)``, and L and R the strictly lower and the upper part of ``S'T``, the matrix
    of m BFGS updates of ``B_0`` and its inverse are::

        B = B_0 - G M^-1 G',   G = [B_0 S, T],   M = [[S'B_0 S, L], [L', -D]]
        B^-1 v = h + S R^-T (D r + T'B_0^-1 T r - T'h) - B_0^-1 T r,   h = B_0^-1 v, r = R^-1 S'v

    The states of a solver share one memory: `add`, `keep` and `clear` update it in place, and a new
    pair overwrites the oldest. B and its inverse have separate tables of inner products, updated on
    use: two products of O(m p) per pair. Pairs are stored divided by ``|s|``, which does not change
    B and keeps the small systems well scaled.

    Parameters
    ----------
    size : int
        Largest number of pairs.
    theta : float > 0
        Scale before the first pair; afterwards ``t' diag(metric)^-1 t / s't`` of the latest pair,
        times the ``shrink`` it was added with.
    metric : (n_params,) array > 0, optional
        Relative curvature of the coordinates; all equal by default.

    References
    ----------
    Byrd, Nocedal, Schnabel, Representations of quasi-Newton matrices, 1994; Tang, Big data
    optimization in machine learning, Lehigh 2016, section 5.3.
    """

    def __init__(
        self, size: int, n_params: int, theta: float = 1.0, *, metric: FloatArray | None = None
    ) -> None:
        self.size, self.count, self._next = size, 0, 0
        self.metric = np.ones(n_params) if metric is None else metric
        self.theta, self._first = theta, 0.0
        self.steps, self.changes = np.zeros((size, n_params)), np.zeros((size, n_params))
        self.own = np.zeros(size)  # s_i't_i
        # Inner products for B (S'S in the metric, s_i't_j for i later than j) and for its inverse
        # (s_i't_j for i earlier than j, T'T in the inverse metric).
        self.ss, self.later = np.zeros((size, size)), np.zeros((size, size))
        self.earlier, self.tt = np.zeros((size, size)), np.zeros((size, size))
        self._new_for_matrix: list[int] = []
        self._new_for_inverse: list[int] = []

    @property
    def slots(self) -> Array:
        """Rows in use, oldest first."""
        return (self._next - self.count + np.arange(self.count)) % self.size

    def add(self, s: FloatArray, t: FloatArray, *, shrink: float = 1.0) -> bool:
        """Store a pair in place of the oldest if its curvature is positive; return whether so.

        ``shrink`` is a factor on the scale. Below 1, directions outside the pairs get less
        curvature and longer steps.
        """
        product, s_s, t_t = float(s @ t), float(s @ s), float(t @ t)
        if not product > LEAST_CURVATURE * math.sqrt(s_s * t_t):
            return False
        slot, norm = self._next, math.sqrt(s_s)
        np.divide(s, norm, out=self.steps[slot])
        np.divide(t, norm, out=self.changes[slot])
        self.own[slot] = float(self.steps[slot] @ self.changes[slot])
        # Both tables of inner products are out of date in this slot, which is now the newest.
        for new in (self._new_for_matrix, self._new_for_inverse):
            if slot in new:
                new.remove(slot)
            new.append(slot)
        self._next = (slot + 1) % self.size
        self.count = min(self.count + 1, self.size)
        # Barzilai-Borwein scale t't / s't, kept near that of the first pair.
        theta = float(t @ (t / self.metric)) / product
        self._first = self._first or theta
        bounded = min(max(theta, self._first / THETA_RANGE), self._first * THETA_RANGE)
        self.theta = shrink * bounded
        return True

    def learned(self) -> Pairs:
        """The pairs, for another solve."""
        return Pairs(self.steps[self.slots], self.changes[self.slots])

    def recall(self, pairs: Pairs, *, shrink: float = 1.0) -> bool:
        """Store the latest pairs of an earlier solve, checked as new ones are; whether they fit.

        Inner products are computed again, so the results agree up to rounding. Pairs whose scale is
        more than `THETA_RANGE` from the present one are not stored. ``shrink`` is as in `add`.
        """
        if not pairs.fits(self.metric.shape[0]):
            return False
        theta, latest = self.theta, slice(-self.size, None)
        with np.errstate(all="ignore"):
            for s, t in zip(pairs.steps[latest], pairs.changes[latest], strict=True):
                self.add(s, t, shrink=shrink)
        if theta / THETA_RANGE <= self.theta <= theta * THETA_RANGE:
            return True
        self.clear()
        self.theta, self._first = theta, 0.0
        return False

    def clear(self) -> None:
        """Remove all pairs; the scale does not change."""
        self.count = 0

    def keep(self, count: int) -> None:
        """Drop all but the latest ``count`` pairs."""
        self.count = min(self.count, count)

    def core(self, count: int | None = None) -> FloatArray:
        """The matrix M of the compact form of B, for all pairs or the latest ``count``."""
        for slot in self._new_for_matrix:
            unit = self.steps[slot]
            self.ss[slot] = self.ss[:, slot] = self.steps @ (self.metric * unit)
            self.later[slot] = self.changes @ unit
        self._new_for_matrix.clear()
        m = self.count if count is None else count
        slots = self.slots[self.count - m :]
        order = np.ix_(slots, slots)
        out = np.empty((2 * m, 2 * m))
        out[:m, :m] = self.theta * self.ss[order]
        out[:m, m:] = np.tril(self.later[order], -1)
        out[m:, :m] = out[:m, m:].T
        out[m:, m:] = -np.diag(self.own[slots])
        return out

    def solve(self, v: FloatArray) -> FloatArray:
        """``B^-1 v`` by the compact form of the inverse, O(m p)."""
        inverse = 1.0 / (self.theta * self.metric)
        out = inverse * v
        if not self.count:
            return out
        for slot in self._new_for_inverse:
            change = self.changes[slot]
            self.earlier[:, slot] = self.steps @ change
            self.tt[slot] = self.tt[:, slot] = self.changes @ (change / self.metric)
        self._new_for_inverse.clear()
        slots = self.slots
        order = np.ix_(slots, slots)
        upper = np.triu(self.earlier[order])  # R
        first = np.linalg.solve(upper, (self.steps @ v)[slots])  # r = R^-1 S'v
        # D r + T'B_0^-1 T r - T'h
        middle = self.own[slots] * first + self.tt[order] @ first / self.theta
        middle -= (self.changes @ out)[slots]
        on_steps, on_changes = np.zeros(self.size), np.zeros(self.size)
        on_steps[slots] = np.linalg.solve(upper.T, middle)
        on_changes[slots] = first
        product: FloatArray = out + on_steps @ self.steps - inverse * (on_changes @ self.changes)
        return product


@dataclass(frozen=True)
class LbfgsState(State):
    """The point and the memory, which is updated in place."""

    memory: Memory

    def learned(self) -> Pairs:
        """The pairs in memory."""
        return self.memory.learned()

    def resumed(self, learned: object) -> Self:
        """The state with the pairs of an earlier solve, if they fit."""
        if isinstance(learned, Pairs):
            self.memory.recall(learned)
        return self


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS with strong Wolfe line searches in score space.

    Two passes over the data per iteration, independent of the number of line-search trials.

    Parameters
    ----------
    memory : int
        Number of pairs in memory.
    metric : (n_params, n_params) array, optional
        Upper Cholesky factor of a preconditioner: a matrix close to the Hessian up to a scale.

    References
    ----------
    Byrd, Nocedal, Schnabel, Representations of quasi-Newton matrices, 1994.
    """

    memory: int = 10
    metric: FloatArray | None = None

    needs = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("memory", self.memory, low=1)

    @speaks_for_itself
    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> LbfgsState:
        """State at the starting point."""
        shape = (problem.n_params, problem.n_params)
        if self.metric is not None and self.metric.shape != shape:
            raise ParameterError(
                f"`metric` to be of shape {shape}; got {self.metric.shape}. Pass the upper "
                "Cholesky factor of such a matrix."
            )
        return LbfgsState(problem.evaluate(w), Memory(self.memory, problem.n_params))

    def step(self, problem: Problem, state: LbfgsState) -> LbfgsState:
        """One quasi-Newton direction and line search; clears the memory if the search fails."""
        point, memory = state.point, state.memory
        # Descent direction.
        gradient = problem.total_gradient(point)
        direction = self._direction(memory, gradient)
        # Step size.
        scaled = memory.count or self.metric is not None
        # Without any scale, the first trial moves w by 1 in the l1 norm.
        first = 1.0 if scaled else 1.0 / max(SMALLEST_DIVISOR, float(np.abs(gradient).sum()))
        trial = wolfe(Ray(problem, point, direction), first)
        if trial is None:
            exhausted = memory.count == 0
            memory.clear()
            return LbfgsState(point, memory, stalled=exhausted)
        new = trial.with_best_intercept()
        # Curvature pair of the step.
        new_gradient = problem.total_gradient(new)
        step = new.w - point.w
        if self.metric is not None:
            step = self.metric @ step
        memory.add(step, self._preconditioned(new_gradient - gradient))
        return LbfgsState(new, memory)

    def _direction(self, memory: Memory, gradient: FloatArray) -> FloatArray:
        """``-B^-1 gradient`` in the metric; steepest descent while the memory is empty."""
        along = self._preconditioned(gradient)
        along = -memory.solve(along) if memory.count else -along
        if self.metric is None:
            return along
        direction: FloatArray = solve_triangular(self.metric, along, check_finite=False)
        return direction

    def _preconditioned(self, gradient: FloatArray) -> FloatArray:
        """``R^-T gradient``: the gradient in the coordinates ``R w``, R being ``self.metric``."""
        if self.metric is None:
            return gradient
        scaled: FloatArray = solve_triangular(self.metric, gradient, trans="T", check_finite=False)
        return scaled
