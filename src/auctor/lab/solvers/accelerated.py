"""Accelerated proximal quasi-Newton."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray, SeparableSpec
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State, spec_of
from auctor.solvers.line_search import MOST_TRIALS, first_accepted
from auctor.solvers.sparse.matrices import Diagonal, LbfgsMatrix, Matrix
from auctor.solvers.sparse.models.lowrank import (
    Inner,
    Subproblem,
    budget,
    check_model,
    column_metric,
    curvature_along_gradient,
    survey,
)
from auctor.solvers.sparse.proximal import extrapolate, feasible
from auctor.solvers.sparse.quasi_newton import EXACT_PASSES, PRACTICAL_RATE, loss_diagonal


@dataclass(frozen=True)
class AcceleratedState(State):
    """The latest two points, momentum counter t, sigma, the scale of H, and counters.

    ``pairs`` is updated in place. ``warmup_matrix`` is the diagonal H of the warm-up, ``diagonal``
    that of the last step if it had one, ``dual`` the latest extrapolated point.
    """

    previous: Point
    pairs: LbfgsMatrix
    warmup_matrix: Diagonal
    spec: SeparableSpec
    inner: Inner
    t: float = 0.0
    sigma: float = 1.0
    diagonal: Diagonal | None = None
    scale: float = 1.0
    iteration: int = 0
    coordinate_steps: int = 0
    backtracks: int = 0


class StepScale(NamedTuple):
    """Step-size scale: ``scale`` of H, ``sigma`` of the step, ``theta`` for the momentum.

    ``theta`` is the ratio of successive sigmas, ``sigma_{k-1} / sigma_k``.
    """

    scale: float
    sigma: float
    theta: float


class Trial(NamedTuple):
    """A trial: its point if accepted, the extrapolated point (``source``), momentum, and work.

    ``steps`` counts the coordinate steps of all trials so far, ``failures`` the rejected trials.
    """

    point: Point | None
    source: Point
    t: float
    metric: StepScale
    steps: int
    failures: int


def admissible(before: FloatArray, after: FloatArray) -> float:
    """Largest c with ``c diag(after) <= diag(before)``, the factor by which sigma must change.

    Examples
    --------
    >>> admissible(np.array([10.0, 1.0]), np.array([1.0, 10.0]))
    0.1
    """
    return float((before / after).min())


class FixedMetric:
    """``H = B / sigma`` with B the L-BFGS matrix of a warm-up on a diagonal."""

    def learns(self, solver: AcceleratedProximalQuasiNewton, state: AcceleratedState) -> bool:
        """Whether the pair of this iteration is stored: during the warm-up."""
        return state.iteration < solver.warmup

    def ends_warmup(self, solver: AcceleratedProximalQuasiNewton, done: AcceleratedState) -> bool:
        """Whether the iteration that led here was the last of the warm-up."""
        return done.iteration == solver.warmup

    def matrix(
        self, solver: AcceleratedProximalQuasiNewton, problem: Problem, state: AcceleratedState
    ) -> Matrix:
        """The matrix of this iteration, before it is scaled."""
        return state.warmup_matrix if self.learns(solver, state) else state.pairs

    def metric(
        self,
        solver: AcceleratedProximalQuasiNewton,
        state: AcceleratedState,
        matrix: Matrix,
        harder: float,
    ) -> StepScale:
        """Scale of H, sigma and theta; failed trials have multiplied H by ``harder``."""
        sigma = state.sigma * (solver.growth if state.t else 1.0) / harder
        return StepScale(1.0 / sigma, sigma, state.sigma / sigma)


class FollowingPairs(FixedMetric):
    """H is the L-BFGS matrix of the latest pairs; the condition on sigma is ignored."""

    def learns(self, solver: AcceleratedProximalQuasiNewton, state: AcceleratedState) -> bool:
        """Always: every pair is stored."""
        return True

    def ends_warmup(self, solver: AcceleratedProximalQuasiNewton, done: AcceleratedState) -> bool:
        """Never: there is no warm-up."""
        return False

    def matrix(
        self, solver: AcceleratedProximalQuasiNewton, problem: Problem, state: AcceleratedState
    ) -> Matrix:
        """The L-BFGS matrix of the latest pairs."""
        return state.pairs

    def metric(
        self,
        solver: AcceleratedProximalQuasiNewton,
        state: AcceleratedState,
        matrix: Matrix,
        harder: float,
    ) -> StepScale:
        """H is the matrix times the factor of failed trials; sigma stays 1."""
        return StepScale(harder, 1.0, 1.0)


class FollowingDiagonal(FollowingPairs):
    """H is the diagonal of the Hessian of the loss; sigma shrinks to satisfy its condition."""

    def learns(self, solver: AcceleratedProximalQuasiNewton, state: AcceleratedState) -> bool:
        """Never: this rule uses no pairs."""
        return False

    def matrix(
        self, solver: AcceleratedProximalQuasiNewton, problem: Problem, state: AcceleratedState
    ) -> Matrix:
        """Diagonal of the loss's Hessian at the point."""
        return Diagonal(loss_diagonal(problem, state.point, state.pairs))

    def metric(
        self,
        solver: AcceleratedProximalQuasiNewton,
        state: AcceleratedState,
        matrix: Matrix,
        harder: float,
    ) -> StepScale:
        """Scale of H, and the largest sigma for which ``sigma H`` does not grow."""
        scale, sigma = state.scale * harder / (solver.growth if state.t else 1.0), state.sigma
        if state.diagonal is not None and isinstance(matrix, Diagonal):
            sigma *= admissible(state.scale * state.diagonal.base, scale * matrix.base)
        return StepScale(scale, sigma, state.sigma / sigma)


