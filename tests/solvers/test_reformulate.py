"""Equivalent problems: start, step, mapping back, and how their work is counted."""

from dataclasses import dataclass

import numpy as np
import pytest

from auctor.data import as_data
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.problem.equivalent import ridge_problem
from auctor.solvers import Newton
from auctor.solvers.base import State
from auctor.solvers.reformulate import Reformulated

RNG = np.random.default_rng(2)
X = RNG.normal(size=(100, 4))
Y = np.where(X[:, 0] + RNG.normal(size=100) > 0.3, 1.0, -1.0)
SCALE = np.array([1.0, 10.0, 0.1, 3.0])


@dataclass(frozen=True)
class Scaled:
    """The same problem with columns in other units."""

    given: Problem
    problem: Problem
    pass_cost: float = 3.0

    def start(self, w):
        return np.append(w[:-1] * SCALE, w[-1])

    def back(self, inner):
        w = np.append(inner.point.w[:-1] / SCALE, inner.point.w[-1])
        lower = inner.point.value - self.problem.certificate(inner.point).gap
        return State(self.given.evaluate(w), lower=lower)


def problem_of():
    return Problem(Logistic(), L2(1e-2), as_data(X, Y))


def scaled(problem, together=True):
    data, l2 = as_data(X / SCALE, Y), 1e-2 / SCALE**2
    other = ridge_problem(problem, problem.loss, l2, data, fit_intercept=True)
    if not together:
        other = Problem(other.loss, other.penalty, other.data)
    return Scaled(problem, other)


def test_same_optimum_and_bound():
    problem = problem_of()
    found = minimise(problem, Reformulated(scaled, Newton()), tol=1e-10)
    direct = minimise(problem, Newton(), tol=1e-10)
    assert found.converged
    assert found.certified
    np.testing.assert_allclose(found.coef, direct.coef, rtol=0, atol=1e-6)
    assert found.value == pytest.approx(direct.value, rel=1e-10)


def test_the_start_is_mapped():
    problem = problem_of()
    w = RNG.normal(size=5)
    state = Reformulated(scaled, lambda other: Newton()).init(problem, w, RNG)
    np.testing.assert_allclose(state.point.w[:-1], w[:-1], rtol=1e-12)
    assert state.point.problem is problem


def test_work_is_counted_once_in_passes_over_the_given_data():
    for together in (True, False):
        problem = problem_of()
        solver = Reformulated(lambda given, t=together: scaled(given, t), Newton())
        state = solver.init(problem, np.zeros(5), RNG)
        form = state.form
        before, inside = problem.counts.passes, form.problem.counts.passes
        after = solver.step(problem, state)
        own = form.problem.counts.passes - inside
        looked = problem.counts.passes - before
        if together:
            assert problem.counts is form.problem.counts
            assert looked == own
        else:
            # Its own passes at their cost, and those of mapping the point back.
            assert looked >= 3.0 * 1.0
            assert looked < 3.0 * own + 3.0
        assert after.point.value < state.point.value
