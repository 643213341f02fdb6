"""An integer k counts rows of the whole batch; parts of it take the same share."""

import json

import numpy as np
import pytest

from auctor import MetricClassifier, MetricClassifierCV, metrics
from auctor.cli.main import main
from auctor.core.errors import DataError
from auctor.fit.batch import best_possible, counted_rows, per_row
from auctor.fit.metric import resolve_metric
from auctor.losses import PrecisionAtK, RecallAtK
from auctor.losses.contingency import AtK


def test_a_count_becomes_a_share_of_the_rows():
    assert per_row("precision_at_k(100)", 400) == "precision_at_k(0.25)"
    assert per_row("recall_at_k(k=3)", 4) == "recall_at_k(0.75)"
    assert per_row("top(10)", 40) == "top(0.25)"
    assert per_row("precision_at_k(400)", 400) == "precision_at_k(1.0)"
    assert per_row(PrecisionAtK(100, width=0.5), 400) == PrecisionAtK(0.25, width=0.5)
    assert per_row(RecallAtK(0.1), 400) == RecallAtK(0.1)
    assert per_row(RecallAtK(500), 400) == RecallAtK(500)
    # Every loss at k says so itself, not only the two that have names.
    own = type("OwnAtK", (AtK,), {"precision": True})
    assert per_row(own(100), 400) == own(0.25)


@pytest.mark.parametrize(
    "metric", ["auc", "f1", "precision_at_k(0.1)", "cost(5)", "precision_at_k(500)", 0.3, None]
)
def test_others_stay(metric):
    assert per_row(metric, 400) == metric


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("k", [3, 6, 50, 100])
def test_the_best_possible_value_is_that_of_the_best_ranking(name, k):
    y = np.arange(200) < 6
    found = best_possible(resolve_metric(f"{name}({k})", "auto"), y)
    assert found == pytest.approx(min(6, k) / (k if name == "precision_at_k" else 6))


def test_the_words():
    warning = counted_rows("precision_at_k(100)", 1000, np.arange(200) < 6)
    assert str(warning).startswith(
        "precision_at_k(100) counts 100 of 1,000 rows: 20 of the 200 measured on, best possible 0.3"
    )
    assert counted_rows("precision_at_k(0.1)", 1000) is None


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + rng.normal(size=n) > 1.0


def test_folds_take_the_share_and_all_rows_take_k():
    """30 of 150 rows: what the search scores is the precision among a fifth of a fold."""
    X, y = table(150)
    params = {"surrogate": "logistic", "strengths": [0.1, 0.01], "cv": 5, "random_state": 0}
    counted = MetricClassifierCV("precision_at_k(30)", **params).fit(X, y)
    shared = MetricClassifierCV("precision_at_k(0.2)", **params).fit(X, y)
    np.testing.assert_array_equal(counted.scores_, shared.scores_)
    np.testing.assert_array_equal(counted.coef_, shared.coef_)
    assert counted.predict(X).sum() == 30
    assert counted.metric == "precision_at_k(30)"
    # Rows that are handed over are a batch of their own, of which k rows are taken.
    expected = metrics.precision_at_k(y[:60], counted.decision_function(X[:60]), 30)
    assert counted.score(X[:60], y[:60]) == expected


def test_more_than_a_fold_has_is_a_share_too():
    """A count of 100 was refused by a fold of 30 rows."""
    X, y = table(150)
    model = MetricClassifierCV(
        "recall_at_k(100)", surrogate="logistic", strengths=[0.1, 0.01], cv=5
    )
    assert model.fit(X, y).predict(X).sum() == 100
    with pytest.raises(DataError, match="151"):
        MetricClassifier("recall_at_k(151)").fit(X, y)


def test_calibration_folds_take_the_share():
    X, y = table(150)
    params = {"strength": 0.1, "calibrate": "sigmoid"}
    counted = MetricClassifier("precision_at_k(120)", **params).fit(X, y)
    shared = MetricClassifier("precision_at_k(0.8)", **params).fit(X, y)
    np.testing.assert_array_equal(counted.predict_proba(X), shared.predict_proba(X))


def test_train_says_what_k_is_scaled_to(tmp_path, capsys):
    """50 of 200 rows: 40 of the 160 trained on, 10 of the 40 held out; about 10 are flagged."""
    X, y = table(200)
    path, out = tmp_path / "rows.csv", tmp_path / "model.auctor"
    rows = [f"{a:.5f},{b:.5f},{int(hit)}" for (a, b), hit in zip(X[:, :2], y, strict=True)]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    command = ["train", str(path), "--label", "y", "--metric", "precision_at_k(50)", "--surrogate",
               "logistic", "--strength", "0.01", "--out", str(out), "--json"]  # fmt: skip
    assert main(command) == 0
    said, told = capsys.readouterr()
    found = json.loads(said)
    positives = found["data"]["test_positives"]
    best = min(1.0, positives / 10)
    text = "precision_at_k(50) counts 50 of 200 rows: 10 of the 40 measured on, best possible"
    sentence = f"{text} {best:g}"
    assert sentence in told
    assert any(sentence in text for text in found["warnings"])
    assert found["metric"] == "precision_at_k(0.25)"
    flagged = found["test"]["confusion"]
    assert 5 <= flagged["tp"] + flagged["fp"] <= 15
    assert found["test"]["score"] <= best
