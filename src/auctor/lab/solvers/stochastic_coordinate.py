"""Stochastic coordinate descent: random coordinates with a fixed bound on the curvature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.capabilities import COMPILED
from auctor.core.data_capabilities import COLUMNS, SECOND_ORDER
from auctor.core.linalg import floored
from auctor.core.rng import kernel_state
from auctor.core.types import Array, FloatArray
from auctor.kernels.losses.pointwise import curve_bound
from auctor.lab.kernels.stochastic import stochastic_epoch
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import STALL_STEPS, State, spec_of
from auctor.solvers.sparse.proximal import feasible

#: Epochs between two recomputations of the scores, whose updates accumulate rounding errors.
REFRESH = 25
#: Relative increase of the curvature bounds: some thousand times their rounding error.
BOUND_ROUNDING = 1e-12


@dataclass(frozen=True)
class ScdState(State):
    """The point, the curvature bounds (``beta``), the generator's state and two counters.

    ``without_progress`` counts the epochs since the objective fell.
    """

    beta: FloatArray
    random: Array
    epoch: int = 0
    without_progress: int = 0


@dataclass(frozen=True)
class StochasticCoordinateDescent:
    """First-order coordinate descent in random order, with replacement.

    Each step minimises ``g_j z + beta_j/2 z^2 + penalty(w_j + z)`` where
    ``beta_j = L sum_i p_i x_ij^2`` bounds the curvature along coordinate j for every w, L being
    the loss's largest second derivative. No line search, no second derivatives; a step reads one
    column, O(n) when dense. One epoch takes as many steps as there are columns and then minimises
    over the intercept.

    Parameters
    ----------
    single_bound : bool
        Use the largest beta_j for every coordinate, as in the paper; slower if columns differ in
        scale.

    References
    ----------
    Shalev-Shwartz, Tewari, Stochastic methods for l1-regularized loss minimization, 2011.
    """

    single_bound: bool = False

    needs = (
        Need.SMOOTH_LOSS
        | Need.ROW_LOSS
        | Need.BOUNDED_CURVATURE
        | Need.SEPARABLE_PENALTY
        | Need.COLUMNS
    )

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> ScdState:
        """State at the starting point."""
        point = problem.with_best_intercept(feasible(problem, w))
        loss = COMPILED.of(problem.loss)
        bound = curve_bound(loss.kind, loss.width) * problem.data.target.share
        problem.counts.passes += 1
        beta = SECOND_ORDER.of(problem.data).square_gradient(bound)
        if self.single_bound:
            beta = np.full_like(beta, beta.max(initial=0.0))
        # Rounding errors must not put a bound below the curvature; an empty column must not divide
        # by zero.
        beta = floored(beta * (1.0 + BOUND_ROUNDING))
        return ScdState(point, beta, kernel_state(rng))

    def step(self, problem: Problem, state: ScdState) -> ScdState:
        """One epoch: as many random coordinate steps as there are columns."""
        point, epoch = state.point, state.epoch + 1
        loss = COMPILED.of(problem.loss)
        target, random = problem.data.target, state.random.copy()
        spec = spec_of(problem)
        # The kernel updates coefficients, scores and derivatives in place.
        w, scores = problem.coef(point.w).copy(), point.scores.copy()
        work = stochastic_epoch(
            *COLUMNS.of(problem.data).columns(),
            loss.kind,
            loss.param,
            loss.width,
            target.y,
            target.share,
            state.beta,
            *spec,
            w,
            scores,
            point.dscores.copy(),
            problem.n_columns,
            random,
        )
        problem.counts.passes += work / max(1, problem.n_entries)
        joined = problem.join(w, problem.intercept(point.w))
        # Now and then the scores are computed again, without accumulated rounding errors.
        known = None if epoch % REFRESH == 0 else scores
        new = problem.with_best_intercept(problem.evaluate(joined, scores=known))
        without_progress = 0 if new.value < point.value else state.without_progress + 1
        stalled = without_progress >= STALL_STEPS
        return ScdState(new, state.beta, random, epoch, without_progress, stalled=stalled)
