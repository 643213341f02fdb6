"""The words that kernel machines share with the other estimators: strength, metric, pos_label."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

import auctor
from auctor import KernelClassifier, KernelRegressor
from auctor.core.errors import ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
INSIDE = np.where((X**2).sum(axis=1) + 0.8 * RNG.normal(size=300) < 1.2, "yes", "no")
WEIGHT = RNG.integers(1, 4, 300).astype(float)


def test_strength_and_C_are_one_number():
    by_C = KernelClassifier(C=2.0).fit(X, INSIDE, WEIGHT)
    by_strength = KernelClassifier(strength=0.5 / WEIGHT.sum()).fit(X, INSIDE, WEIGHT)
    usual, one = KernelClassifier().fit(X, INSIDE), KernelClassifier(C=1.0).fit(X, INSIDE)
    for a, b in ((by_C, by_strength), (usual, one)):
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-12)
    y = X[:, 0] ** 2
    curves = KernelRegressor(C=3.0).fit(X, y), KernelRegressor(strength=1.0 / 900.0).fit(X, y)
    np.testing.assert_allclose(curves[0].predict(X), curves[1].predict(X), rtol=1e-12)
    with pytest.raises(ParameterError, match=r"one of strength and C.*both"):
        KernelClassifier(strength=0.1, C=1.0).fit(X, INSIDE)


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_the_metric_is_scored_and_sets_the_threshold(positive):
    train, test = slice(200), slice(200, None)
    model = KernelClassifier(metric="fbeta(3)", pos_label=positive).fit(X[train], INSIDE[train])
    usual = KernelClassifier(pos_label=positive).fit(X[train], INSIDE[train])
    assert model.pos_label_ == positive
    # Recall counts most, so that more rows are predicted positive; the functions are the same.
    assert (model.predict(X) == positive).sum() > (usual.predict(X) == positive).sum()
    np.testing.assert_allclose(
        model.decision_function(X) + model.threshold_, usual.decision_function(X), rtol=1e-9
    )
    f1 = KernelClassifier(metric="f1", pos_label=positive).fit(X[train], INSIDE[train])
    wanted = f1_score(INSIDE[test], f1.predict(X[test]), pos_label=positive)
    assert f1.score(X[test], INSIDE[test]) == pytest.approx(wanted)


def test_error_is_the_default_with_the_threshold_zero():
    model = KernelClassifier().fit(X, INSIDE)
    assert model.threshold_.tolist() == [0.0]
    assert model.score(X, INSIDE) == (model.predict(X) == INSIDE).mean()
    assert 0.5 < KernelClassifier(metric="auc").fit(X, INSIDE).score(X, INSIDE) < 1.0


def test_log_loss_needs_probabilities():
    with pytest.raises(ParameterError, match="no log-odds"):
        KernelClassifier(metric="log_loss").fit(X, INSIDE)


def test_files_keep_the_threshold_and_the_positive_class(tmp_path):
    model = KernelClassifier(metric="f1", pos_label="no", calibrate="sigmoid").fit(X, INSIDE)
    auctor.save(model, tmp_path / "m")
    other = auctor.load(tmp_path / "m")
    assert other.pos_label_ == "no"
    assert other.threshold_.tolist() == model.threshold_.tolist() != [0.0]
    assert (other.predict(X) == model.predict(X)).all()
    assert (other.predict_proba(X) == model.predict_proba(X)).all()
    assert other.score(X, INSIDE) == model.score(X, INSIDE)
