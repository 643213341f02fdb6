"""Losses of any contingency table and of rankings, against all labellings and permutations."""

from itertools import permutations, product

import numpy as np
import pytest

from auctor.core.errors import AuctorError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.lab.losses import MatchingLoss, TableLoss
from auctor.losses import FBeta, Hinge, Prbep, PrecisionAtK, RecallAtK
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Bmrm
from auctor.testing import LossSuite


def balanced(a, b, c, d):
    return 0.5 * (b / (b + d) + c / (a + c))


def break_even(a, b, c, d):
    return np.where(b == c, c / (a + c), -np.inf)


def f_two(a, b, c, d):
    return 1.0 - 5.0 * a / (5.0 * a + 4.0 * c + b)


def crooked(a, b):
    return np.sin(3.0 * a) + 0.3 * np.abs(b - 2.0)


def case(seed, n=9):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.integers(-3, 4, n) / 2.0, Target(y)  # with ties


@pytest.mark.parametrize("delta", [balanced, break_even, f_two, crooked])
@pytest.mark.parametrize("seed", range(4))
def test_value_and_slope_are_those_of_the_worst_of_all_labellings(delta, seed):
    scores, target = case(seed)
    y, best = target.y, -np.inf
    for z in product((-1.0, 1.0), repeat=y.size):
        z = np.array(z)
        up = y > 0
        a, b = float((up & (z > 0)).sum()), float((~up & (z > 0)).sum())
        counts = (a, b) if delta is crooked else (a, b, up.sum() - a, (~up).sum() - b)
        best = max(best, float(delta(*counts)) + float(scores @ (z - y)) / y.size)
    loss = TableLoss(delta)
    value, slope = loss.value_grad(scores, target)
    assert value == pytest.approx(best, abs=1e-12)
    for other in np.random.default_rng(seed).normal(size=(20, y.size)):
        assert loss.value(other, target) >= value + slope @ (other - scores) - 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_known_losses_are_special_cases(seed):
    scores, target = case(seed, n=40)
    pos, neg = (rows.rows.size for rows in target.classes)
    assert TableLoss(f_two).value(scores, target) == pytest.approx(
        FBeta(2.0, whole=True).value(scores, target), abs=1e-12
    )
    assert TableLoss(break_even).value(scores, target) == pytest.approx(
        Prbep().value(scores, target), abs=1e-12
    )
    for k in (3, pos, 25):
        # Losses at k compare with the average ideal labelling, which predicts k rows positive.
        missed, false = max(0.0, 1.0 - k / pos), max(0.0, (k - pos) / neg)
        ideal = np.where(target.y > 0, 1.0 - 2.0 * missed, -1.0 + 2.0 * false)
        moved = float(scores @ (ideal - target.y)) / 40
        at_k = TableLoss(lambda a, b, k=k: np.where(a + b == k, b / k, -np.inf))
        same = PrecisionAtK(k).value(scores, target) + moved
        assert at_k.value(scores, target) == pytest.approx(same, abs=1e-12)
        recall = TableLoss(lambda a, b, c, d, k=k: np.where(a + b == k, c / (a + c), -np.inf))
        same = RecallAtK(k).value(scores, target) + moved
        assert recall.value(scores, target) == pytest.approx(same, abs=1e-12)
    # The error rate is a sum over rows: a hinge of twice the score.
    error = TableLoss(lambda a, b, c, d: (b + c) / (a + b + c + d))
    halved = 0.5 * Hinge().value(2.0 * scores, target)
    assert error.value(scores, target) == pytest.approx(2.0 * halved, abs=1e-12)


def test_cutting_planes_end_with_a_certificate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0.7, 1.0, -1.0)
    found, known = (
        minimise(Problem(loss, L2(0.01), as_data(X, y)), Bmrm(), tol=1e-8)
        for loss in (TableLoss(f_two), FBeta(2.0, whole=True))
    )
    assert found.certified
    assert found.gap <= 1e-8
    assert found.value == pytest.approx(known.value, abs=2e-8)


def test_a_large_table_is_read_in_parts(monkeypatch):
    scores, target = case(0, n=60)
    whole = TableLoss(f_two).value_grad(scores, target)
    monkeypatch.setattr("auctor.lab.losses.table.PART", 100)
    parts = TableLoss(f_two).value_grad(scores, target)
    assert whole[0] == parts[0]
    np.testing.assert_array_equal(whole[1], parts[1])


EXAMPLES = [*TableLoss.examples(), MatchingLoss()]


@pytest.mark.parametrize("loss", EXAMPLES, ids=["error", "jaccard", "matching"])
def test_conformance(loss):
    LossSuite(loss).run()


def test_measures_that_do_not_fit_are_refused():
    scores, target = case(0)
    with pytest.raises(AuctorError, match="TableLoss needs delta to be a function of 2 or of 4"):
        TableLoss(lambda a: a)
    with pytest.raises(AuctorError, match="arrays that broadcast"):
        TableLoss(lambda a, b: np.zeros(77)).value(scores, target)
    with pytest.raises(AuctorError, match="TableLoss needs delta that allows a table"):
        TableLoss(lambda a, b: a * np.nan + b).value(scores, target)
    with pytest.raises(AuctorError, match="equal weights"):
        TableLoss(crooked).check_target(Target(target.y, np.arange(1.0, 10.0)))


@pytest.mark.parametrize("seed", range(4))
def test_matching_is_the_worst_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    relevance, scores = rng.integers(0, 3, 6).astype(float), rng.normal(size=6)
    relevance[0] = 2.0
    discount = 1.0 / np.log2(np.arange(2.0, 8.0))
    weight = np.arange(1.0, 7.0) ** -0.25
    gain = 2.0**relevance - 1.0
    ideal = np.sort(gain)[::-1] @ discount
    orders = [list(order) for order in permutations(range(6))]
    # Of all orders by relevance, the mean.
    true = np.mean([scores[o] for o in orders if (np.diff(relevance[o]) <= 0.0).all()], axis=0)
    best = max(1.0 - gain[o] @ discount / ideal + (scores[o] - true) @ weight for o in orders)
    loss, target = MatchingLoss(), Target(relevance)
    value, slope = loss.value_grad(scores, target)
    assert value == pytest.approx(best, abs=1e-12)
    # An upper bound of 1 - NDCG of the ranking by the scores, and a subgradient.
    ranked = np.argsort(-scores)
    assert value >= 1.0 - gain[ranked] @ discount / ideal - 1e-12
    for other in rng.normal(size=(20, 6)):
        assert loss.value(other, target) >= value + slope @ (other - scores) - 1e-12


def test_lists_are_ranked_one_by_one():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=12), rng.integers(0, 3, 12).astype(float)
    groups = np.repeat([3, 1, 2], 4)
    loss = MatchingLoss()
    value, slope = loss.value_grad(scores, Target(y, groups=groups))
    parts = [loss.value_grad(scores[groups == g], Target(y[groups == g])) for g in (3, 1, 2)]
    assert value == pytest.approx(np.mean([one for one, _ in parts]), abs=1e-12)
    np.testing.assert_allclose(slope, np.concatenate([one for _, one in parts]) / 3.0)
    with pytest.raises(AuctorError, match="MatchingLoss needs relevances"):
        loss.check_target(Target(-y - 1.0))
