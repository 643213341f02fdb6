"""Orthant-wise L-BFGS, the baseline."""

import numpy as np
import pytest

from auctor.core.errors import ParameterError
from auctor.lab.solvers import OrthantWise
from auctor.losses import Logistic, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L1, ElasticNet, NonNegative
from auctor.problem import Problem
from auctor.solvers import Fista


@pytest.mark.parametrize("kind", ["factors", "chain", "binary"])
@pytest.mark.parametrize("loss", [Logistic(), PairwiseHinge(0.5)])
def test_agrees_with_fista(classification, kind, loss):
    data, top = classification(kind)
    for penalty in (L1(0.1 * top), ElasticNet(0.05 * top, 0.7)):
        problem = Problem(loss, penalty, data)
        found, wanted = (
            minimise(problem, solver, tol=1e-8, max_iter=20_000)
            for solver in (OrthantWise(), Fista())
        )
        assert found.value == pytest.approx(wanted.value, rel=1e-6)


def test_steps_stay_in_their_orthant(classification):
    data, top = classification("factors")
    problem = Problem(Logistic(), L1(0.05 * top), data)
    solver = OrthantWise()
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    crossed, zeroed = 0, 0
    for _ in range(40):
        new = solver.step(problem, state)
        old_w, new_w = problem.coef(state.point.w), problem.coef(new.point.w)
        crossed += int((old_w * new_w < 0).sum())
        zeroed += int(((old_w != 0) & (new_w == 0)).sum())
        assert new.point.value <= state.point.value
        state = new
    assert crossed == 0
    assert zeroed > 0


def test_bounds(classification):
    data, _ = classification("chain", p=10)
    problem = Problem(Logistic(), NonNegative(), data)
    found = minimise(problem, OrthantWise(), tol=1e-7, max_iter=5000)
    assert found.converged
    assert found.coef.min() == 0.0


def test_a_strong_penalty_leaves_the_empty_model(classification):
    data, top = classification("chain")
    found = minimise(Problem(Logistic(), L1(1.01 * top), data), OrthantWise(), tol=1e-9)
    assert found.converged
    assert not found.coef.any()


@pytest.mark.parametrize("setting", [{"memory": 0}, {"shrink": 0.0}, {"shrink": 1.0}])
def test_bad_settings(setting):
    with pytest.raises(ParameterError, match=f"OrthantWise needs {next(iter(setting))}"):
        OrthantWise(**setting)
