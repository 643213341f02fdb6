"""`AsRows`: losses on sets of rows that equal a row loss minimised over a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from auctor.core.capabilities import THRESHOLDED, ByRows
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.equivalent import ridge_problem
from auctor.problem.needs import Need
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import Role, choose
from auctor.solvers.reformulate import Reformulated
from auctor.solvers.relay import Relay, RelayState, Stage

#: Steps in which the gap must fall to `FALL` times its size; otherwise another solver takes over.
SLOW_STEPS = 40
#: Largest ratio of the gaps after and before `SLOW_STEPS` steps.
FALL = 0.8


@dataclass(frozen=True)
class RowForm:
    """The problem over rows whose intercept is the threshold of the loss on sets.

    With ``loss(s) = constant + outside * min over b of row_loss(inside * s + b)``, the coefficients
    of the row problem are ``inside`` times the given ones and its penalty is divided by
    ``outside * inside^2``. A value or lower bound v of the row problem is ``constant + outside v``
    for the given one.
    """

    given: Problem
    form: ByRows
    problem: Problem
    pass_cost: float = 1.0

    @classmethod
    def of(cls, problem: Problem) -> RowForm:
        """The row form of a problem."""
        form = THRESHOLDED.of(problem.loss).by_rows(problem.data.target)
        l2 = problem.coef(problem.ridge) / (form.outside * form.inside**2)
        rows = ridge_problem(problem, form.loss, l2, problem.data, fit_intercept=True)
        return cls(problem, form, rows)

    def start(self, w: FloatArray) -> FloatArray:
        """Coefficients times ``inside``, with the intercept of the null model."""
        return self.problem.join(self.form.inside * self.given.coef(w), self.problem.null.intercept)

    def back(self, inner: State) -> State:
        """The point and its lower bound on the given problem."""
        rows, form, at = self.problem, self.form, inner.point
        scores = (at.scores - rows.intercept(at.w)) / form.inside
        w = self.given.join(rows.coef(at.w) / form.inside, 0.0)
        lower = at.value - rows.certificate(at, inner.dual).gap
        point = self.given.evaluate(w, scores=scores)
        return State(point, lower=form.constant + form.outside * lower)


@dataclass(frozen=True)
class AsRows(Relay):
    """Solve for the threshold of a loss on sets together with the coefficients, as an intercept.

    The max-margin loss of the precision/recall break-even point is the hinge loss of a linear
    support vector machine with a free bias; those of precision and recall at k are pinball losses.
    These have a dual variable per row, not one for every set of rows, so with many columns and a
    weak penalty a few sweeps replace hundreds of cutting planes. Values and certificates differ
    from those of the given problem by a factor and a constant. If sweeps are slow (one direction
    dominates the rows), the next solver of the decision table takes over.

    Parameters
    ----------
    solver : Solver, optional
        Solver of the problem over rows; chosen by `auctor.solvers.choose` by default.

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

    solver: Solver[Any] | None = None

    needs = Need.THRESHOLD_LOSS | Need.SMOOTH_PENALTY | Need.STRONG_PENALTY | Need.ROWS

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """The problem over rows, then the next solver of the table if the gap falls slowly."""
        over_rows = Reformulated(RowForm.of, self.solver or _over_rows)
        return Stage(over_rows, until=_slow), Stage(_next_best)


def _over_rows(rows: Problem) -> Solver[Any]:
    return choose(rows, role=Role.AS_ROWS)


def _slow(problem: Problem, state: RelayState[Any]) -> bool:
    """Whether the gap has not fallen by enough in the last `SLOW_STEPS` steps."""
    if state.steps % SLOW_STEPS:
        return False
    before = state.gaps[-SLOW_STEPS - 1] if state.steps > SLOW_STEPS else math.inf
    return state.gaps[-1] > FALL * before


def _next_best(problem: Problem) -> Solver[Any]:
    return choose(problem, role=Role.DIRECT)
