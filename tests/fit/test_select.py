"""Strengths from coarse to fine, ties, edges, time, and surrogates by folds."""

import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from auctor import MetricClassifier, MetricClassifierCV
from auctor.core.errors import DataWarning
from auctor.fit.fold_scores import FoldModel
from auctor.fit.surrogate import contestants
from auctor.fit.validation_curve import ValidationCurve

RNG = np.random.default_rng(1)
X = RNG.normal(size=(400, 12))
Y = X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + 1.5 * RNG.normal(size=400) > 1.5


def test_a_search_finds_what_a_full_grid_finds():
    coarse = MetricClassifierCV("log_loss").fit(X, Y)
    full = MetricClassifierCV("log_loss", n_strengths=30).fit(X, Y)
    assert (~np.isnan(coarse.scores_)).sum() < 0.4 * full.scores_.size
    best = coarse.scores_[:, coarse.best_index_]
    assert best.mean() >= full.scores_.mean(axis=0).max() - 2e-3
    assert coarse.strengths_.size == coarse.scores_.shape[1]
    assert (np.diff(coarse.strengths_) < 0.0).all()


def test_the_grid_goes_on_beyond_its_edge():
    """Next to free weights are best where the label is a function of the columns."""
    model = MetricClassifierCV("log_loss", ratio=1e-2, surrogate="logistic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(X[:, :2], X[:, 0] - X[:, 1] + 0.05 * X[:, 2] > 0.3)
    top = model.strengths_[0]
    assert model.strength_ < 1e-2 * top


def test_an_edge_where_scores_rise_is_said():
    model = MetricClassifierCV("log_loss", strengths=[1e3, 1e2, 10.0])
    with pytest.warns(DataWarning, match=r"smallest strength that it tried, 10, and scores still"):
        model.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MetricClassifierCV("log_loss", strengths=[1e3, 0.01, 1e-6]).fit(X, Y)


def end_of(model):
    """Whether the chosen strength ends what was tried, and its mean score beats its neighbour's."""
    at, last = model.best_index_, model.strengths_.size - 1
    if at not in (0, last):
        return False
    both = model.scores_[:, [at, 1 if at == 0 else last - 1]]
    return both[:, 0].mean() > both[:, 1].mean()


@pytest.mark.parametrize(
    ("metric", "seed", "noise", "columns", "told"),
    [
        ("auc", 1, 0.3, 5, False),  # level scores at the small end
        ("average_precision", 11, 0.0, 4, False),
        ("log_loss", 10, 30.0, 10, False),  # and at the large end
        ("log_loss", 0, 0.0, 4, True),  # labels that are a function of the columns
    ],
)
def test_no_search_ends_on_an_edge_without_a_word(metric, seed, noise, columns, told):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(300, columns))
    labels = table[:, 0] - table[:, 1] + noise * rng.normal(size=300) > 0.5
    surrogate = "pointwise" if metric == "auc" else "auto"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MetricClassifierCV(metric, ratio=1e-2, surrogate=surrogate).fit(table, labels)
    assert any("scores still rise" in str(one.message) for one in caught) == told
    assert end_of(model) == told


def test_an_empty_sparse_model_is_said_in_its_own_words():
    """Labels that have nothing to do with the columns: larger strengths would change nothing."""
    rng = np.random.default_rng(1)
    table, labels = rng.normal(size=(120, 30)), rng.random(120) < 0.4
    with pytest.warns(DataWarning, match=r"almost no column is in the model.*tell more about"):
        model = MetricClassifierCV("log_loss", penalty="l1").fit(table, labels)
    assert not model.coef_.any()


def test_level_scores_at_an_end_are_no_reason_to_go_there():
    table = {s: {k: FoldModel(v + 0.01 * k, v, [], X[0]) for k in range(3)} for s, v in
             ((10.0, 0.5), (1.0, 0.8), (0.1, 0.8 + 1e-9))}  # fmt: skip
    table[0.1][2] = table[1.0][2]._replace(score=table[1.0][2].score - 1e-9)
    level = curve_of(table)
    assert level.best() == 2
    assert level.off_edge(2) == 1
    for k in range(3):
        table[0.1][k] = table[1.0][k]._replace(score=table[1.0][k].score + 0.1 + 1e-3 * k)
    rising = curve_of(table)
    assert rising.off_edge(2) == 2
    assert rising.rising_edge(2)
    assert rising.off_edge(1) == 1


def test_few_positives_are_scored_on_all_folds_before_a_strength_is_dropped():
    rare = np.argsort(X[:, 0] - X[:, 1] + RNG.normal(size=400))[-30:]
    few = MetricClassifierCV("average_precision", surrogate="logistic")
    few.fit(X, np.isin(np.arange(400), rare))
    assert not np.isnan(few.scores_).any()
    many = MetricClassifierCV("average_precision", surrogate="logistic").fit(X, X[:, 0] > X[:, 1])
    assert np.isnan(many.scores_[2:]).any()


def test_a_grid_does_not_go_on_where_all_models_rank_alike():
    """Under a very strong penalty every model points from the mean of one class to the other's."""
    table = {s: {k: FoldModel(0.8, 0.7, [], X[0]) for k in range(3)} for s in (10.0, 1.0)}
    table[0.1] = {k: FoldModel(0.6, 0.7, [], X[0]) for k in range(3)}
    assert curve_of(table).flat_edge(0)
    assert not curve_of(table).flat_edge(2)
    table[10.0][1] = FoldModel(0.8, 0.75, [], X[0])  # the same score, a better second one
    assert not curve_of(table).flat_edge(0)


