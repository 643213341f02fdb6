"""The balanced error of several classes."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from auctor import MetricClassifier


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_error_of_three_classes_is_balanced_accuracy(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 1.0).astype(int) + (X[:, 1] > 1.2)]
    weight = rng.uniform(0.1, 2.0, size=300) if weighted else None
    model = MetricClassifier("balanced_error").fit(X, y)
    wanted = balanced_accuracy_score(y, model.predict(X), sample_weight=weight)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(wanted, abs=1e-12)
    two = np.isin(y, ["a", "b"])
    wanted = np.mean([np.mean(model.predict(X[y == one]) == one) for one in "ab"])
    assert model.score(X[two], y[two]) == pytest.approx(wanted, abs=1e-12)
