"""Problem: the only place where loss, penalty and data meet."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from auctor.core.checks import check_vector
from auctor.core.errors import IncompatibleError
from auctor.core.needs import Access, Coupling, Need
from auctor.core.protocols import Data, Loss, Penalty, ScaleInvariantLoss
from auctor.core.result import Counts
from auctor.core.shift import EXACT, best_shift
from auctor.core.types import FloatArray, IntArray
from auctor.kernels.losses.pointwise import curve_bound
from auctor.problem.hessian import FACTOR_PARAMS, PAIR_ENTRIES, Hessian, RowParts
from auctor.problem.memory import PathMemory

#: How far the score gradient may sum away from zero and still count as intercept-optimal.
BALANCE = 1e-11
#: Variance of a column as a share of its mean square, below which it is rounding.
NEGLIGIBLE = 1e-14
#: And below which it is worth finding out whether the column is constant.
STEADY = 1e-10


class Certificate(NamedTuple):
    """A gap and whether it bounds J(w) - min J (otherwise it is an optimality violation)."""

    gap: float
    certified: bool


class Null(NamedTuple):
    """The model without columns: its best intercept and its loss."""

    intercept: float
    loss: float


@dataclass(frozen=True)
class Point:
    """Parameters with everything evaluated there.

    ``w`` holds the column weights, followed by the intercept where the problem has one.
    """

    problem: Problem = field(repr=False)
    w: FloatArray
    scores: FloatArray = field(repr=False)
    loss: float
    penalty: float
    dscores: FloatArray = field(repr=False)
    exact: bool = True  # whether dscores is the gradient of the loss at the scores
    ridge_rate: float = 1.0  # change of the value per change of a smooth penalty
    known_gradient: FloatArray | None = field(default=None, repr=False)

    def with_gradient(self, gradient: FloatArray) -> Point:
        """The same point, whose gradient in w is known and costs no pass."""
        return replace(self, known_gradient=gradient)

    def seen_by(self, problem: Problem, w: FloatArray, gradient: FloatArray | None = None) -> Point:
        """The same scores as a point of another problem, where the parameters are ``w``."""
        return replace(self, problem=problem, w=w, known_gradient=gradient)

    @property
    def value(self) -> float:
        """Objective: loss plus penalty."""
        return self.loss + self.penalty

    @cached_property
    def gradient(self) -> FloatArray:
        """Gradient of the loss in w, by one pass over the data when first asked for."""
        if self.known_gradient is not None:
            return self.known_gradient
        gradient = self.problem.pull_back(self.dscores)
        if self.problem.has_intercept and not self.imbalance:
            gradient[-1] = 0.0  # the rounding of an exact intercept is no direction
        gradient[self.problem.idle] = 0.0
        return gradient

    @cached_property
    def tangent(self) -> float | None:
        """Offset of a plane below the loss that was smoothed, where the loss knows one."""
        return self.problem.loss.tangent(self.scores, self.problem.data.target)

    @cached_property
    def duality_gap(self) -> float:
        """Gap with the point's own dual variables, where the problem is certifiable."""
        return self.problem._duality_gap(self, self)

    @cached_property
    def imbalance(self) -> float:
        """Slope in the intercept, 0 where it is optimal (to rounding) or there is none."""
        if not self.problem.has_intercept or not math.isfinite(self.loss):
            return 0.0
        slope = abs(float(self.dscores.sum()))
        return slope if slope > BALANCE * float(np.abs(self.dscores).sum()) else 0.0


