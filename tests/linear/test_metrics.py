"""Every metric of the registry: training, scores, thresholds, groups, averages, bad input."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from auctor import MetricClassifier, MetricClassifierCV, metrics
from auctor.cli.output import worded
from auctor.core.errors import AuctorWarning, DataError, IncompatibleError, ParameterError
from auctor.fit.metric import METRICS, parse, resolve_metric
from auctor.fit.parameters import fold_seed
from auctor.losses import FBeta, PrecisionAtK
from auctor.penalties import L2

VALUES = {"partial_auc": 0.7, "precision_at_k": 0.3, "recall_at_k": 0.3, "fbeta": 2.0, "cost": 4.0}


def spelled(name):
    return f"{name}({VALUES[name]})" if name in VALUES else name


EVERY = [(spelled(name), s) for name, metric in METRICS.items() for s in metric.surrogates]


@pytest.mark.parametrize(("metric", "surrogate"), EVERY)
def test_trains_and_scores(rows, metric, surrogate):
    model = MetricClassifier(metric, surrogate=surrogate, strength=1e-3).fit(rows.X, rows.y)
    assert np.isfinite(model.coef_).all()
    assert model.coef_.any()
    # Its own metric beats that of every constant score, and its order is that of a log-loss model.
    best = -np.inf
    for level in (-10.0, -1.0, 0.0, 1.0, 10.0):
        intercept = np.full_like(model.intercept_, level)
        constant = replace(model.model_, coef=np.zeros_like(model.coef_), intercept=intercept)
        best = max(best, constant.score(rows.X, rows.y))
    assert model.score(rows.X, rows.y) > best + 0.02
    usual = MetricClassifier("log_loss", strength=1e-3).fit(rows.X, rows.y)
    reference = metrics.auc(rows.y, usual.decision_function(rows.X))
    assert metrics.auc(rows.y, model.decision_function(rows.X)) > reference - 0.05
    assert 0 < model.predict(rows.X).sum() < rows.y.size


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize(("metric", "surrogate"), EVERY)
def test_weights_are_repetition(rows, metric, surrogate, penalty):
    if surrogate == "gaussian" and metric == "error" and penalty != "l2":
        pytest.skip("scale-free: takes an l2 penalty only")
    if resolve_metric(metric, surrogate).loss.weights == "class":
        pytest.skip("takes class weights only, and refuses others: test_average_precision.py")
    model = MetricClassifier(metric, surrogate=surrogate, penalty=penalty, strength=0.01)
    weighted = clone(model).fit(rows.X, rows.y, rows.weight)
    repeated = clone(model).fit(rows.X[rows.repeated()], rows.y[rows.repeated()])
    # Steps over kinks may go either way by rounding, and end within the gap of each other.
    apart = 0.0 if resolve_metric(metric, surrogate).loss.smooth else 1e-2
    values = [one.solution_.value for one in (weighted, repeated)]
    assert abs(values[0] - values[1]) <= max(1e-9, weighted.gap_, repeated.gap_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-8 + apart)
    close = {"rtol": 1e-7, "atol": 1e-7 + apart}
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, **close)


@pytest.mark.parametrize(("metric", "surrogate"), EVERY)
def test_certified_wherever_convex(rows, metric, surrogate):
    model = MetricClassifier(metric, surrogate=surrogate, strength=1e-2).fit(rows.X, rows.y)
    loss = resolve_metric(metric, surrogate).loss
    assert model.solution_.certified == loss.convex


def test_score_is_the_metric(rows):
    X, y = rows.X, rows.y
    for name, expected in {
        "auc": lambda s, p: metrics.auc(y, s),
        "partial_auc(0.7)": lambda s, p: roc_auc_score(y, s, max_fpr=0.7),
        "average_precision": lambda s, p: average_precision_score(y, s),
        "prbep": lambda s, p: metrics.prbep(y, s),
        "precision_at_k(90)": lambda s, p: metrics.precision_at_k(y, s, 90),
        "recall_at_k(0.4)": lambda s, p: metrics.recall_at_k(y, s, 0.4),
        "f1": lambda s, p: f1_score(y, p),
        "error": lambda s, p: (p == y).mean(),
        "balanced_error": lambda s, p: 1.0 - metrics.balanced_error(y, p),
        "cost(3)": lambda s, p: -((p > y).mean() + 3 * (p < y).mean()),
    }.items():
        model = MetricClassifier(name, strength=1e-2).fit(X, y)
        value = expected(model.decision_function(X), model.predict(X))
        assert model.score(X, y) == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("surrogate", METRICS["average_precision"].surrogates)
def test_average_precision_of_rare_positives(surrogate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.normal(size=3000) > 2.4
    model = MetricClassifier("average_precision", surrogate=surrogate, strength=1e-4)
    model.fit(X[:1500], y[:1500])
    truth = X[1500:] @ [1.0, 0.7, 0.0, 0.0]
    best = average_precision_score(y[1500:], truth)
    assert model.score(X[1500:], y[1500:]) > best - 0.02
    assert model.predict(X[:1500]).sum() == y[:1500].sum()  # break-even
    model.set_params(class_weight="balanced").fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > best - 0.02


def test_average_precision_by_margins_refuses_what_it_cannot_do(rows):
    weight = np.linspace(1.0, 2.0, rows.y.size)
    model = MetricClassifier("average_precision", surrogate="max_margin")
    with pytest.raises(DataError, match=r"equal weights within each class.*surrogate='logistic'"):
        model.fit(rows.X, rows.y, weight)
    with pytest.raises(IncompatibleError, match="a solver for AveragePrecision with L1"):
        model.set_params(penalty="l1").fit(rows.X, rows.y)


def test_threshold_is_best_for_the_metric(rows):
    X, y = rows.X, rows.y
    for name in ("error", "balanced_error", "cost(5)", "fbeta(0.5)"):
        model = MetricClassifier(name, strength=1e-2).fit(X, y)
        best, raw = model.score(X, y), model.decision_function(X)
        measure = resolve_metric(name, "auto").measure
        assert best >= max(measure(y, raw - t, None) for t in raw) - 1e-12, name
    top = MetricClassifier("precision_at_k(90)", strength=1e-2).fit(X, y)
    assert top.predict(X).sum() == 90


@pytest.mark.parametrize("rule", ["precision(0.9)", "recall(0.9)", "cost(5)", "top(25)", "f1"])
def test_stated_threshold(rows, rule):
    model = MetricClassifier("auc", threshold=rule, strength=1e-2).fit(rows.X, rows.y)
    table = metrics.confusion(rows.y, model.predict(rows.X))
    assert {
        "precision(0.9)": table.precision >= 0.9,
        "recall(0.9)": table.tpr >= 0.9,
        "cost(5)": table.fn < table.fp,
        "top(25)": table.tp + table.fp == 25,
        "f1": f1_score(rows.y, model.predict(rows.X))
        == pytest.approx(metrics.best_fbeta(rows.y, model.decision_function(rows.X)).value),
    }[rule]


def test_stated_threshold_goes_by_sample_weight_not_class_weight(rows):
    plain, heavy = (
        MetricClassifier("auc", threshold="precision(0.8)", class_weight=c).fit(rows.X, rows.y)
        for c in (None, {0: 1.0, 1: 50.0})
    )
    assert np.array_equal(plain.predict(rows.X), heavy.predict(rows.X))


@pytest.mark.parametrize("metric", ["auc", "error"])
def test_gaussian_shrinks_covariances_of_wide_data(metric):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 150))
    y = (X[:, :20].sum(axis=1) + 2.0 * rng.normal(size=240) > 0).astype(int)
    train, test = slice(0, 100), slice(100, None)
    scores = {}
    for penalty in ("l2", L2(1e-4)):  # an object carries its own strength, whatever the shape
        model = MetricClassifier(metric, surrogate="gaussian", penalty=penalty)
        model.fit(X[train], y[train])
        scores[str(penalty)] = metrics.auc(y[test], model.decision_function(X[test]))
    assert scores["l2"] > scores[str(L2(1e-4))] + 0.02
    again = np.repeat(np.arange(100), rng.integers(1, 4, 100))
    count = np.bincount(again)
    model = MetricClassifier(metric, surrogate="gaussian")
    weighted = clone(model).fit(X[train], y[train], count)
    repeated = clone(model).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("metric", ["auc", "error"])
def test_gaussian_shrinks_covariances_of_a_class_with_few_rows(metric):
    # Rows outnumber the columns, those of the rare class do not.
    rng = np.random.default_rng(1)
    n, d = 600, 100
    y = (np.arange(n + 6000) % 24 == 0).astype(int)
    X = rng.normal(size=(y.size, d)) * rng.uniform(0.7, 1.5, size=d) + 0.35 * y[:, None]
    found = []
    for penalty in ("l2", L2(1e-4)):
        model = MetricClassifier(metric, surrogate="gaussian", penalty=penalty)
        model.fit(X[:n], y[:n])
        found.append((model.decision_function(X[n:]), model.predict(X[n:])))
    ranks = [metrics.auc(y[n:], decision) for decision, _ in found]
    assert ranks[0] > ranks[1] + 0.001
    if metric == "error":
        right = [np.mean(labels == y[n:]) for _, labels in found]
        assert ranks[0] > ranks[1] + 0.01
        assert right[0] > right[1] + 0.005


def test_threshold_out_of_fold(rows):
    seen = MetricClassifier("f1", strength=1e-6).fit(rows.X, rows.y)
    held = MetricClassifier("f1", strength=1e-6, threshold_cv=4).fit(rows.X, rows.y)
    assert np.array_equal(seen.coef_, held.coef_)
    assert seen.threshold_ != held.threshold_
    assert seen.score(rows.X, rows.y) >= held.score(rows.X, rows.y)
    both = MetricClassifier("f1", strength=1e-6, threshold_cv=4, calibrate="sigmoid")
    both.fit(rows.X, rows.y)
    assert both.threshold_ == held.threshold_
    assert both.predict_proba(rows.X).shape == (rows.y.size, 2)


# --- several classes ------------------------------------------------------------------------------


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_averages(average):
    X, y = load_iris(return_X_y=True)
    X, y = X[20:, :2], y[20:]
    ours = MetricClassifier("auc", average=average, strength=1e-3).fit(X, y)
    # Scores of different classes are compared only after their thresholds are taken off.
    decision = ours.decision_function(X)
    hits = y[:, None] == np.arange(3)
    assert ours.score(X, y) == pytest.approx(roc_auc_score(hits, decision, average=average))
    ours = MetricClassifier("f1", average=average, strength=1e-3).fit(X, y)
    assert ours.score(X, y) == pytest.approx(f1_score(y, ours.predict(X), average=average))
    weight = np.random.default_rng(0).integers(1, 4, y.size)
    again = np.repeat(np.arange(y.size), weight)
    assert ours.score(X, y, weight) == pytest.approx(ours.score(X[again], y[again]))


# --- groups ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def queries():
    """Rows whose level depends on the query, which hides what ranks them inside it."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, 30, 600)
    level = rng.normal(size=30)[query]
    X = np.column_stack([level + 0.3 * rng.normal(size=600), rng.normal(size=(600, 3))])
    y = X[:, 1] - 3.0 * level * 0.0 + 0.3 * rng.normal(size=600) + level > level + 0.5
    return X, y.astype(int), np.array([f"q{k}" for k in query])


