"""What careful users tried and found wanting."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from auctor import (
    LinearRegressor,
    MetricClassifier,
    MetricClassifierCV,
    load,
    losses,
    penalties,
    save,
)
from auctor.core.errors import DataError, ParameterError
from auctor.data import as_data
from auctor.problem import Problem


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    return X, (X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=400) > 1.5).astype(int)


@pytest.mark.parametrize("metric", ["auc", "prbep"])
@pytest.mark.parametrize("offset", [0.0, 100.0, 10_000.0])
def test_held_out_scores_of_ranking_losses_share_an_offset(metric, offset, rows):
    X, y = rows
    cut = MetricClassifier(metric, threshold_cv=5).fit(X + offset, y).predict(X + offset)
    assert abs(int(cut.sum()) - int(y.sum())) <= 0.1 * y.sum()
    model = MetricClassifier(metric, calibrate="sigmoid").fit(X + offset, y)
    plain = MetricClassifier(metric, calibrate="sigmoid").fit(X, y)
    moved = log_loss(y, model.predict_proba(X + offset))
    assert moved == pytest.approx(log_loss(y, plain.predict_proba(X)), abs=0.02)


def separable(seed, n):
    A = np.random.default_rng(seed).normal(size=(n, 3))
    A[:2, 0] = [-abs(A[0, 0]), abs(A[1, 0])]
    return A, (A[:, 0] > 0).astype(int)


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("n", [6, 12, 40])
def test_separable_rows_converge(penalty, n):
    for seed in (0, 3, 5):
        A, t = separable(seed, n)
        model = MetricClassifier("cost(5)", penalty=penalty).fit(A, t)
        assert model.solution_.converged
        assert model.solution_.certified


def test_columns_without_curvature_are_left_to_the_penalty():
    X, y = load_iris(return_X_y=True)
    model = MetricClassifier("cost(5)", penalty="l1").fit(X, y == 0)
    assert model.solution_.converged
    A = np.random.default_rng(0).normal(size=(50, 3))
    fit = LinearRegressor(losses.EpsilonInsensitive(1.0), penalty="l1", strength=1e-2)
    assert fit.fit(A, A @ [1.0, 2.0, 3.0]).solution_.converged


def test_score_refuses_labels_that_the_model_does_not_know(rows):
    X, y = rows
    for metric in ("auc", "log_loss", "f1"):
        model = MetricClassifier(metric).fit(X, y)
        with pytest.raises(DataError, match="among"):
            model.score(X, np.where(np.arange(y.size) < 9, 7, y))
        with pytest.raises(DataError, match="among"):
            model.score(X, y.astype(str))
        with pytest.raises(DataError, match="NaN"):
            model.score(X, np.where(y == 1, 1.0, np.nan))


@pytest.mark.parametrize("metric", ["error", "balanced_error", "cost(2)"])
def test_several_classes_are_not_cut_by_errors(metric):
    rng = np.random.default_rng(0)
    c = rng.integers(0, 8, 600)
    G = 0.7 * rng.normal(size=(8, 5))[c] + rng.normal(size=(600, 5))
    assert not MetricClassifier(metric, surrogate="logistic").fit(G, c).threshold_.any()


def test_class_weights_need_labels_as_keys(rows):
    X, y = rows
    with pytest.raises(ParameterError, match="'1'"):
        MetricClassifier("error", class_weight={"1": 50}).fit(X, y)


def test_cuts_that_count_rows_do_not_count_class_weights(rows):
    X, y = rows
    top = MetricClassifier("precision_at_k(10)", surrogate="logistic", class_weight={1: 5.0})
    assert top.fit(X, y).predict(X).sum() == 10


def test_scoring_of_every_kind(rows):
    X, y = rows
    weight = np.ones(y.size)

    def own(model, X, y):
        return model.score(X, y)

    few = {"n_strengths": 2, "cv": 2}
    assert MetricClassifierCV(scoring=own, **few).fit(X, y, sample_weight=weight).strength_ > 0.0
    assert MetricClassifierCV(scoring="f1", **few).fit(X, y, sample_weight=weight).strength_ > 0.0
    for scoring in ("neg_log_loss", ["roc_auc", "accuracy"]):
        with pytest.raises(ParameterError, match="scoring"):
            MetricClassifierCV(scoring=scoring, **few).fit(X, y)


def test_a_warm_start_beyond_all_numbers_starts_anew(rows):
    X, y = rows
    model = MetricClassifier("auc", surrogate="exponential", warm_start=True)
    again = model.fit(X, y).fit(X * 1000.0, y)
    cold = MetricClassifier("auc", surrogate="exponential").fit(X * 1000.0, y)
    assert again.solution_.converged
    assert again.solution_.value == pytest.approx(cold.solution_.value, rel=1e-3)


def test_a_gap_is_at_most_what_the_loss_can_fall(rows):
    X, y = rows
    with pytest.warns(UserWarning, match="max_seconds"):
        model = MetricClassifier(max_seconds=0).fit(X * 1e90, y)
    assert model.gap_ <= model.solution_.value * (1.0 + 1e-12)


def test_fewer_groups_than_folds(rows):
    X, y = rows
    two, one = np.arange(y.size) % 2, np.zeros(y.size)
    MetricClassifier("auc", calibrate="sigmoid").fit(X, y, groups=two)
    MetricClassifierCV("auc", n_strengths=2).fit(X, y, groups=two)
    with pytest.raises(DataError, match="two groups"):
        MetricClassifier("auc", threshold_cv=3).fit(X, y, groups=one)
    with pytest.raises(DataError, match="two groups"):
        MetricClassifierCV("auc", n_strengths=2).fit(X, y, groups=one)


def test_small_ones(rows):
    X, y = rows
    with pytest.raises(ParameterError, match="no folds"):
        MetricClassifierCV(cv=[]).fit(X, y)
    with pytest.raises(ParameterError, match="threshold"):
        MetricClassifier(threshold=np.array([1.0, 2.0])).fit(X, y)
    with pytest.raises(ParameterError, match="beta"):
        MetricClassifier("fbeta(1e200)").fit(X, y)
    model = MetricClassifier("precision_at_k(30)").fit(X, y)
    assert 0.0 < model.score(X, y, groups=np.repeat([0, 1], [20, 380])) <= 1.0


def test_an_emptied_model_is_not_called_vacuous_where_weights_would_help():
    """A strong penalty empties it too, and that is no fault of the surrogate."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 25))
    score = X[:, 0] + 0.7 * X[:, 1] + rng.uniform(0.3, 2) * rng.normal(size=300)
    y = score > np.quantile(score, 0.98)
    margin = {"metric": "f1", "surrogate": "max_margin"}
    emptied = MetricClassifier(**margin, penalty="l1", strength=0.02).fit(X, y)
    assert emptied.solution_.value >= 0.99
    assert MetricClassifier(**margin, strength=1e-6).fit(X, y).solution_.value < 0.01


