"""LHAC on losses over pairs with every rule, and parameters that all do something."""

import dataclasses

import numpy as np
import pytest

from auctor.kernels.descent.lowrank import classify
from auctor.lab.solvers import (
    AcceleratedProximalQuasiNewton,
    InteriorPoint,
    OrthantWise,
    ProximalGradient,
    StochasticCoordinateDescent,
)
from auctor.losses import Logistic, PairwiseHinge, PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L1, ElasticNet
from auctor.problem import Problem
from auctor.solvers import Fista, Lhac, ProximalQuasiNewton
from auctor.solvers.sparse.lhac import ACTIVE_SETS
from auctor.solvers.sparse.models.lowrank import Survey


@pytest.mark.parametrize("loss", [PairwiseHinge(0.5), PairwiseSquare()], ids=["hinge", "square"])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_pair_losses_with_every_active_set_and_budget(classification, loss, ratio):
    data, top = classification("factors", n=120, p=50)
    penalty = L1(0.1 * top) if ratio == 1.0 else ElasticNet(0.1 * top, ratio)
    problem = Problem(loss, penalty, data)
    wanted = minimise(problem, Fista(), tol=1e-10, max_iter=20_000, on_failure="ignore")
    assert 0 < np.count_nonzero(wanted.coef) < 50
    for active_set in ACTIVE_SETS:
        for inner, rate in (("linear", 0.2), ("log", 1.0), ("constant", 3.0)):
            solver = Lhac(active_set=active_set, inner=inner, inner_rate=rate)
            found = minimise(problem, solver, tol=1e-9, max_iter=2000, rng=0)
            assert found.value == pytest.approx(wanted.value, rel=1e-8)
            np.testing.assert_array_equal(found.coef != 0.0, wanted.coef != 0.0)


def test_active_sets_as_published():
    """The sets Z1, Z2, Z3 of Tang, section 5.4, and the seven choices of Table 5.3 from them."""
    rng = np.random.default_rng(0)
    w = np.where(rng.random(2000) < 0.2, rng.normal(size=2000), 0.0)
    gradient, l1 = 1.2 * rng.normal(size=2000), rng.uniform(0.5, 1.5, 2000)
    excess = np.abs(gradient) - l1
    moved = w != 0.0
    violated = ~moved & (excess > 0.0)  # Z3
    steepest, kind = np.empty(2000), np.empty(2000, dtype=np.uint8)
    bounds = np.full(2000, np.inf)
    classify(w, gradient, l1, np.zeros(2000), -bounds, bounds, steepest, kind)
    seen = Survey(steepest, kind)

    def chosen(name):
        index, left_out = ACTIVE_SETS[name](seen, w, l1)
        assert left_out == (index.size < (moved | violated).sum())
        return index

    def clear(share):
        return np.flatnonzero(moved | (violated & (excess > share * l1)))

    everything, falling = np.flatnonzero(moved | violated), -np.abs(steepest)
    np.testing.assert_array_equal(chosen("standard"), everything)
    wanted = everything[np.argsort(falling[everything], kind="stable")]
    np.testing.assert_array_equal(chosen("sorted"), wanted)
    assert violated.sum() >= 100
    np.testing.assert_array_equal(chosen("largest"), wanted[: moved.sum()])
    np.testing.assert_array_equal(chosen("clear"), clear(0.01))
    np.testing.assert_array_equal(chosen("coarse"), clear(0.5))
    assert clear(0.5).size < clear(0.01).size < everything.size
    np.testing.assert_array_equal(np.sort(chosen("clear_sorted")), clear(0.01))
    assert (np.diff(falling[chosen("clear_sorted")]) >= 0.0).all()


def test_the_inner_method_leaves_resting_coordinates_out(classification):
    """Shrinking: long inner runs visit far fewer coordinates than passes times the free set."""
    data, top = classification("factors", n=200, p=150)
    problem = Problem(PairwiseSquare(), L1(0.1 * top), data)
    solver = Lhac(active_set="standard", inner="constant", inner_rate=100.0)
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    visits = 0
    for _ in range(5):
        state = solver.step(problem, state)
        visits += 100 * state.free
    assert state.coordinate_steps < 0.6 * visits