def grouped_auc(y, scores, groups):
    values, sizes = [], []
    for g in np.unique(groups):
        mine = groups == g
        if 0 < y[mine].sum() < mine.sum():
            values.append(roc_auc_score(y[mine], scores[mine]))
            sizes.append(mine.sum())
    return np.average(values, weights=sizes)


def test_groups_rank_inside_queries(queries):
    X, y, groups = queries
    model = MetricClassifier("auc", strength=1e-3).fit(X, y, groups=groups)
    expected = grouped_auc(y, model.decision_function(X), groups)
    assert model.score(X, y, groups=groups) == pytest.approx(expected)
    again = np.repeat(np.arange(y.size), 2)
    double = MetricClassifier("auc", strength=1e-3).fit(
        X, y, sample_weight=np.full(y.size, 2.0), groups=groups
    )
    repeated = MetricClassifier("auc", strength=1e-3).fit(X[again], y[again], groups=groups[again])
    np.testing.assert_allclose(double.coef_, repeated.coef_, atol=1e-8)
    one = MetricClassifier("auc", strength=1e-3).fit(X, y, groups=np.zeros(y.size))
    plain = MetricClassifier("auc", strength=1e-3).fit(X, y)
    np.testing.assert_allclose(one.coef_, plain.coef_, atol=1e-8)


