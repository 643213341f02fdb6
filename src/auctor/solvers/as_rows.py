"""Losses on sets of rows that are a row loss with a free threshold, solved as that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from auctor.core.needs import Need
from auctor.core.protocols import ByRows, ThresholdLoss
from auctor.core.types import FloatArray
from auctor.minimise import Solver, State
from auctor.penalties import Separable
from auctor.problem import Point, Problem
from auctor.solvers.dual import DualCoordinateAscent


@dataclass(frozen=True)
class AsRowsState:
    """The point on the problem itself, and the problem over rows that is being solved."""

    point: Point
    lower: float
    form: ByRows
    rows: Problem
    inner: State
    dual: Point | None = None

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.inner.stalled


@dataclass(frozen=True)
class AsRows:
    """Solve for the threshold of a loss on sets together with the weights, as an intercept.

    The max-margin loss of the precision/recall break-even point is the hinge loss of a linear
    support vector machine with a free bias; those of precision and recall at k are pinball losses.
    These have a dual variable per row, not one for every set of rows, so with many columns and a
    weak penalty a few sweeps replace hundreds of cutting planes. Values and certificates carry over
    by a factor and a constant.

    Parameters
    ----------
    solver : Solver
        Of the problem over rows.

    References
    ----------
    Joachims, A support vector method for multivariate performance measures, 2005; Hsieh et al., A
    dual coordinate descent method for large-scale linear SVM, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.data import as_data
    >>> from auctor.losses import Prbep
    >>> from auctor.penalties import L2
    >>> problem = Problem(Prbep(), L2(0.5), as_data(np.array([[1.0], [-1.0]]), [1, -1]))
    >>> minimise(problem, AsRows(), tol=1e-9).coef.round(6)
    array([0.5])
    """

    solver: Solver[Any] = field(default_factory=DualCoordinateAscent)

    needs = Need.THRESHOLD_LOSS | Need.SMOOTH_PENALTY | Need.STRONG_PENALTY | Need.ROWS

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> AsRowsState:
        """State at the starting point."""
        form = cast(ThresholdLoss, problem.loss).by_rows(problem.data.target)
        l2 = problem.coef(problem.ridge) / (form.outside * form.inside**2)
        rows = Problem(form.loss, Separable(l2=l2), problem.data, counts=problem.counts)
        start = rows.join(form.inside * problem.coef(w), rows.null.intercept)
        return _seen(problem, form, rows, self.solver.init(rows, start, rng))

    def step(self, problem: Problem, state: AsRowsState) -> AsRowsState:
        """A step over the rows."""
        inner = self.solver.step(state.rows, state.inner)
        return _seen(problem, state.form, state.rows, inner)


def _seen(problem: Problem, form: ByRows, rows: Problem, inner: State) -> AsRowsState:
    """A state of the problem over rows as one of the problem itself."""
    at = inner.point
    scores = (at.scores - rows.intercept(at.w)) / form.inside
    point = problem.evaluate(problem.join(rows.coef(at.w) / form.inside, 0.0), scores=scores)
    lower = at.value - rows.certificate(at, inner.dual).gap
    return AsRowsState(point, form.constant + form.outside * lower, form, rows, inner)
