"""Hand-over: who is active, what starts the next stage, what is shown, what ends a stage."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from auctor.data import as_data
from auctor.lab.solvers import GradientDescent
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers import Lbfgs, Newton
from auctor.solvers.base import State
from auctor.solvers.relay import After, Relay, Stage

RNG = np.random.default_rng(2)
X = RNG.normal(size=(100, 4))
Y = np.where(X[:, 0] + RNG.normal(size=100) > 0.3, 1.0, -1.0)
PROBLEM = Problem(Logistic(), L2(1e-3), as_data(X, Y))


@dataclass(frozen=True)
class Walk:
    """Moves the first weight by a step; stalls, or is no longer finite, after some."""

    by: float
    stalls_after: int = 100
    lost_after: int = 100

    needs = Need.SMOOTH_LOSS

    def init(self, problem, w, rng):
        return WalkState(problem.evaluate(w), lower=-self.by)

    def step(self, problem, state):
        w = state.point.w.copy()
        w[0] += self.by if state.taken < self.lost_after else np.nan
        taken = state.taken + 1
        return replace(
            state,
            point=problem.evaluate(w),
            taken=taken,
            violation=self.by,
            stalled=taken >= self.stalls_after,
        )


@dataclass(frozen=True)
class WalkState(State):
    taken: int = 0


def states(relay, count):
    state = relay.init(PROBLEM, np.zeros(5), RNG)
    for _ in range(count):
        state = relay.step(PROBLEM, state)
        yield state


def test_stages_follow_each_other_from_the_last_point():
    relay = Relay(
        Stage(Walk(1.0), until=After(3)), Stage(Walk(10.0), until=After(2)), Stage(Walk(0.0))
    )
    found = list(states(relay, 8))
    assert [s.stage for s in found] == [0, 0, 1, 1, 2, 2, 2, 2]
    assert [s.point.w[0] for s in found] == [1, 2, 3, 13, 23, 23, 23, 23]
    assert [s.steps for s in found] == [1, 2, 0, 1, 0, 1, 2, 3]
    assert [s.taken for s in found[-1].ended] == [3, 2]


def test_the_bounds_of_the_active_solver_are_shown():
    relay = Relay(Stage(Walk(1.0), until=After(2)), Stage(Walk(3.0)))
    found = list(states(relay, 4))
    assert [s.lower for s in found] == [-1.0, -3.0, -3.0, -3.0]
    assert [s.violation for s in found] == [1.0, None, 3.0, 3.0]
    assert found[0].gaps[0] == found[0].point.value + 1.0


def test_a_stall_ends_a_stage_but_the_last_which_stalls():
    relay = Relay(Stage(Walk(1.0, stalls_after=2)), Stage(Walk(1.0, stalls_after=1)))
    found = list(states(relay, 3))
    assert [s.stage for s in found] == [0, 1, 1]
    assert [s.stalled for s in found] == [False, False, True]


def test_a_point_that_is_not_finite_hands_over_the_one_before():
    relay = Relay(Stage(Walk(1.0, lost_after=2)), Stage(Walk(10.0)))
    assert [s.point.w[0] for s in states(relay, 4)] == [1, 2, 2, 12]


def test_a_solver_may_be_chosen_when_its_turn_comes():
    asked = []

    def pick(problem):
        asked.append(problem)
        return Walk(5.0)

    relay = Relay(Stage(Walk(1.0), until=After(1)), Stage(pick))
    state = relay.init(PROBLEM, np.zeros(5), RNG)
    assert not asked
    state = relay.step(PROBLEM, state)
    assert asked == [PROBLEM]
    assert relay.step(PROBLEM, state).point.w[0] == 6.0


def test_a_stage_may_begin_elsewhere():
    def at_seven(problem, solver, state):
        assert state.steps == 1
        return solver.init(problem, np.full(5, 7.0), state.rng)

    relay = Relay(Stage(Walk(1.0), until=After(1)), Stage(Walk(1.0), begin=at_seven))
    assert [s.point.w[0] for s in states(relay, 2)] == [7, 8]


def test_needs_are_those_of_all_stages():
    assert Relay(Stage(Lbfgs()), Stage(Newton())).needs == Newton.needs | Lbfgs.needs
    assert Relay(Stage(Walk(1.0)), Stage(lambda problem: Newton())).needs == Walk.needs


def test_the_optimum_is_that_of_the_last_solver():
    relay = Relay(Stage(GradientDescent(), until=After(3)), Stage(Newton()))
    found = minimise(PROBLEM, relay, tol=1e-12)
    assert found.converged
    np.testing.assert_allclose(
        found.coef, minimise(PROBLEM, Newton(), tol=1e-12).coef, rtol=0, atol=1e-5
    )
    assert found.value == pytest.approx(minimise(PROBLEM, Newton(), tol=1e-12).value, rel=1e-14)
