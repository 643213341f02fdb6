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


def gp(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
    study.optimize(
        lambda t: fun(np.array([t.suggest_float(str(j), *ends) for j, ends in enumerate(box)])),
        n_trials=budget,
    )


def nlopt_bobyqa(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    import nlopt

    search = nlopt.opt(nlopt.LN_BOBYQA, len(start))
    search.set_min_objective(lambda x, _: float(fun(x.copy())))
    if box is not None:
        low, high = np.array(box, dtype=float).T
        search.set_lower_bounds(low)
        search.set_upper_bounds(high)
    search.set_initial_step(np.full(len(start), radius))
    search.set_maxeval(budget)
    search.set_xtol_abs(1e-10)
    with contextlib.suppress(nlopt.RoundoffLimited):
        search.optimize(start)


def cma_es(fun, start, box, budget, radius, seed):  # noqa: ANN001, ANN201
    import cma

    options = {"maxfevals": budget, "seed": seed + 1, "verbose": -9}
    if box is not None:
        options["bounds"] = [list(ends) for ends in np.array(box, dtype=float).T]
    # Restarts with twice the population, as its authors advise for several wells.
    cma.fmin2(lambda x: float(fun(np.asarray(x))), start, radius, options, restarts=9,
              bipop=box is not None)  # fmt: skip


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
    "NLopt BOBYQA": (nlopt_bobyqa, "nlopt"),
    "CMA-ES": (cma_es, "cma"),
    "TPE": (tpe, "optuna"),
    "GP": (gp, "torch"),
    "random": (random_search, "numpy"),
}
#: Why one of the issue's contenders is missing.
BROKEN = "nevergrad 1.0.12's NGOpt stops with a TypeError under NumPy 2.4 (in its metamodel)."


def installed(name: str) -> bool:
    return find_spec(CONTENDERS[name][1]) is not None


def absent() -> str:
    """A note on the contenders that are not installed."""
    gone = [name for name in CONTENDERS if not installed(name)]
    return (f"Not installed: {', '.join(gone)}. " if gone else "") + BROKEN


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
