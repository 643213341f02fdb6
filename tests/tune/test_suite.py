"""Every optimiser passes the kit, and the kit fails a bad one."""

import contextlib

import numpy as np
import pytest
from scipy.optimize import minimize

from auctor.testing import BlackBoxSuite
from auctor.testing.black_box import Driven
from auctor.tune import DfoTr, Float, Space, dfo_tr, minimise_black_box
from auctor.tune.methods import METHODS, BudgetSpent

OPTIMISERS = {
    "smooth": lambda d: DfoTr(d, seed=1, debug=True),
    "stepwise": lambda d: DfoTr(d, kind="stepwise", seed=1),
    "noisy": lambda d: DfoTr(d, kind="noisy", seed=1),
    "design": lambda d: DfoTr(d, design=5, seed=1),
    "linear": lambda d: DfoTr(d, model="linear", seed=1),
    "one run": lambda d: DfoTr(d, restarts=False),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("check", BlackBoxSuite.checks())
def test_optimiser(name, check):
    getattr(BlackBoxSuite(OPTIMISERS[name]), check)()


def by_result(minimise):
    """A search by a function that returns an OptimizeResult."""

    def drive(function, dims, budget, batch):
        seen = []

        def recorded(x):
            seen.append(x.copy())
            return function(x)

        found = minimise(recorded, np.full(dims, 0.5), [(0.0, 1.0)] * dims, budget)
        known = np.isfinite(found.fun)
        return Driven(found.fun, found.x if known else None, np.array(seen))

    return drive


def by_method(name):
    """A search by a method of SearchCV, which ends it by an exception."""

    def drive(function, dims, budget, batch):
        seen, told = [], []

        def evaluate(points):
            values = [function(u) for u in points]
            seen.extend(points)
            told.extend(v if np.isfinite(v) else np.inf for v in values)
            if len(seen) >= budget:
                raise BudgetSpent
            return [v if np.isfinite(v) else np.nan for v in values]

        space = Space({f"u{j}": Float(0.0, 1.0) for j in range(dims)})
        with contextlib.suppress(BudgetSpent):
            METHODS[name](evaluate, space, start=np.full(dims, 0.5), batch=batch, seed=0)
        best = int(np.argmin(told))
        known = np.isfinite(told[best])
        return Driven(told[best], seen[best] if known else None, np.array(seen))

    return drive


MINIMISERS = {
    "minimise_black_box": lambda f, x0, box, n: minimise_black_box(f, x0, bounds=box, budget=n),
    "scipy's minimize": lambda f, x0, box, n: minimize(
        f, x0, bounds=box, method=dfo_tr, options={"maxfev": n, "restarts": True}
    ),
}


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::auctor.core.errors.DataWarning")
@pytest.mark.parametrize("name", MINIMISERS)
@pytest.mark.parametrize("check", BlackBoxSuite.checks())
def test_functions_that_minimise(name, check):
    getattr(BlackBoxSuite(drive=by_result(MINIMISERS[name])), check)()


#: Distance to the minimum of a bowl that a method is asked for: chance comes no closer.
CLOSE = {"dfo-tr": 0.05, "random": 0.2, "nelder-mead": 0.05, "tpe": 0.15, "gp": 0.05}


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("check", BlackBoxSuite.checks())
@pytest.mark.parametrize(
    "name", [pytest.param(m, marks=pytest.mark.slow) if m == "gp" else m for m in CLOSE]
)
def test_methods_of_a_search(name, check):
    if name in ("tpe", "gp"):
        pytest.importorskip("optuna")
    if name == "gp":
        pytest.importorskip("torch")
    assert set(CLOSE) == set(METHODS)
    getattr(BlackBoxSuite(drive=by_method(name), close=CLOSE[name]), check)()


class Careless:
    """Leaves the cube, believes NaN, and takes the highest value for the best."""

    def __init__(self, dims):
        self.dims, self.best_value, self.best_point = dims, -np.inf, None
        self.rng = np.random.default_rng()

    def ask(self, n=1):
        return self.rng.normal(size=(n, self.dims))

    def tell(self, points, values):
        if not values[-1] <= self.best_value:
            self.best_value, self.best_point = values[-1], points[-1]


@pytest.mark.parametrize(
    "check",
    ["points_stay_in_the_cube", "bowl", "best_is_the_lowest_told", "same_points_again",
     "every_point_failing"],
)  # fmt: skip
def test_the_kit_fails_a_careless_optimiser(check):
    with pytest.raises(AssertionError):
        getattr(BlackBoxSuite(Careless), f"check_{check}")()
