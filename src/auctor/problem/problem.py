"""Problem: the only place where loss, penalty and data meet."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from auctor.core.capabilities import SORTING, Evaluation
from auctor.core.checks import check_vector
from auctor.core.data_capabilities import ROWS, STORED
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Counts
from auctor.core.types import FloatArray, IntArray
from auctor.data.emptied import Emptied
from auctor.problem.certificate import Certificate, bounds_every_column, certificate, certify
from auctor.problem.columns import NO_COLUMNS, ColumnStatistics, ConstantColumns
from auctor.problem.hessian import Hessian, RowSampling
from auctor.problem.intercept import NullModel, with_best_intercept
from auctor.problem.memory import PathMemory
from auctor.problem.needs import Need, Parts, provided
from auctor.problem.objective import Point, objective_of
from auctor.problem.placement import constant_scores, named, place, unplaced


class Problem:
    """Minimise ``J(w) = loss(X w + intercept) + penalty(w)``.

    Parameters
    ----------
    fit_intercept : bool
        An intercept is never penalised. Shift-invariant losses, which do not change if a constant
        is added to all scores, have none.

    Notes
    -----
    If the loss does not change when the scores are scaled, a penalty added to it would only shrink
    w. For such losses a ridge is added to the variance of the scores in each class instead, as
    noise in the columns would be, and other penalties are an error.

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

    #: Whether scores are linear in w, so that a line search needs no pass over the data.
    linear = True

    def __init__(
        self,
        loss: Loss,
        penalty: Penalty,
        data: Data,
        *,
        fit_intercept: bool = True,
        counts: Counts | None = None,
        constant: ConstantColumns | None = None,
    ) -> None:
        loss.check_target(data.target)
        self.counts = Counts() if counts is None else counts
        #: The objective: loss plus penalty, or for scale-invariant losses a ratio.
        self.objective = objective_of(loss)
        self.objective.check(loss, penalty)
        self.penalty = penalty
        self._named = named(loss), named(data)
        self._constant = ConstantColumns(data, self.counts) if constant is None else constant
        # If the rows are on other machines, `place` decides where the loss is evaluated.
        self._loss, self._data = place(loss, data)
        self.fit_intercept = fit_intercept
        self.has_intercept = fit_intercept and not loss.shift_invariant
        self.n_columns = data.n_columns
        self.n_params = self.n_columns + self.has_intercept
        #: The latest evaluation of the loss, in a list that problems on the same data share.
        self._latest: list[Evaluation] = []
        #: Shared by the solves of a path; None for a problem that is solved alone.
        self.memory: PathMemory | None = None

    @cached_property
    def dropped(self) -> IntArray:
        """Columns without effect on the objective: the problem reads them as zeros."""
        if not self.linear or self.objective.ridge_is_variance:
            return NO_COLUMNS
        return self._constant.without_effect(self._loss, self.penalty)

    @cached_property
    def data(self) -> Data:
        """The data without the columns that have no effect."""
        return Emptied(self._constant.data, self.dropped) if self.dropped.size else self._data

    @cached_property
    def loss(self) -> Loss:
        """The loss; of rows on other machines, where they are if no column is dropped."""
        return unplaced(self._loss) if self.dropped.size else self._loss

    @cached_property
    def columns(self) -> ColumnStatistics:
        """Statistics of the columns."""
        free = self.has_intercept or self.loss.shift_invariant
        return ColumnStatistics(self.data, self.counts, free)

    @cached_property
    def null(self) -> NullModel:
        """The model whose coefficients are all 0."""
        return NullModel(self.loss, self.data, self.objective, has_intercept=self.has_intercept)

    def with_loss(self, loss: Loss) -> Problem:
        """The same problem with another loss; both share one counter of passes."""
        return self._changed(loss, self.penalty)

    def with_penalty(self, penalty: Penalty) -> Problem:
        """The same problem with another penalty; both share the counter and the null model."""
        other = self._changed(self.loss, penalty)
        other.memory = self.memory
        if other.data is self.data:
            other.null = self.null
        return other

    def _changed(self, loss: Loss, penalty: Penalty) -> Problem:
        """The same problem with another loss or penalty."""
        other = Problem(
            loss,
            penalty,
            self._data,
            fit_intercept=self.fit_intercept,
            counts=self.counts,
            constant=self._constant,
        )
        other._latest = self._latest
        if np.array_equal(other.dropped, self.dropped):
            other.data = self.data
            if other.columns.free == self.columns.free:
                other.columns = self.columns
        return other

    def on_rows(self, index: IntArray, counts: Counts) -> Problem:
        """The same problem on some of the rows, with its own counter of passes."""
        rows = ROWS.of(self.data).rows(index)
        return Problem(
            self.loss, self.penalty, rows, fit_intercept=self.fit_intercept, counts=counts
        )

    def with_memory(self, memory: PathMemory) -> Problem:
        """The same problem with a memory, for the solves of a path."""
        other = copy(self)
        other.memory = memory
        return other

    @property
    def described(self) -> str:
        """Class names of loss, penalty and data, for messages."""
        loss, data = self._named
        return f"{loss} with {type(self.penalty).__name__} on {data} data"

    @cached_property
    def provides(self) -> Need:
        """Flags of everything that this problem offers to solvers."""
        # Answered without a pass over the data, so that solvers are refused before any work.
        parts = Parts(self._loss, self.penalty, self._data, self.n_params)
        return provided(parts) & ~self.objective.lacks

    @property
    def n_entries(self) -> int:
        """Number of stored entries; rows times columns for data that only offer products."""
        stored = STORED.find(self.data)
        return self.data.n_rows * self.n_columns if stored is None else stored.n_entries

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct rows of positive weight; without row access all count as distinct."""
        weight = self.data.target.weight
        rows = ROWS.find(self.data)
        if rows is None:
            return self.data.n_rows if weight is None else int(np.count_nonzero(weight))
        duplicates = rows.duplicate_rows
        if weight is None:
            return int(duplicates.starts.size)
        return int(np.count_nonzero(duplicates.total(weight)))

    # --- parameters -------------------------------------------------------------------------

    def coef(self, w: FloatArray) -> FloatArray:
        """Coefficients of a parameter vector, without the intercept."""
        return w[: self.n_columns]

    def intercept(self, w: FloatArray) -> float:
        """Intercept of a parameter vector; 0 if the problem has none."""
        return float(w[-1]) if self.has_intercept else 0.0

    def join(self, coef: FloatArray, intercept: float) -> FloatArray:
        """Parameter vector of coefficients and an intercept."""
        return np.append(coef, intercept) if self.has_intercept else coef.copy()

    def start(self, w0: FloatArray | None = None) -> FloatArray:
        """A copy of ``w0``, by default the starting point of the objective (the null model)."""
        if w0 is None:
            return self.objective.start(self)
        start = check_vector("w0", w0, size=self.n_params).copy()
        start[self.dropped] = 0.0
        return start

    # --- evaluation -------------------------------------------------------------------------

    def score_change(self, direction: FloatArray) -> FloatArray:
        """Scores of a parameter vector or, as they are linear, their change along a direction."""
        coef, intercept = self.coef(direction), self.intercept(direction)
        if not coef.any():
            return constant_scores(self.data, intercept)
        self.counts.passes += 1
        return self.data.scores(coef, intercept)

    def pull_back(self, dscores: FloatArray, w: FloatArray | None = None) -> FloatArray:
        """Gradient in w of a function with gradient ``dscores`` in the scores.

        If scores are linear in w, the point ``w`` is not needed.
        """
        self.counts.passes += 1
        return self.join(self.data.gradient(dscores), float(dscores.sum()))

    def loss_at(self, scores: FloatArray) -> Evaluation:
        """The loss at some scores; reuses the sorting of the latest evaluation if possible."""
        loss, target = SORTING.find(self.loss), self.data.target
        if loss is None:
            self._latest.clear()
            return Evaluation(self.loss, scores, target)
        evaluation = loss.evaluation(scores, target, self._latest[0] if self._latest else None)
        self._latest[:] = [evaluation] if evaluation.lasting else []
        return evaluation

    def evaluate(self, w: FloatArray, *, scores: FloatArray | None = None) -> Point:
        """The point at ``w``; one pass over the data unless its scores are given."""
        if scores is None:
            scores = self.score_change(w)
        self.counts.evaluations += 1
        return self.objective.evaluate(self, w, scores)

    @cached_property
    def ridge(self) -> FloatArray:
        """Curvature of a smooth penalty in every parameter, 0 for the intercept."""
        spec = self.penalty.separable(self.n_columns)
        return self.join(np.zeros(self.n_columns) if spec is None else spec.l2, 0.0)

    def total_gradient(self, point: Point) -> FloatArray:
        """Gradient of the objective, for a smooth penalty."""
        return point.gradient + point.ridge_rate * self.ridge * point.w

    def hessian(self, point: Point, kept: RowSampling | None = None) -> Hessian:
        """Second derivative of loss plus smooth penalty at a point."""
        curvature = self.loss_at(point.scores).curvature()
        return Hessian(
            self.data, curvature, self.ridge, self.has_intercept, self.counts, kept, self.columns
        )

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """Prox of the penalty on the coefficients; the intercept does not change."""
        return self.join(self.penalty.prox(self.coef(v), step), self.intercept(v))

    @property
    def column_squares(self) -> FloatArray:
        """Weighted mean square of every column."""
        return self.columns.squares

    @cached_property
    def spread(self) -> FloatArray:
        """Variance of every column, or mean square without an intercept; 1 for the intercept.

        For losses on pairs both classes have the same total weight.
        """
        return self.join(self.columns.spread(balanced=not self.loss.low_rank), 1.0)

    # --- optimality -------------------------------------------------------------------------

    def with_best_intercept(self, point: Point) -> Point:
        """The point with its intercept moved to the exact minimiser; no pass over the data."""
        return with_best_intercept(self, point)

    @cached_property
    def certifiable(self) -> bool:
        """Whether a duality gap exists: a convex loss, and a penalty that bounds every column."""
        known = self.loss.smooth or self.loss.smoothed(1.0) is not None
        return self.loss.convex and known and bounds_every_column(self.penalty, self.n_columns)

    def certificate(self, point: Point, dual: Point | None = None) -> Certificate:
        """Gap at ``point``, with the dual variables of ``dual`` (by default of the point itself).

        If the problem has no dual, the gap is the largest violation of the optimality conditions.
        """
        proof = certificate(self, point, dual)
        if dual is None and point.problem is self:
            self.null.learn(point)
        return proof

    def certify(self, point: Point, dual: Point | None = None) -> tuple[Point, Certificate]:
        """A certified gap after minimising over the intercept, and the better of both points."""
        return certify(self, point, dual)

    def tolerance(self, tol: float) -> float:
        """``tol`` in units of the gap: the null model's loss or gap, or its largest gradient entry.

        Losses are measured from their infimum, so that constants in them do not matter.
        """
        return self.objective.tolerance(self, tol)

    @cached_property
    def unit(self) -> float:
        """Unit of relative tolerances."""
        return self.objective.unit(self)