def test_search_keeps_groups_whole(queries):
    X, y, groups = queries
    search = MetricClassifierCV("auc", strengths=[0.1, 0.01], cv=3).fit(X, y, groups=groups)
    whole = StratifiedGroupKFold(3, shuffle=True, random_state=fold_seed(search))
    same = MetricClassifierCV("auc", strengths=[0.1, 0.01], cv=whole).fit(X, y, groups=groups)
    np.testing.assert_allclose(search.scores_, same.scores_, rtol=1e-12)
    assert search.score(X, y, groups=groups) > 0.7


def test_groups_need_pairs(queries):
    X, y, groups = queries
    with pytest.raises(IncompatibleError, match="groups"):
        MetricClassifier("log_loss").fit(X, y, groups=groups)
    with pytest.raises(DataError, match="one group per row"):
        MetricClassifier("auc").fit(X, y, groups=groups[:-1])
    with pytest.raises(DataError, match="both classes"):
        MetricClassifier("auc").fit(X, y, groups=np.arange(y.size))


# --- names and bad input --------------------------------------------------------------------------


def test_names():
    assert parse("metric", "precision_at_k( k = 100 )") == ("precision_at_k", 100)
    assert isinstance(parse("metric", "precision_at_k(1.0)")[1], float)
    assert isinstance(resolve_metric("f1", "max_margin").loss, FBeta)
    assert isinstance(resolve_metric("precision_at_k(0.1)", "max_margin").loss, PrecisionAtK)


