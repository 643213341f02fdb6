"""Certificates: duality gaps, or violations of the optimality conditions without a dual."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from auctor.core.protocols import Penalty
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import absolute_sum

if TYPE_CHECKING:
    from auctor.problem.objective import Point
    from auctor.problem.problem import Problem


class Certificate(NamedTuple):
    """A gap, and whether it bounds J(w) - min J (otherwise it is an optimality violation)."""

    gap: float
    certified: bool


def bounds_every_column(penalty: Penalty, n_columns: int) -> bool:
    """Whether the conjugate of the penalty is finite around 0, so that a duality gap exists."""
    spec = penalty.separable(n_columns)
    if spec is not None and (spec.l1 > 0.0).all():
        return True
    tiny = np.full(n_columns, SMALLEST_DIVISOR)
    return penalty.dual_scale(tiny) > 0.0 and penalty.dual_scale(-tiny) > 0.0


def certificate(problem: Problem, point: Point, dual: Point | None) -> Certificate:
    """Gap at ``point``, with the dual variables of ``dual`` (by default of the point itself).

    If the problem has no dual, the gap is the largest violation of the optimality conditions.
    """
    source = point if dual is None else dual
    if not problem.certifiable:
        return Certificate(problem.objective.violation(problem, point, source), False)
    own = source is point and point.problem is problem
    gap = point.duality_gap if own else duality_gap(problem, point, source)
    return Certificate(gap, not source.imbalance)


def certify(problem: Problem, point: Point, dual: Point | None) -> tuple[Point, Certificate]:
    """A certified gap, after minimising over the intercept, and the better of the two points."""
    if not problem.certifiable:
        return point, certificate(problem, point, dual)
    source = point if dual is None else dual
    if source.imbalance:
        source = source.problem.with_best_intercept(source)
        moved = problem.evaluate(
            problem.join(problem.coef(point.w), problem.intercept(source.w)),
            scores=point.scores + (problem.intercept(source.w) - problem.intercept(point.w)),
        )
        point = moved if moved.value <= point.value else point
    return point, Certificate(duality_gap(problem, point, source), True)


def largest_violation(problem: Problem, point: Point, source: Point) -> float:
    """Largest violation of the optimality conditions.

    If the source is another point, its gradient is an approximate subgradient (an
    epsilon-subgradient) at the point; epsilon, relative to the null loss, counts as a violation
    too.
    """
    grad = source.gradient
    worst = float(problem.penalty.violation(problem.coef(point.w), problem.coef(grad)).max())
    if problem.has_intercept:
        worst = max(worst, abs(float(grad[-1])))
    if source is not point:
        conjugate = problem.loss.conjugate(source.dscores, problem.data.target)
        if conjugate is None:  # at a gradient u of the loss at s it is u.s - loss(s)
            conjugate = float(source.dscores @ source.scores) - source.loss
        slack = point.loss + conjugate - float(source.dscores @ point.scores)
        worst = max(worst, slack / (abs(problem.null.loss) or 1.0) * problem.tolerance(1.0))
    return worst


def duality_gap(problem: Problem, point: Point, source: Point) -> float:
    """``J(w) + loss*(c u) + penalty*(-c X'u)`` with the largest c <= 1 that is dual feasible.

    At ``u = grad loss(s)`` the conjugate is ``u.s - loss(s)``. If it has no closed form at
    ``c u``, convexity gives ``loss*(c u) <= c (u.s - loss(s)) - (1 - c) inf loss``; the same bound
    holds for every plane below the loss.
    """
    pull = -problem.coef(source.gradient)
    # The largest c <= 1 for which -c X'u is in the domain of the penalty's conjugate.
    scale = problem.penalty.dual_scale(pull)
    target = problem.data.target
    own = source.exact and source.problem.loss is problem.loss
    conjugate = None
    if scale < 1.0 or not own:
        conjugate = problem.loss.conjugate(scale * source.dscores, target)
    rest = (1.0 - scale) * problem.loss.infimum(target)
    if conjugate is None:
        along = float(source.dscores @ source.scores) - source.loss
        conjugate = scale * along - rest
    # A smoothed loss: its plane below the exact loss may give a better conjugate.
    elif source.exact and not own:
        offset = source.tangent
        conjugate = conjugate if offset is None else min(conjugate, -scale * offset - rest)
    gap = point.value + conjugate + problem.penalty.conjugate(scale * pull)
    if source.problem.has_intercept:
        # Allowance for an inexact intercept; only rounding error after `certify`.
        slope = abs(float(source.dscores.sum()))
        gap = max(gap, 0.0) + slope * absolute_sum(source.scores) / source.scores.shape[0]
    gap = math.inf if math.isnan(gap) else max(gap, 0.0)
    trivial = point.value - problem.loss.infimum(target)  # penalties are never negative
    return max(trivial, 0.0) if trivial < gap else gap
