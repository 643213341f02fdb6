"""Proximal stochastic gradient with variance reduction, for the pairwise square loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_real
from auctor.core.data_capabilities import ROWS
from auctor.core.errors import speaks_for_itself
from auctor.core.rng import kernel_state
from auctor.core.types import Array, FloatArray, IntArray
from auctor.lab.kernels.finite_sum import svrg_epoch
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import STALL_STEPS, State, spec_of
from auctor.solvers.sparse.proximal import feasible


class CentredRows(NamedTuple):
    """Rows of positive weight, negatives first, with the means of their classes.

    Attributes
    ----------
    rows : (m,) int array
    own : (m,) array
        Class of the row, 0 (negative) or 1, as unsigned bytes.
    share : (m,) array
        Weight in the class; the weights of each class sum to 1.
    means : (2, d) array
        Mean row of each class.
    square : (m,) array
        Squared distance to the mean of the class.
    """

    rows: IntArray
    own: Array
    share: FloatArray
    means: FloatArray
    square: FloatArray


def centred_rows(problem: Problem) -> CentredRows:
    """Classes, weights and squared distances to the class mean of all rows; five passes."""
    data, sides = ROWS.of(problem.data), problem.data.target.classes[::-1]
    means = []
    for side in sides:
        full = np.zeros(data.n_rows)
        full[side.rows] = side.share
        means.append(data.gradient(full))
    problem.counts.passes += 5
    square = data.row_lengths(np.ones(data.n_columns))
    for side, mean in zip(sides, means, strict=True):
        # |x - m|^2 = |x|^2 - 2 x.m + |m|^2
        across = data.scores(mean)[side.rows]
        square[side.rows] += float(mean @ mean) - 2.0 * across
    rows = np.concatenate([side.rows for side in sides])
    own = np.repeat(np.arange(2, dtype=np.uint8), [side.rows.size for side in sides])
    share = np.concatenate([side.share for side in sides])
    return CentredRows(rows, own, share, np.stack(means), np.maximum(square[rows], 0.0))


@dataclass(frozen=True)
class SvrgState(State):
    """The point, the rows, their cumulative sampling probabilities and the step size.

    ``scale`` is a row's weight over its probability; ``without_progress`` counts the rounds since
    the objective fell.
    """

    rows: CentredRows
    below: FloatArray
    scale: FloatArray
    length: float
    random: Array
    without_progress: int = 0


@dataclass(frozen=True)
class ProxSvrg:
    """Proximal SVRG: gradients of random rows update the full gradient of the last round.

    The loss is ``sum_i p_i (w.(x_i - m_i))^2 + (1 - w.d)^2`` with the class means m and their
    difference d. Rows are drawn in proportion to ``p_i |x_i - m_i|^2``, so that rare classes and
    long rows need no smaller steps; the last term is not sampled. The rate is linear if the
    objective is strongly convex, and l1 penalties give exact zeros. An inner step costs O(d).

    Parameters
    ----------
    inner : float > 0
        Inner steps per round, as a multiple of the rows.
    length : float > 0
        Step size, in units of one over the largest curvature of a term.

    References
    ----------
    Xiao, Zhang, A proximal stochastic gradient method with progressive variance reduction, 2014;
    Dan, Sahoo, Variance reduced stochastic proximal algorithm for AUC maximization, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseSquare
    >>> from auctor.penalties import L2
    >>> problem = Problem(PairwiseSquare(), L2(2.0), as_data(np.array([[1.0], [0.0]]), [1, -1]))
    >>> minimise(problem, ProxSvrg(), tol=1e-9, rng=0).coef.round(4)
    array([0.5])
    """

    inner: float = 2.0
    length: float = 0.1

    needs = Need.SMOOTH_LOSS | Need.QUADRATIC_PAIRS | Need.SEPARABLE_PENALTY | Need.ROWS

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("inner", self.inner, low=0.0, open_low=True)
        check_real("length", self.length, low=0.0, open_low=True)

    @classmethod
    def examples(cls) -> list[ProxSvrg]:
        """Instances the conformance kit tests."""
        return [cls(), cls(inner=1.0, length=0.3)]

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SvrgState:
        """State at the starting point."""
        point, rows = feasible(problem, w), centred_rows(problem)
        # Importance sampling: probabilities proportional to the curvature of a row's term.
        size = rows.share * rows.square
        total = float(size.sum())
        chance = size / total if total > 0.0 else rows.share / 2.0
        scale = np.divide(rows.share, chance, out=np.zeros_like(chance), where=chance > 0.0)
        below = np.concatenate(([0.0], np.cumsum(chance)))
        apart = rows.means[1] - rows.means[0]
        curve = 2.0 * (total + float(apart @ apart))
        random = kernel_state(rng)
        length = self.length / curve if curve > 0.0 else 1.0
        return SvrgState(point, rows, below, scale, length, random)

    def step(self, problem: Problem, state: SvrgState) -> SvrgState:
        """One round of inner steps around the full gradient; halves the step size if it fails."""
        point, rows, random = state.point, state.rows, state.random.copy()
        spec = spec_of(problem)
        # The kernel moves w in place from the snapshot point.w with its full gradient.
        w = point.w.copy()
        svrg_epoch(
            *ROWS.of(problem.data).row_lines(),
            rows.rows,
            rows.own,
            rows.means,
            state.below,
            state.scale,
            point.w,
            point.gradient,
            state.length,
            *spec,
            w,
            max(1, round(self.inner * rows.rows.size)),
            random,
        )
        problem.counts.passes += self.inner
        new = problem.evaluate(w)
        if new.value < point.value:
            return replace(state, point=new, random=random, without_progress=0)
        # The round is undone, and the next one takes shorter steps.
        without_progress = state.without_progress + 1
        return replace(
            state,
            length=0.5 * state.length,
            random=random,
            without_progress=without_progress,
            stalled=without_progress >= STALL_STEPS,
        )