@pytest.mark.parametrize("folds", [3, 5, 7])
def test_a_lead_on_one_fold_is_chance(folds):
    """Its mean is its standard error, whatever rounding makes of the two."""
    for lead in (0.1, 0.2, 0.3, 1.0 / 3.0, 0.7):
        table = {1.0: {k: FoldModel(0.6 + lead * (k == 1), 0.5, [], X[0]) for k in range(folds)}}
        curve = ValidationCurve(SimpleNamespace(folds=list(range(folds))), None, None, table=table)
        assert not curve.leads(0, np.full(folds, 0.6))
        table[1.0][2] = table[1.0][1]
        assert curve.leads(0, np.full(folds, 0.6))


def curve_of(table):
    return ValidationCurve(SimpleNamespace(folds=[0, 1, 2]), None, None, table=table)


def test_a_start_changes_the_work_and_not_the_answer():
    """Models that start from another strength or fold meet the tolerance of their own problem."""
    rows = MetricClassifierCV("log_loss", random_state=0).fit(X, Y)
    cold = MetricClassifierCV(
        "log_loss", random_state=0, strengths=rows.strengths_, tol=1e-9
    ).fit(X, Y)  # fmt: skip
    known = ~np.isnan(rows.scores_)
    np.testing.assert_allclose(rows.scores_[known], cold.scores_[known], atol=4e-3)


def test_equal_scores_are_decided_by_average_precision():
    """All positives are far up, so that precision among the first few is 1 at every strength."""
    rng = np.random.default_rng(3)
    table = np.column_stack([rng.normal(size=500), 3.0 * rng.normal(size=(500, 4))])
    labels = table[:, 0] + 0.05 * table[:, 1:].sum(axis=1) > 0.8
    model = MetricClassifierCV(
        "precision_at_k(3)", surrogate="logistic", strengths=[1e3, 1.0, 1e-3], cv=3
    ).fit(table, labels)
    means = model.scores_.mean(axis=0)
    tied = np.flatnonzero(means == means.max())
    assert tied.size > 1
    best = [
        MetricClassifierCV("average_precision", surrogate="logistic", strengths=[s], cv=3)
        .fit(table, labels)
        .scores_.mean()
        for s in model.strengths_[tied]
    ]
    assert model.best_index_ == tied[np.argmax(best)]
    assert model.best_index_ > 0


def test_the_time_is_for_everything():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(4000, 60))
    labels = table[:, 0] + 2.0 * rng.normal(size=4000) > 2.0
    with warnings.catch_warnings():  # compile first
        warnings.simplefilter("ignore")
        MetricClassifier("f1", surrogate="max_margin", max_iter=2).fit(table, labels)
    start = time.perf_counter()
    model = MetricClassifierCV(
        "f1", surrogate="max_margin", tol=1e-9, n_strengths=30, max_seconds=1.0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table, labels)
    assert any("ran out of time" in str(one.message) for one in caught)
    assert time.perf_counter() - start < 10.0
    assert model.score(table, labels) > 0.0


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_rules(rule):
    model = MetricClassifierCV("log_loss", rule=rule).fit(X, Y)
    means = np.nanmean(model.scores_, axis=0)
    whole = ~np.isnan(model.scores_).any(axis=0)
    if rule == "best":
        assert means[model.best_index_] == means[whole].max()
    else:
        assert model.strength_ > MetricClassifierCV("log_loss").fit(X, Y).strength_


# --- surrogates ---------------------------------------------------------------------------------


def test_who_takes_part():
    assert contestants("auc", "auto") == ("pointwise", "squared_hinge", "hinge")
    assert contestants("precision_at_k(10)", "auto")[0] == "logistic"
    assert contestants("auc", "hinge") == ("hinge",)
    assert contestants("log_loss", "auto") == ("auto",)


def top_and_mixture(seed):
    """Some positives far up, a crowd elsewhere in which a quarter is positive."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(1500, 2))
    top = rng.random(1500) < 0.08
    crowd = ~top & (rng.random(1500) < 0.3)
    table[top] = rng.normal(size=(top.sum(), 2)) * [0.3, 1.0] + [3.0, 0.0]
    table[crowd] = rng.normal((0.0, 5.0), size=(crowd.sum(), 2))
    labels = top.copy()
    labels[crowd] = rng.random(crowd.sum()) < 0.25
    return table, labels


@pytest.mark.parametrize(
    ("metric", "cheap", "seed"), [("auc", "pointwise", 0), ("f1", "logistic", 16)]
)
def test_another_surrogate_wins_where_it_generalises_better(metric, cheap, seed):
    table, labels = top_and_mixture(seed)
    chosen = MetricClassifierCV(metric).fit(table, labels)
    other = MetricClassifierCV(metric, surrogate=cheap).fit(table, labels)
    assert chosen.surrogate_ != cheap
    lead = chosen.scores_[:, chosen.best_index_].mean() - other.scores_[:, other.best_index_].mean()
    assert lead > 0.01
    alone = MetricClassifier(metric, surrogate=chosen.surrogate_, strength=chosen.strength_).fit(
        table, labels
    )
    np.testing.assert_allclose(chosen.coef_, alone.coef_)


def test_the_cheap_surrogate_stays_where_nothing_is_better():
    assert MetricClassifierCV("f1").fit(X, Y).surrogate_ == "logistic"
    # Stated strengths leave the choice to the fixed rule.
    assert MetricClassifierCV("f1", n_strengths=2, cv=2).fit(X, Y).surrogate_ == "logistic"
    assert MetricClassifierCV("auc", n_strengths=2, cv=2).fit(X, Y).surrogate_ == "logistic"


def test_the_same_search_twice_is_the_same():
    one, two = (MetricClassifierCV("f1", random_state=0).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.surrogate_ == two.surrogate_
