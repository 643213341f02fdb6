"""Nested cross-validation of classifiers, with the tests of verdicts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from auctor import MetricClassifier
from auctor.contenders.nested import nested_cv
from auctor.core.errors import AuctorError
from auctor.evaluate.verdict import delong_over_folds, holm
from auctor.metrics import compare_auc


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    return X, X[:, 0] + X[:, 1] ** 2 + rng.normal(size=240) > 0.8


MODELS = {
    "constant": DummyClassifier(strategy="prior"),
    "logistic": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring="roc_auc", cv=3),
    "bayes": GaussianNB(),
}


def test_folds_values_and_tests_are_those_of_scikit_learn(rows):
    X, y = rows
    found = nested_cv(MODELS, X, y, folds=4)
    by_name = {row.name: row for row in found.rows}
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    scores = {
        name: [model.fit(X[train], y[train]).predict_proba(X[test])[:, 1] for train, test in folds]
        for name, model in MODELS.items()
    }
    for name, held in scores.items():
        values = [roc_auc_score(y[test], s) for (_, test), s in zip(folds, held, strict=True)]
        np.testing.assert_allclose(by_name[name].values, values, atol=1e-12)
    assert found.best == max(by_name, key=lambda name: by_name[name].mean)
    others = [name for name in MODELS if name != found.best]
    t_tests, delongs = [], []
    for name in others:
        lag = np.subtract(by_name[name].values, by_name[found.best].values)
        t = lag.mean() / np.sqrt(lag.var(ddof=1) * (1 / 4 + 1 / 3))
        t_tests.append(2.0 * stats.t.sf(abs(t), 3))
        pairs = zip(folds, scores[name], scores[found.best], strict=True)
        parts = [compare_auc(y[test], a, b) for (_, test), a, b in pairs]
        z = sum(one.difference for one in parts) / np.sqrt(
            sum(one.standard_error**2 for one in parts)
        )
        delongs.append(2.0 * stats.norm.sf(abs(z)))
    assert [by_name[name].p_value for name in others] == pytest.approx(holm(t_tests))
    assert [by_name[name].delong for name in others] == pytest.approx(holm(delongs))


def test_the_advice_is_the_simplest_whose_lag_may_be_chance(rows):
    X, y = rows
    kinds = {"constant": "constant", "logistic": "linear", "bayes": "trees"}
    frame = pd.DataFrame(X, columns=list("abc"))
    found = nested_cv(MODELS, frame, np.where(y, "bad", "good"), kinds=kinds, pos_label="bad")
    assert found.advice.startswith("Take ")
    assert found.best in found.level
    assert nested_cv(MODELS, X, y).advice == ""
    weighted = nested_cv(
        {"a": MetricClassifier("auc"), "b": GaussianNB()}, X, y, metric="f1",
        sample_weight=np.arange(1.0, 241.0), repeats=2,
    )  # fmt: skip
    assert all(len(row.values) == 10 and np.isnan(row.delong) for row in weighted.rows)


def test_delong_over_folds_covers_the_truth():
    """Of equally good scores about one in twenty differs significantly."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        tests = []
        for _ in range(4):
            y = np.arange(60) % 3 == 0
            signal = y + rng.normal(size=60)
            tests.append(compare_auc(y, signal + rng.normal(size=60), signal + rng.normal(size=60)))
        hits += delong_over_folds(tests, 4) < 0.05
    assert 3 <= hits <= 32


def test_what_cannot_be_compared_is_refused(rows):
    X, y = rows
    with pytest.raises(AuctorError, match="nested_cv needs at least two models"):
        nested_cv({"a": GaussianNB()}, X, y)
    with pytest.raises(AuctorError, match="kinds among"):
        nested_cv(MODELS, X, y, kinds=dict.fromkeys(MODELS, "magic"))
    with pytest.raises(AuctorError, match="at least 5 rows of each class"):
        nested_cv(MODELS, X, np.arange(240) < 3)