@pytest.mark.parametrize(
    "metric",
    [
        "precision_at_k",
        "precision_at_k(0)",
        "precision_at_k(-3)",
        "precision_at_k(10_000_000)",
        "precision_at_k(ten)",
        "fbeta(0)",
        "fbeta(-1)",
        "partial_auc(0)",
        "partial_auc(1.5)",
        "cost(0)",
        "auc(3)",
        "auc(",
        "prbep()",
        "gini",
    ],
)
def test_bad_names(rows, metric):
    with pytest.raises((ParameterError, DataError), match="needs"):
        MetricClassifier(metric).fit(rows.X, rows.y)


def test_more_than_the_positives(rows):
    """k above the number of positives is no error: even the best ranking has false alarms."""
    k = int(rows.y.sum()) + 30
    model = MetricClassifier(f"precision_at_k({k})", strength=1e-2).fit(rows.X, rows.y)
    assert model.predict(rows.X).sum() == k


def test_ties_everywhere():
    X, y = np.zeros((20, 2)), np.arange(20) % 4 == 0
    for name in METRICS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = MetricClassifier(spelled(name), strength=0.1).fit(X, y)
        assert not model.coef_.any()
        assert np.isfinite(model.intercept_).all()


# --- warnings that help ---------------------------------------------------------------------------


def test_vacuous_surrogate_is_said(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = rng.random(4000) < np.exp(0.8 * X[:, 0] - 6.5)
    with pytest.warns(UserWarning, match="vacuous"):
        MetricClassifier("prbep", surrogate="max_margin").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MetricClassifier("prbep", surrogate="max_margin").fit(rows.X, rows.y)


def team_cases(seed, share):
    """One row in twenty is positive; of these a share stands out, the others hide."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6000, 8))
    y = rng.random(6000) < 0.05
    clear = y & (rng.random(6000) < share)
    X[clear, 0] += 4.0
    X[y & ~clear, 1] += 1.0
    return X, y


def test_a_surrogate_that_falls_little_and_ranks_is_not_called_vacuous():
    """It gets to 0.993 of a constant's loss, and 154 of its first 200 rows are positive; where
    nothing is gained at all, what the scores rank by is left to the solver."""
    model = MetricClassifier("precision_at_k(200)", surrogate="max_margin")
    X, y = team_cases(16, 0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.solution_.value > 0.99
    assert model.score(X, y) > 0.7
    with pytest.warns(AuctorWarning, match="vacuous") as caught:
        model.fit(*team_cases(0, 0.3))
    said = caught[0].message
    assert (said.who, [one.name for one in said.options]) == (
        "MetricClassifier",
        ["surrogate", "metric"],
    )
    assert "--surrogate logistic or --metric auc" in worded(said, "train")


def test_separable_without_a_penalty_is_said():
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    with pytest.warns(UserWarning, match="nothing bounds the scale of the coefficients"):
        MetricClassifier("auc", surrogate="logistic", penalty="none").fit(X, X[:, 0] > 0.1)


def test_fold_without_the_metric_is_left_out(rows):
    y = np.zeros(rows.y.size, dtype=int)
    y[:12] = 1
    thirds = np.arange(y.size) % 3
    folds = [(np.flatnonzero(thirds != k), np.flatnonzero(thirds == k)) for k in range(3)]
    folds.append((np.arange(y.size), np.arange(100, 150)))  # no positive to rank
    with pytest.warns(UserWarning, match="leaves out a fold"):
        search = MetricClassifierCV("auc", n_strengths=3, cv=folds).fit(rows.X, y)
    assert np.isnan(search.scores_[-1]).all()
    assert np.isfinite(search.scores_[:-1]).all()


@pytest.mark.parametrize("weight", [np.nan, 0.0], ids=str)
def test_accuracy_refuses_weights_that_are_none(rows, weight):
    model = MetricClassifier("error").fit(rows.X, rows.y)
    with pytest.raises(ValueError, match=r"weight|NaN|zero"):
        model.score(rows.X, rows.y, np.full(rows.y.size, weight))
