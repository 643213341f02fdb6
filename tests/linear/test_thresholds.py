"""Thresholds and probabilities of a classifier."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

from auctor import MetricClassifier
from auctor.losses import Hinge, Logistic, PairwiseHinge
from tests.linear.fits import SURROGATES, fitted, same

# --- thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "surrogate"), SURROGATES)
@pytest.mark.parametrize("weighted", [False, True])
def test_auto_threshold_is_the_best_on_training_scores(rows, metric, surrogate, weighted):
    weight = rows.weight.astype(float) if weighted else np.ones(300)
    model = MetricClassifier(metric, surrogate=surrogate).fit(rows.X, rows.y, sample_weight=weight)
    scores = rows.X @ model.coef_[0] + model.solution_.intercept
    positive = rows.y == 1

    def cost(cut):
        predicted = scores > cut
        if metric == "error":
            return weight @ (predicted != positive)
        return abs(weight @ predicted - weight @ positive)

    if metric == "log_loss":
        assert model.threshold_[0] == 0.0
        return
    levels = np.unique(scores)
    cuts = np.r_[levels[0] - 1.0, 0.5 * (levels[1:] + levels[:-1]), levels[-1] + 1.0]
    assert cost(model.threshold_[0]) == pytest.approx(min(map(cost, cuts)))
    np.testing.assert_allclose(
        model.intercept_, model.solution_.intercept - model.threshold_, rtol=1e-15
    )
    assert np.array_equal(model.predict(rows.X) == 1, model.decision_function(rows.X) > 0.0)
    cut = scores > model.threshold_[0]
    assert (cut != (model.decision_function(rows.X) > 0.0)).sum() == 0


@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_threshold_by_hand(rows, metric):
    free, model = fitted(rows, metric, threshold=0.0), fitted(rows, metric, threshold=0.7)
    assert model.threshold_.tolist() == [0.7]
    np.testing.assert_array_equal(model.coef_, free.coef_)
    np.testing.assert_allclose(model.intercept_, free.intercept_ - 0.7, atol=1e-15)
    assert np.array_equal(model.predict(rows.X), (free.decision_function(rows.X) > 0.7) * 1)
    # The threshold is no part of the scores that are judged.
    assert metric == "error" or model.score(rows.X, rows.y) == pytest.approx(
        free.score(rows.X, rows.y), rel=1e-12
    )


@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_without_intercept(rows, metric):
    model = fitted(rows, metric, fit_intercept=False)
    assert model.intercept_.tolist() == model.threshold_.tolist() == [0.0]
    np.testing.assert_allclose(model.decision_function(rows.X), rows.X @ model.coef_[0], atol=1e-12)


@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_score_is_the_metric(rows, metric):
    model = fitted(rows, metric)
    scores = model.decision_function(rows.X)
    expected = {
        "auc": roc_auc_score(rows.y, scores, sample_weight=rows.weight),
        "error": np.average(model.predict(rows.X) == rows.y, weights=rows.weight),
        "log_loss": -np.average(
            np.logaddexp(0.0, np.where(rows.y == 1, -scores, scores)), weights=rows.weight
        ),
    }[metric]
    assert model.score(rows.X, rows.y, rows.weight) == pytest.approx(expected, rel=1e-12)


def test_a_loss_object_is_a_metric(rows):
    same(fitted(rows, Logistic()), fitted(rows, "log_loss"), tol=0.0)
    same(fitted(rows, PairwiseHinge()), fitted(rows, "auc", surrogate="hinge"), tol=0.0)
    np.testing.assert_array_equal(fitted(rows, Hinge()).coef_, fitted(rows, "error").coef_)
    assert fitted(rows, Hinge()).threshold_.tolist() == [0.0]


# --- probabilities ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_probabilities(rows, kind, metric):
    model = fitted(rows, metric, calibrate=kind)
    shares = model.predict_proba(rows.X)
    assert shares.shape == (300, 2)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    order = np.argsort(model.decision_function(rows.X))
    assert (np.diff(shares[order, 1]) >= -1e-12).all()
    assert abs(shares[:, 1].mean() - rows.y.mean()) < 0.05
    constant = -np.log(np.where(rows.y, rows.y.mean(), 1 - rows.y.mean())).mean()
    loss = -np.log(np.maximum(shares[np.arange(300), rows.y], 1e-12)).mean()
    assert loss < constant
    same(model, fitted(rows, metric), tol=0.0)  # calibration leaves the model alone


def test_probabilities_only_when_asked_for(rows):
    model = fitted(rows)
    assert not hasattr(MetricClassifier(), "predict_proba")
    assert not hasattr(model, "predict_proba")
    assert hasattr(MetricClassifier(calibrate="sigmoid"), "predict_proba")
    model.set_params(calibrate="sigmoid")
    with pytest.raises(ValueError, match="not fitted"):  # scikit-learn's NotFittedError
        model.predict_proba(rows.X)


def test_probabilities_of_an_earlier_fit_are_gone(rows):
    model = fitted(rows, calibrate="sigmoid")
    model.set_params(calibrate=None).fit(rows.X, 1 - rows.y)
    model.set_params(calibrate="sigmoid")
    with pytest.raises(ValueError, match="not fitted"):
        model.predict_proba(rows.X)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_probabilities_of_several_classes(kind):
    X, y = load_iris(return_X_y=True)
    model = MetricClassifier("log_loss", calibrate=kind).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (150, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert (shares.argmax(axis=1) == y).mean() > 0.9


def test_probabilities_come_from_rows_not_seen():
    """Labels are noise and columns many: training scores separate, out-of-fold scores do not."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 150)), (rng.random(400) < 0.3).astype(int)
    model = MetricClassifier("log_loss", strength=1e-3, calibrate="sigmoid").fit(X, y)
    assert model.score(X, y) > -0.4  # it has learned the noise
    shares = model.predict_proba(X)[:, 1]
    assert np.abs(shares - y.mean()).mean() < 0.1
    fresh = model.predict_proba(rng.normal(size=(400, 150)))[:, 1]
    assert np.abs(fresh - y.mean()).mean() < 0.1


def test_calibration_ignores_rows_without_weight(rows):
    weight = (np.arange(300) % 3 > 0).astype(float)
    one = MetricClassifier("log_loss", calibrate="sigmoid").fit(rows.X, rows.y, weight)
    kept = weight > 0
    other = MetricClassifier("log_loss", calibrate="sigmoid").fit(rows.X[kept], rows.y[kept])
    np.testing.assert_allclose(one.predict_proba(rows.X), other.predict_proba(rows.X), atol=1e-9)


@pytest.mark.parametrize("seed", [3, np.random.RandomState(3), np.random.default_rng(3)])
def test_random_state(rows, seed):
    model = MetricClassifier("log_loss", calibrate="sigmoid", random_state=seed)
    one, other = (clone(model).fit(rows.X, rows.y) for _ in range(2))
    assert np.array_equal(one.predict_proba(rows.X), other.predict_proba(rows.X))
    default = fitted(rows, "log_loss", calibrate="sigmoid")
    assert not np.array_equal(one.predict_proba(rows.X), default.predict_proba(rows.X))
