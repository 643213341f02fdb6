"""Search methods on the unit cube with one interface: DFO-TR, random, Nelder-Mead, Optuna's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from auctor.core.errors import ParameterError
from auctor.core.optional import require
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.tune.engine import DfoTr
from auctor.tune.space import Space

#: First radius of the trust region in a space of parameters, as a share of each range.
SEARCH_RADIUS = 0.25
#: Resolution at which a run ends, as a share of each range.
SEARCH_LAST_RADIUS = 2e-2

#: Size of a simplex, as a share of each range, at which Nelder-Mead starts again.
SIMPLEX_SIZE = 1e-3
#: Range of the values of a simplex, in units of the metric, at which it starts again.
SIMPLEX_RANGE = 1e-6
#: Value of a failed point for Nelder-Mead.
FAILED = float(np.finfo(np.float64).max) / 4.0


class BudgetSpent(Exception):
    """Raised by the evaluator when the budget is used up, so that methods need not count."""


#: From points of the cube to values to minimise, NaN for a failed one; raises `BudgetSpent`.
Evaluator = Callable[[list[FloatArray]], list[float]]


class SearchMethod(Protocol):
    """Searches until the evaluator raises `BudgetSpent`."""

    def __call__(
        self, evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
    ) -> None:
        """Search a space from a start, asking for ``batch`` points at a time."""
        ...


def search_dfo_tr(
    evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
) -> None:
    """Search by DFO-TR with the settings for spaces of parameters."""
    engine = DfoTr(radius=SEARCH_RADIUS, last_radius=SEARCH_LAST_RADIUS, seed=seed)
    engine.search(evaluate, space, start=start, batch=batch, seed=seed)


def search_random(
    evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
) -> None:
    """Search by points drawn uniformly from the cube."""
    rng = as_rng(seed)
    while True:
        evaluate(list(rng.random((batch, space.dims))))


def search_nelder_mead(
    evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
) -> None:
    """Search by SciPy's Nelder-Mead, restarted from a random point whenever it has converged."""
    rng = as_rng(seed)

    def value(u: FloatArray) -> float:
        first_value = evaluate([np.clip(u, 0.0, 1.0)])[0]
        return first_value if np.isfinite(first_value) else FAILED

    while True:
        minimize(
            value,
            start,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * space.dims,
            options={"xatol": SIMPLEX_SIZE, "fatol": SIMPLEX_RANGE},
        )
        start = rng.random(space.dims)


def search_tpe(
    evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
) -> None:
    """Search by Optuna's tree-structured Parzen estimator."""
    require("optuna", extra="tune")
    from auctor.tune.optuna_sampler import search_optuna

    search_optuna("TPESampler", evaluate, space, start=start, batch=batch, seed=seed)


def search_gp(
    evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
) -> None:
    """Search by Optuna's Gaussian process, which needs torch."""
    require("optuna", extra="tune", to="search with a Gaussian process")
    require("torch", extra=None, to="search with a Gaussian process")
    from auctor.tune.optuna_sampler import search_optuna

    search_optuna("GPSampler", evaluate, space, start=start, batch=batch, seed=seed)


#: Search methods by the names that users type.
METHODS: dict[str, SearchMethod] = {
    "dfo-tr": search_dfo_tr,
    "random": search_random,
    "nelder-mead": search_nelder_mead,
    "tpe": search_tpe,
    "gp": search_gp,
}


def resolve_method(method: Any) -> SearchMethod:
    """The method of a name, the `search` of an object such as a `DfoTr`, or a callable itself."""
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]
    if hasattr(method, "search"):
        searching: SearchMethod = method.search
        return searching
    if callable(method):
        search_method: SearchMethod = method
        return search_method
    raise ParameterError(
        f"`method` to be one of {', '.join(map(repr, METHODS))} or a DfoTr; got {method!r}. Pass "
        "one of these."
    )
