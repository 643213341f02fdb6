"""Training on the metric itself: a derivative-free search from the surrogate's solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from auctor.core.errors import ParameterError
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray
from auctor.data.coerce import StoredData
from auctor.fit.metric import Goal
from auctor.fit.parameters import LinearParameters


class Maximiser(Protocol):
    """A solver that ``surrogate="exact"`` can use, such as `auctor.tune.DfoTr`."""

    def maximise(
        self, value_of: Callable[[FloatArray], float], start: FloatArray, *, budget: int
    ) -> Any:
        """Maximise ``value_of`` from ``start`` with at most ``budget`` evaluations.

        Returns an object with ``coef``, ``value``, ``evaluations``, ``converged``, ``radius`` and
        ``last_radius``.
        """
        ...


def check_maximiser(params: LinearParameters) -> None:
    """Raise for a solver that cannot maximise a metric."""
    if isinstance(params.solver, str | type) or not hasattr(params.solver, "maximise"):
        raise ParameterError(
            f"a solver without derivatives for `surrogate='exact'`; got {params.solver!r}. Use "
            "`surrogate='auto'`, or in Python the solver auctor.tune.DfoTr(kind='stepwise', "
            "restarts=False)."
        )


def maximise_exact(
    params: LinearParameters, data: StoredData, goal: Goal, start: Solution
) -> Solution:
    """Improve the metric itself from the solution of the surrogate.

    The search runs in units of the columns' standard deviations, so that one trust-region radius
    suits all. The value of the returned solution is one minus the metric. Its gap is the last
    radius, which is no bound, so that it is not certified.
    """
    y, weight = data.target.wide_y, data.target.weight
    share = np.full(data.n_rows, 1.0 / data.n_rows)
    # Variance of the columns as mean of squares minus squared mean; constant columns get scale 1.
    variance = data.square_gradient(share) - data.gradient(share) ** 2
    scale = np.sqrt(np.maximum(variance, 0.0))
    scale[scale == 0.0] = 1.0

    def metric(direction: FloatArray) -> float:
        return goal.measure(y, data.scores(direction / scale), weight)

    solver: Maximiser = params.solver
    point = solver.maximise(metric, start.coef * scale, budget=params.max_iter)
    return replace(
        start,
        coef=point.coef / scale,
        intercept=0.0,
        value=1.0 - point.value,
        gap=point.last_radius if point.converged else point.radius,
        certified=False,
        tol=point.last_radius,
        status=Status.CONVERGED if point.converged else Status.MAX_ITER,
        n_iter=point.evaluations,
        evaluations=start.evaluations + point.evaluations,
        passes=start.passes + point.evaluations,
        solver=type(params.solver).__name__,
    )
