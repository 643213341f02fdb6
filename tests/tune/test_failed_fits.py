"""`SearchCV`: candidates that cannot be fitted, take too long, or have no score."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from auctor.core.errors import DataError, DataWarning
from auctor.tune import Float, SearchCV

X, y = make_classification(150, 6, n_informative=3, flip_y=0.1, random_state=0)
SPACE = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)}
LOGISTIC = {"C": Float(1e-4, 1e4, log=True)}


class Fragile(LogisticRegression):
    """Fails for weak regularisation."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1.0:
            raise ValueError("too weak")
        return super().fit(X, y, sample_weight)


def test_failing_candidates_are_survived_or_raised():
    with pytest.warns(DataWarning, match="of 15 candidates that failed.*ValueError: too weak"):
        search = SearchCV(Fragile(), LOGISTIC, budget=15, start={"C": 1e-2}).fit(X, y)
    assert search.n_failed_ == np.isnan(search.cv_results_["mean_test_score"]).sum() > 0
    assert search.best_params_["C"] <= 1.0
    with pytest.raises(ValueError, match="too weak"):
        SearchCV(Fragile(), LOGISTIC, budget=15, error_score="raise").fit(X, y)
    with pytest.raises(DataError, match="3 that all failed, the first with ValueError: too weak"):
        SearchCV(Fragile(), {"C": Float(2.0, 3.0)}, budget=3).fit(X, y)


def test_a_number_as_error_score_is_shown_and_not_learnt_from():
    seen = []
    with pytest.warns(DataWarning, match="failed"):
        search = SearchCV(
            Fragile(), LOGISTIC, budget=8, start={"C": 1e-2}, error_score=-7.0, cut_folds=False,
            on_step=lambda step: seen.append(step["mean_test_score"]) and None,
        ).fit(X, y)  # fmt: skip
    shown = search.cv_results_["mean_test_score"]
    assert search.n_failed_ == (shown == -7.0).sum() == np.isnan(seen).sum() > 0
    # A candidate whose other folds are skipped shows the same score.
    with pytest.warns(DataWarning, match="failed"):
        search = SearchCV(Fragile(), LOGISTIC, budget=8, start={"C": 1e-2}, error_score=-7.0).fit(
            X, y
        )
    failed = np.array([one["C"] > 1.0 for one in search.cv_results_["params"]])
    assert (search.cv_results_["n_folds"][failed] < 5).any()
    assert (search.cv_results_["mean_test_score"][failed] == -7.0).all()


def nan_for_weak(model, X, y):
    """A scorer without an answer for weak regularisation."""
    return np.nan if model.C > 1.0 else model.score(X, y)


def test_a_score_of_nan_marks_the_candidate_failed():
    with pytest.warns(DataWarning, match="failed, the first with test_score is nan"):
        search = SearchCV(
            LogisticRegression(), LOGISTIC, scoring=nan_for_weak, budget=8, start={"C": 1e-2}
        ).fit(X, y)
    assert search.n_failed_ > 0
    assert search.best_params_["C"] <= 1.0


class Slow(LogisticRegression):
    """Takes long for weak regularisation."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1.0:
            time.sleep(0.5)
        return super().fit(X, y, sample_weight)


def test_a_fold_that_takes_too_long_marks_the_candidate_failed():
    with pytest.warns(DataWarning, match="failed, the first with TimeoutError"):
        search = SearchCV(
            Slow(), LOGISTIC, budget=5, cv=2, start={"C": 0.5}, timeout=0.2, random_state=0
        ).fit(X, y)
    assert 0 < search.n_failed_ < 5
    assert search.best_params_["C"] <= 1.0
