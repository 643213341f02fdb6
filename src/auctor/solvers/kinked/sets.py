"""Losses on sets of rows that are a row loss with a free threshold, solved as that."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from auctor.core.needs import Need
from auctor.core.protocols import ByRows
from auctor.core.types import FloatArray
from auctor.minimise import Solver, State
from auctor.penalties import Separable
from auctor.problem import Point, Problem
from auctor.solvers.choose import choose
from auctor.solvers.dual.ascent import DualCoordinateAscent

#: Steps in which the gap must fall to this share of itself; otherwise another solver takes over.
PATIENCE, FALL = 40, 0.8


@dataclass(frozen=True)
class AsRowsState:
    """The point on the problem itself, and the solve that is under way.

    ``rows`` is the problem over rows, ``None`` once another solver has taken over.
    """

    point: Point
    dual: Point | None
    lower: float | None
    form: ByRows
    rows: Problem | None
    solver: Solver[Any]
    inner: State
    rng: np.random.Generator
    steps: int = 0
    before: float = math.inf

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""
        return self.rows is None and self.inner.stalled


@dataclass(frozen=True)
class AsRows:
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

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> AsRowsState:
        """State at the starting point."""
        form = problem.loss.by_rows(problem.data.target)
        l2 = problem.coef(problem.ridge) / (form.outside * form.inside**2)
        rows = Problem(form.loss, Separable(l2=l2), problem.data, counts=problem.counts)
        start = rows.join(form.inside * problem.coef(w), rows.null.intercept)
        inner = self.solver.init(rows, start, rng)
        return _seen(
            problem, AsRowsState(inner.point, None, None, form, rows, self.solver, inner, rng)
        )

    def step(self, problem: Problem, state: AsRowsState) -> AsRowsState:
        """A step over the rows, or of what comes after it where the gap does not fall."""
        if state.rows is None:
            return _direct(state, state.solver.step(problem, state.inner))
        inner = state.solver.step(state.rows, state.inner)
        state = _seen(problem, replace(state, inner=inner, steps=state.steps + 1))
        if state.steps % PATIENCE and not inner.stalled:
            return state
        gap = state.point.value - (state.lower or 0.0)
        if gap <= FALL * state.before and not inner.stalled:
            return replace(state, before=gap)
        solver = choose(problem, skip="as_rows")
        begun = solver.init(problem, state.point.w, state.rng)
        return _direct(replace(state, rows=None, solver=solver), begun)


def _direct(state: AsRowsState, inner: State) -> AsRowsState:
    """A state of the solver that took over."""
    return replace(
        state, point=inner.point, dual=inner.dual, inner=inner,
        lower=getattr(inner, "lower", None),
    )  # fmt: skip


def _seen(problem: Problem, state: AsRowsState) -> AsRowsState:
    """The state with its point, and a bound, on the problem itself."""
    rows, form, at = state.rows, state.form, state.inner.point
    assert rows is not None
    scores = (at.scores - rows.intercept(at.w)) / form.inside
    point = problem.evaluate(problem.join(rows.coef(at.w) / form.inside, 0.0), scores=scores)
    lower = at.value - rows.certificate(at, state.inner.dual).gap
    return replace(state, point=point, lower=form.constant + form.outside * lower)