Accelerated, Plain, Stochastic = (
    AcceleratedProximalQuasiNewton,
    ProximalQuasiNewton,
    StochasticCoordinateDescent,
)
#: For every parameter: settings under which it works, and another value.
CASES = {
    (Lhac, "memory"): ({}, 2),
    (Lhac, "rho"): ({"theta_shrink": 0.02}, 1.0),
    (Lhac, "active_set"): ({}, "standard"),
    (Lhac, "inner"): ({}, "constant"),
    (Lhac, "inner_rate"): ({}, 2.0),
    (Lhac, "order"): ({}, "cyclic"),
    (Lhac, "theta_shrink"): ({}, 1.0),
    (Lhac, "prox"): ({}, 1.0),
    (Lhac, "growth"): ({"rho": 1.0, "theta_shrink": 0.02}, 5.0),
    (Lhac, "scaling"): ({}, 0.0),
    (Plain, "hessian"): ({}, "diagonal"),
    (Plain, "memory"): ({}, 2),
    (Plain, "rho"): ({"memory": 3}, 1.0),
    (Plain, "exact"): ({}, True),
    (Plain, "inner"): ({}, "theoretical"),
    (Plain, "conditioning"): ({"inner": "theoretical", "conditioning": 0.5}, 1.0),
    (Plain, "order"): ({}, "cyclic"),
    (Plain, "prox"): ({}, 1.0),
    (Plain, "growth"): ({"rho": 1.0, "memory": 3}, 5.0),
    (Plain, "relax"): ({"hessian": "diagonal"}, 1.5),
    (Plain, "warmup"): ({"hessian": "fixed"}, 3),
    (Plain, "scaling"): ({}, 0.0),
    (Accelerated, "variant"): ({}, "lbfgs"),
    (Accelerated, "memory"): ({}, 2),
    (Accelerated, "warmup"): ({}, 3),
    (Accelerated, "growth"): ({}, 1.3),
    (Accelerated, "shrink"): ({"growth": 1.3}, 0.8),
    (Accelerated, "exact"): ({}, True),
    (Accelerated, "order"): ({}, "cyclic"),
    (Accelerated, "restart"): ({}, False),
    (Accelerated, "scaling"): ({}, 0.0),
    (OrthantWise, "memory"): ({}, 2),
    (OrthantWise, "shrink"): ({}, 0.9),
    (Stochastic, "single_bound"): ({}, True),
    (InteriorPoint, "growth"): ({}, 4.0),
    (InteriorPoint, "direct"): ({}, False),
    (ProximalGradient, "shrink"): ({"growth": 1.5}, 0.8),
    (ProximalGradient, "growth"): ({}, 1.0),
    (Fista, "shrink"): ({"growth": 1.5}, 0.8),
    (Fista, "growth"): ({}, 1.0),
    (Fista, "restart"): ({}, False),
}
#: In other modes too: the first prox parameter, and the factor after a failed test.
MODES = [
    (Plain, {"hessian": "diagonal"}, "prox", 1.0),
    (Plain, {"hessian": "fixed"}, "prox", 1.0),
    (Plain, {"hessian": "diagonal", "rho": 1.0}, "growth", 5.0),
    (Plain, {"hessian": "diagonal"}, "rho", 1.0),
    (Accelerated, {"variant": "lbfgs"}, "shrink", 0.2),
    (Accelerated, {"variant": "lbfgs"}, "memory", 2),
    (Accelerated, {"variant": "diagonal"}, "growth", 1.3),
    (Accelerated, {"variant": "diagonal", "growth": 1.3}, "shrink", 0.8),
]
SOLVERS = sorted({kind for kind, _ in CASES}, key=lambda kind: kind.__name__)


def values(problem, solver):
    settings = {"tol": 0.0, "max_iter": 60, "rng": 0, "on_failure": "ignore"}
    return minimise(problem, solver, **settings).trace.value


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", SOLVERS, ids=lambda kind: kind.__name__)
def test_no_parameter_is_ignored(classification, kind):
    """Another value gives another run, under the settings where the parameter has a meaning."""
    names = {f.name for f in dataclasses.fields(kind)}
    assert names == {name for owner, name in CASES if owner is kind}
    data, top = classification("factors", n=90, p=40, rng=3)
    problem = Problem(Logistic(), L1(0.02 * top), data)
    table = [(options, name, other) for (k, name), (options, other) in CASES.items() if k is kind]
    table += [(options, name, other) for k, options, name, other in MODES if k is kind]
    for options, name, other in table:
        one = values(problem, kind(**options))
        two = values(problem, kind(**{**options, name: other}))
        assert one != two, (options, name)
