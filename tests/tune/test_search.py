"""`SearchCV` against what RandomizedSearchCV promises."""

import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, RandomizedSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from auctor import MetricClassifier
from auctor.core.errors import AuctorError, DataWarning, MissingExtraError
from auctor.tune import Conditional, DfoTr, Float, SearchCV

X, y = make_classification(150, 6, n_informative=3, flip_y=0.1, random_state=0)
SPACE = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)}
LOGISTIC = {"C": Float(1e-4, 1e4, log=True)}


SCRIPT = """
from scipy.stats import loguniform
from sklearn.datasets import make_classification
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = make_classification(150, 6, n_informative=3, flip_y=0.1, random_state=0)
search = RandomizedSearchCV(
    estimator=make_pipeline(StandardScaler(), SVC()),
    param_distributions={"svc__C": loguniform(1e-3, 1e3), "svc__gamma": loguniform(1e-4, 1e1)},
    n_iter=12,
    scoring="roc_auc",
    n_jobs=1,
    cv=3,
    verbose=0,
    pre_dispatch="2*n_jobs",
    random_state=0,
    error_score=float("nan"),
    return_train_score=True,
)
search.fit(X, y)
"""


def test_an_svm_is_tuned_by_changing_one_class_name():
    found = []
    changed = SCRIPT.replace(
        "from sklearn.model_selection import RandomizedSearchCV", "from auctor.tune import SearchCV"
    ).replace("RandomizedSearchCV", "SearchCV")
    for text in (SCRIPT, changed):
        names = {}
        exec(text, names)
        found.append(names["search"])
    theirs, ours = found
    assert (type(theirs), type(ours)) == (RandomizedSearchCV, SearchCV)
    assert ours.best_score_ > theirs.best_score_ - 0.02
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
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
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    search = SearchCV(
        SVC(), SPACE, scoring="roc_auc", budget=12, method=method, cv=folds, random_state=0
    )
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == 12
    whole = np.flatnonzero(search.cv_results_["n_folds"] == 5)
    assert search.best_index_ in whole
    for k in (search.best_index_, whole[-1]):
        one = SVC(**search.cv_results_["params"][k])
        alone = cross_val_score(one, X, y, scoring="roc_auc", cv=folds)
        assert search.cv_results_["mean_test_score"][k] == pytest.approx(alone.mean())
    assert search.best_score_ == search.cv_results_["mean_test_score"][whole].max()


def test_a_gaussian_process_without_torch_says_what_to_install(monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.setitem(sys.modules, "torch", None)
    search = SearchCV(SVC(), SPACE, budget=12, method="gp")
    with pytest.raises(
        MissingExtraError, match=r"needs torch to search with a Gaussian process.*pip install torch"
    ):
        search.fit(X, y)


def test_a_method_may_be_an_engine():
    search = SearchCV(SVC(), SPACE, method=DfoTr(kind="stepwise", radius=0.1), budget=8).fit(X, y)
    assert len(search.cv_results_["params"]) == 8


def test_a_method_may_be_any_object_that_searches():
    class Corners:
        def search(self, evaluate, space, *, start, batch, seed):
            for corner in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]):
                evaluate([np.array(corner)])

    space = {"C": Float(0.1, 10.0), "gamma": Float(0.01, 1.0)}
    search = SearchCV(SVC(), space, method=Corners(), budget=8, cv=3).fit(X, y)
    tried = [(one["C"], one["gamma"]) for one in search.cv_results_["params"]]
    assert {(0.1, 0.01), (10.0, 0.01), (0.1, 1.0), (10.0, 1.0)} <= set(tried)


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


def test_groups_reach_the_splitter_and_weights_fits_and_scores():
    groups = np.arange(150) % 7
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 150)
    search = SearchCV(LogisticRegression(), LOGISTIC, cv=GroupKFold(3), budget=4, cut_folds=False)
    search.fit(X, y, groups=groups, sample_weight=weight)
    params = search.cv_results_["params"][1]
    train, test = next(GroupKFold(3).split(X, y, groups))
    model = LogisticRegression(**params).fit(X[train], y[train], sample_weight=weight[train])
    wanted = model.score(X[test], y[test], sample_weight=weight[test])
    assert wanted != model.score(X[test], y[test])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(wanted, abs=1e-12)
    best = LogisticRegression(**search.best_params_).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(search.best_estimator_.coef_, best.coef_)


