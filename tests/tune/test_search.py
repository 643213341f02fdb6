"""`SearchCV` against what RandomizedSearchCV promises."""

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from auctor.core.errors import AuctorError, DataError, DataWarning
from auctor.tune import Conditional, DfoTr, Float, SearchCV

X, y = make_classification(150, 6, n_informative=3, flip_y=0.1, random_state=0)
SPACE = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)}
LOGISTIC = {"C": Float(1e-4, 1e4, log=True)}


def test_an_svm_is_tuned_by_changing_one_class_name():
    space = {"svc__C": loguniform(1e-3, 1e3), "svc__gamma": loguniform(1e-4, 1e1)}
    model = make_pipeline(StandardScaler(), SVC())
    found = [
        kind(model, space, n_iter=12, scoring="roc_auc", cv=3, random_state=0).fit(X, y)
        for kind in (RandomizedSearchCV, SearchCV)
    ]
    theirs, ours = found
    assert ours.best_score_ > theirs.best_score_ - 0.02
    missing = {k for k in theirs.cv_results_ if not k.startswith("param_")} - set(ours.cv_results_)
    assert missing == set()
    assert len(ours.cv_results_["params"]) == 12
    np.testing.assert_array_equal(ours.predict(X), ours.best_estimator_.predict(X))
    assert ours.score(X, y) == ours.scorer_(ours.best_estimator_, X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


def test_scores_are_those_of_cross_validation():
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    search = SearchCV(SVC(), SPACE, scoring="roc_auc", cv=folds, budget=8, cut_folds=False).fit(
        X, y
    )
    assert (search.cv_results_["n_folds"] == 4).all()
    for i, params in enumerate(search.cv_results_["params"]):
        wanted = cross_val_score(SVC(**params), X, y, scoring="roc_auc", cv=folds)
        own = [search.cv_results_[f"split{k}_test_score"][i] for k in range(4)]
        np.testing.assert_allclose(own, wanted)
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(wanted.mean())
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_score"])
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1


def test_cut_folds_spare_fits_and_keep_the_best():
    whole = SearchCV(SVC(), SPACE, scoring="roc_auc", budget=25, cut_folds=False).fit(X, y)
    cut = SearchCV(SVC(), SPACE, scoring="roc_auc", budget=25).fit(X, y)
    assert cut.n_folds_cut_ > 10
    assert cut.best_score_ > whole.best_score_ - 0.01
    best = cut.best_index_
    assert cut.cv_results_["n_folds"][best] == 5
    short = cut.cv_results_["n_folds"] < 5
    assert (cut.cv_results_["mean_test_score"][short] < cut.best_score_).all()
    assert np.isnan(cut.cv_results_["split4_test_score"][short]).all()


@pytest.mark.parametrize("method", ["dfo-tr", "random", "nelder-mead", "tpe", "gp"])
def test_every_method_sees_the_same_folds(method):
    if method in ("tpe", "gp"):
        pytest.importorskip("optuna")
    if method == "gp":
        pytest.importorskip("torch")
    search = SearchCV(SVC(), SPACE, scoring="roc_auc", budget=12, method=method, random_state=0)
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_score_ > 0.8


def test_a_method_may_be_an_engine():
    search = SearchCV(SVC(), SPACE, method=DfoTr(kind="stepwise", radius=0.1), budget=8).fit(X, y)
    assert len(search.cv_results_["params"]) == 8


def test_several_metrics_and_refit_by_name_or_callable():
    scoring = {"auc": "roc_auc", "acc": make_scorer(accuracy_score)}
    search = SearchCV(SVC(), SPACE, scoring=scoring, refit="acc", budget=8, cv=3).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_acc"].max()
    assert "mean_test_auc" in search.cv_results_
    assert search.score(X, y) == accuracy_score(y, search.predict(X))
    last = SearchCV(
        SVC(), SPACE, scoring=["roc_auc", "accuracy"], refit=lambda table: 2, budget=5, cv=3
    ).fit(X, y)
    assert last.best_index_ == 2
    assert not hasattr(last, "best_score_")
    with pytest.raises(AuctorError, match="refit to name"):
        SearchCV(SVC(), SPACE, scoring=["roc_auc", "accuracy"], budget=2).fit(X, y)


def test_no_refit_leaves_no_estimator():
    search = SearchCV(SVC(), SPACE, refit=False, budget=3).fit(X, y)
    assert not hasattr(search, "best_estimator_")
    assert search.best_params_ in search.cv_results_["params"]


def test_groups_reach_the_splitter_and_weights_the_fit():
    groups = np.arange(150) % 7
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 150)
    search = SearchCV(LogisticRegression(), LOGISTIC, cv=GroupKFold(3), budget=4, cut_folds=False)
    search.fit(X, y, groups=groups, sample_weight=weight)
    params = search.cv_results_["params"][1]
    train, test = next(GroupKFold(3).split(X, y, groups))
    model = LogisticRegression(**params).fit(X[train], y[train], sample_weight=weight[train])
    assert search.cv_results_["split0_test_score"][1] == model.score(X[test], y[test])
    best = LogisticRegression(**search.best_params_).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(search.best_estimator_.coef_, best.coef_)


