"""Screening by the duality gap: safe, useful on wide data, and only where the gap proves it."""

import numpy as np
import pytest
from scipy import sparse

from auctor.data import as_data
from auctor.lab.solvers import CoordinateDescent
from auctor.losses import Exponential, Huber, Logistic, Squared, SquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet
from auctor.penalties.separable import Separable
from auctor.problem import Problem
from auctor.solvers import Fista, ProximalNewton
from auctor.solvers.sparse.models.columns import Store
from auctor.solvers.sparse.path import strength_max
from auctor.solvers.sparse.screening import dual_radius, proven_zero

N, D = 60, 300


def make_problem(loss, penalty, *, fit_intercept=False, stored=np.asarray, weight=None, d=D):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((N, d)) < 0.5, rng.normal(size=(N, d)), 0.0)
    y = X[:, :4] @ np.array([2.0, -1.5, 1.0, 1.0]) + 0.5 * rng.normal(size=N)
    target = y if isinstance(loss, Squared | Huber) else np.where(y > 0.0, 1.0, -1.0)
    data = as_data(stored(X), target, weight=weight)
    return Problem(loss, penalty, data, fit_intercept=fit_intercept)


def weights():
    return np.random.default_rng(5).uniform(0.5, 3.0, size=D)


PENALTIES = {
    "l1": lambda s: L1(s),
    "weighted l1": lambda s: L1(s, weights=weights()),
    "elastic net": lambda s: ElasticNet(s, 0.6),
    "weighted elastic net": lambda s: ElasticNet(s, 0.9, weights=weights()),
    "bounded": lambda s: Separable(s, lower=-0.05, upper=0.4),
}


def columns_of(problem):
    return Store(problem.data.columns(), None)


def screened(problem, point):
    spec = problem.penalty.separable(problem.n_columns)
    every = np.arange(problem.n_columns)
    return proven_zero(problem, point, spec, columns_of(problem), every)


@pytest.mark.sample(3)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize("loss", [Logistic(), Squared(), Huber(0.5), SquaredHinge()], ids=repr)
def test_no_column_of_the_optimum_is_screened(loss, kind, fit_intercept):
    weight = np.random.default_rng(8).uniform(0.2, 3.0, size=N)
    options = {"fit_intercept": fit_intercept, "weight": weight}
    top = strength_max(make_problem(loss, L1(), **options))
    problem = make_problem(loss, PENALTIES[kind](top / 5.0), **options)
    best = minimise(problem, ProximalNewton(), tol=1e-12, max_iter=500, on_failure="ignore")
    optimum = problem.join(best.coef, best.intercept)
    rng, most = np.random.default_rng(0), 0
    for distance in (1.0, 0.3, 0.1, 0.01, 1e-3, 1e-4, 0.0):
        w = optimum * (1.0 + distance * rng.normal(size=optimum.size))
        point = problem.with_best_intercept(problem.evaluate(problem.prox(w, 0.0)))
        proven = screened(problem, point)
        assert not best.coef[proven].any()
        most = max(most, int(proven.sum()))
    assert most > D // 2


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_best_dual_point_lies_in_the_sphere(fit_intercept):
    problem = make_problem(Logistic(), L1(0.03), fit_intercept=fit_intercept)
    best = minimise(problem, ProximalNewton(), tol=1e-13, max_iter=500, on_failure="ignore")
    u = problem.evaluate(problem.join(best.coef, best.intercept)).dscores
    share = problem.data.target.share
    for shrink in (0.0, 0.5, 0.9, 0.999):
        w = problem.join(shrink * best.coef, best.intercept)
        point = problem.with_best_intercept(problem.evaluate(w))
        scale = problem.penalty.dual_scale(-problem.coef(point.gradient))
        away = np.sqrt(((scale * point.dscores - u) ** 2 / share).sum())
        assert away <= dual_radius(problem, point)


def test_nothing_is_proven_without_a_gap_and_a_bounded_curvature():
    for loss, penalty in [
        (Exponential(), L1(0.05)),
        (Logistic(), L2(0.1)),
        (Logistic(), Separable(0.05, lower=0.01)),
    ]:
        problem = make_problem(loss, penalty)
        best = minimise(problem, ProximalNewton(), tol=1e-10, max_iter=500, on_failure="ignore")
        assert not screened(problem, problem.evaluate(best.coef)).any()


def test_an_inexact_intercept_proves_nothing():
    problem = make_problem(Logistic(), L1(0.03), fit_intercept=True)
    best = minimise(problem, ProximalNewton(), tol=1e-12)
    off = problem.evaluate(problem.join(best.coef, best.intercept + 1e-3))
    assert np.isinf(dual_radius(problem, off))
    assert not screened(problem, off).any()


@pytest.mark.parametrize("penalty", [L1(0.05), ElasticNet(0.08, 0.7)], ids=repr)
def test_coordinate_descent_drops_columns_and_finds_the_optimum(penalty):
    problem = make_problem(Squared(), penalty, stored=sparse.csr_array)
    solver = CoordinateDescent(gram=False)
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    sizes = []
    for _ in range(60):
        state = solver.step(problem, state)
        sizes.append(state.left.size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < D // 2
    wanted = minimise(problem, ProximalNewton(), tol=1e-12)
    assert state.point.value == pytest.approx(wanted.value, rel=1e-10)


def test_proximal_newton_drops_columns_and_finds_the_optimum():
    options = {"stored": sparse.csr_array, "d": 2000}
    top = strength_max(make_problem(Logistic(), L1(), **options))
    problem = make_problem(Logistic(), L1(top / 3.0), **options)
    wanted = minimise(problem, Fista(), tol=1e-9, max_iter=100000)
    solver = ProximalNewton()
    near = wanted.coef.copy()
    near[np.flatnonzero(near)[0]] *= 0.999
    state = solver.init(problem, near, np.random.default_rng(0))
    for _ in range(8):
        state = solver.step(problem, state)
    assert not wanted.coef[state.proven].any()
    assert state.point.value == pytest.approx(wanted.value, rel=1e-10)
