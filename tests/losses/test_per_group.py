"""Losses at k per group: convex, bounds of the metric, with a certificate."""

import numpy as np
import pytest

from auctor import AdditiveClassifier, MetricClassifier, MetricClassifierCV
from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.losses import PrecisionAtK, RecallAtK
from auctor.losses.per_group import PerGroup
from auctor.metrics import precision_at_k, recall_at_k

LOSSES = [
    (PerGroup(PrecisionAtK(2)), precision_at_k),
    (PerGroup(RecallAtK(3)), recall_at_k),
    (PerGroup(PrecisionAtK(0.2)), precision_at_k),
]


def case(seed, n=80):
    rng = np.random.default_rng(seed)
    groups = np.append(rng.integers(0, 6, n - 3), [6, 7, 7])  # also tiny groups
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return rng.normal(size=n), Target(y, rng.choice([1.0, 2.0], n), groups)


@pytest.mark.parametrize(("loss", "metric"), LOSSES)
def test_it_bounds_the_metric_and_lies_above_its_tangents(loss, metric):
    for seed in range(5):
        scores, target = case(seed)
        loss.check_target(target)
        value, slope = loss.value_grad(scores, target)
        k = loss.loss.k
        reached = metric(target.y, scores, k, groups=target.groups, weight=target.weight)
        assert value >= 1.0 - reached - 1e-12
        # Fenchel: the conjugate is attained at a slope, and bounds the loss everywhere.
        conjugate = loss.conjugate(slope, target)
        assert conjugate == pytest.approx(slope @ scores - value, abs=1e-12)
        for other in range(5):
            moved = scores + np.random.default_rng(other).normal(size=scores.size)
            assert loss.value(moved, target) >= slope @ moved - conjugate - 1e-12


def test_slopes_are_finite_differences():
    scores, target = case(9)
    for loss, _ in LOSSES:
        _, slope = loss.value_grad(scores, target)
        for i in range(0, scores.size, 7):
            step = np.zeros_like(scores)
            step[i] = 1e-6
            change = loss.value(scores + step, target) - loss.value(scores - step, target)
            assert change / 2e-6 == pytest.approx(slope[i], abs=1e-8)


def rows(n=900):
    rng = np.random.default_rng(0)
    X, day = rng.normal(size=(n, 3)), rng.integers(0, 9, n)
    return X, X[:, 0] + 0.5 * X[:, 1] > 1.4, day


@pytest.mark.parametrize("surrogate", ["logistic", "pairwise", "max_margin"])
def test_training(surrogate):
    X, y, day = rows()
    metric = 'precision_at_k(5, per="day")'
    model = MetricClassifier(metric, surrogate=surrogate, strength=1e-4).fit(X, y, groups=day)
    assert model.solution_.converged
    assert model.gap_ <= 1e-4
    assert model.score(X, y, groups=day) > 0.9
    assert model.predict(X).sum() == 45  # five of each of nine days
    expected = precision_at_k(y, model.decision_function(X), 5, groups=day)
    assert model.score(X, y, groups=day) == expected


def test_search_and_curves():
    X, y, day = rows(400)
    metric = "recall_at_k(10, per=day)"
    search = MetricClassifierCV(metric, n_strengths=2).fit(X, y, groups=day)
    assert search.score(X, y, groups=day) > 0.8
    curves = AdditiveClassifier(metric, members=2, interactions=0).fit(X, y, groups=day)
    assert curves.score_oof_ > 0.8


def test_bad_input():
    X, y, day = rows(300)
    with pytest.raises(DataError, match="the group of each row"):
        MetricClassifier("precision_at_k(5, per=day)").fit(X, y)
    with pytest.raises(DataError, match="largest group"):
        MetricClassifier("precision_at_k(100, per=day)").fit(X, y, groups=day)
    model = MetricClassifier("precision_at_k(5, per=day)").fit(X, y, groups=day)
    with pytest.raises(DataError, match="the group of each row"):
        model.score(X, y)
    with pytest.raises(DataError, match="more than k rows"):
        PerGroup(PrecisionAtK(2)).check_target(
            Target(np.array([1.0, -1.0]), None, np.zeros(2, dtype=int))
        )
