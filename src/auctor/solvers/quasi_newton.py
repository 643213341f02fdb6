"""Limited-memory BFGS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.solvers.ray import Ray, wolfe

Pair = tuple[FloatArray, FloatArray, float]


@dataclass(frozen=True)
class LbfgsState:
    """The point and the latest (step, gradient change, 1 / their product) pairs."""

    point: Point
    pairs: tuple[Pair, ...] = ()
    stalled: bool = False
    dual: Point | None = None


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS with strong Wolfe line searches in score space.

    Two passes over the data per iteration whatever the number of line-search trials.

    Parameters
    ----------
    memory : int
        Pairs kept.

    References
    ----------
    Nocedal, Wright, Numerical optimization, 2006, Algorithm 7.5.
    """

    memory: int = 10

    needs = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> LbfgsState:
        """State at the starting point."""
        return LbfgsState(problem.evaluate(w))

    def step(self, problem: Problem, state: LbfgsState) -> LbfgsState:
        """One quasi-Newton direction and line search; memory is dropped when it fails."""
        point, pairs = state.point, state.pairs
        gradient = problem.total_gradient(point)
        direction = -two_loop(gradient, pairs)
        first = 1.0 if pairs else 1.0 / max(1e-300, float(np.abs(gradient).sum()))
        trial = wolfe(Ray(problem, point, direction), first)
        if trial is None:
            return LbfgsState(point, (), stalled=not pairs)
        new = problem.centred(trial.point)
        s, y = new.w - point.w, problem.total_gradient(new) - gradient
        product = float(s @ y)
        if product > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs = (*pairs, (s, y, 1.0 / product))[-self.memory :]
        return LbfgsState(new, pairs)


def two_loop(gradient: FloatArray, pairs: tuple[Pair, ...]) -> FloatArray:
    """Inverse Hessian approximation times the gradient."""
    q = gradient.copy()
    alphas = []
    for s, y, rho in reversed(pairs):
        alpha = rho * float(s @ q)
        alphas.append(alpha)
        q -= alpha * y
    if pairs:
        _, y, rho = pairs[-1]
        q /= rho * float(y @ y)
    for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - rho * float(y @ q)) * s
    return q
