"""Gap safe screening: columns that the duality gap proves to be zero at the optimum."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.capabilities import COMPILED
from auctor.core.rounding import ROUNDING
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.kernels.descent.coordinate import column_curvatures
from auctor.kernels.losses.pointwise import curve_bound
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.sparse.models.columns import Store


def dual_radius(problem: Problem, point: Point) -> float:
    """Bound on the distance of the dual optimum from the dual point of ``point``, or infinity.

    With second derivatives up to L, the dual is 1/L-strongly concave in the norm
    ``sum_i u_i^2 / p_i``, p the shares of the rows, so the distance is at most ``sqrt(2 L gap)``.
    """
    if Need.BOUNDED_CURVATURE not in problem.provides or not problem.certifiable:
        return math.inf
    if point.imbalance:
        return math.inf
    gap = max(point.duality_gap, ROUNDING * abs(point.value))
    loss = COMPILED.of(problem.loss)
    return math.sqrt(2.0 * curve_bound(loss.kind, loss.width) * gap)


def proven_zero(
    problem: Problem, point: Point, spec: SeparableSpec, store: Store, candidates: IntArray
) -> Array:
    """Mask of the candidate columns that are proved to be zero at every optimum.

    These are the columns with ``|x_j.u| + radius |x_j|_p < l1_j``, u the feasible dual point.

    References
    ----------
    Ndiaye, Fercoq, Gramfort, Salmon, Gap safe screening rules for sparsity enforcing penalties,
    2017.
    """
    radius = dual_radius(problem, point) if candidates.size else math.inf
    if math.isinf(radius):
        return np.zeros(candidates.size, dtype=bool)
    gradient = problem.coef(point.gradient)
    slack = spec.l1 - problem.penalty.dual_scale(-gradient) * np.abs(gradient)
    # A column whose bounds exclude 0 cannot be zero.
    slack = np.where((spec.lower <= 0.0) & (spec.upper >= 0.0), slack, 0.0)[candidates]
    if slack.max() <= 0.0:
        return np.zeros(candidates.size, dtype=bool)
    local = candidates if store.index is None else np.searchsorted(store.index, candidates)
    squares = np.zeros(store.columns.indptr.shape[0] - 1)
    column_curvatures(*store.columns, problem.data.target.share, local, squares)
    proven: Array = radius * np.sqrt(squares[local]) < slack
    return proven


def worst_violators(violation: FloatArray, inside: Array, limit: int) -> IntArray:
    """Indices of the largest positive violations outside a set, ``limit`` of them at most.

    Examples
    --------
    >>> inside = np.array([True, False, False, False])
    >>> worst_violators(np.array([9.0, 1.0, 3.0, 2.0]), inside, 2)
    array([2, 3])
    """
    rest = np.flatnonzero(~inside & (violation > 0.0))
    if rest.size > limit:
        rest = np.sort(rest[np.argpartition(-violation[rest], limit - 1)[:limit]])
    return rest
