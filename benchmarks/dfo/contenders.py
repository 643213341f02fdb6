"""Optimisers behind one call: ``run(function, start, lower, upper, budget, radius, seed)``.

Bounds are None for problems without; a contender stops by itself or is stopped after its budget.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np


class Stop(Exception):
    """The budget is spent."""


def auctor_smooth(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    from auctor.tune import minimise_black_box

    minimise_black_box(fun, start, bounds=box, budget=budget, seed=seed)


def auctor_noisy(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    from auctor.tune import minimise_black_box

    minimise_black_box(fun, start, bounds=box, budget=budget, seed=seed, kind="noisy")


def auctor_stepwise(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    from auctor.tune import minimise_black_box

    minimise_black_box(fun, start, bounds=box, budget=budget, seed=seed, kind="stepwise")


def cobyqa(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    from scipy.optimize import minimize

    options = {"maxfev": budget, "initial_tr_radius": radius, "final_tr_radius": 1e-8}
    minimize(fun, start, method="COBYQA", bounds=box, options=options)


def cobyla(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    from scipy.optimize import minimize

    options = {"maxiter": budget, "rhobeg": radius}
    minimize(fun, start, method="COBYLA", bounds=box, tol=1e-8, options=options)


def nelder_mead(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    from scipy.optimize import minimize

    minimize(fun, start, method="Nelder-Mead", bounds=box, options={"maxfev": budget})


def py_bobyqa(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    import pybobyqa

    bounds = None if box is None else tuple(np.array(box, dtype=float).T)
    # Its default is a tenth of the start's size; larger than half the box is refused.
    pybobyqa.solve(fun, start, bounds=bounds, maxfun=budget, rhobeg=0.99 * radius, rhoend=1e-8,
                   do_logging=False, seek_global_minimum=box is not None)  # fmt: skip


def tpe(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(
        lambda t: fun(np.array([t.suggest_float(str(j), *ends) for j, ends in enumerate(box)])),
        n_trials=budget,
    )


def random_search(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    low, high = np.array(box, dtype=float).T
    for u in np.random.default_rng(seed).random((budget, len(low))):
        fun(low + (high - low) * u)


CONTENDERS: dict[str, tuple[Callable[..., Any], str]] = {
    "auctor": (auctor_smooth, "auctor"),
    "auctor noisy": (auctor_noisy, "auctor"),
    "auctor stepwise": (auctor_stepwise, "auctor"),
    "COBYQA": (cobyqa, "scipy"),
    "COBYLA": (cobyla, "scipy"),
    "Nelder-Mead": (nelder_mead, "scipy"),
    "Py-BOBYQA": (py_bobyqa, "pybobyqa"),
    "TPE": (tpe, "optuna"),
    "random": (random_search, "numpy"),
}
#: Named in the issue and not installable here.
ABSENT = "NLopt, CMA-ES, nevergrad and torch (for Optuna's GP) were not on the package index"


def installed(name: str) -> bool:
    return find_spec(CONTENDERS[name][1]) is not None


def trace(
    name: str, fun: Callable[[np.ndarray], float], start: Any, box: Any, budget: int,
    radius: float, seed: int, judge: Callable[[np.ndarray], float] | None = None,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Best value after each evaluation, padded to the budget, and own CPU seconds.

    ``judge`` measures the points instead, where the function is noisy.
    """
    found: list[float] = []
    inside = 0.0

    def counted(x: np.ndarray) -> float:
        nonlocal inside
        if len(found) >= budget:
            raise Stop
        begin = time.process_time()
        value = fun(x)
        found.append(value if judge is None else judge(x))
        inside += time.process_time() - begin
        return value

    begin = time.process_time()
    with warnings.catch_warnings(), contextlib.suppress(Stop):
        warnings.simplefilter("ignore")
        CONTENDERS[name][0](counted, np.array(start, dtype=float), box, budget, radius, seed)
    own = time.process_time() - begin - inside
    values = np.minimum.accumulate(np.array(found))
    return np.concatenate((values, np.full(budget - len(values), values[-1]))), own / len(found)
