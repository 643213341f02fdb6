"""Times, customers and costs of rows: in folds, searches, thresholds and savings."""

import datetime

import numpy as np
import pytest

from auctor import AdditiveClassifier, MetricClassifier, MetricClassifierCV, metrics
from auctor.core.errors import DataError
from auctor.fit.folds import SplitBy, folds_by, time_folds
from auctor.fit.row_facts import read_times

N = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + RNG.normal(size=N) > 1.0
DAY = np.sort(RNG.integers(0, 60, N))
CUSTOMER = RNG.integers(0, 150, N)
AMOUNT = RNG.lognormal(3.0, 1.0, N)


@pytest.mark.parametrize("gap", [0.0, 5.0])
@pytest.mark.parametrize("apart", [None, CUSTOMER])
def test_folds_train_on_the_past(gap, apart):
    order = RNG.permutation(N)
    by = SplitBy(None if apart is None else apart[order], DAY[order].astype(float), gap)
    folds = list(time_folds(by, Y[order].astype(int), 5))
    assert len(folds) == 5
    tested = np.concatenate([test for _, test in folds])
    assert np.unique(tested).size == tested.size
    for (train, test), (later, _) in zip(folds, folds[1:] + folds[-1:], strict=True):
        latest = by.times[train].max()
        assert latest < by.times[test].min()
        assert latest + gap <= by.times[test].min()
        assert later.size >= train.size or apart is not None
        if apart is not None:
            assert not set(by.apart[train]) & set(by.apart[test])


def test_groups_stay_on_one_side():
    for train, test in folds_by(Y.astype(int), 4, 0, None, SplitBy(CUSTOMER)):
        assert not set(CUSTOMER[train]) & set(CUSTOMER[test])


@pytest.mark.parametrize("facts", [{"times": DAY, "gap": 2.0}, {"apart": CUSTOMER}])
def test_the_search_scores_those_folds(facts):
    model = MetricClassifierCV("auc", strengths=[0.1, 0.01], cv=3).fit(X, Y, **facts)
    by = SplitBy(facts.get("apart"), facts.get("times"), facts.get("gap", 0.0))
    seed = int(np.random.default_rng(0).integers(2**31))
    for k, (train, test) in enumerate(folds_by(Y.astype(int), 3, seed, None, by)):
        part = MetricClassifier("auc", strength=0.1, tol=1e-8).fit(X[train], Y[train])
        assert model.scores_[k, 0] == pytest.approx(part.score(X[test], Y[test]), abs=2e-3)


def test_curves_keep_to_them():
    curves = AdditiveClassifier(members=4, interactions=0, n_strengths=3)
    held = np.isfinite(curves.fit(X, Y, times=DAY).oof_scores_[:, 0])
    assert not held[DAY[N // 6] - 1 >= DAY].any()  # the first days are never tested on
    assert held[DAY[N // 6] < DAY].all()
    model = MetricClassifier("auc", calibrate="sigmoid", threshold_cv=3).fit(X, Y, times=DAY)
    assert np.isfinite(model.predict_proba(X)).all()


def test_times_of_many_kinds():
    dates = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 3)]
    same = [dates, np.array(dates, dtype="datetime64[s]"), ["2026-01-01", " 2026-01-03"]]
    assert {float(np.diff(read_times(one, 2))[0]) for one in same} == {2.0}
    assert read_times(["1", "2.5"], 2).tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"times": ["2026-01-01"] * (N - 1) + ["soon"]}, "got 'soon'"),
        ({"times": np.where(np.arange(N) == 4, np.nan, 1.0)}, "such as row 5"),
        ({"times": np.zeros(N)}, "before some cut"),
        ({"apart": np.arange(N)}, "groups of 600 rows"),
        ({"apart": Y}, "in one group only"),
        ({"gap": 1.0}, "the time of each row"),
        ({"cost_fp": -1.0}, "cost_fp of at least 0"),
        ({"cost_fn": np.full(N, np.nan)}, "cost_fn of at least 0"),
        ({"cost_fn": np.zeros(N)}, "missed positives"),
        ({"cost_fn": [1.0, 2.0]}, r"shape \(2,\) for 600 rows"),
        ({"sample_weight": np.full(N, np.nan)}, "finite"),
    ],
)
def test_bad_input(facts, message):
    with pytest.raises(DataError, match=message):
        MetricClassifierCV("auc").fit(X, Y, **facts)


# --- costs ------------------------------------------------------------------------------------


def test_costs_are_weights_of_the_training_and_the_threshold():
    costs = {"cost_fp": 5.0, "cost_fn": AMOUNT}
    weight = np.where(Y, AMOUNT, 5.0)
    model = MetricClassifier("cost(1)").fit(X, Y, **costs)
    weighted = MetricClassifier("cost(1)").fit(X, Y, sample_weight=weight)
    # Up to the scale of the columns, in which costs do not count.
    assert model.coef_ == pytest.approx(weighted.coef_, rel=1e-2)
    # The threshold has the least total cost on the training rows.
    scores = model.decision_function(X)
    paid = metrics.savings(Y, scores > 0.0, **costs).cost
    assert paid <= min(metrics.savings(Y, scores > t, **costs).cost for t in scores) + 1e-9


def test_savings_by_hand():
    flagged = RNG.random(N) < 0.3
    cost = sum(
        (0.0 if f else a) if y else (5.0 if f else 0.0)
        for y, f, a in zip(Y, flagged, AMOUNT, strict=True)
    )
    found = metrics.savings(Y, flagged, cost_fp=5.0, cost_fn=AMOUNT)
    assert found.cost == pytest.approx(cost)
    assert found.flag_none == pytest.approx(AMOUNT[Y].sum())
    assert found.flag_all == pytest.approx(5.0 * (~Y).sum())
    assert found.share == pytest.approx(1.0 - cost / min(found.flag_none, found.flag_all))
    assert metrics.savings(Y, Y, cost_fn=AMOUNT).share == 1.0


def test_the_bayes_threshold_is_best_for_true_probabilities():
    p, fn = RNG.random(20000), RNG.lognormal(0.0, 1.0, 20000)
    expected = np.where(p > metrics.bayes_threshold(2.0, fn), 2.0 * (1 - p), fn * p)
    assert expected == pytest.approx(np.minimum(2.0 * (1 - p), fn * p))
    assert metrics.bayes_threshold([0.0], [0.0]).tolist() == [1.0]


def test_costs_need_two_classes():
    with pytest.raises(DataError, match="two classes for costs"):
        MetricClassifier("cost(1)").fit(X, np.arange(N) % 3, cost_fp=2.0)