#: Rule for H, by the name that users type.
VARIANTS = {"fixed": FixedMetric(), "lbfgs": FollowingPairs(), "diagonal": FollowingDiagonal()}


@dataclass(frozen=True)
class AcceleratedProximalQuasiNewton:
    """Nesterov's acceleration in the metric of a quasi-Newton matrix.

    A step minimises ``Q_H(u, y)`` from the extrapolated point y, and H grows until
    ``F(p) <= Q_H(p, y)``; y depends on the scale of H, so it and its gradient are computed again
    for every trial. The theory needs ``sigma_k H_k <= sigma_{k-1} H_{k-1}``, and its error is
    ``|x_0 - x*|^2 / (2 sigma_k t_k^2)`` in the norm of ``sigma_1 H_1``. Two passes over the data
    per iteration, two more per backtrack.

    Parameters
    ----------
    variant : {"fixed", "lbfgs", "diagonal"}
        "fixed": ``H = B / sigma`` with B the L-BFGS matrix of a short accelerated proximal-gradient
        warm-up, after which momentum and scale are reset; error O(1/k^2). "lbfgs": H is the L-BFGS
        matrix of the latest pairs, and the condition on sigma is ignored; a heuristic. "diagonal":
        H is the diagonal of the loss's Hessian, and sigma shrinks to satisfy the condition.
    memory : int >= 1
        Number of pairs in memory.
    warmup : int >= 1
        Iterations of the warm-up.
    growth : float >= 1
        Factor on sigma after every accepted step; not used by "lbfgs".
    shrink : float in (0, 1)
        Factor on sigma after a failed test.
    exact : bool
        Solve subproblems over all coordinates to rounding error; otherwise by ``1 + k/3`` passes.
    order : {"shuffled", "cyclic", "iid"}
        Order of the coordinates in a pass.
    restart : bool
        Reset the momentum when it points uphill; the O(1/k^2) bound holds without restarts.
    scaling : float in [0, 1]
        The L-BFGS matrix starts from the columns' second moments to this power; 0 is the published
        method.

    References
    ----------
    Ghanbari, Scheinberg, Proximal quasi-Newton methods for regularized convex optimization with
    linear and accelerated sublinear convergence rates, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.problem import Problem
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L1
    >>> problem = Problem(Squared(), L1(0.25), as_data(np.eye(2), [1, 3]), fit_intercept=False)
    >>> minimise(problem, AcceleratedProximalQuasiNewton(), tol=1e-9).coef.round(6)
    array([0.5, 2.5])
    """

    variant: str = "fixed"
    memory: int = 10
    warmup: int = 8
    growth: float = 1.015
    shrink: float = 0.5
    exact: bool = False
    order: str = "shuffled"
    restart: bool = True
    scaling: float = 0.75

    needs = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_choice("variant", self.variant, tuple(VARIANTS))
        check_model(self.memory, self.order, self.scaling)
        check_int("warmup", self.warmup, low=1)
        check_real("growth", self.growth, low=1.0)
        check_real("shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)

    @classmethod
    def examples(cls) -> list[AcceleratedProximalQuasiNewton]:
        """Instances the conformance kit tests."""
        return [cls(), cls("lbfgs"), cls("diagonal")]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> AcceleratedState:
        """State at the starting point."""
        inner = Inner.seeded(rng, self.order, exact=self.exact)
        point = problem.with_best_intercept(feasible(problem, w))
        metric = column_metric(problem, self.scaling)
        theta = curvature_along_gradient(problem, point, metric)
        pairs = LbfgsMatrix(self.memory, problem.n_columns, theta, metric=metric)
        warmup = Diagonal(theta * metric)
        return AcceleratedState(point, point, pairs, warmup, spec_of(problem), inner)

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Extrapolate and minimise the model there; the warm-up ends with a restart."""
        matrix = self._rule.matrix(self, problem, state)
        found = self._search(problem, state, matrix)
        if found is None or found.point is None:
            return self._give_up(state)
        x, new, source = state.point, found.point, found.source
        # No movement without momentum: stationary up to rounding.
        if np.array_equal(new.w, x.w) and source is x:
            return replace(self._give_up(state), dual=source)
        if state.dual is not None and self._rule.learns(self, state):
            # Pairs are differences of extrapolated points, at which gradients are known.
            change = source.gradient - state.dual.gradient
            state.pairs.add(problem.coef(source.w - state.dual.w), problem.coef(change))
        # Gradient restart (O'Donoghue, Candes): the momentum points against the prox-gradient.
        uphill = float((source.w - new.w) @ (new.w - x.w)) > 0.0
        done = replace(
            state,
            point=new,
            previous=x,
            t=0.0 if self.restart and uphill else found.t,
            sigma=found.metric.sigma,
            diagonal=matrix if isinstance(matrix, Diagonal) else None,
            scale=found.metric.scale,
            iteration=state.iteration + 1,
            coordinate_steps=state.coordinate_steps + found.steps,
            backtracks=state.backtracks + found.failures,
            dual=source,
        )
        return self._reset(done) if self._rule.ends_warmup(self, done) else done

    def _search(self, problem: Problem, state: AcceleratedState, matrix: Matrix) -> Trial | None:
        """Enlarge H until its model is an upper bound of the loss; no point if that fails."""
        steps, momentum, source = 0, 0.0, state.point

        def trial(failures: int) -> Trial:
            nonlocal steps, momentum, source
            metric = self._rule.metric(self, state, matrix, self.shrink**-failures)
            # t_k solves t (t - 1) = theta t_{k-1}^2.
            t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * metric.theta * state.t**2))
            wanted = (state.t - 1.0) / t if state.t else 0.0
            if wanted != momentum:
                momentum = wanted
                extrapolated = extrapolate(problem, state.point, state.previous, momentum)
                source = problem.with_best_intercept(extrapolated)
            if not math.isfinite(source.loss):
                return Trial(None, source, t, metric, steps, failures)
            new, taken = self._propose(problem, state, source, matrix, metric.scale)
            steps += taken
            return Trial(new, source, t, metric, steps, failures)

        def ends(_: int, last: Trial) -> bool:
            return last.point is not None or not math.isfinite(last.source.loss)

        accepted = first_accepted(trial, ends, range(MOST_TRIALS))
        return None if accepted is None else accepted[1]

    def _propose(
        self, problem: Problem, state: AcceleratedState, source: Point, matrix: Matrix, scale: float
    ) -> tuple[Point | None, int]:
        """The model's minimiser, ``None`` unless ``F <= Q_H`` there; and its coordinate steps."""
        everything = np.arange(problem.n_columns)
        index = everything if self.exact else survey(source, state.spec).movable()
        model = Subproblem.at(source, matrix, state.spec, index)
        passes = EXACT_PASSES if self.exact else budget("linear", state.iteration, PRACTICAL_RATE)
        candidate = model.solve(state.inner, scale=scale, extra=0.0, passes=passes)
        new = problem.with_best_intercept(problem.evaluate(candidate.w))
        # F(p) <= Q_H(p, y); the penalty is on both sides.
        bound = source.loss + candidate.rise
        return (new if new.loss <= bound + ROUNDING * abs(bound) else None), candidate.steps

    @cached_property
    def _rule(self) -> FixedMetric:
        return VARIANTS[self.variant]

    def _reset(self, state: AcceleratedState) -> AcceleratedState:
        """The same point with momentum, scale and sigma reset."""
        return replace(state, previous=state.point, t=0.0, sigma=1.0, scale=1.0, diagonal=None)

    def _give_up(self, state: AcceleratedState) -> AcceleratedState:
        """Restart from the point; stalled if the failed step had no momentum."""
        return replace(self._reset(state), stalled=state.t == 0.0)
