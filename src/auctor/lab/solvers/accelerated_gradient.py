"""Nesterov's accelerated gradient method for composite functions, with an adaptive constant."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.line_search import first_accepted, sizes
from auctor.solvers.sparse.proximal import feasible, first_step


@dataclass(frozen=True)
class NesterovState(State):
    """The point x, and the minimiser v of the estimate sequence, with its scores.

    ``start`` is the starting point, ``mass`` the total weight A of the steps, ``pull`` the weighted
    sum of their gradients, and ``lipschitz`` the next trial of the Lipschitz constant.
    """

    start: FloatArray
    v: FloatArray
    v_scores: FloatArray
    mass: float
    pull: FloatArray
    lipschitz: float


class Trial(NamedTuple):
    """A point for one Lipschitz constant, the point y it starts from, and the step's weight."""

    point: Point
    y: Point
    weight: float


@dataclass(frozen=True)
class AcceleratedGradient:
    """Adaptive accelerated gradient method with two gradients per trial.

    The estimate sequence uses the strong convexity of the penalty, so the error falls like
    ``2 L |w0 - w*|^2 / k^2`` (with ``growth`` 2) and geometrically if every parameter has an l2
    penalty. The Lipschitz constant L of the gradient is found by trials.

    Parameters
    ----------
    growth : float > 1
        Factor on L after a failed test.
    relax : float >= 1
        Divisor of L after every step; 1 keeps L.

    References
    ----------
    Nesterov, Gradient methods for minimizing composite functions, 2013 (CORE 2007/76), method 4.9.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L2
    >>> problem = Problem(Squared(), L2(0.5), as_data(np.eye(2), [1, 3]), fit_intercept=False)
    >>> minimise(problem, AcceleratedGradient(), tol=1e-12).coef.round(6)
    array([0.5, 1.5])
    """

    growth: float = 2.0
    relax: float = 2.0

    needs = Need.SMOOTH_LOSS | Need.CONVEX_LOSS | Need.PROX

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("growth", self.growth, low=1.0, open_low=True)
        check_real("relax", self.relax, low=1.0)

    @classmethod
    def examples(cls) -> list[AcceleratedGradient]:
        """Instances the conformance kit tests."""
        return [cls(), cls(relax=1.1)]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> NesterovState:
        """State at the starting point."""
        point = feasible(problem, w)
        constant = 1.0 / first_step(problem, point)
        zero = np.zeros(problem.n_params)
        return NesterovState(point, point.w, point.w, point.scores, 0.0, zero, constant)

    def step(self, problem: Problem, state: NesterovState) -> NesterovState:
        """One accelerated step with the smallest constant that passes the test."""
        x, mass = state.point, state.mass
        strong = float(problem.ridge.min())

        def trial(constant: float) -> Trial:
            # The weight a of the step solves a^2 / (A + a) = 2 (1 + strong A) / L.
            q = 2.0 * (1.0 + strong * mass) / constant
            weight = 0.5 * (q + math.hypot(q, 2.0 * math.sqrt(q) * math.sqrt(mass)))
            share = weight / (mass + weight)
            y = problem.evaluate(
                x.w + share * (state.v - x.w), scores=x.scores + share * (state.v_scores - x.scores)
            )
            new = problem.evaluate(problem.prox(y.w - y.gradient / constant, 1.0 / constant))
            return Trial(new, y, weight)

        def enough(constant: float, tried: Trial) -> bool:
            # Accept L if r.(y - x) >= |r|^2 / L for the subgradient r of the objective at x.
            moved = tried.y.w - tried.point.w
            residual = constant * moved + tried.point.gradient - tried.y.gradient
            return float(residual @ moved) >= float(residual @ residual) / constant

        found = first_accepted(trial, enough, sizes(state.lipschitz, self.growth))
        if found is None:
            return replace(state, stalled=True)
        constant, (new, _, weight) = found
        mass, pull = mass + weight, state.pull + weight * new.gradient
        v = problem.prox(state.start - pull, mass)
        stalled = np.array_equal(new.w, x.w) and np.array_equal(v, state.v)
        return NesterovState(
            new,
            state.start,
            v,
            problem.score_change(v),
            mass,
            pull,
            constant / self.relax,
            stalled=stalled,
        )
