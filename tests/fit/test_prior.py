"""Probabilities after subsampling and class weights are those of the population."""

import numpy as np
import pytest
from scipy.special import expit, logit

from auctor import AdditiveClassifier, MetricClassifier, TableClassifier
from auctor.core.errors import DataError, ParameterError
from auctor.metrics import calibration_error
from auctor.saved import load, save


def rows(n=20000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = rng.random(n) < expit(1.5 * X[:, 0] - 4.0)
    kept = y | (rng.random(n) < 0.1)
    return X, y, X[kept], y[kept]


MODELS = [
    MetricClassifier("log_loss"),
    MetricClassifier("log_loss", class_weight="balanced"),
    MetricClassifier("auc", calibrate="sigmoid"),
    MetricClassifier("auc", calibrate="venn_abers"),
    AdditiveClassifier(members=2, interactions=0),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_probabilities_are_those_of_the_population(model, tmp_path):
    X, y, few, labels = rows()
    plain = model.fit(few, labels)
    wrong, before = plain.predict_proba(X)[:, 1], plain.predict(X)
    moved = model.set_params(prior=float(y.mean())).fit(few, labels)
    right = moved.predict_proba(X)[:, 1]
    assert calibration_error(y, wrong).low > 0.1
    assert calibration_error(y, right).error < 0.02
    # The closed form: a constant on the log-odds.
    balanced = model.get_params().get("class_weight") == "balanced"
    share = 0.5 if balanced else labels.mean()
    if not (model.calibrate or "").startswith("venn"):
        assert logit(right) - logit(wrong) == pytest.approx(logit(y.mean()) - logit(share))
    if model.metric == "log_loss":
        assert np.array_equal(moved.predict(X), right > 0.5)
    else:
        assert np.array_equal(moved.predict(X), before)
    save(moved, tmp_path / "model.auctor")
    again = load(tmp_path / "model.auctor").predict_proba(X)[:, 1]
    assert again == pytest.approx(right, abs=1e-12)


def test_bad_input():
    X, _, few, labels = rows(500)
    with pytest.raises(ParameterError, match="probabilities for prior"):
        MetricClassifier("auc", prior=0.1).fit(few, labels)
    with pytest.raises(ParameterError, match="prior in"):
        TableClassifier("log_loss", prior=0.0).fit(few, labels)
    with pytest.raises(DataError, match="two classes"):
        MetricClassifier("log_loss", prior=0.1).fit(X, np.arange(500) % 3)
