import json

import numpy as np
import pytest

from auctor import metrics
from auctor.reports.info import MAX_POINTS, convergence, plain, precision_recall, roc, thin


def area(curve):
    return float(np.trapezoid(curve.y, curve.x))


def test_roc_is_thinned_and_keeps_its_area(scored):
    y, scores = scored
    for s in scores:
        curve = roc(y, s)
        assert len(curve.x) == len(curve.y) <= MAX_POINTS
        assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0.0, 0.0, 1.0, 1.0)
        assert np.all(np.diff(curve.x) >= 0)
        assert np.all(np.diff(curve.y) >= 0)
        assert area(curve) == pytest.approx(metrics.auc(y, s), abs=5e-3)
        exact = metrics.roc_curve(y, s)
        points = set(zip(exact.fpr.tolist(), exact.tpr.tolist(), strict=True))
        assert set(zip(*curve, strict=True)) <= points


def test_short_curves_are_exact():
    y, s = np.array([0, 1, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8, 0.2])
    assert area(roc(y, s)) == pytest.approx(metrics.auc(y, s))


def test_precision_recall_points_are_on_the_curve(scored):
    y, scores = scored
    curve = precision_recall(y, scores[0])
    assert len(curve.x) <= MAX_POINTS
    assert curve.x[-1] == 1.0
    assert np.all(np.diff(curve.x) > 0)
    exact = metrics.precision_recall_curve(y, scores[0])
    for recall, precision in zip(*curve, strict=True):
        assert precision == exact.precision[:-1][exact.recall[:-1] == recall].max()


def test_precision_recall_of_perfect_and_constant_scores():
    y = np.array([0, 0, 1, 1])
    assert set(precision_recall(y, np.array([1.0, 2.0, 3.0, 4.0])).y) == {1.0}
    assert precision_recall(y, np.zeros(4)) == ((1.0,), (0.5,))


def test_thin_drops_points_on_a_line():
    x = np.linspace(0.0, 1.0, 50)
    assert thin(x, x) == ((0.0, 1.0), (0.0, 1.0))


def test_convergence_is_relative_to_the_proven_lower_bound(make_solution):
    solution = make_solution(gap=1e-3)
    found = convergence(solution)
    assert found.excess[-1] == pytest.approx(1e-3)
    assert found.excess[0] == pytest.approx(1.0 - (solution.value - 1e-3))
    assert found.passes == solution.trace.passes
    assert len(convergence(make_solution(steps=1000)).passes) <= MAX_POINTS


def test_convergence_claims_nothing_without_a_certificate(make_solution):
    assert convergence(make_solution(certified=False)) == ((), ())


def test_plain_is_json(info):
    text = json.dumps(plain(info), allow_nan=False)
    back = json.loads(text)
    assert back["models"][0]["auc"] == info.models[0].auc
    assert back["models"][1]["name"] == info.models[1].name
    assert back["data"]["n_columns"] == 7
