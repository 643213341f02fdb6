"""`SearchCV`: weights in scores, indices, types of columns and starts, as scikit-learn has them."""

import numpy as np
import pytest
from scipy.stats import loguniform, norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from auctor.core.errors import AuctorError, DataError, DataWarning
from auctor.tune import Float, Integer, SearchCV

X, y = make_classification(150, 6, n_informative=3, flip_y=0.1, random_state=0)
SPACE = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)}
LOGISTIC = {"C": Float(1e-4, 1e4, log=True)}


@pytest.mark.parametrize(
    "scoring", ["accuracy", None, make_scorer(accuracy_score), ["accuracy", "roc_auc"]]
)
def test_weights_score_as_in_scikit_learn(scoring):
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 150)
    common = {"scoring": scoring, "cv": 3, "refit": False}
    search = SearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, budget=2, cut_folds=False, **common)
    ours = search.fit(X, y, sample_weight=weight).cv_results_
    grid = {"C": [one["C"] for one in ours["params"]]}
    theirs = GridSearchCV(LogisticRegression(), grid, **common)
    theirs = theirs.fit(X, y, sample_weight=weight).cv_results_
    for name in (name for name in theirs if name.startswith("split")):
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-12)


def plain(model, X, y):
    return accuracy_score(y, model.predict(X))


def weighted(model, X, y, sample_weight=None):
    return accuracy_score(y, model.predict(X), sample_weight=sample_weight)


def test_a_scorer_without_weights_is_said():
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 150)
    found = {}
    for scoring in ("accuracy", weighted):
        search = SearchCV(LogisticRegression(), LOGISTIC, scoring=scoring, budget=2, cv=3)
        found[scoring] = search.fit(X, y, sample_weight=weight).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found["accuracy"], found[weighted])
    search = SearchCV(LogisticRegression(), LOGISTIC, scoring=plain, budget=2, cv=3)
    with pytest.warns(DataWarning, match="SearchCV weights rows in fits but not in scores"):
        search.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("index", [-1, 5, 1.0, None])
def test_an_index_that_is_no_candidate_is_refused(index):
    search = SearchCV(SVC(), SPACE, refit=lambda table: index, budget=5, cv=3)
    with pytest.raises(AuctorError, match="index of one of 5 candidates"):
        search.fit(X, y)


def test_columns_of_parameters_have_the_type_of_their_values():
    space = {"C": Float(0.1, 1.0), "degree": [2, 3, 4], "kernel": ["poly", "linear"]}
    space["shrinking"] = [True, False]
    table = SearchCV(SVC(), space, budget=4, cv=3).fit(X, y).cv_results_
    kinds = {name: table[f"param_{name}"].dtype.kind for name in space}
    assert kinds == {"C": "f", "degree": "i", "kernel": "O", "shrinking": "b"}


@pytest.mark.parametrize(
    ("space", "value"), [(loguniform(1e-2, 1.0), 10.0), (norm(1.0, 0.1), 9.0), (Integer(1, 9), 2.5)]
)
def test_a_start_outside_of_its_range_is_refused(space, value):
    with pytest.raises(DataError, match=f"C inside its range; got {value}"):
        SearchCV(SVC(), {"C": space}, start={"C": value}, budget=2).fit(X, y)
    inside = SearchCV(SVC(), {"C": space}, start={"C": 1}, budget=2).fit(X, y)
    assert inside.cv_results_["params"][0]["C"] == pytest.approx(1.0)
