"""Primal interior point for l1-type penalties: few, expensive, reliable steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.capabilities import CURVED
from auctor.core.checks import check_real
from auctor.core.curvature import LowRankCurvature
from auctor.core.data_capabilities import COLUMNS, SECOND_ORDER
from auctor.core.errors import speaks_for_itself
from auctor.core.linalg import floored, product_passes, spd_solve
from auctor.core.types import FloatArray, SeparableSpec
from auctor.kernels.linalg.columns import row_products
from auctor.problem import Point, Problem
from auctor.problem.hessian import MODEL_FLOOR, Hessian
from auctor.problem.needs import Need
from auctor.solvers.base import State, spec_of
from auctor.solvers.line_search import first_accepted, sizes

#: Least share of the decrease predicted by the slope. Koh, Kim, Boyd, 2007 (alpha).
SUFFICIENT = 0.01
#: Step length from which the barrier weight is reduced; a full Newton step has length 1.
LONG_STEP = 0.5
#: Ridge added to unpenalised columns in the Woodbury system, relative to their curvature.
FREE_RIDGE = 1e-6
#: Least barrier weight, as a share of the objective: far below its rounding error.
LEAST_BARRIER = 1e-18


class Barrier(NamedTuple):
    """``min over u of l1 u - mu log(u^2 - w^2)``: value, and derivatives in each coefficient."""

    value: float
    slope: FloatArray
    curve: FloatArray


def barrier(w: FloatArray, l1: FloatArray, mu: float) -> Barrier:
    """The barrier of ``|w_j| <= u_j`` with its bounds u at their minimisers.

    These solve ``l1 (u^2 - w^2) = 2 mu u``, so the slope ``2 mu w/(u^2 - w^2)`` is ``l1 w/u`` and
    the curvature after eliminating u is ``2 mu/(u^2 + w^2)``.
    """
    slope, curve = np.zeros_like(w), np.zeros_like(w)
    on = l1 > 0.0
    x, level = w[on], l1[on]
    width = mu / level
    u = width + np.hypot(width, x)
    slope[on] = level * (x / u)
    curve[on] = 2.0 * mu / (u * u + x * x)
    # u^2 - w^2 = 2 width u without cancellation.
    value = float(level @ u - mu * np.log(2.0 * width * u).sum())
    return Barrier(value, slope, curve)


@dataclass(frozen=True)
class InteriorState(State):
    """The thresholded point, the dense iterate (``inner``), and the barrier weight ``mu``."""

    inner: Point
    mu: float


@dataclass(frozen=True)
class InteriorPoint:
    """Newton's method on a log barrier for l1 and elastic-net penalties.

    Minimises ``loss + sum l1_j u_j + l2_j/2 w_j^2 - mu sum log(u_j^2 - w_j^2)`` for falling mu,
    with the bounds u eliminated in closed form; mu follows the duality gap. One Newton system per
    step: of the columns if there are at least as many rows (O(n p^2)), otherwise of the rows by the
    Woodbury identity (O(n^2 p), no p by p matrix). Iterates are dense; the returned point has those
    coefficients at zero that one coordinate step would set to zero, if its objective is no worse.

    Parameters
    ----------
    growth : float > 1
        Ratio of the barrier weight that the duality gap suggests to the next barrier weight.
    direct : bool, optional
        Whether to solve the system of the columns; by default if there are as many rows as columns.

    References
    ----------
    Koh, Kim, Boyd, An interior-point method for large-scale l1-regularized logistic regression,
    2007.
    """

    growth: float = 2.0
    direct: bool | None = None

    needs = (
        Need.SMOOTH_LOSS
        | Need.CURVATURE
        | Need.ROW_LOSS
        | Need.SEPARABLE_PENALTY
        | Need.UNBOUNDED
        | Need.GRAM
        | Need.COLUMNS
    )

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("growth", self.growth, low=1.0, open_low=True)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> InteriorState:
        """State at the starting point."""
        point = problem.with_best_intercept(problem.evaluate(w))
        return InteriorState(point, point, self._first(problem, point))

    @staticmethod
    def _first(problem: Problem, point: Point) -> float:
        """The first barrier weight.

        At zero, mu / l1 is the size of a coefficient that moves the scores by about one. At another
        start, mu is at most the weight that corresponds to its duality gap.
        """
        spec = spec_of(problem)
        penalised = spec.l1 > 0.0
        if not penalised.any():
            return 1.0
        problem.counts.passes += 1
        square = SECOND_ORDER.of(problem.data).square_gradient(problem.data.target.share)[penalised]
        length = float(np.sqrt(np.median(square[square > 0.0]))) if square.any() else 1.0
        # A coefficient of 1 / length, the inverse size of a typical column, moves scores by one.
        wide = float(spec.l1[penalised].mean()) / length
        if not problem.certifiable or not problem.coef(point.w).any():
            return wide
        suited = problem.certificate(point).gap / (2 * int(penalised.sum()))
        return min(wide, suited) if suited > 0.0 else wide

    def step(self, problem: Problem, state: InteriorState) -> InteriorState:
        """One Newton step with backtracking; then the barrier falls and weights are thresholded."""
        spec, point, mu = spec_of(problem), state.inner, state.mu
        # Newton direction of loss + ridge + barrier.
        edge = barrier(problem.coef(point.w), spec.l1, mu)
        gradient = problem.total_gradient(point) + problem.join(edge.slope, 0.0)
        direction = -self._solve(problem, point, spec.l2 + edge.curve, gradient)
        found = _search(problem, spec, point, direction, gradient, mu)
        if found is None:
            smaller = self._next(problem, spec, point, mu, 1.0)
            return replace(state, mu=smaller, stalled=smaller == mu or mu <= self._least(point))
        length, inner = found
        inner = problem.with_best_intercept(inner)
        shown = _thresholded(problem, spec, inner)
        return InteriorState(shown, inner, self._next(problem, spec, inner, mu, length))

    @staticmethod
    def _least(point: Point) -> float:
        """A barrier weight below the rounding error of the objective."""
        return LEAST_BARRIER * abs(point.value)

    def _next(
        self, problem: Problem, spec: SeparableSpec, point: Point, mu: float, length: float
    ) -> float:
        """The next barrier weight: that of the duality gap divided by ``growth``; never larger."""
        if length < LONG_STEP:
            return mu
        if not problem.certifiable:
            return mu / self.growth
        # On the central path the duality gap is mu times the number of log terms.
        terms = 2 * int(np.count_nonzero(spec.l1))
        central = problem.certificate(point).gap / max(1, terms)
        return min(max(central, mu) / self.growth, mu)

    def _solve(
        self, problem: Problem, point: Point, ridge: FloatArray, r: FloatArray
    ) -> FloatArray:
        """Newton system ``([X 1]' h [X 1] + ridge) x = r``."""
        n, p = problem.data.n_rows, problem.n_columns
        h = CURVED.of(problem.loss).curvature(point.scores, problem.data.target).diagonal
        direct = n >= p if self.direct is None else self.direct
        if direct:
            joined = problem.join(ridge, 0.0)
            hessian = Hessian(
                problem.data, LowRankCurvature(h), joined, problem.has_intercept, problem.counts
            )
            return spd_solve(hessian.matrix(), floor=MODEL_FLOOR)(r)
        if not ridge.all():
            # Columns without a penalty get a tiny ridge; its inverse would be infinite otherwise.
            problem.counts.passes += 1
            square = SECOND_ORDER.of(problem.data).square_gradient(h)
            ridge = np.where(ridge > 0.0, ridge, FREE_RIDGE * floored(square))
        return _woodbury(problem, h, ridge, r)


def _woodbury(problem: Problem, h: FloatArray, ridge: FloatArray, r: FloatArray) -> FloatArray:
    """Newton system by the Woodbury identity with ``I + sqrt(h) X ridge^-1 X' sqrt(h)``.

    The intercept b is eliminated: with ``A = X'hX + ridge`` and ``g = X'h`` the equations are
    ``A x + b g = r`` and ``g.x + sum(h) b = r_b``.
    """
    data, n = problem.data, problem.data.n_rows
    root, inverse = np.sqrt(h), 1.0 / ridge
    problem.counts.passes += product_passes(n)
    system = root[:, None] * row_products(COLUMNS.of(data).columns(), n, inverse) * root
    system[np.diag_indices_from(system)] += 1.0
    solve = spd_solve(system)

    def apply(v: FloatArray) -> FloatArray:
        """(X'hX + ridge)^-1 v by the Woodbury identity; two passes."""
        problem.counts.passes += 2
        first = inverse * v
        inner = root * solve(root * data.scores(first))
        return first - inverse * data.gradient(inner)

    x = apply(problem.coef(r))
    if not problem.has_intercept:
        return x
    problem.counts.passes += 1
    g = data.gradient(h)
    solved = apply(g)  # A^-1 g
    schur = float(h.sum()) - float(g @ solved)
    b = (float(r[-1]) - float(g @ x)) / schur if schur > 0.0 else 0.0
    return np.append(x - b * solved, b)


def _search(
    problem: Problem,
    spec: SeparableSpec,
    point: Point,
    direction: FloatArray,
    gradient: FloatArray,
    mu: float,
) -> tuple[float, Point] | None:
    """Backtracking on the barrier function; the accepted step length and its point, or None."""

    def total(at: Point) -> float:
        w = problem.coef(at.w)
        return at.loss + 0.5 * float(spec.l2 @ (w * w)) + barrier(w, spec.l1, mu).value

    slope, start = float(gradient @ direction), total(point)
    if not slope < 0.0:
        return None
    change = problem.score_change(direction)

    def trial(size: float) -> Point:
        return problem.evaluate(point.w + size * direction, scores=point.scores + size * change)

    def enough(size: float, new: Point) -> bool:
        return total(new) <= start + SUFFICIENT * size * slope

    return first_accepted(trial, enough, sizes())


def _thresholded(problem: Problem, spec: SeparableSpec, point: Point) -> Point:
    """The point with the inactive coefficients set to zero, if its objective is no worse.

    Coefficients of a barrier method are never zero. An inactive one is about
    ``mu/(l1 - |slope|)``, much smaller than the ``(l1 - |slope|)/curvature`` up to which a
    coordinate step would set it to zero.
    """
    w = problem.coef(point.w)
    slope = np.abs(problem.coef(point.gradient) + spec.l2 * w)
    problem.counts.passes += 1
    h = CURVED.of(problem.loss).curvature(point.scores, problem.data.target).diagonal
    curve = SECOND_ORDER.of(problem.data).square_gradient(h) + spec.l2
    inactive = (w != 0.0) & (curve * np.abs(w) <= spec.l1 - slope)
    if not inactive.any():
        return point
    joined = problem.join(np.where(inactive, 0.0, w), problem.intercept(point.w))
    sparse = problem.with_best_intercept(problem.evaluate(joined))
    return sparse if sparse.value <= point.value else point