def test_a_vacuous_partial_auc_is_said(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = X[:, 0] + 2.0 * rng.normal(size=2000) > 2.5
    with pytest.warns(UserWarning, match=r"vacuous.*surrogate='logistic' or metric='auc'"):
        MetricClassifier("partial_auc(0.02)", surrogate="hinge").fit(X, y)


@pytest.mark.parametrize("size", [1.0, 1e4, 1e-5])
@pytest.mark.parametrize(
    ("metric", "surrogate"),
    [("auc", "hinge"), ("auc", "squared_hinge"), ("auc", "square"), ("auc", "logistic"),
     ("auc", "exponential"), ("partial_auc(0.5)", "hinge"), ("prbep", "max_margin")],
)  # fmt: skip
def test_constant_columns_get_no_weight_without_a_penalty(metric, surrogate, size):
    rng = np.random.default_rng(1)
    X = np.column_stack([np.full(200, size), rng.normal(size=200)])
    y = X[:, 1] + rng.normal(size=200) > 1.0
    model = MetricClassifier(metric, surrogate=surrogate, penalty="none").fit(X, y)
    assert abs(model.coef_[0, 0]) * size < 1e-2 * model.coef_[0, 1]


def test_columns_that_are_nearly_constant_count():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(400) < 0.3, 1.0, -1.0)
    X = np.column_stack([np.full(400, 1e9), 1e9 + rng.normal(size=400), np.zeros(400), y])
    problem = Problem(losses.PairwiseSquare(), penalties.NoPenalty(), as_data(X, y))
    assert problem.dropped.tolist() == [0]
    assert problem.with_penalty(penalties.L2(1.0)).dropped.size == 0
    assert Problem(losses.Logistic(), penalties.NoPenalty(), as_data(X, y)).dropped.size == 0
    spare = np.append(np.ones(399), 0.0)
    data = as_data(np.append(np.ones(399), 5.0)[:, None], y, weight=spare)
    assert Problem(losses.PairwiseSquare(), penalties.NoPenalty(), data).dropped.tolist() == [0]


