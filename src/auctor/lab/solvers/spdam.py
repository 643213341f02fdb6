"""Stochastic primal-dual steps for the pairwise square loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_int
from auctor.core.data_capabilities import ROWS
from auctor.core.errors import speaks_for_itself
from auctor.core.rng import kernel_state
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import Array, FloatArray, IntArray
from auctor.lab.kernels.finite_sum import spdam_epoch
from auctor.lab.solvers.prox_svrg import CentredRows, centred_rows
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import STALL_STEPS, State

#: Batches in one pass over the data by default.
BATCHES = 100


class Lengths(NamedTuple):
    """Dual step size, primal step size, and the extrapolation, also the convergence rate."""

    sigma: float
    tau: float
    theta: float


def lengths(strength: float, square: float, n: int, batch: int) -> Lengths:
    """Optimal step sizes for n rows of squared length up to ``square``, ``batch`` rows per step.

    Examples
    --------
    >>> round(lengths(0.1, 14.0, 2000, 200).theta, 4)
    0.9768
    """
    spare = n - batch
    root = math.sqrt(spare * spare + 4.0 * n * square * batch / strength)
    sigma = strength * (spare + root) / (4.0 * batch * square)
    return Lengths(
        sigma, 1.0 / (4.0 * sigma * square), 1.0 - strength / (strength + 2.0 * sigma * square)
    )


@dataclass(frozen=True)
class SpdamState(State):
    """The point, the rows with their scale, and the primal-dual iterates.

    ``multipliers`` are the dual variables of the rows, ``pull`` is their combination of the rows,
    ``extrapolated`` the extrapolated w, and ``best`` the lowest objective so far.
    """

    rows: CentredRows
    scale: FloatArray
    order: IntArray
    multipliers: FloatArray
    pull: FloatArray
    extrapolated: FloatArray
    random: Array
    best: float
    without_progress: int = 0


@dataclass(frozen=True)
class Spdam:
    """Stochastic primal-dual algorithm for AUC with a ridge.

    Rows, centred at the mean of their class, have one dual variable each. A step updates those of a
    random batch at once and then minimises exactly over w. The rate is linear. A step costs
    O(entries of the batch + d), and one iteration is about a pass over the rows.

    Parameters
    ----------
    batch : int >= 1, optional
        Rows per step; one in a hundred by default. A smaller batch takes fewer passes and more
        steps.

    References
    ----------
    Natole, Fast optimization algorithms for AUC maximization, Albany 2020, chapter 5 (scaling of
    rows and steps corrected).

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseSquare
    >>> from auctor.penalties import L2
    >>> problem = Problem(PairwiseSquare(), L2(2.0), as_data(np.array([[1.0], [0.0]]), [1, -1]))
    >>> minimise(problem, Spdam(), tol=1e-9, rng=0).coef.round(4)
    array([0.5])
    """

    batch: int | None = None

    needs = (
        Need.SMOOTH_LOSS
        | Need.QUADRATIC_PAIRS
        | Need.SMOOTH_PENALTY
        | Need.STRONG_PENALTY
        | Need.ROWS
    )

    @speaks_for_itself
    def __post_init__(self) -> None:
        if self.batch is not None:
            check_int("batch", self.batch, low=1)

    @classmethod
    def examples(cls) -> list[Spdam]:
        """Instances the conformance kit tests."""
        return [cls(), cls(batch=10)]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SpdamState:
        """State at the starting point, with its optimal dual variables."""
        point, rows = problem.evaluate(w), centred_rows(problem)
        n = rows.rows.size
        # Rows times sqrt(n p_i) turn the weighted mean into a plain one.
        scale = np.sqrt(n * rows.share)
        centre = (rows.means @ point.w)[rows.own]
        # Optimal dual variables at w: the centred, scaled scores.
        multipliers = scale * (point.scores[rows.rows] - centre)
        weight = np.zeros(problem.data.n_rows)
        weight[rows.rows] = scale * multipliers / n
        mass = np.bincount(rows.own, weight[rows.rows], minlength=2)
        problem.counts.passes += 1
        # Sum of multiplier times centred row; the class means are subtracted by their total weight.
        pull = problem.data.gradient(weight) - mass @ rows.means
        random = kernel_state(rng)
        return SpdamState(
            point, rows, scale, np.arange(n), multipliers, pull, point.w, random, point.value
        )

    def step(self, problem: Problem, state: SpdamState) -> SpdamState:
        """Random batches with as many rows in all as one pass over the data."""
        rows, n = state.rows, state.rows.rows.size
        batch = min(n, math.ceil(n / BATCHES) if self.batch is None else self.batch)
        # The saddle-point form has half the loss, so half the ridge.
        ridge = 0.5 * problem.ridge
        # Step sizes depend on the longest scaled row.
        longest = float((state.scale**2 * rows.square).max())
        use = lengths(float(ridge.min()), max(longest, SMALLEST_DIVISOR), n, batch)
        order, random = state.order.copy(), state.random.copy()
        multipliers, pull = state.multipliers.copy(), state.pull.copy()
        w, extrapolated = state.point.w.copy(), state.extrapolated.copy()
        steps = math.ceil(n / batch)
        spdam_epoch(
            *ROWS.of(problem.data).row_lines(),
            rows.rows,
            rows.own,
            state.scale,
            rows.means,
            ridge,
            *use,
            batch,
            steps,
            order,
            multipliers,
            pull,
            w,
            extrapolated,
            random,
        )
        problem.counts.passes += 2.0 * steps * batch / n
        point = problem.evaluate(w)
        # Iterates are not monotone: compare with the best objective so far.
        better = point.value < state.best
        best, without_progress = (
            (point.value, 0) if better else (state.best, state.without_progress + 1)
        )
        return SpdamState(
            point,
            rows,
            state.scale,
            order,
            multipliers,
            pull,
            extrapolated,
            random,
            best,
            without_progress,
            stalled=without_progress >= STALL_STEPS,
        )
