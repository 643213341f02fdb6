import numpy as np
import pytest

from auctor import metrics
from auctor.evaluate import curves
from auctor.evaluate.intervals import wilson
from auctor.metrics.inputs import validate
from auctor.metrics.sweep import sweep


def swept(y, scores):
    return sweep(validate(y, scores, None))


def area(curve):
    return float(np.trapezoid(curve.y, curve.x))


@pytest.fixture(scope="module", params=["smooth", "tied", "few", "rare"])
def case(request):
    rng = np.random.default_rng(2)
    n, rate = (60, 0.4) if request.param == "few" else (5000, 0.2)
    y = (rng.random(n) < (0.005 if request.param == "rare" else rate)).astype(int)
    scores = rng.normal(size=n) + 1.3 * y
    if request.param == "tied":
        scores = scores.round(1)
    return y, scores, swept(y, scores)


# --- curves -------------------------------------------------------------------------------


def test_roc_is_thinned_and_keeps_its_area(case):
    y, scores, s = case
    curve = curves.roc(s)
    assert len(curve.x) == len(curve.y) <= curves.MAX_POINTS
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.all(np.diff(curve.x) >= 0)
    assert np.all(np.diff(curve.y) >= 0)
    assert area(curve) == pytest.approx(metrics.auc(y, scores), abs=5e-3)
    exact = metrics.roc_curve(y, scores)
    points = set(zip(exact.fpr.tolist(), exact.tpr.tolist(), strict=True))
    assert set(zip(*curve, strict=True)) <= points


def test_short_curves_are_exact():
    y, scores = np.array([0, 1, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8, 0.2])
    assert area(curves.roc(swept(y, scores))) == pytest.approx(metrics.auc(y, scores))
    assert curves.roc(swept([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])) == (
        (0.0, 0.0, 0.5, 1.0),
        (0.0, 0.5, 1.0, 1.0),
    )


def test_precision_recall_points_are_on_the_curve(case):
    y, scores, s = case
    curve = curves.precision_recall(s)
    assert len(curve.x) <= curves.MAX_POINTS
    assert curve.x[-1] == 1.0
    assert np.all(np.diff(curve.x) >= 0)
    exact = metrics.precision_recall_curve(y, scores)
    points = set(zip(exact.recall.tolist(), exact.precision.tolist(), strict=True))
    assert set(zip(*curve, strict=True)) <= points
    if len(points) < curves.MAX_POINTS:
        for recall in set(curve.x):
            wanted = exact.precision[:-1][exact.recall[:-1] == recall]
            found = [b for a, b in zip(*curve, strict=True) if a == recall]
            assert (min(found), max(found)) == (wanted.min(), wanted.max())


def test_precision_recall_of_perfect_and_constant_scores():
    y = np.array([0, 0, 1, 1])
    perfect = curves.precision_recall(swept(y, [1.0, 2.0, 3.0, 4.0]))
    assert perfect == ((0.5, 1.0, 1.0), (1.0, 1.0, 0.5))
    assert set(zip(*curves.precision_recall(swept(y, np.zeros(4))), strict=True)) == {(1.0, 0.5)}


def test_gains_points_are_on_the_curve(case):
    y, scores, s = case
    exact = metrics.cumulative_gains(y, scores)
    points = set(zip(exact.fraction.tolist(), exact.recall.tolist(), strict=True))
    curve = curves.gains(s)
    assert set(zip(*curve, strict=True)) <= points
    assert len(curve.x) <= curves.MAX_POINTS


def test_lift_is_that_of_the_metrics(case):
    y, scores, s = case
    for point in curves.lift(s):
        assert point.lift == pytest.approx(metrics.lift_at_k(y, scores, point.share))
        assert point.recall == pytest.approx(metrics.recall_at_k(y, scores, point.share))
    shares = [p.share for p in curves.lift(s)]
    assert shares == [k for k in curves.LIFT_SHARES if k * y.size >= 1.0]


def test_thin_drops_points_on_a_line():
    x = np.linspace(0.0, 1.0, 50)
    assert curves.thin(x, x) == ((0.0, 1.0), (0.0, 1.0))


# --- bins ---------------------------------------------------------------------------------


