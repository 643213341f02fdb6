"""Strengths of a penalty: the smallest one with an empty model, and checked sequences."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.checks import check_vector
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.protocols import Penalty
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray, SeparableSpec
from auctor.problem import Point, Problem

#: Smoothing width of the subgradient at the null model, in units of the null loss.
WIDTH = 1e-6
#: Distance from the null model of a directional subgradient, in units of its intercept plus 1.
NEARBY = 1e-9
#: Most cutting planes of the search; one that needs more returns its upper bound.
MOST_CUTS = 200
#: Most cutting planes times columns: 32 MB of float64 in the linear program.
MOST_ENTRIES = 1 << 22
#: Factor between trials of that scale.
STRETCH = 1e6


@speaks_as("strength_max")
def strength_max(problem: Problem) -> float:
    """The smallest strength at which the null model (all coefficients 0) is optimal.

    ``min |X' u|_*`` over the subgradients u of the loss at the null model, which has its best
    intercept, with ``|.|_*`` the dual norm of the penalty's kink at 0. A smooth loss has one
    subgradient, its gradient: one pass over the data. A kinked loss has many: for penalties that
    are sums over columns the minimum is found by cutting planes, two passes each, to a relative
    1e-9 or for at most `MOST_CUTS`; the result is never too small. For other penalties one
    subgradient is used, which gives an upper bound. For a loss that is not convex, the null model
    is stationary there. The penalty's own strength does not matter.

    Parameters
    ----------
    problem : Problem
        The penalty must have a kink at 0 in every column; l2 or unpenalised columns are an error.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L1
    >>> data = as_data(np.eye(2), [3.0, 1.0])
    >>> strength_max(Problem(Squared(), L1(), data, fit_intercept=False))
    1.5
    """
    unit = problem.penalty.with_strength(1.0)
    spec = unit.separable(problem.n_columns)
    if spec is not None:
        _need_kink(unit, bool((spec.l1 > 0.0).all()))
        pull = _null_pull(problem)
        up, down = np.where(spec.upper > 0.0, pull, 0.0), np.where(spec.lower < 0.0, -pull, 0.0)
        one = float((np.maximum(up, down) / spec.l1).max())
        exact = problem.loss.smooth or not problem.loss.convex or one == 0.0
        return one if exact else min(one, _least_strength(problem, spec))
    return _dual_norm(unit, _null_pull(problem))


def _least_strength(problem: Problem, spec: SeparableSpec) -> float:
    """Least ``max_j |x_j' u| / l1_j`` over the subgradients u of a kinked loss at the null model.

    It equals ``max -R'(Xw + b)`` over ``sum_j l1_j |w_j| <= 1`` and all b, where R' is the
    directional derivative of the loss along a change of the scores: the maximum over its
    subgradients. A linear program over the subgradients found so far gives an upper bound, the
    directional derivative along its solution a lower bound.
    """
    # Imported here, because it is slow to load and only kinked losses need it.
    from scipy.optimize import linprog

    d, start = problem.n_columns, problem.null.intercept
    cuts: list[FloatArray] = []  # X'u, followed by the sum of u

    def slope(change: FloatArray, where: FloatArray) -> float:
        """Add the subgradient in the direction ``change`` as a cut; the slope along ``where``."""
        longest = float(np.abs(change).max(initial=0.0)) or 1.0
        step = NEARBY * (1.0 + abs(start)) / longest
        u = problem.loss.value_grad(start + step * change, problem.data.target)[1]
        problem.counts.evaluations += 1
        pulled = problem.pull_back(u)
        cut = np.append(problem.coef(pulled), float(u.sum()) if problem.has_intercept else 0.0)
        cuts.append(cut)
        return float(cut @ where)

    everywhere = np.ones(problem.data.n_rows)
    for sign in (1.0, -1.0) if problem.has_intercept else (0.0,):
        slope(sign * everywhere, np.zeros(d + 1))
    # Unknowns: the positive and negative parts of w, the intercept, and the value t.
    # Maximise t with t <= -cut.(w, b) for all cuts, sum_j l1_j |w_j| <= 1 and the penalty's bounds.
    objective = np.append(np.zeros(2 * d + 1), -1.0)
    ball = np.concatenate([spec.l1, spec.l1, [0.0, 0.0]])
    signs = np.append(spec.upper > 0.0, spec.lower < 0.0)
    bounds = [(0.0, None if free else 0.0) for free in signs] + [(None, None)] * 2
    upper = math.inf
    for _ in range(min(MOST_CUTS, max(2, MOST_ENTRIES // d))):
        stack = np.array(cuts)
        columns = stack[:, :d]
        below = np.column_stack([columns, -columns, stack[:, d], np.ones(len(cuts))])
        right = np.append(np.zeros(len(cuts)), 1.0)
        solution = linprog(objective, A_ub=np.vstack([below, ball]), b_ub=right, bounds=bounds)
        if solution.status != 0 or solution.x is None:
            break
        upper = min(upper, float(solution.x[-1]))
        where = np.append(solution.x[:d] - solution.x[d : 2 * d], solution.x[2 * d])
        change = problem.score_change(where[: problem.n_params])
        # Relative difference of the upper and lower bound of the strength at which the search ends.
        if -slope(change, where) >= (1.0 - 1e-9) * upper:
            break
    return max(upper, 0.0)


def check_strengths(strengths: object) -> FloatArray:
    """The distinct strengths in decreasing order; an error unless all are >= 0."""
    levels = check_vector("strengths", strengths)
    if np.ndim(strengths) == 0 or not levels.size or (levels < 0.0).any():  # type: ignore[arg-type]
        raise ParameterError(f"a sequence of strengths >= 0; got {strengths!r}. Pass such numbers.")
    return np.unique(levels)[::-1]


def _need_kink(penalty: Penalty, kinked: bool) -> None:
    """Raise `ParameterError` unless the penalty has a kink at 0 in every column."""
    if not kinked:
        raise ParameterError(
            f"a penalty with a kink at 0 in every column; got {type(penalty).__name__} without one "
            "in some. Pass the strengths yourself."
        )


def _null_pull(problem: Problem) -> FloatArray:
    """Minus a (sub)gradient of the loss at the null model, per column."""
    if problem.has_intercept and not problem.loss.smooth:
        loss = problem.loss.smoothed(WIDTH * (abs(problem.null.loss) or 1.0))
        if loss is None:
            raise ParameterError(
                f"a loss that is smooth or has a smoothed form; got {problem.described}. Pass the "
                "strengths yourself."
            )
        problem = problem.with_loss(loss)
    start: Point = problem.evaluate(problem.start())
    return -problem.coef(start.gradient)


def _dual_norm(norm: Penalty, v: FloatArray) -> float:
    """Dual norm of v: ``1 / (K c)`` for a K with ``K v`` outside the dual ball.

    c < 1 is the largest factor with ``c K v`` in the ball. The norm is 0 if ``K v`` is in the ball
    for every K: the signs that the penalty allows then keep every coefficient at 0.
    """
    largest = float(np.abs(v).max())
    tiny = np.full_like(v, SMALLEST_DIVISOR)
    _need_kink(norm, norm.dual_scale(tiny) > 0.0 and norm.dual_scale(-tiny) > 0.0)
    if largest == 0.0:
        return 0.0
    stretch = 1.0 / largest
    while (scale := norm.dual_scale(stretch * v)) == 1.0:
        # Entry of a scaled dual vector in the dual ball from which the norm counts as 0.
        if stretch * largest > 1e100:
            return 0.0
        stretch *= STRETCH
    return 1.0 / (stretch * scale)
