"""A stranger's table: text and number columns in all units, defaults only."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import auctor
from auctor.cli.main import main


def credit(n, seed):
    """13 text and 7 number columns, 30 % bad."""
    rng = np.random.default_rng(seed)
    made = np.random.default_rng(1)
    table, score = {}, rng.normal(size=n)
    for k in range(13):
        levels = int(made.integers(2, 8))
        code = rng.integers(0, levels, n)
        score += made.normal(scale=0.35, size=levels)[code]
        table[f"text_{k}"] = np.array([f"A{k}{c}" for c in range(levels)])[code]
    for k in range(7):
        value = rng.normal(size=n)
        score += made.normal(scale=0.4) * value
        table[f"number_{k}"] = (value + 3.0) * 10.0 ** (2 * k - 6)
    frame = pd.DataFrame(table)
    frame["risk"] = np.where(score > np.quantile(score, 0.7), "bad", "good")
    return frame


@pytest.mark.slow  # a search on a thousand rows
@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
def test_defaults_are_level_with_scaled_logistic_regression(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train, test = credit(1000, 0), credit(3000, 2)
    train.to_csv("train.csv", index=False)
    test.to_csv("test.csv", index=False)
    assert main(["train", "train.csv", "--label", "risk", "--test", "test.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["positive"] == "bad"
    assert found["standardised"] is True
    X, numbers = train.drop(columns="risk"), [f"number_{k}" for k in range(7)]
    prepare = make_column_transformer(
        (StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore")
    )
    rival = make_pipeline(prepare, LogisticRegression(max_iter=1000)).fit(X, train["risk"])
    likely = rival.predict_proba(test.drop(columns="risk"))[:, 0]
    reference = roc_auc_score(test["risk"] == "bad", likely)
    assert found["test"]["auc"]["value"] > reference - 0.01
    model = auctor.load("model.auctor")
    assert isinstance(model, auctor.TableClassifier)
    assert model.pos_label_ == "bad"
    own = roc_auc_score(test["risk"] == "bad", -model.decision_function(test))
    assert own == pytest.approx(found["test"]["auc"]["value"])
    python = auctor.TableClassifier(random_state=0).fit(train, "risk")
    np.testing.assert_allclose(
        python.decision_function(test), model.decision_function(test), rtol=1e-3, atol=1e-3
    )
