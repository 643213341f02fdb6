"""Every optimiser passes the kit, and the kit fails a bad one."""

import numpy as np
import pytest

from auctor.testing import BlackBoxSuite
from auctor.tune import DfoTr

OPTIMISERS = {
    "smooth": lambda d: DfoTr(d, seed=1, debug=True),
    "stepwise": lambda d: DfoTr(d, kind="stepwise", seed=1),
    "noisy": lambda d: DfoTr(d, kind="noisy", seed=1),
    "design": lambda d: DfoTr(d, design=5, seed=1),
    "linear": lambda d: DfoTr(d, model="linear", seed=1),
    "one run": lambda d: DfoTr(d, restarts=False),
}


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("check", BlackBoxSuite.checks())
def test_optimiser(name, check):
    getattr(BlackBoxSuite(OPTIMISERS[name]), check)()


class Careless:
    """Leaves the cube, and believes NaN."""

    def __init__(self, dims):
        self.dims, self.best_value, self.best_point = dims, np.nan, None
        self.rng = np.random.default_rng()

    def ask(self, n=1):
        return self.rng.normal(size=(n, self.dims))

    def tell(self, points, values):
        self.best_value, self.best_point = values[-1], points[-1]


@pytest.mark.parametrize(
    "check",
    ["points_stay_in_the_cube", "bowl", "best_is_the_lowest_told", "same_points_again",
     "every_point_failing"],
)  # fmt: skip
def test_the_kit_fails_a_careless_optimiser(check):
    with pytest.raises(AssertionError):
        getattr(BlackBoxSuite(Careless), f"check_{check}")()
