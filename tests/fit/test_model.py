"""Models without scikit-learn predict what the estimators do."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import auctor
from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV
from auctor.core.errors import DataError, ParameterError
from auctor.lab import learners
from auctor.saved import read_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
TWO = np.where(X[:, 0] + RNG.normal(size=120) > 0.5, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=120), [-0.5, 0.5])

MODELS = [
    (MetricClassifier("auc", strength=0.01), TWO),
    (MetricClassifier("f1", surrogate="logistic", calibrate="isotonic"), TWO),
    (MetricClassifier("log_loss", average="micro"), THREE),
    (MetricClassifierCV("error", n_strengths=3, cv=2, calibrate="sigmoid"), THREE),
]
IDS = ["auc", "isotonic", "log_loss", "search"]


@pytest.mark.parametrize(("model", "y"), MODELS, ids=IDS)
def test_a_file_read_without_scikit_learn_predicts_the_same(model, y, tmp_path):
    model.fit(X, y)
    auctor.save(model, tmp_path / "m")
    for other in (read_model(tmp_path / "m"), model.model_):
        assert np.array_equal(other.predict(X), model.predict(X))
        assert np.array_equal(other.decision_function(X), model.decision_function(X))
        assert other.score(X, y) == model.score(X, y)
        if hasattr(model, "predict_proba"):
            assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
        else:
            with pytest.raises(
                ParameterError, match="a calibrated model, or one trained on log_loss"
            ):
                other.predict_proba(X)


def test_regressors_and_learners_are_linear_models_too(tmp_path):
    model = LinearRegressor("poisson").fit(X, np.abs(X[:, 0]))
    auctor.save(model, tmp_path / "m")
    assert np.array_equal(read_model(tmp_path / "m").predict(X), model.predict(X))
    learner = learners.Opauc().fit(X, TWO)
    auctor.save(learner, tmp_path / "m")
    other = read_model(tmp_path / "m")
    assert np.array_equal(other.decision_function(X), learner.decision_function(X))
    assert np.array_equal(other.predict(X), learner.predict(X))


def test_schema_and_names_come_along(tmp_path):
    table = pd.DataFrame(X, columns=list("abcd"))
    model = MetricClassifier("auc").fit(table, TWO)
    auctor.save(model, tmp_path / "m", schema={"columns": []})
    other = read_model(tmp_path / "m")
    assert other.schema == {"columns": []}
    assert other.feature_names == ("a", "b", "c", "d")
    assert np.array_equal(other.predict(table), model.predict(table))
    with pytest.raises(DataError, match=r"the columns used in fit, in their order; got .*'d'"):
        other.predict(table[list("dcba")])
    with pytest.raises(DataError, match="4 columns; got 3"):
        other.predict(X[:, :3])
    with pytest.raises(DataError, match="a label for each of 120 rows"):
        other.score(X, TWO[:5])


PREDICT = """
import sys
import numpy as np
import auctor

for path in sys.argv[1:]:
    model = auctor.saved.read_model(path)
    print(model.predict(np.ones((2, 4)))[0])
    if getattr(model, "calibrators", None):
        assert model.predict_proba(np.ones((2, 4))).shape[0] == 2
assert "sklearn" not in sys.modules, "scikit-learn was imported"
"""


@pytest.mark.slow  # a process; `auctor predict` is tested for the same
def test_prediction_needs_no_scikit_learn(tmp_path):
    fitted = [model.fit(X, y) for model, y in MODELS]
    fitted.append(LinearRegressor("huber").fit(X, X[:, 0]))
    paths = [str(tmp_path / f"{k}.auctor") for k in range(len(fitted))]
    for model, path in zip(fitted, paths, strict=True):
        auctor.save(model, path)
    run = subprocess.run(
        [sys.executable, "-c", PREDICT, *paths], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [str(model.predict(np.ones((2, 4)))[0]) for model in fitted]


def test_micro_average_compares_scores_without_their_thresholds():
    # Ranks of different classes: a common offset of one class must not matter.
    model = MetricClassifier("auc", average="micro", strength=1e-3).fit(X, THREE)
    hits = THREE[:, None] == np.arange(3)
    found = model.score(X, THREE)
    assert found == pytest.approx(roc_auc_score(hits, model.decision_function(X), average="micro"))
    raw = model.decision_function(X) + model.threshold_
    assert found > roc_auc_score(hits, raw, average="micro") + 0.01


@pytest.mark.slow  # a process of its own; test_predict.py starts one that imports the package
def test_rooms_are_there_after_importing_the_package():
    code = "import auctor; auctor.saved.read_model, auctor.fit, auctor.streaming; dir(auctor)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "saved" in dir(auctor)
