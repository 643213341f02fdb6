"""Losses on sets of rows that are a row loss with a free threshold, solved as that."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from auctor.core.needs import Need
from auctor.core.protocols import ByRows
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.equivalent import ridge_problem
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import choose
from auctor.solvers.dual.ascent import DualCoordinateAscent
from auctor.solvers.reformulate import Reformulated
from auctor.solvers.relay import Relay, RelayState, Stage

#: Steps in which the gap must fall to `FALL` of itself; otherwise another solver takes over.
PATIENCE = 40
#: See `PATIENCE`.
FALL = 0.8


@dataclass(frozen=True)
class RowForm:
    """The problem over rows whose intercept is the threshold of the loss on sets.

    With ``loss(s) = constant + outside * min over b of row_loss(inside * s + b)`` the weights of
    the row problem are ``inside`` times the given ones and its penalty is divided by
    ``outside * inside^2``; values and bounds carry over by ``outside`` and the constant.
    """

    given: Problem
    form: ByRows
    problem: Problem
    pass_cost: float = 1.0

    @classmethod
    def of(cls, problem: Problem) -> RowForm:
        """The row form of a problem."""
        form = problem.loss.by_rows(problem.data.target)
        l2 = problem.coef(problem.ridge) / (form.outside * form.inside**2)
        rows = ridge_problem(problem, form.loss, l2, problem.data, fit_intercept=True)
        return cls(problem, form, rows)

    def start(self, w: FloatArray) -> FloatArray:
        """Weights times ``inside``, with the best intercept of a model without columns."""
        return self.problem.join(self.form.inside * self.given.coef(w), self.problem.null.intercept)

    def back(self, inner: State) -> State:
        """The point, and a bound, on the problem itself."""
        rows, form, at = self.problem, self.form, inner.point
        scores = (at.scores - rows.intercept(at.w)) / form.inside
        w = self.given.join(rows.coef(at.w) / form.inside, 0.0)
        lower = at.value - rows.certificate(at, inner.dual).gap
        point = self.given.evaluate(w, scores=scores)
        return State(point, lower=form.constant + form.outside * lower)


@dataclass(frozen=True)
class AsRows(Relay):
    """Solve for the threshold of a loss on sets together with the weights, as an intercept.

    The max-margin loss of the precision/recall break-even point is the hinge loss of a linear
    support vector machine with a free bias; those of precision and recall at k are pinball losses.
    These have a dual variable per row, not one for every set of rows, so with many columns and a
    weak penalty a few sweeps replace hundreds of cutting planes. Values and certificates carry over
    by a factor and a constant. Where sweeps are slow (one direction dominates the rows) the next
    best solver takes over.

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

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The problem over rows, and the next best solver where its gap does not fall."""
        return Stage(Reformulated(RowForm.of, self.solver), until=_slow), Stage(_next_best)


def _slow(problem: Problem, state: RelayState) -> bool:
    """Whether the gap has not fallen by enough in the last `PATIENCE` steps."""
    if state.steps % PATIENCE:
        return False
    before = state.gaps[-PATIENCE - 1] if state.steps > PATIENCE else math.inf
    return state.gaps[-1] > FALL * before


def _next_best(problem: Problem) -> Solver[Any]:
    return choose(problem, skip=("as_rows",))
