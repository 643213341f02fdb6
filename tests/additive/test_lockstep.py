"""Members that take their Newton steps together: the optimum of each, whatever the others are."""

import numpy as np
import pytest

from auctor.additive.bins import Bins
from auctor.additive.lockstep import advance, in_lockstep
from auctor.additive.parameters import curve_penalty
from auctor.core.types import Target
from auctor.data import Binned
from auctor.losses import Logistic, Squared
from auctor.minimise import minimise
from auctor.problem import Problem
from auctor.solvers import choose


def members(penalty, *, loss=None, signs=(0, 0, 0, 0), count=3, strength=3e-3, n=400):
    """Problems on the same codes, each without a part of the rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random((n, 4)) < 0.1] = np.nan
    X[:, 3] += np.nan_to_num(X[:, 2])
    z = np.sin(2 * np.nan_to_num(X[:, 0])) + (np.nan_to_num(X[:, 1]) > 0.5)
    y = np.where(z + 0.5 * rng.normal(size=n) > 0.6, 1.0, -1.0)
    bins = Bins.of(X)
    matrix = bins.encoded(X)
    shape = curve_penalty(penalty, bins, np.array(signs)).with_strength(strength)
    out = []
    for k in range(count):
        weight = np.where(np.arange(n) % count == k, 0.0, rng.uniform(0.5, 2.0, n))
        data = Binned(matrix, Target(y, weight))
        out.append(Problem(loss or Logistic(), shape, data))
    return out


@pytest.mark.parametrize(
    ("penalty", "signs", "loss"),
    [
        ("fused", (0, 0, 0, 0), Logistic()),
        ("fused", (1, -1, 1, 0), Logistic()),
        ("smooth", (0, 0, 0, 0), Logistic()),
        ("smooth", (1, 0, 0, -1), Logistic()),
        ("fused", (0, 0, 0, 0), Squared()),
    ],
)
def test_points_are_the_optimum_of_each_problem(penalty, signs, loss):
    problems = members(penalty, signs=signs, loss=loss)
    assert in_lockstep(problems)
    points = advance(problems, [problem.start() for problem in problems], 1e-8)
    for problem, point in zip(problems, points, strict=True):
        other = minimise(problem, choose(problem), tol=1e-9)
        assert problem.certificate(point).gap <= problem.tolerance(1e-8)
        assert point.value == pytest.approx(other.value, rel=1e-7)


@pytest.mark.parametrize("count", [2, 9])
def test_a_member_is_the_same_in_any_company(count):
    problems = members("fused", count=count)
    together = advance(problems, [problem.start() for problem in problems], 1e-6)
    for problem, point in zip(problems, together, strict=True):
        alone = advance([problem], [problem.start()], 1e-6)[0]
        np.testing.assert_array_equal(alone.w, point.w)


def test_problems_of_groups_are_left_to_their_solver():
    assert not in_lockstep(members("group"))
