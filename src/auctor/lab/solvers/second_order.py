"""Stochastic steps with curvature: subsampled Newton, and L-BFGS from batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray
from auctor.lab.solvers.stochastic import Batches, Iterate, Stochastic, StochasticState, gradient_at
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.lbfgs import Memory
from auctor.solvers.line_search import Ray, backtrack
from auctor.solvers.smooth.conjugate import truncated_cg

#: Factor on a step that was too long.
STEP_DECREASE = 0.9


@dataclass(frozen=True)
class SubsampledNewton(Stochastic):
    """Newton directions from one batch for the gradient and another for the curvature.

    Each direction takes a few conjugate-gradient products, and backtracking with the Armijo test on
    the batch of the gradient sets the step. Suited to columns of very different scales.

    Parameters
    ----------
    step_size : float > 0
        First trial step of the line search.
    batch, schedule, decay
        As for `Sgd`; the schedule applies to the first trial step.
    curvature_batch : int >= 1
        Rows per Hessian.
    armijo : float in (0, 1)
        Least share of the decrease predicted by the slope, on the batch. A large one also limits
        how far a step overfits its batch.
    max_cg : int >= 1
        Largest number of conjugate-gradient products per direction.
    forcing : float in (0, 1)
        Relative tolerance of the conjugate gradients.

    References
    ----------
    Byrd, Chin, Neveitt, Nocedal, On the use of stochastic Hessian information, 2011.
    """

    step_size: float | None = 1.0
    batch: int = 64
    schedule: str = "halving"
    decay: float = 200.0
    curvature_batch: int = 256
    armijo: float = 0.5
    max_cg: int = 20
    forcing: float = 0.1

    needs = Stochastic.needs | Need.CURVATURE

    @speaks_for_itself
    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("curvature_batch", self.curvature_batch, low=1)
        check_int("max_cg", self.max_cg, low=1)
        check_real("armijo", self.armijo, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real("forcing", self.forcing, low=0.0, high=1.0, open_low=True, open_high=True)

    def advance(self, batches: Batches, iterate: Iterate, batch: int, step: float) -> None:
        """One direction and line search; the iterate does not move if the search fails."""
        rows = batches.draw(batch)
        point = rows.evaluate(iterate.w)
        curved = batches.draw(max(batch, self.curvature_batch))
        hessian = curved.hessian(curved.evaluate(iterate.w))
        gradient = rows.total_gradient(point)
        if not np.isfinite(gradient).all():
            return
        found = truncated_cg(
            hessian.matvec, gradient, lambda v: v, rtol=self.forcing, max_iter=self.max_cg
        )
        ray = Ray(rows, point, found.step)
        trial = backtrack(ray, step, shrink=STEP_DECREASE, armijo=self.armijo)
        if trial is not None:
            iterate.w = trial.point.w


@dataclass(frozen=True)
class StochasticLbfgs(Stochastic):
    """L-BFGS directions of batch gradients, with curvature pairs from separate, larger batches.

    Both gradients of a pair are on the same rows, so that their difference is curvature and not
    sampling noise; pairs without positive curvature are skipped.

    Parameters
    ----------
    step_size : float > 0
        In units of a quasi-Newton step. Near 1 without decay it may diverge.
    batch, schedule, decay
        As for `Sgd`.
    curvature_batch : int >= 1
        Rows per pair.
    every : int >= 1
        Steps between pairs.
    memory : int >= 1
        Number of pairs in memory.

    References
    ----------
    Byrd, Hansen, Nocedal, Singer, A stochastic quasi-Newton method for large-scale optimization,
    2016.
    """

    step_size: float | None = 0.2
    batch: int = 64
    schedule: str = "halving"
    decay: float = 200.0
    curvature_batch: int = 256
    every: int = 10
    memory: int = 5

    @speaks_for_itself
    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("curvature_batch", self.curvature_batch, low=1)
        check_int("every", self.every, low=1)
        check_int("memory", self.memory, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> StochasticState:
        """State at the starting point, without pairs."""
        state = super().init(problem, w, rng)
        pairs = Memory(self.memory, problem.n_params)
        return replace(state, iterate=replace(state.iterate, pairs=pairs))

    def advance(self, batches: Batches, iterate: Iterate, batch: int, step: float) -> None:
        """One step; after every ``every`` steps, one new pair."""
        pairs = iterate.pairs
        gradient = gradient_at(batches.draw(batch), iterate.w)
        if pairs is None or not pairs.count:
            # No curvature is known yet: divide by the mean squared row length plus the ridge.
            squares = batches.problem.column_squares.sum() + batches.problem.ridge.max()
            direction = gradient / max(float(squares), SMALLEST_DIVISOR)
        else:
            direction = pairs.solve(gradient)
        if iterate.size == 1.0:
            iterate.u = iterate.w
        iterate.w = iterate.w - step * direction
        iterate.size += 1.0
        if pairs is not None and int(iterate.size) % self.every == 1 % self.every:
            rows = batches.draw(max(batch, self.curvature_batch))
            change = gradient_at(rows, iterate.w) - gradient_at(rows, iterate.u)
            if np.isfinite(change).all():
                pairs.add(iterate.w - iterate.u, change)
            iterate.u = iterate.w
