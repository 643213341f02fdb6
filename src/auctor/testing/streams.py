"""Training of every loss with every kind of penalty on data with few capabilities."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import DataError, IncompatibleError
from auctor.core.protocols import Loss, Penalty
from auctor.core.types import Target
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet, GroupL2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import choose
from auctor.testing import discover
from auctor.testing.cases import target_for
from auctor.testing.storages import Build
from auctor.testing.suite import expect

#: Rows and columns of the problems.
SHAPE = (60, 4)
#: Tolerance, relative to the loss of the null model.
TOL = 1e-2
#: Iterations, at most, to reach the tolerance.
STEPS = 3000
SOLVED, REFUSED = "solved", "refused"


def penalties() -> dict[str, Penalty]:
    """One penalty of each kind that solvers distinguish."""
    return {
        "none": NoPenalty(),
        "l2": L2(0.05),
        "l1": L1(0.02),
        "elastic net": ElasticNet(0.05),
        "group": GroupL2(0.02, [[0, 1], [2, 3]]),
    }


def train_everything(build: Build) -> dict[tuple[str, str], str]:
    """Outcome of the default solver for every loss and penalty, ``SOLVED`` or ``REFUSED``.

    Raises ``AssertionError`` if a problem is neither solved to `TOL` nor refused before the first
    pass over the data.
    """
    digests = {}
    for kind in discover.losses():
        loss = discover.examples(kind)[0]
        for name, penalty in penalties().items():
            digests[discover.label(loss), name] = _outcome(build, loss, name, penalty)
    return digests


def _outcome(build: Build, loss: Loss, name: str, penalty: Penalty) -> str:
    """Outcome of one loss and penalty."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=SHAPE), 3)
    data = build(X, Target(target_for(loss, rng, SHAPE[0])), 1)
    what = f"{discover.label(loss)} with {name} on {type(data).__name__}"
    try:
        problem = Problem(loss, penalty, data)
    except (IncompatibleError, DataError):
        return REFUSED
    try:
        solver = choose(problem)
    except IncompatibleError:
        expect(problem.counts.passes == 0, f"{what} is refused after a pass over the data")
        return REFUSED
    solution = minimise(problem, solver, tol=TOL, max_iter=STEPS, rng=0, on_failure="ignore")
    expect(solution.converged, f"{what}: {type(solver).__name__}: {solution.status.value}")
    return SOLVED