class Problem:
    """Minimise ``J(w) = loss(X w + intercept) + penalty(w)``.

    Parameters
    ----------
    loss : Loss
    penalty : Penalty
    data : Data
    fit_intercept : bool
        An intercept is never penalised. Losses that do not change when a constant is added to all
        scores have none.

    Notes
    -----
    Where the loss does not change when the scores are scaled, a penalty added to it would shrink w
    and change nothing else. There a ridge is added to the variance of the scores in each class
    instead, as noise in the columns would be, and other penalties are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L2
    >>> problem = Problem(Squared(), L2(1.0), as_data(np.eye(2), [1.0, 1.0]), fit_intercept=False)
    >>> problem.evaluate(np.zeros(2)).value
    0.5
    """

    def __init__(
        self,
        loss: Loss,
        penalty: Penalty,
        data: Data,
        *,
        fit_intercept: bool = True,
        counts: Counts | None = None,
    ) -> None:
        loss.check_target(data.target)
        if loss.scale_invariant and not penalty.smooth:
            raise IncompatibleError(
                f"{type(loss).__name__}",
                needs="L2 or no penalty, because the scale of its scores does not matter",
                got=f"{type(penalty).__name__}",
                todo=(
                    "Use L2, or a loss with a scale: GaussianAuc, or for the error a "
                    "pointwise loss such as Logistic."
                ),
            )
        self.loss, self.penalty, self.data = loss, penalty, data
        self.fit_intercept = fit_intercept
        self.has_intercept = fit_intercept and not loss.shift_invariant
        self.n_columns = data.n_columns
        self.n_params = self.n_columns + self.has_intercept
        self.counts = Counts() if counts is None else counts
        #: What the solves of a path share; a problem solved alone has none.
        self.memory: PathMemory | None = None

    def with_loss(self, loss: Loss) -> Problem:
        """The same problem with another loss; work is counted together."""
        other = Problem(
            loss, self.penalty, self.data, fit_intercept=self.fit_intercept, counts=self.counts
        )
        if "spread" in vars(self):
            vars(other)["spread"] = self.spread
        if "idle" in vars(self) and loss.shift_invariant and self.loss.shift_invariant:
            vars(other)["idle"] = self.idle
        return other

    def with_penalty(self, penalty: Penalty, *, alike: bool = False) -> Problem:
        """The same problem with another penalty; work and what the loss decides are shared.

        Penalties that are ``alike`` differ in nothing but a strength above 0.
        """
        other = copy(self)
        other.penalty = penalty
        for name in ("ridge",) if alike else ("ridge", "idle", "provides", "certifiable"):
            vars(other).pop(name, None)
        if not alike and other.certifiable != self.certifiable:
            vars(other).pop("_unit", None)
        return other

    def keeping(self) -> Problem:
        """The same problem, whose solvers leave models and columns to those after them."""
        other = copy(self)
        other.memory = PathMemory()
        return other

    @cached_property
    def provides(self) -> Need:
        """What solvers can count on."""
        loss, penalty = self.loss, self.penalty
        spec, tree = penalty.separable(self.n_columns), getattr(penalty, "tree", None)
        free = spec is None or bool(np.isinf(spec.lower).all() and np.isinf(spec.upper).all())
        return self._loss_provides | _total(
            {
                Need.SMOOTH_PENALTY: penalty.smooth,
                Need.SEPARABLE_PENALTY: spec is not None and not loss.scale_invariant,
                Need.STRONG_PENALTY: spec is not None and free and bool((spec.l2 > 0.0).all()),
                Need.BLOCK_PENALTY: getattr(penalty, "blocks", None) is not None,
                Need.TREE_PENALTY: tree is not None and tree(self.n_columns) is not None,
                Need.UNBOUNDED: free,
            }
        )

    @cached_property
    def _loss_provides(self) -> Need:
        """What the loss and the data decide."""
        loss, access = self.loss, self.data.access
        # Pairs inside groups need columns for every group.
        one_group = loss.coupling is Coupling.ROW or self.data.target.groups is None
        few = self.n_params <= FACTOR_PARAMS and self.data.n_rows * self.n_params <= PAIR_ENTRIES
        return _total(
            {
                Need.SMOOTH_LOSS: loss.smooth and loss.order >= 1,
                Need.CURVATURE: loss.order >= 2,
                Need.CONVEX_LOSS: loss.convex and loss.order >= 1,
                Need.PAIR_LOSS: getattr(loss, "per_pair", None) is not None,
                Need.THRESHOLD_LOSS: getattr(loss, "by_rows", None) is not None and not loss.smooth,
                Need.LOW_RANK_CURVATURE: loss.order >= 2 and loss.low_rank and one_group,
                Need.MATRIX_CURVATURE: loss.order >= 2
                and ((loss.low_rank and one_group) or (loss.convex and few)),
                Need.QUADRATIC_LOSS: loss.quadratic,
                Need.QUADRATIC_PAIRS: (
                    loss.quadratic and loss.coupling is Coupling.GLOBAL and one_group
                ),
                Need.SMOOTHABLE_LOSS: loss.smoothed(1.0) is not None,
                Need.CENTRED_SMOOTHING: loss.centred,
                Need.ROW_LOSS: loss.coupling is Coupling.ROW,
                Need.POINTWISE_LOSS: loss.coupling is Coupling.ROW and hasattr(loss, "kind"),
                Need.BOUNDED_CURVATURE: math.isfinite(curve_bound(loss)),
                Need.SCALE_INVARIANT_LOSS: loss.scale_invariant,
                Need.PROX: not loss.scale_invariant,
                Need.GRAM: Access.ROWS in access,
                Need.COLUMNS: Access.COLUMNS in access,
                Need.ROWS: Access.ROWS in access,
            }
        )

    # --- parameters -------------------------------------------------------------------------

    def coef(self, w: FloatArray) -> FloatArray:
        """Column weights of a parameter vector."""
        return w[: self.n_columns]

    def intercept(self, w: FloatArray) -> float:
        """Intercept of a parameter vector, 0 where there is none."""
        return float(w[-1]) if self.has_intercept else 0.0

    def join(self, coef: FloatArray, intercept: float) -> FloatArray:
        """Parameter vector of column weights and an intercept."""
        return np.append(coef, intercept) if self.has_intercept else coef.copy()

    def start(self, w0: FloatArray | None = None) -> FloatArray:
        """A private copy of ``w0``, or zeros with the null model's intercept.

        Where the scale of w does not matter zeros have no direction, and the start is the
        difference of the class means.
        """
        if w0 is None and self.loss.scale_invariant:
            return self._contrast.copy()
        if w0 is None:
            return self.join(np.zeros(self.n_columns), self.null.intercept)
        start = check_vector("minimise", "w0", w0, size=self.n_params).copy()
        start[self.idle] = 0.0
        return start

    # --- evaluation -------------------------------------------------------------------------

    def score_change(self, direction: FloatArray) -> FloatArray:
        """Scores of a parameter vector; linear, so also the change along a direction."""
        coef, intercept = self.coef(direction), self.intercept(direction)
        if not coef.any():
            return np.full(self.data.n_rows, intercept)
        self.counts.passes += 1
        return self.data.scores(coef, intercept)

    def pull_back(self, dscores: FloatArray) -> FloatArray:
        """Gradient in w of a function with gradient ``dscores`` in the scores."""
        self.counts.passes += 1
        return self.join(self.data.gradient(dscores), float(dscores.sum()))

    def evaluate(self, w: FloatArray, *, scores: FloatArray | None = None) -> Point:
        """Evaluate at ``w``, whose scores may already be known."""
        if scores is None:
            scores = self.score_change(w)
        self.counts.evaluations += 1
        penalty, target = self.penalty.value(self.coef(w)), self.data.target
        if self.loss.scale_invariant and penalty:
            moments = cast(ScaleInvariantLoss, self.loss)
            loss, dscores, rate = moments.value_grad_rate(scores, target, penalty)
            return Point(self, w, scores, loss, 0.0, dscores, ridge_rate=rate)
        loss, dscores = self.loss.value_grad(scores, target)
        return Point(self, w, scores, loss, penalty, dscores)

    @cached_property
    def column_squares(self) -> FloatArray:
        """Weighted mean square of every column."""
        self.counts.passes += 1
        return self.data.square_gradient(self.data.target.share)

    @cached_property
    def ridge(self) -> FloatArray:
        """Curvature of a smooth penalty in every parameter, 0 for the intercept."""
        spec = self.penalty.separable(self.n_columns)
        return self.join(np.zeros(self.n_columns) if spec is None else spec.l2, 0.0)

    @cached_property
    def idle(self) -> IntArray:
        """Columns that change nothing and are not penalised: constants, where those do not matter.

        Their slopes are rounding, and taken as zero; they start and stay without weight.
        """
        none = np.empty(0, dtype=np.int64)
        if not self.loss.shift_invariant or self.loss.scale_invariant or not self.penalty.smooth:
            return none
        spec = self.penalty.separable(self.n_columns)
        free = np.ones(self.n_columns, dtype=bool) if spec is None else spec.l2 == 0.0
        if not free.any():
            return none
        mean, square = self._moments(self.data.target.share)
        steady = free & (square > 0.0) & (square - mean * mean <= STEADY * square)
        return np.array(
            [j for j in np.flatnonzero(steady) if self._constant(int(j))], dtype=np.int64
        )

    def _constant(self, column: int) -> bool:
        """Whether all rows with weight have the same value in a column; one pass."""
        unit = np.zeros(self.n_columns)
        unit[column] = 1.0
        self.counts.passes += 1
        values = self.data.scores(unit)[self.data.target.share > 0.0]
        return bool((values == values[0]).all())

    def total_gradient(self, point: Point) -> FloatArray:
        """Gradient of the objective, for a smooth penalty."""
        return point.gradient + point.ridge_rate * self.ridge * point.w

    def hessian(self, point: Point, kept: RowParts | None = None) -> Hessian:
        """Second derivative of loss plus smooth penalty at a point."""
        curvature = self.loss.curvature(point.scores, self.data.target)
        ridge = self.ridge
        if self.idle.size:
            ridge = ridge.copy()
            ridge[self.idle] = 1.0
        return Hessian(self.data, curvature, ridge, self.has_intercept, self.counts, kept)

    @cached_property
    def spread(self) -> FloatArray:
        """Variance of every column, mean square where a constant is no free parameter.

        Where the loss is one of pairs both classes count alike. The intercept has 1.
        """
        target = self.data.target
        share = target.share
        if not self.loss.low_rank:
            share = np.zeros(self.data.n_rows)
            for side in target.classes:
                share[side.rows] = 0.5 * side.share
        mean, square = self._moments(share)
        return self.join(np.maximum(square - mean * mean, NEGLIGIBLE * square), 1.0)

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """Prox of the penalty on the columns; the intercept stays."""
        return self.join(self.penalty.prox(self.coef(v), step), self.intercept(v))

    # --- intercept and null model -----------------------------------------------------------

    @cached_property
    def n_distinct(self) -> int:
        """Rows that differ and have weight."""
        kinds, weight = self.data.kinds, self.data.target.weight
        if weight is None:
            return int(kinds.starts.size)
        return int(np.count_nonzero(kinds.total(weight)))

    @cached_property
    def _contrast(self) -> FloatArray:
        """Difference of the class means, of unit length, with its best intercept."""
        change = np.zeros(self.data.n_rows)
        for rows, sign in zip(self.data.target.classes, (1.0, -1.0), strict=True):
            change[rows.rows] = sign * rows.share
        self.counts.passes += 1
        coef = self.data.gradient(change)
        coef /= float(np.linalg.norm(coef)) or 1.0
        return self.centred(self.evaluate(self.join(coef, 0.0))).w

    @cached_property
    def null(self) -> Null:
        """The best constant score and its loss: the unit in which tolerances are measured."""
        zero = np.zeros(self.data.n_rows)
        shift = self._best_shift(zero) if self.has_intercept else 0.0
        return Null(shift, self.loss.value(zero + shift, self.data.target))

    def centred(self, point: Point) -> Point:
        """The point with its intercept moved to the exact minimiser; no pass over the data."""
        if not self.has_intercept or not math.isfinite(point.loss):
            return point
        slope = abs(float(point.dscores.sum()))
        # Without curvature of one sign a slope of zero says nothing.
        if slope <= EXACT * float(np.abs(point.dscores).sum()) and not self.loss.scale_invariant:
            return point
        shift = self._best_shift(point.scores, self.penalty.value(self.coef(point.w)))
        w = point.w.copy()
        w[-1] += shift
        return self.evaluate(w, scores=point.scores + shift)

    def _best_shift(self, scores: FloatArray, spread: float = 0.0) -> float:
        """The best constant to add to all scores."""
        target = self.data.target
        if self.loss.scale_invariant:  # not monotone, but known in closed form
            return cast(ScaleInvariantLoss, self.loss).best_shift(scores, target, spread)
        return best_shift(self.loss, scores, target)

    # --- certificates -----------------------------------------------------------------------

    @cached_property
    def certifiable(self) -> bool:
        """Whether a duality gap exists: a convex loss, and a penalty that bounds every column."""
        known = self.loss.smooth or self.loss.smoothed(1.0) is not None
        return self.loss.convex and known and self._every_column_bound

    @property
    def _every_column_bound(self) -> bool:
        """Whether the conjugate of the penalty is finite around 0."""
        spec = self.penalty.separable(self.n_columns)
        if spec is not None and (spec.l1 > 0.0).all():
            return True
        tiny = np.full(self.n_columns, 1e-300)
        return self.penalty.dual_scale(tiny) > 0.0 and self.penalty.dual_scale(-tiny) > 0.0

    def certificate(self, point: Point, dual: Point | None = None) -> Certificate:
        """Gap at ``point``, with ``dual`` (default: itself) supplying the dual variables.

        Without a dual the gap is the largest violation of the optimality conditions.
        """
        source = point if dual is None else dual
        if not self.certifiable:
            return Certificate(self._violation(point, source), False)
        own = source is point and point.problem is self
        gap = point.duality_gap if own else self._duality_gap(point, source)
        return Certificate(gap, not source.imbalance)

    def certify(self, point: Point, dual: Point | None = None) -> tuple[Point, Certificate]:
        """A certificate that holds: the intercept is first made exact; returns the better point."""
        if not self.certifiable:
            return point, self.certificate(point, dual)
        source = point if dual is None else dual
        if source.imbalance:
            source = source.problem.centred(source)
            moved = self.evaluate(
                self.join(self.coef(point.w), self.intercept(source.w)),
                scores=point.scores + (self.intercept(source.w) - self.intercept(point.w)),
            )
            point = moved if moved.value <= point.value else point
        return point, Certificate(self._duality_gap(point, source), True)

    def tolerance(self, tol: float) -> float:
        """``tol`` in the units of the gap: the null model's loss, or its largest gradient.

        A loss is measured from its infimum, so that constants in it do not matter.
        """
        return tol * self._unit

    @cached_property
    def _unit(self) -> float:
        if self.loss.scale_invariant:
            return 1.0  # a probability, and a violation without units
        if self.certifiable:
            # A constant target has a null loss of zero, up to the rounding of its own size.
            zero = self.null.loss
            if self.has_intercept:
                zero = self.loss.value(np.zeros(self.data.n_rows), self.data.target)
            floor = self.loss.infimum(self.data.target)
            unit = max(self.null.loss - floor, 1e-9 * (zero - floor))
        else:
            # Columns that change nothing have slopes that are the rounding of what they sum.
            start = self.evaluate(self.start())
            sizes = np.abs(start.dscores)
            self.counts.passes += 1
            squares = self.data.square_gradient(sizes)
            squares[self.idle] = 0.0
            slope = float(np.abs(start.gradient).max(initial=0.0))
            size = math.sqrt(float(sizes.sum()) * float(squares.max(initial=0.0)))
            unit = max(slope, 1e-10 * size)
        return unit if unit > 0.0 else 1.0

    def _violation(self, point: Point, source: Point) -> float:
        """Largest violation of the optimality conditions.

        A source other than the point is an approximate subgradient there; how approximate, in
        units of the null loss, counts as well.
        """
        if self.loss.scale_invariant:
            return self._scaled_violation(point)
        grad = source.gradient
        worst = float(self.penalty.violation(self.coef(point.w), self.coef(grad)).max())
        if self.has_intercept:
            worst = max(worst, abs(float(grad[-1])))
        if source is not point:
            conjugate = self.loss.conjugate(source.dscores, self.data.target)
            if conjugate is None:  # at a gradient it is known
                conjugate = float(source.dscores @ source.scores) - source.loss
            slack = point.loss + conjugate - float(source.dscores @ point.scores)
            worst = max(worst, slack / (abs(self.null.loss) or 1.0) * self._unit)
        return worst

    def _scaled_violation(self, point: Point) -> float:
        """Largest slope in w, and in the intercept, for columns centred and of unit size."""
        mean, spread = self._column_scale
        slopes, total = self.coef(self.total_gradient(point)), float(point.dscores.sum())
        size = float(np.linalg.norm(self.coef(point.w) * spread))
        if size == 0.0:  # no direction at all, unless the columns offer none
            return math.inf if (self.coef(self._contrast) * spread).any() else 0.0
        varies = spread > 0.0
        worst = float(np.abs((slopes - total * mean)[varies] / spread[varies]).max()) * size
        if self.has_intercept:
            share = self.data.target.share
            away = point.scores - float(share @ point.scores)
            worst = max(worst, abs(total) * math.sqrt(float(share @ away**2)))
        return worst

    @cached_property
    def _column_scale(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every column, the latter 0 where it is rounding.

        Where a constant is no free parameter, columns are not centred.
        """
        mean, square = self._moments(self.data.target.share)
        variance = square - mean * mean
        return mean, np.sqrt(np.where(variance > NEGLIGIBLE * square, variance, 0.0))

    def _moments(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (0 where a constant is no free parameter) and mean square of every column."""
        free = self.has_intercept or self.loss.shift_invariant
        self.counts.passes += 2
        return float(free) * self.data.gradient(share), self.data.square_gradient(share)

    def _duality_gap(self, point: Point, source: Point) -> float:
        """``J(w) + loss*(c u) + penalty*(-c X'u)`` with the largest feasible c.

        At ``u = grad loss(s)`` the conjugate is ``u.s - loss(s)``; where it has no closed form,
        convexity gives ``loss*(c u) <= c (u.s - loss(s)) - (1 - c) inf loss``, as it does for any
        plane below the loss.
        """
        pull = -self.coef(source.gradient)
        scale = self.penalty.dual_scale(pull)
        target = self.data.target
        own = source.exact and source.problem.loss is self.loss
        conjugate = None
        if scale < 1.0 or not own:
            conjugate = self.loss.conjugate(scale * source.dscores, target)
        rest = (1.0 - scale) * self.loss.infimum(target)
        if conjugate is None:
            along = float(source.dscores @ source.scores) - source.loss
            conjugate = scale * along - rest
        elif source.exact and not own:
            offset = source.tangent
            conjugate = conjugate if offset is None else min(conjugate, -scale * offset - rest)
        gap = point.value + conjugate + self.penalty.conjugate(scale * pull)
        if source.problem.has_intercept:
            # What an inexact intercept may hide; rounding once `certify` has made it exact.
            slope = abs(float(source.dscores.sum()))
            gap = max(gap, 0.0) + slope * float(np.abs(source.scores).mean())
        gap = math.inf if math.isnan(gap) else max(gap, 0.0)
        known = point.value - self.loss.infimum(target)  # no penalty is below 0
        return max(known, 0.0) if known < gap else gap


def _total(offers: dict[Need, bool]) -> Need:
    """All needs that are met."""
    total = Need.NONE
    for need, offered in offers.items():
        if offered:
            total |= need
    return total
