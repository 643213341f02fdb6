"""The two-way partial AUC and its surrogate, against brute force over pairs."""

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.errors import ParameterError
from auctor.core.types import Target
from auctor.losses import PairwiseHinge, PartialPairwiseHinge, TwoWayPairwiseHinge
from auctor.metrics import partial_auc


def case(seed, n=40):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return y, rng.normal(size=n) + 0.7 * y


@pytest.mark.parametrize(("max_fpr", "min_tpr"), [(0.5, 0.5), (0.1, 0.9), (1.0, 0.0), (0.3, 0.0)])
def test_whole_rows(max_fpr, min_tpr):
    for seed in range(5):
        y, scores = case(seed)
        low = np.sort(scores[y > 0])[: round(20 * (1 - min_tpr))]
        high = -np.sort(-scores[y < 0])[: round(20 * max_fpr)]
        ordered = (low[:, None] > high).mean() * (1 - min_tpr) * max_fpr
        assert partial_auc(y, scores, max_fpr, min_tpr=min_tpr) == pytest.approx(ordered, abs=1e-12)
        loss = TwoWayPairwiseHinge(max_fpr, min_tpr).value(scores, Target(y))
        assert loss == pytest.approx(np.maximum(0.0, 1.0 - low[:, None] + high).mean())


def test_its_limits_are_the_known_losses():
    y, scores = case(1)
    y, weight = np.where(scores > 0.5, -y, y), np.linspace(1.0, 2.0, y.size)
    target = Target(y, weight)
    partial = PartialPairwiseHinge(0.37).value(scores, target)
    assert TwoWayPairwiseHinge(0.37, 0.0).value(scores, target) == pytest.approx(partial)
    whole = PairwiseHinge().value(scores, target)
    assert TwoWayPairwiseHinge(1.0, 0.0).value(scores, target) == pytest.approx(whole)


def test_ties_and_partial_rows_are_the_curve():
    y, scores = case(2)
    scores = np.round(scores)
    grid = np.linspace(0.0, 0.33, 200_001)
    pos, neg = scores[y > 0], scores[y < 0]
    cuts = np.unique(scores)[::-1]
    fpr = np.append(0.0, [(neg >= c).mean() for c in cuts])
    tpr = np.append(0.0, [(pos >= c).mean() for c in cuts])
    area = np.trapezoid(np.maximum(np.interp(grid, fpr, tpr) - 0.4, 0.0), grid)
    assert partial_auc(y, scores, 0.33, min_tpr=0.4) == pytest.approx(area, abs=1e-9)
    assert partial_auc(y, y, 0.33, min_tpr=0.4, standardised=True) == pytest.approx(1.0)


def test_training_is_certified():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + 0.2 * rng.normal(size=500) > 1.0
    model = MetricClassifier("partial_auc(0.2, min_tpr=0.5)", surrogate="hinge", strength=1e-3)
    model.fit(X, y)
    assert model.solution_.certified
    assert model.gap_ <= 1e-4
    score = partial_auc(y, model.decision_function(X), 0.2, min_tpr=0.5, standardised=True)
    assert model.score(X, y) == score > 0.95
    # No other weights are better than the certificate allows.
    value = model.solution_.value
    loss, target = TwoWayPairwiseHinge(0.2, 0.5), Target(np.where(y, 1.0, -1.0))
    for seed in range(20):
        w = model.coef_[0] * rng.uniform(0.5, 1.5) + 0.1 * rng.normal(size=3)
        scaled = w * X.std(axis=0)
        other = loss.value(X @ w, target) + 0.5e-3 * (scaled @ scaled)
        assert other >= value - 1e-4, seed


def test_bad_input():
    for metric in ("partial_auc(0.1, min_tpr=1)", "partial_auc(0.1, min_tpr=x)"):
        with pytest.raises(ParameterError, match="min_tpr"):
            MetricClassifier(metric).fit([[0.0], [1.0]], [0, 1])
