"""The trained metric, its baselines, single rows and slices, against brute force."""

import math

import numpy as np
import pytest

from auctor import metrics
from auctor.evaluate.build import weights
from auctor.evaluate.intervals import Estimate
from auctor.evaluate.rows import MeasuredRows, Reason, costly_rows
from auctor.evaluate.slices import MAX_SLICES, MISSING, OTHERS, groups, sliced
from auctor.evaluate.trained_metric import (
    Baseline,
    ReportedMetric,
    Rival,
    TrainedMetric,
    trained_metric,
)
from auctor.evaluate.verdict import CONSTANT, PAIRED, TREES
from auctor.reports.text import describe_baseline, describe_fit


def cost(y, scores, weight):
    table = metrics.confusion(y, scores > 0.0, weight=weight)
    return -(table.fp + 5.0 * table.fn) / sum(table)


AUC = ReportedMetric("auc", lambda y, s, w: metrics.auc(y, s, weight=w))
COST = ReportedMetric("cost(5)", cost, 0.0)


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    hit = rng.random(800) < 0.3
    return hit, rng.normal(size=800) + 1.5 * hit - 0.75, rng.normal(size=800) + hit


def test_less_cost_is_better_and_none_is_best(scored):
    hit, scores, other = scored
    rivals = [Rival("other", other), Rival("absent", None, "It is too wide.")]
    trained, (line, absent) = trained_metric(COST, hit, scores, rivals, train=0.1)
    wrong = (hit & (scores <= 0)) * 5.0 + (~hit & (scores > 0))
    theirs = (hit & (other <= 0)) * 5.0 + (~hit & (other > 0))
    assert trained.test.value == pytest.approx(wrong.mean())
    assert (trained.best, trained.greater) == (0.0, False)
    assert line.value == pytest.approx(theirs.mean())
    assert line.ahead.value == pytest.approx(theirs.mean() - wrong.mean())
    # The cost is a mean over rows, so that its standard errors are known, class by class.
    for found, values in ((trained.test, wrong), (line.ahead, theirs - wrong)):
        variance = sum(values[c].var() * c.sum() for c in (hit, ~hit)) / hit.size**2
        assert found.high - found.value == pytest.approx(1.96 * math.sqrt(variance), rel=0.15)
    assert math.isnan(absent.value)
    assert describe_baseline(absent) == "not measured. It is too wide."


def test_the_verdict_takes_the_simplest_model_that_may_be_as_good(scored):
    hit, scores, other = scored
    curves = AUC._replace(kind=PAIRED)
    near = scores + np.random.default_rng(2).normal(scale=0.01, size=hit.size) - 0.001 * hit
    constant = Rival("constant score", np.zeros(hit.size), kind=CONSTANT)
    simple, _ = trained_metric(curves, hit, scores, [constant, Rival("log-loss", near)])
    assert simple.verdict.startswith("Take log-loss: this model is ahead of it by")
    ahead, _ = trained_metric(curves, hit, scores, [constant, Rival("log-loss", other)])
    assert ahead.verdict.startswith("Take this model: it is the best, ")
    assert "maps of pairs of columns can be read" in ahead.verdict
    behind, _ = trained_metric(curves, hit, other, [Rival("trees", scores, kind=TREES)])
    assert behind.verdict.startswith("Take trees: it is the best, ")
    alone, _ = trained_metric(curves, hit, scores, [constant])
    assert alone.verdict == ""


def test_the_best_possible_depends_on_the_rows():
    top = ReportedMetric(
        "precision_at_k(4)", lambda y, s, w: metrics.precision_at_k(y, s, 4, weight=w)
    )
    hit = np.array([True] + [False] * 9)
    trained, _ = trained_metric(top, hit, np.arange(10.0))
    assert trained.best == 0.25
    assert trained.test.value == 0.0


def test_the_best_possible_log_loss_is_none(scored):
    likely = ReportedMetric("log_loss", lambda y, s, w: -metrics.log_loss(y, s, weight=w), 0.0)
    trained, _ = trained_metric(likely, *scored[:2])
    assert trained.best == 0.0
    assert trained.test.value == pytest.approx(metrics.log_loss(*scored[:2]))


