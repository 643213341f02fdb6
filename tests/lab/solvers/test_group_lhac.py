"""LHAC on groups: against block coordinate descent and FISTA, with every active set."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimise

from auctor.data import as_data
from auctor.lab.solvers import GroupLhac
from auctor.lab.solvers.group_lhac import GroupSubproblem
from auctor.losses import Logistic, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L1, GroupL2
from auctor.problem import Problem
from auctor.solvers import BlockCoordinateDescent, Fista, Lhac
from auctor.solvers.base import blocks_of
from auctor.solvers.sparse.lhac import ACTIVE_SETS
from auctor.solvers.sparse.matrices import LbfgsMatrix
from auctor.solvers.sparse.models.lowrank import Inner

PENALTIES = [
    GroupL2(0.03, 3),
    GroupL2(0.05, [list(range(k, 60, 10)) for k in range(10)], l1_ratio=0.3),
    GroupL2(0.05, [[0, 7], [1, 2, 3]], free=[4, 5, 6, *range(8, 60)]),
]


def problem_of(loss, penalty, n=200, d=60, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(0.5 * rng.normal(size=d))
    y = np.where(X[:, :6].sum(axis=1) + rng.normal(size=n) > 0.0, 1.0, -1.0)
    return Problem(loss, penalty, as_data(X, y), **options)


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: f"ratio{p.l1_ratio}-{p.free is None}")
@pytest.mark.parametrize("order", ["shuffled", "cyclic", "iid"])
def test_the_optimum_of_other_solvers(penalty, order):
    for loss, other in ((Logistic(), BlockCoordinateDescent()), (PairwiseHinge(0.5), Fista())):
        if penalty.free and isinstance(loss, PairwiseHinge):
            continue  # no minimiser: the rows can be separated by the free columns
        problem = problem_of(loss, penalty)
        best = minimise(problem, other, tol=1e-10, max_iter=20_000, on_failure="ignore")
        found = minimise(problem, GroupLhac(order=order), tol=1e-9, max_iter=2000, rng=0)
        assert found.converged
        assert found.certified == best.certified
        assert found.value == pytest.approx(best.value, rel=1e-8)
        np.testing.assert_array_equal(found.coef != 0.0, best.coef != 0.0)


@pytest.mark.parametrize("active_set", ACTIVE_SETS)
def test_every_active_set_of_groups(active_set):
    """At zero, where all groups are alike, some rules leave out those that violate little."""
    problem = problem_of(Logistic(), GroupL2(0.02, 3), n=300, d=450)
    solver = GroupLhac(active_set=active_set)
    free = [
        some.step(problem, some.init(problem, problem.start(), np.random.default_rng(0))).free
        for some in (solver, GroupLhac(active_set="standard"))
    ]
    assert (free[0] < free[1]) == (active_set in ("clear", "clear_sorted", "coarse"))
    best = minimise(problem, Fista(), tol=1e-8, max_iter=20_000)
    found = minimise(problem, solver, tol=1e-8, max_iter=3000, rng=0)
    assert found.value == pytest.approx(best.value, rel=1e-7)


def test_groups_of_one_column_are_the_lasso():
    columns = [[j] for j in range(60)]
    problem = problem_of(Logistic(), GroupL2(0.03, columns, weights=np.ones(60)))
    lasso = minimise(problem.with_penalty(L1(0.03)), Lhac(), tol=1e-10, rng=0)
    for penalty in (problem.penalty, GroupL2(0.03, columns, l1_ratio=1.0)):
        group = minimise(problem.with_penalty(penalty), GroupLhac(), tol=1e-10, rng=0)
        np.testing.assert_allclose(group.coef, lasso.coef, atol=1e-6)


def test_the_inner_method_minimises_the_model():
    """Against a general solver, on a model with pairs in memory."""
    rng = np.random.default_rng(2)
    problem = problem_of(Logistic(), GroupL2(0.08, 3, l1_ratio=0.2), d=9, fit_intercept=False)
    point = problem.evaluate(np.where(np.arange(9) < 6, 0.3 * rng.normal(size=9), 0.0))
    matrix = LbfgsMatrix(4, 9, 0.2)
    A = rng.normal(size=(9, 9))
    for _ in range(3):
        s = rng.normal(size=9)
        matrix.add(s, A @ (A.T @ s) / 9.0)
    model = GroupSubproblem.at(point, matrix, blocks_of(problem), np.array([0, 1, 2]))
    B = model.model.matrix()
    for b in range(3):
        part = B[3 * b : 3 * b + 3, 3 * b : 3 * b + 3]
        assert model.bound[b] == pytest.approx(np.linalg.norm(part))
        assert model.bound[b] >= np.linalg.eigvalsh(part)[-1]
    inner = Inner.seeded(rng, "cyclic", exact=True)
    found = model.solve(inner, scale=1.3, extra=0.4, passes=20_000)
    H = 1.3 * B + 0.4 * np.diag(model.model.base)

    def value(u):
        d = u - point.w
        return point.gradient @ d + 0.5 * d @ H @ d + problem.penalty.value(u)

    assert value(found.w) == pytest.approx(found.rise + problem.penalty.value(found.w), rel=1e-12)
    for start in (found.w, point.w, rng.normal(size=9)):
        other = scipy_minimise(value, start, method="Nelder-Mead",
                               options={"maxfev": 20_000, "fatol": 1e-13})  # fmt: skip
        assert value(found.w) <= other.fun + 1e-12
