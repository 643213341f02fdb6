"""Limited-memory BFGS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from auctor.core.checks import check_int
from auctor.core.errors import ParameterError
from auctor.core.needs import Need
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.solvers.base import State
from auctor.solvers.line_search import Ray, wolfe


class Memory:
    """The latest (step, gradient change) pairs as rows of two arrays, oldest first.

    The inverse Hessian is applied in its compact form: four products with the stored rows, and
    none for the inner products of a new pair, which follow from those with the gradients.

    Parameters
    ----------
    size : int
        Most pairs.
    n_params : int
    metric : (n_params, n_params) array, optional
        Upper factor R of a matrix ``R'R`` that the Hessian is like, up to a scale; pairs are of
        ``R w`` then.
    """

    def __init__(self, size: int, n_params: int, metric: FloatArray | None = None) -> None:
        self.size, self.count, self.metric = size, 0, metric
        self.s, self.y = np.zeros((size, n_params)), np.zeros((size, n_params))
        self.sy, self.yy = np.zeros((size, size)), np.zeros((size, size))
        self._order = np.zeros(0, dtype=np.intp)
        self._products: tuple[FloatArray, FloatArray] | None = None

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Minus the inverse Hessian approximation times the gradient."""
        if self.metric is None:
            return self._direction(gradient)
        along = self._direction(self._raised(gradient))
        direction: FloatArray = solve_triangular(self.metric, along, check_finite=False)
        return direction

    def _raised(self, gradient: FloatArray) -> FloatArray:
        """A gradient in w as one in ``R w``."""
        if self.metric is None:
            return gradient
        raised: FloatArray = solve_triangular(self.metric, gradient, trans="T", check_finite=False)
        return raised

    def _direction(self, gradient: FloatArray) -> FloatArray:
        s_g, y_g = self.s @ gradient, self.y @ gradient
        self._products = s_g, y_g
        if not self.count:
            return -gradient
        order = self._order
        sy, yy = self.sy[np.ix_(order, order)], self.yy[np.ix_(order, order)]
        upper = np.triu(sy)
        scale = sy[-1, -1] / yy[-1, -1]
        first = np.linalg.solve(upper, s_g[order])
        middle = np.diag(sy) * first + scale * (yy @ first) - scale * y_g[order]
        on_s, on_y = np.zeros(self.size), np.zeros(self.size)
        on_s[order] = np.linalg.solve(upper.T, middle)
        on_y[order] = -scale * first
        product: FloatArray = scale * gradient + on_s @ self.s + on_y @ self.y
        return -product

    def add(self, s: FloatArray, y: FloatArray, new_gradient: FloatArray) -> None:
        """Store a pair if its curvature is positive, in place of the oldest."""
        if self.metric is not None:
            s = self.metric @ s
        y, new_gradient = self._raised(y), self._raised(new_gradient)
        product = float(s @ y)
        if not product > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            return
        assert self._products is not None
        s_g, y_g = self._products
        s_y, y_y = self.s @ new_gradient - s_g, self.y @ new_gradient - y_g
        slot = self.count if self.count < self.size else int(self._order[0])
        self.s[slot], self.y[slot] = s, y
        self.sy[:, slot], self.yy[:, slot], self.yy[slot] = s_y, y_y, y_y
        self.sy[slot] = 0.0  # below the diagonal; never read
        self.sy[slot, slot], self.yy[slot, slot] = product, float(y @ y)
        self._order = np.append(self._order[self._order != slot], slot)
        self.count = self._order.size

    def clear(self) -> None:
        """Forget every pair."""
        self.count, self._order = 0, np.zeros(0, dtype=np.intp)


@dataclass(frozen=True)
class LbfgsState(State):
    """The point and the memory, which is updated in place."""

    memory: Memory


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS with strong Wolfe line searches in score space.

    Two passes over the data per iteration whatever the number of line-search trials.

    Parameters
    ----------
    memory : int
        Pairs kept.
    metric : (n_params, n_params) array, optional
        Upper Cholesky factor of a matrix that the Hessian is like, up to a scale.

    References
    ----------
    Byrd, Nocedal, Schnabel, Representations of quasi-Newton matrices, 1994.
    """

    memory: int = 10
    metric: FloatArray | None = None

    needs = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY

    def __post_init__(self) -> None:
        check_int("Lbfgs", "memory", self.memory, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> LbfgsState:
        """State at the starting point."""
        shape = (problem.n_params, problem.n_params)
        if self.metric is not None and self.metric.shape != shape:
            raise ParameterError(
                "Lbfgs",
                needs=f"metric to be of shape {shape}",
                got=self.metric.shape,
                todo="Pass the upper Cholesky factor of such a matrix.",
            )
        return LbfgsState(problem.evaluate(w), Memory(self.memory, problem.n_params, self.metric))

    def step(self, problem: Problem, state: LbfgsState) -> LbfgsState:
        """One quasi-Newton direction and line search; the memory is dropped when it fails."""
        point, memory = state.point, state.memory
        gradient = problem.total_gradient(point)
        direction = memory.direction(gradient)
        known = memory.count or memory.metric is not None
        first = 1.0 if known else 1.0 / max(1e-300, float(np.abs(gradient).sum()))
        trial = wolfe(Ray(problem, point, direction), first)
        if trial is None:
            exhausted = memory.count == 0
            memory.clear()
            return LbfgsState(point, memory, stalled=exhausted)
        new = problem.centred(trial.point)
        new_gradient = problem.total_gradient(new)
        memory.add(new.w - point.w, new_gradient - gradient, new_gradient)
        return LbfgsState(new, memory)