def test_jobs_and_batches_do_not_change_what_a_seed_gives():
    found = [
        SearchCV(SVC(), SPACE, budget=6, cv=3, n_jobs=jobs, batch=2, random_state=3).fit(X, y)
        for jobs in (1, 2)
    ]
    one, two = (search.cv_results_["mean_test_score"] for search in found)
    np.testing.assert_array_equal(one, two)


def test_fitting_again_gives_the_same_and_clone_keeps_parameters():
    search = SearchCV(SVC(), SPACE, budget=6, cv=3)
    first = search.fit(X, y).cv_results_["params"]
    assert clone(search).fit(X, y).cv_results_["params"] == first
    assert search.fit(X, y).cv_results_["params"] == first


class Fragile(LogisticRegression):
    """Fails for weak regularisation."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1.0:
            raise ValueError("too weak")
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_failing_candidates_are_survived_or_raised():
    search = SearchCV(Fragile(), LOGISTIC, budget=15, start={"C": 1e-2}).fit(X, y)
    assert search.n_failed_ > 0
    assert search.best_params_["C"] <= 1.0
    with pytest.raises(ValueError, match="too weak"):
        SearchCV(Fragile(), LOGISTIC, budget=15, error_score="raise").fit(X, y)
    with pytest.raises(DataError, match="all failed"):
        SearchCV(Fragile(), {"C": Float(2.0, 3.0)}, budget=3).fit(X, y)
    assert issubclass(FitFailedWarning, Warning)


def test_conditional_parameters_and_lists_of_spaces_say_that_they_are_drawn():
    space = {
        "kernel": ["rbf", "linear"],
        "gamma": Conditional(Float(1e-3, 1.0, log=True), {"kernel": "rbf"}),
    }
    with pytest.warns(DataWarning, match="gamma independently"):
        search = SearchCV(SVC(), space, budget=8, cv=3).fit(X, y)
    column = search.cv_results_["param_gamma"]
    kernels = search.cv_results_["param_kernel"]
    assert ((kernels == "linear") == column.mask).all()
    with pytest.warns(DataWarning, match="at random"):
        SearchCV(SVC(), [{"kernel": ["linear"]}, SPACE], budget=4, cv=3).fit(X, y)


def test_on_step_and_seconds_end_the_search():
    seen = []
    SearchCV(SVC(), SPACE, budget=50, on_step=lambda s: seen.append(s) or len(seen) >= 3).fit(X, y)
    assert [step["candidate"] for step in seen] == [1, 2, 3]
    search = SearchCV(SVC(), SPACE, budget=5000, max_seconds=0.2).fit(X, y)
    assert len(search.cv_results_["params"]) < 1000


def test_a_fixed_space_is_one_candidate():
    search = SearchCV(SVC(), {"C": [1.0]}, budget=9).fit(X, y)
    assert search.best_params_ == {"C": 1.0}


def test_the_history_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    search = SearchCV(SVC(), SPACE, budget=4, cv=3).fit(X, y)
    ax = search.plot_history()
    assert len(ax.lines) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"space": {}},
        {"space": []},
        {"method": "luck"},
        {"budget": 0},
        {"batch": 0},
        {"start": {"C": 1.0}},
    ],
)
def test_bad_input_is_refused(change):
    given = {"estimator": SVC(), "space": SPACE, "budget": 2} | change
    with pytest.raises(AuctorError):
        SearchCV(**given).fit(X, y)