@pytest.mark.slow
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


class Counted(MetricClassifier):
    """Counts the iterations of all fits."""

    iterations = 0

    def fit(self, X, y, sample_weight=None, groups=None):
        super().fit(X, y, sample_weight, groups)
        Counted.iterations += int(np.sum(self.n_iter_))
        return self


@pytest.mark.parametrize("scaled", [False, True])
def test_our_estimators_start_from_the_nearest_strength(scaled):
    model = Counted("log_loss", solver="lbfgs", tol=1e-8)
    space = {"strength": Float(1e-5, 1e-1, log=True)}
    if scaled:
        model = make_pipeline(StandardScaler(), model)
        space = {"counted__strength": space["strength"]}
    found, work = [], []
    for warm in (False, True):
        Counted.iterations = 0
        search = SearchCV(
            model, space, scoring="roc_auc", cv=3, budget=10, cut_folds=False, warm_starts=warm,
            refit=False,
        )  # fmt: skip
        found.append(search.fit(X, y).cv_results_)
        work.append(Counted.iterations)
    for k in range(3):
        cold, warm = (table[f"split{k}_test_score"] for table in found)
        np.testing.assert_allclose(warm, cold, atol=2e-3)
    assert work[1] < 0.75 * work[0]


def test_a_model_goes_on_from_another_one():
    first = MetricClassifier("log_loss", solver="lbfgs", tol=1e-8).fit(X, y)
    cold = clone(first).set_params(warm_start=True).fit(X, y)
    warm = clone(first).set_params(warm_start=True).continue_from(first).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, first.coef_, atol=1e-5)


def test_a_callable_may_give_several_metrics():
    def both(model, X, y):
        return {"acc": model.score(X, y), "size": -float(np.abs(model.coef_).sum())}

    search = SearchCV(LogisticRegression(), LOGISTIC, scoring=both, refit="size", budget=6, cv=3)
    search.fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_size"].max()
    assert "mean_test_acc" in search.cv_results_


def test_frames_lists_and_kernel_matrices_are_cut_by_rows():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdef"))
    given = {"C": Float(1e-2, 1e2, log=True)}
    plain, framed = (
        SearchCV(SVC(kernel="linear"), given, budget=4, cv=3).fit(rows, y).cv_results_
        for rows in (X, frame)
    )
    kernel = SearchCV(SVC(kernel="precomputed"), given, budget=4, cv=3).fit(X @ X.T, y).cv_results_
    for other in (framed, kernel):
        np.testing.assert_allclose(other["mean_test_score"], plain["mean_test_score"], atol=0.02)
    labels = ["yes" if one else "no" for one in y]
    assert SearchCV(SVC(), SPACE, budget=2, cv=3).fit(X.tolist(), labels).predict(X[:1])[0] in (
        "yes", "no",
    )  # fmt: skip


def test_routed_weights_reach_the_scorer():
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 150)
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        search = SearchCV(model, LOGISTIC, scoring=scorer, cv=3, budget=3, cut_folds=False)
        search.fit(X, y, sample_weight=weight)
    train, test = next(StratifiedKFold(3).split(X, y))
    fitted = LogisticRegression(**search.cv_results_["params"][0]).fit(X[train], y[train])
    wanted = accuracy_score(y[test], fitted.predict(X[test]), sample_weight=weight[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(wanted)


def test_conditional_parameters_and_lists_of_spaces_say_that_they_are_drawn():
    space = {
        "kernel": ["rbf", "linear"],
        "gamma": Conditional(Float(1e-3, 1.0, log=True), {"kernel": "rbf"}),
    }
    with pytest.warns(DataWarning, match="gamma at random"):
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