@pytest.mark.parametrize(
    ("greater", "train", "flag"),
    [(True, 0.9, True), (True, 0.8, False), (False, 0.6, True), (False, 0.9, False)],
)
def test_over_fitting_is_beyond_the_interval(greater, train, flag):
    trained = TrainedMetric("m", Estimate(0.75, 0.7, 0.85, ""), 1.0, train, greater)
    assert trained.overfits == flag
    assert describe_fit(trained).startswith("It over-fits" if flag else "There is no sign")
    assert describe_fit(trained._replace(train=math.nan)).startswith(
        "Whether it over-fits is not known"
    )


def test_a_baseline_that_is_the_same_says_so():
    line = Baseline("constant", 0.5, Estimate(0.0, 0.0, 0.0, ""))
    assert describe_baseline(line) == "0.5, the same as the model"


def test_features_are_ranked_by_weight_times_deviation():
    far = np.array([0.01, 8.0, 5.0, 0.5])
    units = ["day", "1", "1", "1"]
    found = weights([10.0, -0.5, 0.0, 1.0], list("abcd"), deviations=far, units=units)
    assert [f.name for f in found.top] == ["b", "d", "a"]
    assert [f.effect for f in found.top] == pytest.approx([-4.0, 0.5, 0.1])
    assert found.top[2].unit == "day"


# --- rows ---------------------------------------------------------------------------------------


def test_the_costliest_errors_are_those_of_brute_force(scored):
    hit, scores, _ = scored
    price = [(10.0 if h else 1.0, abs(s), k) for k, (h, s) in enumerate(zip(hit, scores))  # noqa: B905
             if (s > 0) != h]  # fmt: skip
    wanted = [k + 101 for *_, k in sorted(price, reverse=True)]
    rows = MeasuredRows(range(101, 901), lambda k: [Reason("a", 1.0, -2.0), Reason("b", 2.0, 3.0),
                                                    Reason("c", 0.0, -0.5)])  # fmt: skip
    found = costly_rows(hit, scores, (1.0, 10.0), ("no", "yes"), rows=rows, limit=1000)
    assert [one.row for one in found] == wanted
    miss, alarm = found[0], found[-1]
    assert (miss.actual, miss.predicted, miss.cost) == ("yes", "no", 10.0)
    assert (alarm.actual, alarm.predicted, alarm.cost) == ("no", "yes", 1.0)
    # A miss is explained by what speaks against it, a false alarm by what speaks for it.
    assert [reason.name for reason in miss.reasons] == ["a", "c"]
    assert [reason.name for reason in alarm.reasons] == ["b"]


# --- slices -------------------------------------------------------------------------------------


def test_slices_are_metrics_of_their_rows(scored):
    hit, scores, _ = scored
    city = np.random.default_rng(1).choice(["Oslo", "Rome", ""], hit.size)
    found = sliced("city", city.tolist(), hit, scores, COST).slices
    assert [one.name for one in found] == ["Oslo", "Rome", MISSING]
    for one, word in zip(found, ("Oslo", "Rome", ""), strict=True):
        part = city == word
        table = metrics.confusion(hit[part], scores[part] > 0)
        assert (one.rows, one.positives) == (part.sum(), hit[part].sum())
        assert one.value == pytest.approx(-cost(hit[part], scores[part], None))
        assert one.auc.value == pytest.approx(metrics.auc(hit[part], scores[part]))
        assert (one.precision, one.recall.value, one.fpr.value) == pytest.approx(
            (table.precision, table.tpr, table.fpr)
        )
        assert one.flagged.value == pytest.approx(np.mean(scores[part] > 0))
        assert one.flagged.low < one.flagged.value < one.flagged.high


def test_a_slice_of_one_class_has_no_metric():
    found = sliced("c", ["a", "a", "b"], np.array([True, False, False]), np.zeros(3), AUC).slices
    assert found[0].value == 0.5
    assert math.isnan(found[1].value)
    assert math.isnan(found[1].recall.value)


def test_numbers_become_quarters_and_rare_words_one_slice():
    numbers = groups([f"{k / 10}" for k in range(100)])
    assert list(numbers) == ["0 to 2.4", "2.5 to 4.9", "5 to 7.4", "7.5 to 9.9"]
    assert [rows.size for rows in numbers.values()] == [25, 25, 25, 25]
    words = groups([f"w{k % 20}" for k in range(60)] + ["w3"])
    assert next(iter(words)) == "w3"
    assert list(words)[-1] == OTHERS
    assert len(words) == MAX_SLICES
    assert sum(rows.size for rows in words.values()) == 61
    assert list(groups(["1", "2", "1"])) == ["1", "2"]
