"""Several classes: joint log-loss, or each class against the rest, with pairs."""

import numpy as np
import pytest

from auctor import AdditiveClassifier


def _three(n=450, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    scores = np.column_stack([2.0 * X[:, 0] * X[:, 1], 2.0 * X[:, 2], np.zeros(n)])
    return X, np.array(["a", "b", "c"])[(scores + 0.3 * rng.gumbel(size=(n, 3))).argmax(axis=1)]


def test_classes_are_trained_jointly_with_pairs():
    X, y = _three()
    model = AdditiveClassifier("log_loss", members=2, interactions=1).fit(X, y)
    assert [(pair.first, pair.second) for pair in model.bins_.pairs] == [(0, 1)]
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.mean(model.predict(X) == y) > 0.8
    assert model.oof_scores_.shape == (450, 3)
    plain = AdditiveClassifier("log_loss", members=2, interactions=0).fit(X, y)
    assert model.score_oof_ > plain.score_oof_ + 0.05
    # Probabilities are those of the scores.
    odds = np.exp(model.decision_function(X))
    np.testing.assert_allclose(shares, odds / odds.sum(axis=1, keepdims=True), atol=1e-9)
    parts = model.explain(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model.decision_function(X), atol=1e-10)


def test_each_class_against_the_rest_by_another_loss():
    X, y = _three(300)
    model = AdditiveClassifier(
        "auc", surrogate="squared_hinge", members=2, interactions=1, strength=1e-3
    ).fit(X, y)
    assert model.coef_.shape[0] == 3
    assert (0, 1) in [(pair.first, pair.second) for pair in model.bins_.pairs]
    assert model.score(X, y) > 0.85
    parts = model.explain(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("metric", ["f1", "cost(5)", "balanced_error", "precision_at_k(0.1)"])
def test_metrics_decide_the_threshold_on_rows_left_out(metric):
    X, y = _three(300)
    model = AdditiveClassifier(metric, members=2, interactions=0, strength=1e-3).fit(X, y == "a")
    other = AdditiveClassifier("log_loss", members=2, interactions=0, strength=1e-3)
    other.fit(X, y == "a")
    np.testing.assert_allclose(model.oof_scores_, other.oof_scores_)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-12)
    assert other.threshold_ == 0.0 != model.threshold_
