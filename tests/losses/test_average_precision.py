"""The loss of average precision against every ranking, scikit-learn, and its own promises."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.kernels.losses.average_precision import worst_places
from auctor.losses import AveragePrecision
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, choose


def instances(count, most, seed=0):
    """Small scores and labels: ties, constant scores, one positive, mostly positives."""
    rng = np.random.default_rng(seed)
    for trial in range(count):
        n = int(rng.integers(2, most + 1))
        y = np.where(rng.random(n) < (0.2, 0.5, 0.8)[trial % 3], 1.0, -1.0)
        y[:2] = 1.0, -1.0
        scores = (0.0, 0.3, 1.0, 4.0)[int(rng.integers(4))] * rng.normal(size=n)
        yield (np.round(scores) if trial % 2 else scores), rng.permutation(y)


def average_precisions(orders, y, weight):
    """AP of rankings, one in each row of ``orders`` from the top down."""
    hit, weight = (y > 0)[orders], weight[orders]
    above = (weight * hit).cumsum(axis=1)
    return (weight * hit * above / weight.cumsum(axis=1)).sum(axis=1) / above[:, -1]


def enumerated(scores, y, weight=None):
    """The greatest 1 - AP plus wrongly ordered pairs over all rankings."""
    n_pos, n_neg = int((y > 0).sum()), int((y < 0).sum())
    orders = np.array(list(itertools.permutations(range(y.size))))
    values = 1.0 - average_precisions(orders, y, np.ones(y.size) if weight is None else weight)
    rank = orders.argsort(axis=1)
    for i, j in itertools.product(np.flatnonzero(y > 0), np.flatnonzero(y < 0)):
        wrong = rank[:, j] < rank[:, i]
        values += wrong * 2.0 / (n_pos * n_neg) * (scores[j] - scores[i])
    return values.max()


def test_the_rankings_are_judged_as_by_scikit_learn():
    rng = np.random.default_rng(0)
    y, weight = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0]), rng.uniform(size=6)
    order = rng.permutation(6)
    wanted = average_precision_score(y > 0, -order.argsort(), sample_weight=weight)
    assert average_precisions(order[None], y, weight)[0] == pytest.approx(wanted)


@pytest.mark.parametrize("factor", [None, 0.3, 4.0])
def test_it_is_the_greatest_over_all_rankings(factor):
    for scores, y in instances(60, 7, seed=1):
        weight = None if factor is None else np.where(y > 0, 1.5, 1.5 * factor)
        value = AveragePrecision().value(scores, Target(y, weight))
        assert value == pytest.approx(enumerated(scores, y, weight), abs=1e-12)


def plain_places(pos, neg, weight):
    """The definition: the best place of each negative by itself, O(P N)."""
    rank = np.arange(1.0, pos.size + 1)
    places = []
    for j, score in enumerate(neg):
        gain = weight * rank / ((rank + weight * j) * (rank + weight * (j + 1)))
        gain -= 2.0 / neg.size * (pos - score)
        sums = np.append(gain[::-1].cumsum()[::-1], 0.0)
        places.append(sums)
    return places


@pytest.mark.parametrize("weight", [1.0, 0.05, 20.0])
def test_halving_finds_the_best_place_of_every_negative(weight):
    rng = np.random.default_rng(3)
    for n_pos, n_neg in ((1, 40), (40, 1), (60, 90), (7, 300), (300, 7)):
        pos = np.sort(rng.normal(0.4, 0.5, n_pos))[::-1].copy()
        neg = np.sort(rng.normal(0.0, 0.5, n_neg))[::-1].copy()
        place = np.empty(n_neg, dtype=np.int64)
        worst_places(pos, neg, weight, place)
        assert (np.diff(place) >= 0).all()
        for j, sums in enumerate(plain_places(pos, neg, weight)):
            assert sums[place[j]] == pytest.approx(sums.max(), abs=1e-12)


def test_it_is_an_upper_bound_of_the_metric():
    for scores, y in instances(60, 40, seed=4):
        bound = AveragePrecision().value(scores, Target(y))
        assert bound >= 1.0 - average_precision_score(y > 0, scores) - 1e-12


def test_cutting_planes_certify_the_minimum():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1.3, 1.0, -1.0)
    problem = Problem(AveragePrecision(), L2(1e-2), as_data(X, y))
    assert isinstance(choose(problem), Bmrm)
    found = minimise(problem, choose(problem), tol=1e-6)
    assert found.certified
    assert found.gap <= problem.tolerance(1e-6)
    # No point near the minimum is lower than the bound.
    lower = found.value - found.gap
    for step in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            w = found.coef + step * rng.normal(size=5)
            assert problem.evaluate(w).value >= lower


def test_weights_that_differ_within_a_class_are_refused():
    y = np.array([1.0, 1.0, -1.0])
    with pytest.raises(DataError, match="equal weights within each class"):
        AveragePrecision().check_target(Target(y, np.array([1.0, 2.0, 1.0])))
    AveragePrecision().check_target(Target(y, np.array([2.0, 2.0, 1.0])))