def test_calibration_bins_are_groups_of_neighbouring_scores(case):
    y, scores, s = case
    bins, _ = curves.calibration(s, of_probabilities=False)
    assert sum(b.rows for b in bins) == y.size
    assert all(b.rows >= curves.MIN_BIN for b in bins)
    order = np.argsort(scores, kind="stable")
    start = 0
    for b in bins:
        rows = order[start : start + b.rows]
        start += b.rows
        assert b.score == pytest.approx(scores[rows].mean(), rel=1e-9, abs=1e-9)
        if start < y.size:  # ties are not torn apart
            assert scores[order[start - 1]] < scores[order[start]]
            assert b.positives == y[rows].sum()
        assert (b.rate, b.low, b.high) == wilson(b.positives, b.rows)[:3]
    assert [b.score for b in bins] == sorted(b.score for b in bins)


def test_calibration_of_few_or_constant_scores_is_one_bin():
    y = np.array([0, 1, 0, 1])
    for scores in ([1.0, 2.0, 3.0, 4.0], np.zeros(4)):
        (only,) = curves.calibration(swept(y, scores), of_probabilities=True).bins
        assert (only.rows, only.positives) == (4, 2)
    (only,) = curves.calibration(swept(np.tile(y, 100), np.zeros(400)), of_probabilities=True).bins
    assert only.rows == 400


def test_histogram_counts_every_row_once(case):
    y, scores, s = case
    edges, positives, negatives = curves.histogram(s)
    assert len(edges) == curves.HISTOGRAM_BINS + 1
    assert (sum(positives), sum(negatives)) == (y.sum(), y.size - y.sum())
    inside = np.clip(scores, edges[0], edges[-1])
    # The last bin is closed, as in numpy.
    assert list(positives) == np.histogram(inside[y == 1], edges)[0].tolist()
    assert list(negatives) == np.histogram(inside[y == 0], edges)[0].tolist()
    beyond = (scores < edges[0]) | (scores > edges[-1])
    assert beyond.mean() <= 2 * curves.HISTOGRAM_TAIL


@pytest.mark.parametrize("value", [0.0, -7.5, 1e12])
def test_histogram_of_constant_scores(value):
    edges, positives, negatives = curves.histogram(swept([0, 1, 1], [value] * 3))
    assert edges[0] < value < edges[-1]
    assert (sum(positives), sum(negatives)) == (2, 1)


# --- thresholds ---------------------------------------------------------------------------


def test_counts_at_every_threshold_are_exact(case):
    y, scores, s = case
    for own in (0.3, scores.max() + 5.0, scores.min() - 5.0, float(scores[7])):
        t = curves.threshold_table(s, own, beta=0.5, costs=(1.0, 20.0))
        assert t.threshold[t.own] == own
        assert len(t.threshold) <= curves.MAX_THRESHOLDS
        assert list(t.threshold) == sorted(set(t.threshold))
        for cut, *counts in zip(*t[:5], strict=True):
            assert tuple(counts) == metrics.confusion(y, scores, threshold=cut)
        # Everything and nothing can be flagged.
        assert t.fn[0] + t.tn[0] == 0
        assert t.tp[-1] + t.fp[-1] == 0


def test_the_best_thresholds_are_in_the_table(case):
    y, scores, s = case
    t = curves.threshold_table(s, 0.0, beta=2.0, costs=(1.0, 9.0))
    best = metrics.best_fbeta(y, scores, 2.0).value
    assert max(
        metrics.fbeta(y, scores, 2.0, threshold=cut) for cut in t.threshold
    ) == pytest.approx(best)
    cut = metrics.best_threshold(y, scores, "cost", 9.0)
    table = metrics.confusion(y, scores, threshold=cut)
    least = table.fp + 9.0 * table.fn
    assert min(fp + 9.0 * fn for fp, fn in zip(t.fp, t.fn, strict=True)) == least


def test_all_thresholds_are_there_when_they_are_few():
    t = curves.threshold_table(swept([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0]), 0.0)
    assert t.tp == (2, 2, 1, 0)
    assert t.fp == (2, 1, 0, 0)
    assert t.threshold[0] == 0.0
