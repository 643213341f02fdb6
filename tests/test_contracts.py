"""Every conformance suite over every part that discovery finds."""

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.lab.solvers import (
    GradientDescent,
    InteriorPoint,
    ProximalGradient,
    StochasticCoordinateDescent,
)
from auctor.losses import Logistic, PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Continuation, Exact, Fista, Lbfgs, Newton
from auctor.testing import (
    DataSuite,
    FeatureSuite,
    LossSuite,
    MapSuite,
    PenaltySuite,
    SolverSuite,
    discover,
)
from auctor.testing.data import example_matrix
from auctor.testing.storages import storages

#: Solvers with parameters other than their defaults, besides what their ``examples()`` give; slow,
#: because the promises they are tried on are tested with those examples too.
MORE_SOLVERS = [
    InteriorPoint(growth=5.0, direct=False),
    StochasticCoordinateDescent(single_bound=True),
    Exact(direct=False),
    Exact(direct=True),
    GradientDescent(beta=0.8),
    Newton(forcing=0.5, max_cg=3),
    Lbfgs(memory=1),
    Fista(restart=False),
    Fista(growth=1.0, shrink=0.3),
    ProximalGradient(growth=1.0),
    Continuation(solver=Lbfgs(), shrink=0.2),
]


def cases(kind, parts, **options):
    """One test per part and check that may apply, with a readable name; one suite per part."""
    seen, found = {}, []
    for part in parts:
        name = discover.label(part)
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
        suite = kind(part)
        for check in suite.collectable():
            name = f"{unique}-{check.removeprefix('check_')}"
            found.append(pytest.param(suite, check, id=name, **options))
    return found


def run(suite, check):
    """Run a check, or skip it where an evaluation of the part shows that it does not apply."""
    if not suite.applies(check):
        pytest.skip("does not apply")
    getattr(suite, check)()


def instances(kinds):
    return [part for kind in kinds for part in discover.examples(kind)]


@pytest.mark.parametrize(("suite", "check"), cases(LossSuite, instances(discover.losses())))
def test_loss(suite, check):
    run(suite, check)


@pytest.mark.parametrize(("suite", "check"), cases(PenaltySuite, instances(discover.penalties())))
def test_penalty(suite, check):
    run(suite, check)


@pytest.mark.parametrize(
    ("suite", "check"),
    cases(SolverSuite, instances(discover.solvers()))
    + cases(SolverSuite, MORE_SOLVERS, marks=pytest.mark.slow),
)
def test_solver(suite, check):
    getattr(suite, check)()


@pytest.mark.parametrize(("suite", "check"), cases(MapSuite, instances(discover.maps())))
def test_map(suite, check):
    getattr(suite, check)()


@pytest.mark.parametrize(("suite", "check"), cases(FeatureSuite, instances(discover.features())))
def test_features(suite, check):
    getattr(suite, check)()


@pytest.fixture(scope="module", params=list(storages()))
def storage(request):
    return DataSuite(storages()[request.param])


#: Four seconds for each storage that streams.
SLOW_CHECKS = {"check_training": pytest.mark.slow}


@pytest.mark.parametrize(
    "check", [pytest.param(name, marks=SLOW_CHECKS.get(name, ())) for name in DataSuite.checks()]
)
def test_data(storage, check):
    run(storage, check)


def solve_in(build, loss, solver):
    X = example_matrix(150, 7)
    y = np.where(X[:, 0] + np.random.default_rng(3).normal(size=150) > 0, 1.0, -1.0)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, size=150)
    problem = Problem(loss, L2(0.01), build(X, Target(y, weight), 2))
    return minimise(problem, solver, tol=1e-14, max_iter=30, on_failure="ignore")


@pytest.mark.parametrize("name", list(storages()))
@pytest.mark.parametrize(
    ("loss", "solver"),
    [(Logistic(), Newton()), (PairwiseSquare(), Exact()), (PairwiseSquare(), Exact(direct=False))],
    ids=["logistic-newton", "square-exact", "square-cg"],
)
def test_the_same_solve_agrees_across_storages(name, loss, solver):
    wanted = solve_in(storages()["dense-C-float64"], loss, solver)
    found = solve_in(storages()[name], loss, solver)
    # Without Gram matrices Newton's systems are solved by conjugate gradients, to the same value.
    near = 1e-8 if name in ("two-products", "Stacked-once") else 1e-10
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=0, atol=near)
    assert found.intercept == pytest.approx(wanted.intercept, abs=near)
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
