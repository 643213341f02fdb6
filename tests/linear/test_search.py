"""The strength picked on a path, out of fold, by the metric."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from auctor import AuctorError, ConvergenceWarning, MetricClassifier, MetricClassifierCV
from auctor.core.errors import DataError, ParameterError
from auctor.data import as_data
from auctor.fit import targets
from auctor.losses import Logistic, PairwiseHinge
from auctor.penalties import L1, GroupL2, NonNegative, Sum
from auctor.problem import Problem
from auctor.solvers import ProximalNewton, strength_max

#: Small grids often end where scores still rise, which is said.
pytestmark = pytest.mark.filterwarnings("ignore:.*scores still rise there:UserWarning")


def make_rows(n=160, d=8, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ (rng.normal(size=(d, classes)) * (np.arange(d) < 4)[:, None])
    y = (scores + 1.5 * rng.normal(size=scores.shape)).argmax(axis=1)
    return X, y, rng.integers(0, 4, n).astype(float)


X, Y, WEIGHT = make_rows()
X3, Y3, WEIGHT3 = make_rows(classes=3, seed=1)
SMALL = {"n_strengths": 3, "cv": 2}


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([MetricClassifierCV("log_loss", **SMALL)])
def test_check(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        return  # needs SCIPY_ARRAY_API before scipy is imported: see test_check_estimator.py
    check(estimator)


# --- the same answer as a brute-force search --------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.parametrize("class_weight", ["balanced", pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("penalty", ["l1", pytest.param("l2", marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
@pytest.mark.parametrize("rows", [(X, Y), (X3, Y3)], ids=["two classes", "three"])
def test_it_equals_a_grid_search(rows, metric, penalty, class_weight):
    shared = {
        "metric": metric,
        "surrogate": "square" if metric == "auc" else "logistic",
        "penalty": penalty,
        "class_weight": class_weight,
        "standardise": False,  # by fold in the one, once in the other
        "tol": 1e-6,
        "random_state": 0,
    }
    folds = list(StratifiedKFold(3, shuffle=True, random_state=7).split(*rows))
    model = MetricClassifierCV(**shared, n_strengths=6, cv=folds).fit(*rows)
    grid = {"strength": model.strengths_.tolist()}
    brute = GridSearchCV(MetricClassifier(**shared), grid, cv=folds).fit(*rows)
    found = np.array([brute.cv_results_[f"split{k}_test_score"] for k in range(3)])
    assert model.scores_.shape == (3, 6)
    # A threshold on the training scores may move over a row.
    np.testing.assert_allclose(model.scores_, found, atol=0.04 if metric == "error" else 2e-3)
    if metric == "log_loss":  # the others have ties
        assert model.best_index_ == brute.best_index_
    means = brute.cv_results_["mean_test_score"]
    assert means[model.best_index_] >= means.max() - (0.04 if metric == "error" else 2e-3)
    assert model.strength_ == model.strengths_[model.best_index_]
    alone = MetricClassifier(**shared, strength=model.strength_).fit(*rows)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-2)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=0.05)


@pytest.mark.parametrize("metric", ["auc", "log_loss"])
def test_weights_count_in_fits_and_scores(metric):
    repeated = np.repeat(np.arange(Y.size), WEIGHT.astype(int))
    strengths, tight = [0.03, 0.003], {"tol": 1e-9, "penalty": "l2", "random_state": 0}
    parts = np.arange(Y.size) % 3
    cv = [(np.flatnonzero(parts != k), np.flatnonzero(parts == k)) for k in range(3)]
    again = [tuple(np.flatnonzero(np.isin(repeated, rows)) for rows in split) for split in cv]
    surrogate = "square" if metric == "auc" else "auto"
    make = MetricClassifierCV(metric, surrogate=surrogate, strengths=strengths, **tight)
    one = clone(make).set_params(cv=cv).fit(X, Y, WEIGHT)
    two = clone(make).set_params(cv=again).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(one.scores_, two.scores_, atol=1e-8)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)
    assert np.abs(one.scores_ - clone(make).set_params(cv=cv).fit(X, Y).scores_).max() > 1e-4


def test_rows_without_weight_change_nothing():
    weight = np.where(np.arange(Y.size) < 100, 1.0, 0.0)
    make = MetricClassifierCV("log_loss", penalty="l1", tol=1e-8, random_state=0, **SMALL)
    one, two = clone(make).fit(X, Y, weight), clone(make).fit(X[:100], Y[:100])
    np.testing.assert_allclose(one.strengths_, two.strengths_)
    np.testing.assert_allclose(one.scores_, two.scores_, atol=1e-6)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-5)


@pytest.mark.parametrize("metric", ["auc", "log_loss"])
@pytest.mark.parametrize("rows", [(X, Y, WEIGHT), (X3, Y3, None)], ids=["weights", "three classes"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_folds_that_are_not_copied_give_the_same(metric, rows, make, monkeypatch):
    table, labels, weight = rows
    drawn = np.random.default_rng(0).integers(0, labels.size, (2, 150))
    folds = [(draw, np.setdiff1d(np.arange(labels.size), draw)) for draw in drawn]
    surrogate = "square" if metric == "auc" else "auto"
    model = MetricClassifierCV(metric, surrogate=surrogate, n_strengths=4, cv=folds, tol=1e-8)
    copied = clone(model).fit(make(table), labels, weight)
    monkeypatch.setattr(targets, "MAX_COPIED_ENTRIES", 0)
    whole = clone(model).fit(make(table), labels, weight)
    np.testing.assert_allclose(whole.scores_, copied.scores_, atol=2e-3)
    assert whole.strength_ == copied.strength_


# --- strengths, rules, scoring ------------------------------------------------------------------


def test_default_strengths_start_at_the_empty_model():
    model = MetricClassifierCV(
        "log_loss", penalty="l1", standardise=False, n_strengths=4, cv=2
    ).fit(X, Y)
    top = strength_max(Problem(Logistic(), L1(), as_data(X, np.where(Y == 1, 1.0, -1.0))))
    np.testing.assert_allclose(model.strengths_, top * np.array([1, 0.1, 0.01, 0.001]))
    np.testing.assert_allclose(model.scores_[:, 0], -np.log(2), atol=0.02)


def test_default_strengths_of_l2_follow_the_scale_of_the_columns():
    make = MetricClassifierCV("log_loss", standardise=False, tol=1e-8, **SMALL)
    one, two = clone(make).fit(X, Y), clone(make).fit(100.0 * X, Y)
    assert one.strengths_[0] == pytest.approx((X**2).sum(axis=1).mean())
    np.testing.assert_allclose(two.strengths_, 1e4 * one.strengths_)
    np.testing.assert_allclose(two.scores_, one.scores_, atol=1e-5)
    narrow = MetricClassifierCV("log_loss", ratio=0.5, **SMALL).fit(X, Y)
    assert narrow.strengths_[-1] == pytest.approx(0.5 * narrow.strengths_[0])


def test_one_standard_error_prefers_the_simpler_model():
    make = MetricClassifierCV("log_loss", penalty="l1", n_strengths=12)
    best, simple = make.fit(X, Y), clone(make).set_params(rule="one_standard_error").fit(X, Y)
    np.testing.assert_array_equal(best.scores_, simple.scores_)
    assert simple.strength_ > best.strength_
    assert np.count_nonzero(simple.coef_) <= np.count_nonzero(best.coef_)
    means = best.scores_.mean(axis=0)
    error = best.scores_[:, best.best_index_].std(ddof=1) / np.sqrt(5)
    assert means[simple.best_index_] >= means[best.best_index_] - error
    assert (means[: simple.best_index_] < means[best.best_index_] - error).all()


def test_of_equal_scores_the_largest_strength_wins():
    model = MetricClassifierCV("auc", surrogate="square", scoring=lambda m, X, y: 1.0, **SMALL)
    assert model.fit(X, Y).best_index_ == 0


def accuracy(model, X, y):
    return (model.predict(X) == y).mean()


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", accuracy])
def test_scoring_decides(scoring):
    model = MetricClassifierCV("log_loss", scoring=scoring, **SMALL).fit(X, Y)
    assert model.scores_.max() <= 1.0
    assert 0.5 < model.score(X, Y) <= 1.0
    by_name = MetricClassifierCV("log_loss", **SMALL).fit(X, Y)
    assert by_name.scores_.max() < 0.0


@pytest.mark.parametrize(
    "penalty", [GroupL2(5.0, 2), L1(9.0, weights=np.linspace(1, 2, 8)), "elastic_net"]
)
def test_penalty_objects_lose_their_own_strength(penalty):
    model = MetricClassifierCV("log_loss", penalty=penalty, n_strengths=5, cv=3).fit(X, Y)
    assert model.best_index_ > 0
    assert model.coef_.any()
    if not isinstance(penalty, str):
        assert penalty.strength in (5.0, 9.0)


def test_the_hinge_losses():
    for metric in ("auc", "error", PairwiseHinge(0.2)):
        model = MetricClassifierCV(metric, strengths=[1.0, 0.01], cv=2).fit(X, Y)
        alone = MetricClassifier(metric, strength=model.strength_).fit(X, Y)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)
        other = MetricClassifier(metric, strength={1.0: 0.01, 0.01: 1.0}[model.strength_])
        assert model.score(X, Y) > other.fit(X, Y).score(X, Y)


# --- as a scikit-learn estimator ----------------------------------------------------------------


def test_storages_agree():
    make = MetricClassifierCV("log_loss", penalty="l1", tol=1e-8, random_state=0, **SMALL)
    dense = clone(make).fit(X, Y)
    for store in (sparse.csr_array, sparse.csc_array):
        other = clone(make).fit(store(X), Y)
        np.testing.assert_allclose(other.scores_, dense.scores_, atol=1e-5)
        assert other.strength_ == pytest.approx(dense.strength_)


def test_in_a_pipeline_and_in_a_cross_validation():
    pipe = make_pipeline(StandardScaler(), MetricClassifierCV("auc", surrogate="square", **SMALL))
    alone = MetricClassifierCV("auc", surrogate="square", **SMALL)
    by_hand = []
    for train, test in StratifiedKFold(3).split(X, Y):
        scale = StandardScaler().fit(X[train])
        alone.fit(scale.transform(X[train]), Y[train])
        by_hand.append(alone.score(scale.transform(X[test]), Y[test]))
    np.testing.assert_allclose(cross_val_score(pipe, X, Y, cv=3), by_hand)
    labels = np.array(["no", "yes"])[Y]
    assert set(pipe.fit(X, labels).predict(X)) == {"no", "yes"}


def test_calibrated_probabilities_at_the_chosen_strength():
    model = MetricClassifierCV("log_loss", calibrate="sigmoid", **SMALL).fit(X3, Y3)
    proba = model.predict_proba(X3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    plain = MetricClassifier("log_loss", calibrate="sigmoid", strength=model.strength_)
    np.testing.assert_allclose(proba, plain.fit(X3, Y3).predict_proba(X3), atol=1e-3)
    assert log_loss(Y3, proba) < log_loss(Y3, np.full_like(proba, np.bincount(Y3) / Y3.size)) - 0.2
    assert not hasattr(MetricClassifierCV(), "predict_proba")


def test_without_refit_there_are_scores_but_no_model():
    model = MetricClassifierCV("log_loss", **SMALL).fit(X, Y)
    model.set_params(refit=False).fit(X, Y)
    assert model.scores_.shape == (2, 3)
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_same_fit_twice_is_the_same():
    make = MetricClassifierCV("log_loss", penalty="l1", **SMALL)
    np.testing.assert_allclose(make.fit(X, Y).scores_, clone(make).fit(X, Y).scores_, atol=1e-6)
    other = clone(make).set_params(random_state=5).fit(X, Y)
    assert np.abs(other.scores_ - make.scores_).max() > 1e-4


def test_warm_start_continues_the_final_fit():
    model = MetricClassifierCV("log_loss", penalty="l1", warm_start=True, strengths=[0.01], cv=2)
    first = model.fit(X, Y).n_iter_
    assert model.fit(X, Y).n_iter_ < first


def test_verbose_writes_a_line_per_point(capsys):
    MetricClassifierCV("log_loss", verbose=1, refit=False, **SMALL).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert all(line.startswith("auctor strength") for line in lines)


# --- what can go wrong ---------------------------------------------------------------------------


def test_one_warning_sums_up():
    model = MetricClassifierCV("log_loss", penalty="l1", max_iter=1, tol=1e-12, **SMALL)
    with pytest.warns(ConvergenceWarning, match=r"missed the tolerance in \d of 7 fits") as caught:
        model.fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_rare_class_reduces_the_folds_with_a_warning():
    y = np.where(np.arange(Y.size) < 3, "rare", "common")
    model = MetricClassifierCV("log_loss", n_strengths=3, standardise=False)
    with pytest.warns(UserWarning, match=r"uses 3 folds instead of 5: class .*rare") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.scores_.shape == (3, 3)
    y[1:3] = "common"
    with pytest.raises(DataError, match="at least two rows of every class"):
        model.fit(X, y)


def test_strengths_that_time_did_not_reach_are_not_picked():
    model = MetricClassifierCV("log_loss", penalty="l1", max_seconds=0.0, cv=2)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    assert "ran out of time before every strength was scored" in str(caught[0].message)
    assert "stopped after 0 iterations" in str(caught[1].message)
    assert np.isnan(model.scores_).all()
    assert model.coef_.shape == (1, 8)


def test_an_interrupt_ends_the_search():
    class Interrupting(ProximalNewton):
        def step(self, problem, state):
            raise KeyboardInterrupt

    model = MetricClassifierCV("log_loss", penalty="l1", solver=Interrupting(), cv=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)


@pytest.mark.parametrize(
    "params",
    [
        {"metric": "gini"},
        {"strengths": []},
        {"strengths": [-1.0]},
        {"strengths": [np.nan]},
        {"strengths": 3},
        {"n_strengths": 0},
        {"ratio": 2.0},
        {"ratio": 0.0},
        {"cv": 1},
        {"cv": "five"},
        {"cv": 2.5},
        {"cv": [([0, 1], [500])]},
        {"cv": [(np.flatnonzero(Y == 0), [0])]},
        {"cv": GroupKFold(3)},
        {"rule": "two_se"},
        {"refit": "yes"},
        {"penalty": "none"},
        {"penalty": Sum(L1(0.1), NonNegative())},
        {"penalty": "ridge"},
        {"l1_ratio": 0.5},
        {"tol": -1.0},
        {"max_iter": 0},
        {"threshold": "best"},
        {"calibrate": "magic"},
        {"solver": "nope"},
        {"scoring": lambda m, X, y: np.nan},
    ],
    ids=lambda params: "-".join(params),
)
def test_bad_parameters(params):
    with pytest.raises(AuctorError, match=r"; got .*\. [A-Z]"):
        MetricClassifierCV(**({"metric": "log_loss", "n_strengths": 2, "cv": 2} | params)).fit(X, Y)


def test_a_kinked_penalty_with_free_columns_needs_strengths():
    penalty = L1(weights=np.arange(8.0))
    with pytest.raises(ParameterError, match="Pass the strengths yourself"):
        MetricClassifierCV("log_loss", penalty=penalty).fit(X, Y)
    MetricClassifierCV("log_loss", penalty=penalty, strengths=[0.1, 0.01], cv=2).fit(X, Y)


def test_columns_that_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MetricClassifierCV("log_loss", penalty="l1", **SMALL).fit(np.zeros((40, 2)), Y[:40])
    assert not model.coef_.any()
