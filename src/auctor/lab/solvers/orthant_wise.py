"""Orthant-wise L-BFGS."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.rounding import ROUNDING, SMALLEST_DIVISOR
from auctor.core.types import FloatArray, SeparableSpec
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State, spec_of
from auctor.solvers.lbfgs import Pairs
from auctor.solvers.line_search import ARMIJO, first_accepted, sizes
from auctor.solvers.sparse.matrices import LbfgsMatrix
from auctor.solvers.sparse.models.lowrank import survey
from auctor.solvers.sparse.proximal import feasible


@dataclass(frozen=True)
class OrthantState(State):
    """The point, the L-BFGS pairs, which are updated in place, and the penalty per column."""

    pairs: LbfgsMatrix
    spec: SeparableSpec

    def learned(self) -> Pairs:
        """The pairs in memory."""
        return self.pairs.learned()

    def resumed(self, learned: object) -> Self:
        """The state with the pairs of an earlier solve, if they fit."""
        if isinstance(learned, Pairs):
            self.pairs.recall(learned)
        return self


@dataclass(frozen=True)
class OrthantWise:
    """OWL-QN: an L-BFGS direction inside the orthant that the steepest descent points into.

    The direction is ``-B^-1 p`` with p the minimum-norm subgradient, its components set to 0 if
    their sign differs from that of ``-p``; trial points are projected on the orthant (and on the
    penalty's bounds, if any). Two passes over the data per iteration, one more per halving. A
    baseline: unlike `Lhac` it has no proven rate of convergence, and it may stall near kinks.

    Parameters
    ----------
    memory : int >= 1
        Number of pairs in memory.
    shrink : float in (0, 1)
        Factor on the step after a failed trial.

    References
    ----------
    Andrew, Gao, Scalable training of L1-regularized log-linear models, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.problem import Problem
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L1
    >>> problem = Problem(Squared(), L1(0.5), as_data(np.eye(2), [1, 3]), fit_intercept=False)
    >>> minimise(problem, OrthantWise(), tol=1e-9).coef.round(6)
    array([0., 2.])
    """

    memory: int = 10
    shrink: float = 0.5

    needs = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("memory", self.memory, low=1)
        check_real("shrink", self.shrink, low=0.0, high=1.0, open_low=True, open_high=True)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> OrthantState:
        """State at the starting point."""
        return OrthantState(
            feasible(problem, w),
            LbfgsMatrix(self.memory, problem.n_params, 1.0),
            spec_of(problem, intercept=True),
        )

    def step(self, problem: Problem, state: OrthantState) -> OrthantState:
        """One direction and projected backtracking; clears the memory if the search fails."""
        point, pairs = state.point, state.pairs
        steepest = survey(point, state.spec).steepest
        direction = -pairs.solve(steepest) if pairs.count else -steepest
        # Keep only components along which the steepest descent also falls.
        direction[direction * steepest >= 0.0] = 0.0
        length = max(SMALLEST_DIVISOR, float(np.linalg.norm(direction)))
        first = 1.0 if pairs.count else 1.0 / length
        new = self._search(problem, state, steepest, direction, first)
        if new is None:
            exhausted = not pairs.count
            pairs.clear()
            return replace(state, stalled=exhausted)
        new = problem.with_best_intercept(new)
        s = new.w - point.w
        pairs.add(s, new.gradient - point.gradient + problem.ridge * s)
        return replace(state, point=new)

    def _search(
        self,
        problem: Problem,
        state: OrthantState,
        steepest: FloatArray,
        direction: FloatArray,
        step: float,
    ) -> Point | None:
        """First projected trial at ``step shrink^i`` with sufficient decrease, or ``None``."""
        point, spec = state.point, state.spec
        # Signs of the coefficients; zeros take the sign that lowers the objective.
        orthant = np.where(point.w != 0.0, np.sign(point.w), -np.sign(steepest))
        kinked = spec.l1 > 0.0

        def trial(size: float) -> Point | None:
            w = point.w + size * direction
            w[kinked & (w * orthant <= 0.0)] = 0.0
            w = np.clip(w, spec.lower, spec.upper)
            return None if np.array_equal(w, point.w) else problem.evaluate(w)

        def ends(size: float, new: Point | None) -> bool:
            if new is None:
                return True  # the step is below rounding error: end the search
            predicted = float(steepest @ (new.w - point.w))
            slack = ROUNDING * abs(point.value) if math.isfinite(point.value) else 0.0
            return predicted < 0.0 and new.value <= point.value + ARMIJO * predicted + slack

        found = first_accepted(trial, ends, sizes(step, self.shrink))
        return None if found is None else found[1]
