"""Accelerated proximal quasi-Newton."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import FloatArray, SeparableSpec
from auctor.problem import Point, Problem
from auctor.solvers.lowrank_model import (
    ROUNDING,
    Inner,
    Pairs,
    Subproblem,
    budget,
    check_model,
    curvature_along_gradient,
    spec_of,
    survey,
)
from auctor.solvers.proximal import MOST_TRIALS, Fista, FistaState, extrapolate, feasible
from auctor.solvers.proximal_quasi_newton import EXACT_PASSES, PRACTICAL_RATE


@dataclass(frozen=True)
class AcceleratedState:
    """The latest two points, momentum counter, inverse scale of H, pairs and counters.

    ``warm`` is the state of the warm-up while it lasts; ``dual`` the latest extrapolated point.
    """

    point: Point
    previous: Point
    pairs: Pairs
    spec: SeparableSpec
    inner: Inner
    t: float = 0.0
    sigma: float = 1.0
    iteration: int = 0
    coordinate_steps: int = 0
    backtracks: int = 0
    warm: FistaState | None = None
    dual: Point | None = None
    stalled: bool = False


@dataclass(frozen=True)
class AcceleratedProximalQuasiNewton:
    """Nesterov's acceleration in the metric of a quasi-Newton matrix.

    A step minimises ``Q_H(u, y)``, ``H = B / sigma``, from the extrapolated point y, and sigma
    shrinks until ``F(p) <= Q_H(p, y)``; y, and the gradient there, depend on sigma and are redone
    each time. Two passes over the data per iteration, two more per backtrack.

    Parameters
    ----------
    variant : {"fixed", "lbfgs"}
        "fixed": B is the L-BFGS matrix of a short accelerated proximal-gradient warm-up, after
        which the momentum starts afresh; the error is O(1/k^2). "lbfgs": B follows the latest pairs
        and sigma starts from 1 in every iteration; a heuristic, the theory needs
        ``sigma_k H_k <= sigma_{k-1} H_{k-1}``.
    memory : int >= 1
        Pairs kept.
    warmup : int >= 1
        Iterations of the warm-up.
    growth : float >= 1
        Factor of sigma tried after every success.
    shrink : float in (0, 1)
        Factor of sigma after a failed test.
    exact : bool
        Solve subproblems over all coordinates to rounding; otherwise ``1 + k/3`` passes.
    order : {"shuffled", "cyclic", "iid"}
        Order of the coordinates in a pass.
    restart : bool
        Drop the momentum when it points uphill; the O(1/k^2) bound is for the method without.

    References
    ----------
    Ghanbari, Scheinberg, Proximal quasi-Newton methods for regularized convex optimization with
    linear and accelerated sublinear convergence rates, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import Problem, minimise
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

    needs = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY

    def __post_init__(self) -> None:
        who = type(self).__name__
        check_choice(who, "variant", self.variant, ("fixed", "lbfgs"))
        check_model(who, self.memory, self.order, 1.0, 2.0)
        check_int(who, "warmup", self.warmup, low=1)
        check_real(who, "growth", self.growth, low=1.0)
        check_real(who, "shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)

    @classmethod
    def examples(cls) -> list[AcceleratedProximalQuasiNewton]:
        """Instances the conformance kit tests."""
        return [cls(), cls("lbfgs")]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> AcceleratedState:
        """State at the starting point."""
        inner = Inner.seeded(rng, self.order, exact=self.exact)
        warm, theta = None, 1.0
        if self.variant == "fixed":
            warm = Fista(restart=False).init(problem, w, rng)
            point = warm.point
        else:
            point = feasible(problem, w)
            theta = curvature_along_gradient(problem, point)
        pairs = Pairs(self.memory, problem.n_params, theta)
        return AcceleratedState(point, point, pairs, spec_of(problem), inner, warm=warm)

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """One accelerated step, or one step of the warm-up."""
        if state.warm is not None:
            return self._warm_up(problem, state, state.warm)
        fixed = self.variant == "fixed"
        x, trials, steps = state.point, 0, 0
        last = state.sigma if fixed else 1.0
        sigma = last * self.growth if fixed and state.t else last
        for trials in range(MOST_TRIALS):
            t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * (last / sigma if fixed else 1.0) * state.t**2))
            momentum = (state.t - 1.0) / t if state.t else 0.0
            source = extrapolate(problem, x, state.previous, momentum)
            new, taken = self._propose(problem, state, source, sigma)
            steps += taken
            if new is not None:
                break
            sigma *= self.shrink
        else:
            return self._give_up(state)
        if np.array_equal(new.w, x.w) and momentum == 0.0:
            return replace(self._give_up(state), dual=source)
        if not fixed and state.dual is not None:
            learn(state.pairs, state.dual, source)
        if self.restart and float((source.w - new.w) @ (new.w - x.w)) > 0.0:
            t = 0.0
        return replace(
            state,
            point=new,
            previous=x,
            t=t,
            sigma=sigma,
            iteration=state.iteration + 1,
            coordinate_steps=state.coordinate_steps + steps,
            backtracks=state.backtracks + trials,
            dual=source,
        )

    def _propose(
        self, problem: Problem, state: AcceleratedState, source: Point, sigma: float
    ) -> tuple[Point | None, int]:
        """The model's minimiser if ``F <= Q_H`` there (else ``None``), and coordinate steps."""
        if not math.isfinite(source.loss):
            return None, 0
        everything = np.arange(source.w.shape[0])
        index = everything if self.exact else survey(source, state.spec).movable()
        model = Subproblem.at(source, state.pairs, state.spec, index)
        passes = EXACT_PASSES if self.exact else budget("linear", state.iteration, PRACTICAL_RATE)
        candidate = model.solve(state.inner, scale=1.0 / sigma, extra=0.0, passes=passes)
        new = problem.evaluate(candidate.w)
        bound = source.loss + candidate.rise
        return (new if new.loss <= bound + ROUNDING * abs(bound) else None), candidate.steps

    def _give_up(self, state: AcceleratedState) -> AcceleratedState:
        """Restart from the point; stalled if that was tried, or there is nothing left to drop."""
        return replace(state, previous=state.point, t=0.0, sigma=1.0, stalled=state.t == 0.0)

    def _warm_up(
        self, problem: Problem, state: AcceleratedState, warm: FistaState
    ) -> AcceleratedState:
        """An accelerated proximal-gradient step; pairs come from its extrapolated points."""
        new = Fista(restart=False).step(problem, warm)
        if warm.dual is not None and new.dual is not None:
            learn(state.pairs, warm.dual, new.dual)
        over = state.iteration + 1 >= self.warmup or new.stalled
        return replace(
            state,
            point=new.point,
            previous=new.point,
            iteration=state.iteration + 1,
            warm=None if over else new,
            dual=new.dual,
            stalled=new.stalled,
        )


def learn(pairs: Pairs, old: Point, new: Point) -> None:
    """Store the pair of two points whose gradients are known."""
    pairs.add(new.w - old.w, new.gradient - old.gradient)
