"""The subproblem, its first scale and metric, and its budgets."""

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.losses import Logistic, PairwiseHinge, SmoothedHinge, Squared
from auctor.penalties import L1, L2, Box
from auctor.problem import Problem
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.matrices import LbfgsMatrix
from auctor.solvers.sparse.models.lowrank import (
    Inner,
    Subproblem,
    budget,
    column_metric,
    curvature_along_gradient,
    survey,
)


def test_subproblem_moves_only_its_coordinates_and_into_the_box():
    rng = np.random.default_rng(2)
    data = as_data(rng.normal(size=(40, 6)), rng.normal(size=40))
    problem = Problem(Squared(), Box(-0.1, 0.1), data, fit_intercept=False)
    point = problem.evaluate(np.full(6, 0.5))  # as an extrapolated point may be
    ring = LbfgsMatrix(5, 6, 1.0)
    inner = Inner.seeded(rng, "cyclic")
    index = np.array([0, 2, 5])
    model = Subproblem.at(point, ring, spec_of(problem), index)
    found = model.solve(inner, scale=1.0, extra=0.5, passes=3)  # H = 1.5 I
    assert np.array_equal(np.flatnonzero(found.w != 0.5), index)
    assert (np.abs(found.w[index]) <= 0.1).all()
    d = found.w - point.w
    assert found.rise == pytest.approx(point.gradient @ d + 0.75 * d @ d, rel=1e-12)


def test_intercept_is_not_penalised():
    rng = np.random.default_rng(4)
    data = as_data(rng.normal(size=(40, 3)), np.where(rng.normal(size=40) > 0, 1, -1))
    problem = Problem(Logistic(), L1(10.0), data)
    assert spec_of(problem).l1.shape == (3,)
    assert survey(problem.evaluate(np.zeros(4)), spec_of(problem)).movable().size == 0
    spec = spec_of(problem, intercept=True)
    assert [float(part[-1]) for part in spec] == [0.0, 0.0, -np.inf, np.inf]
    assert survey(problem.evaluate(np.zeros(4)), spec).movable().tolist() == [3]


@pytest.mark.parametrize("loss", [Squared(), Logistic(), PairwiseHinge(2.0)])
def test_first_scale_is_the_curvature_along_the_gradient(loss):
    rng = np.random.default_rng(5)
    data = as_data(rng.normal(size=(60, 4)), np.where(rng.normal(size=60) > 0, 1.0, -1.0))
    problem = Problem(loss, L2(0.0), data, fit_intercept=False)
    point = problem.evaluate(np.zeros(4))
    metric = np.array([1.0, 2.0, 0.5, 1.0])
    d = point.gradient / metric
    wanted = d @ problem.hessian(point).matvec(d) / (d @ (metric * d))
    before = problem.counts.passes
    assert curvature_along_gradient(problem, point, metric) == pytest.approx(wanted, rel=0.05)
    assert problem.counts.passes == before + 1


def test_first_scale_where_the_loss_is_flat_or_done():
    X = np.array([[1.0], [-1.0]])
    flat = Problem(SmoothedHinge(0.1), L2(0.0), Dense(X, Target(np.array([1.0, -1.0]))))
    point = flat.evaluate(np.zeros(flat.n_params))
    g = point.gradient
    one = np.ones(1)
    assert curvature_along_gradient(flat, point, one) == pytest.approx(0.5 * g @ g / point.loss)
    done = flat.evaluate(np.array([5.0, 0.0]))
    assert curvature_along_gradient(flat, done, one) == 1.0


def test_metric_is_a_power_of_the_weighted_second_moments():
    rng = np.random.default_rng(6)
    X, weight = rng.normal(size=(50, 4)), rng.uniform(1.0, 2.0, size=50)
    X[:, 2] = 0.0
    problem = Problem(Squared(), L1(0.1), as_data(X, X[:, 0], weight=weight))
    moments = weight @ (X * X) / weight.sum()
    found = column_metric(problem, 0.5)
    np.testing.assert_allclose(found[[0, 1, 3]] ** 2, moments[[0, 1, 3]], rtol=1e-12)
    assert 0.0 < found[2] < 1e-5 * found.max()
    assert problem.counts.passes == 1
    np.testing.assert_array_equal(column_metric(problem, 0.0), np.ones(4))
    assert problem.counts.passes == 1


def test_budgets():
    assert [budget("linear", k, 1 / 3) for k in (1, 2, 3, 30, 10_000)] == [1, 1, 2, 11, 1000]
    assert [budget("log", k, 1.0) for k in (1, 3, 400)] == [1, 2, 6]
    assert budget("constant", 77, 5.0) == 5
