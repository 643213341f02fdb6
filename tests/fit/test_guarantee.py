"""Fits with a threshold that holds with confidence: it is set by rows that the fit did not see."""

import numpy as np
import pytest

from auctor import AdditiveClassifier, MetricClassifier, MetricClassifierCV
from auctor.core.errors import DataError


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 1.5, "fraud", "normal")


@pytest.mark.parametrize(
    "model",
    [
        MetricClassifier("auc", threshold="recall(0.8, confidence=0.95)", calibrate="sigmoid"),
        MetricClassifierCV("log_loss", threshold="recall(0.8, confidence=0.95)", n_strengths=3),
        AdditiveClassifier(threshold="recall(0.8, confidence=0.95)", members=2, interactions=0),
    ],
)
def test_new_rows_have_the_recall(model):
    X, y = rows(1200)
    model.fit(X, y)
    new, labels = rows(20000, seed=1)
    assert (model.predict(new[labels == "fraud"]) == "fraud").mean() > 0.8
    assert model.get_params()["threshold"] == "recall(0.8, confidence=0.95)"


def test_the_held_out_rows_do_not_move_the_weights():
    X, y = rows(1000)
    rule = "fpr(0.1, confidence=0.9)"
    model = MetricClassifier("auc", threshold=rule).fit(X, y)
    changed = 0
    for i in range(0, 1000, 50):
        other = X.copy()
        other[i] += 1.0
        changed += not np.array_equal(
            MetricClassifier("auc", threshold=rule).fit(other, y).coef_, model.coef_
        )
    assert 10 <= changed < 20  # one fifth is held out


def test_bad_input():
    X, y = rows(200)
    with pytest.raises(DataError, match="at least 59 positives"):
        MetricClassifier("auc", threshold="recall(0.95, confidence=0.95)").fit(X, y)
    several = np.arange(200) % 3
    with pytest.raises(DataError, match="two classes"):
        MetricClassifier("auc", threshold="recall(0.9, confidence=0.9)").fit(X, several)
