"""Components, and closed forms: one variable, two variables, trees."""

import numpy as np
import pytest

from auctor.covariance import NewtonCd
from auctor.covariance.inputs import Penalties
from auctor.covariance.problem import GraphProblem, unpack
from auctor.covariance.screening import components, tree_solution
from auctor.covariance.solve import Limits, solve_graph
from auctor.minimise import minimise

EVERY = np.array([[0.1]])


def solve(S, diagonal=0.0):
    return solve_graph(S, Penalties(EVERY, np.full(len(S), diagonal)), budget=Limits(1e-9))


def test_one_variable():
    closed = solve(np.array([[4.0]]), diagonal=1.0)
    assert closed.precision == pytest.approx(0.2)
    assert closed.covariance == pytest.approx(5.0)
    assert closed.value == pytest.approx(1.0 + np.log(5.0))
    assert closed.gap == 0.0
    assert closed.n_iter == 0


@pytest.mark.parametrize("cross", [0.05, 0.3, -0.7])
def test_two_variables(cross):
    S = np.array([[1.0, cross], [cross, 2.0]])
    closed = solve(S)
    soft = np.sign(cross) * max(abs(cross) - 0.1, 0.0)
    np.testing.assert_allclose(closed.covariance, [[1.0, soft], [soft, 2.0]], atol=1e-12)
    assert closed.n_iter == 0


def tree_covariance(p, seed):
    """A covariance that exceeds the strength on a random tree only."""
    rng = np.random.default_rng(seed)
    S = np.diag(rng.uniform(0.8, 2.0, size=p))
    for j in range(1, p):
        i = rng.integers(0, j)
        S[i, j] = S[j, i] = rng.choice([-1.0, 1.0]) * rng.uniform(0.15, 0.3)
    rest = rng.uniform(-0.03, 0.03, size=(p, p))
    return np.where((S == 0.0), np.triu(rest, 1) + np.triu(rest, 1).T, S)


@pytest.mark.parametrize("seed", range(4))
def test_trees(seed, violation):
    S = tree_covariance(9, seed)
    closed = solve(S)
    assert closed.component_sizes == (9,)
    assert closed.n_iter == 0
    assert closed.n_edges == 8
    strengths = np.full(S.shape, 0.1)
    np.fill_diagonal(strengths, 0.0)
    assert violation(S, strengths, closed.precision) < 1e-12
    problem = GraphProblem(S, EVERY)
    solved = minimise(problem, NewtonCd(), tol=1e-12)
    np.testing.assert_allclose(unpack(solved.coef, 9), closed.precision, atol=1e-6)


def test_a_tree_whose_far_pairs_break_their_bounds_is_left_to_the_solver(violation):
    # The covariance of the ends of a strong chain, 0.9^2, is more than S and strength allow.
    S = np.array([[1.0, 1.0, 0.0], [1.0, 1.05, 1.0], [0.0, 1.0, 1.0]])
    S = 0.5 * (S + S.T)
    assert tree_solution(S, EVERY) is not None
    penalties = Penalties(EVERY, np.full(3, 0.5))
    found = solve_graph(S, penalties, budget=Limits(1e-10))
    assert found.n_iter > 0
    strengths = np.full((3, 3), 0.1)
    np.fill_diagonal(strengths, 0.5)
    assert violation(S, strengths, found.precision) < 1e-5


def test_what_is_no_tree():
    cycle = np.eye(3) + 0.3
    assert tree_solution(cycle, EVERY) is None


def test_components_are_those_of_the_linked_pairs():
    S = np.eye(5)
    S[0, 3] = S[3, 0] = 0.5
    S[3, 4] = S[4, 3] = -0.3
    S[1, 2] = S[2, 1] = 0.05
    found = components(S, EVERY)
    assert [part.tolist() for part in found] == [[0, 3, 4], [1], [2]]
    forbidden = np.full((5, 5), 0.1)
    forbidden[3, 4] = forbidden[4, 3] = np.inf
    assert [len(part) for part in components(S, forbidden)] == [2, 1, 1, 1]
