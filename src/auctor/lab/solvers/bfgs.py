"""BFGS with a dense inverse Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.lbfgs import LEAST_CURVATURE
from auctor.solvers.line_search import Ray, wolfe


@dataclass(frozen=True)
class BfgsState(State):
    """The point and an approximation of the inverse Hessian, ``None`` before the first pair."""

    inverse: FloatArray | None = None


@dataclass(frozen=True)
class Bfgs:
    """The quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno with a full matrix.

    O(d^2) memory and work per step: for few parameters, where it takes fewer steps than `Lbfgs`.
    The strong Wolfe conditions make the curvature s'y of a pair positive; a pair that is not
    positive because of rounding is skipped.

    References
    ----------
    Nocedal, Wright, Numerical optimization, 2006, section 6.1.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.minimise import minimise
    >>> from auctor.penalties import L2
    >>> problem = Problem(Squared(), L2(0.5), as_data(np.eye(2), [1, 3]), fit_intercept=False)
    >>> minimise(problem, Bfgs(), tol=1e-12).coef.round(6)
    array([0.5, 1.5])
    """

    needs = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BfgsState:
        """State at the starting point."""
        return BfgsState(problem.evaluate(w))

    def step(self, problem: Problem, state: BfgsState) -> BfgsState:
        """One direction, line search and update; a failed search resets to steepest descent."""
        point, inverse = state.point, state.inverse
        gradient = problem.total_gradient(point)
        direction = -gradient if inverse is None else -(inverse @ gradient)
        size = max(SMALLEST_DIVISOR, float(np.abs(gradient).sum()))
        first = 1.0 / size if inverse is None else 1.0
        trial = wolfe(Ray(problem, point, direction), first)
        if trial is None:
            return BfgsState(point, stalled=inverse is None)
        new = trial.with_best_intercept()
        change = problem.total_gradient(new) - gradient
        return BfgsState(new, updated(inverse, new.w - point.w, change))


def updated(inverse: FloatArray | None, step: FloatArray, change: FloatArray) -> FloatArray | None:
    """``V' H V + rho s s'`` with ``V = I - rho y s'`` and ``rho = 1 / s'y``; unchanged if s'y <= 0.

    Here s is the step, y the change of the gradient and H the inverse Hessian approximation, which
    starts as ``s'y / y'y`` times the identity.

    Examples
    --------
    >>> import numpy as np
    >>> updated(np.eye(2), np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    product = float(step @ change)
    if not product > LEAST_CURVATURE * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    if inverse is None:
        inverse = product / float(change @ change) * np.eye(step.size)
    # H + ((1 + y'Hy / s'y) s s' - H y s' - s y'H) / s'y
    moved = inverse @ change
    total = 1.0 + float(change @ moved) / product
    cross = np.outer(moved, step)
    matrix: FloatArray = inverse + (total * np.outer(step, step) - cross - cross.T) / product
    return matrix