def test_a_large_constant_does_not_hide_the_others():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200) > 0.5
    model = MetricClassifier("auc", surrogate="squared_hinge", penalty="none", tol=1e-8)
    alone = model.fit(x[:, None], y).coef_[0, 0]
    both = np.column_stack([np.full(200, 1e14), x])
    np.testing.assert_allclose(model.fit(both, y).coef_, [[0.0, alone]], rtol=1e-3, atol=1e-9)
    start = MetricClassifier(
        "auc", surrogate="squared_hinge", penalty="none", tol=1e-8, warm_start=True
    )
    start.fit(np.column_stack([x + 1e3 * rng.normal(size=200), x]), y)
    moved = np.column_stack([np.full(200, 7.0), x])
    np.testing.assert_allclose(start.fit(moved, y).coef_, [[0.0, alone]], rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("metric", ["log_loss", "auc", "error", "balanced_error"])
def test_columns_that_say_nothing_are_no_failure(metric):
    y = np.arange(40) < 10
    model = MetricClassifier(metric, penalty="none").fit(np.ones((40, 3)), y)
    assert model.solution_.converged
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-12)


def test_counts_of_rows_must_fit_into_all_rows_not_into_folds(rows):
    X, y = rows
    # More rows than a fold has: of a part the share is taken that k is of all 400 rows.
    MetricClassifierCV("precision_at_k(90)", surrogate="logistic", n_strengths=2).fit(X, y)
    for options in ({"threshold_cv": 5}, {"calibrate": "sigmoid"}):
        MetricClassifier("precision_at_k(350)", **options).fit(X, y)
    for model in (MetricClassifier, MetricClassifierCV):
        with pytest.raises(DataError, match=r"weight of the rows, (400|320); got 1000"):
            model(threshold="top(1000)").fit(X, y)
        for wrong in ({"threshold": "top(30.0)"}, {"metric": "recall_at_k(30.5)"}):
            with pytest.raises(ParameterError, match=r"k of .* to be an integer or a fraction"):
                model(**wrong).fit(X, y)
    later = MetricClassifier("precision_at_k(1000)", surrogate="logistic", threshold=0.0)
    assert later.fit(X, y).score(np.tile(X, (5, 1)), np.tile(y, 5)) > 0.3
    MetricClassifierCV(
        "precision_at_k(90)", surrogate="logistic", scoring="roc_auc", n_strengths=2
    ).fit(X, y)
    top = MetricClassifier("precision_at_k(40)", surrogate="max_margin")
    with pytest.warns(UserWarning, match="vacuous"):  # all rows are at the top
        top.fit(X, y, sample_weight=np.full(400, 0.1))


def test_fewer_folds_for_the_threshold_are_said():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) < 3
    with pytest.warns(UserWarning, match="3 folds for the threshold instead of 5"):
        MetricClassifier("error", threshold_cv=5).fit(X, y)


def test_log_loss_has_probabilities_of_its_own(rows, tmp_path):
    X, y = rows
    plain = {"strength": 1e-3, "standardise": False, "tol": 1e-10}
    model = MetricClassifier("log_loss", **plain).fit(X, y)
    peer = LogisticRegression(C=1 / (1e-3 * 400), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    save(model, tmp_path / "model.auctor")
    same = load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    moved = MetricClassifier("log_loss", threshold="recall(0.9)", **plain)
    np.testing.assert_allclose(moved.fit(X, y).predict_proba(X), model.predict_proba(X), atol=1e-9)
    search = MetricClassifierCV("log_loss", scoring="neg_log_loss", n_strengths=3).fit(X, y)
    assert log_loss(y, search.predict_proba(X)) < 0.5
    several = MetricClassifier("log_loss").fit(*load_iris(return_X_y=True))
    np.testing.assert_allclose(several.predict_proba(load_iris().data).sum(axis=1), 1.0)
    assert not hasattr(MetricClassifier("auc"), "predict_proba")


@pytest.mark.parametrize("metric", ["partial_auc(min_tpr=0.2)", "fbeta(k=2)", "auc(k=3)"])
def test_other_keywords_are_refused(metric, rows):
    with pytest.raises(ParameterError, match="Write it like"):
        MetricClassifier(metric).fit(*rows)


def test_ranges_are_those_that_hold(rows):
    with pytest.raises(ParameterError, match=r"max_fpr.*\(0.*, 1.*\]"):
        MetricClassifier("partial_auc(-0.1)").fit(*rows)
    for surrogate in ("max_margin", "logistic"):
        with pytest.raises(ParameterError, match=r"beta.*\[1e-06, 1e\+06\]|beta.*1000000"):
            MetricClassifier("fbeta(0)", surrogate=surrogate).fit(*rows)


def test_folds_without_positives_do_not_count_for_fbeta():
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = np.repeat([1, 0, 1, 0, 0], 20) * (np.arange(100) % 2)
    search = MetricClassifierCV("f1", surrogate="logistic", cv=KFold(5), n_strengths=2)
    with pytest.warns(UserWarning, match="leaves out a fold of 20 rows"):
        search.fit(X, y)
    assert np.isnan(search.scores_).all(axis=1).tolist() == [False, True, False, True, True]
    assert np.isfinite(search.set_params(scoring="accuracy").fit(X, y).scores_).all()
