"""What careful users tried and found wanting."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV, losses
from auctor.core.errors import DataError, ParameterError


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
