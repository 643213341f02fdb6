import numpy as np
import pytest

from auctor.metrics import auc, cumulative_gains, lift_area, lift_at_k, lift_curve


def test_area_identity(cases):  # P (p/2 + (1-p) AUC)
    for case in cases:
        for w in (np.ones(case.y.size), case.real_weight):
            positives = w[case.y > 0].sum()
            p = positives / w.sum()
            expected = positives * (p / 2 + (1 - p) * auc(case.y, case.scores, weight=w))
            assert lift_area(case.y, case.scores, weight=w) == pytest.approx(expected, abs=1e-11)


def test_extremes():
    y = np.repeat([0, 1], [8, 2])
    assert lift_area(y, np.arange(10.0)) == pytest.approx(2 * (1 - 0.1))
    assert lift_area(y, -np.arange(10.0)) == pytest.approx(2 * 0.1)
    assert lift_area(y, np.zeros(10)) == pytest.approx(1.0)


def test_curve_counts(cases):
    for case in cases:
        fraction, captured = lift_curve(case.y, case.scores)
        levels = np.unique(case.scores)[::-1]
        expected = [(case.scores >= t).mean() for t in levels]
        np.testing.assert_allclose(fraction, [0.0, *expected], atol=1e-15)
        counts = [((case.scores >= t) & (case.y > 0)).sum() for t in levels]
        np.testing.assert_array_equal(captured, [0, *counts])
        gains = cumulative_gains(case.y, case.scores)
        np.testing.assert_array_equal(gains.fraction, fraction)
        np.testing.assert_allclose(gains.recall, captured / captured[-1])
        middle = len(fraction) // 2
        slope = captured[middle] / fraction[middle] / captured[-1]
        assert lift_at_k(case.y, case.scores, float(fraction[middle])) == pytest.approx(slope)


def test_repetition(cases):
    for case in cases:
        again = case.repeated()
        for weighted, repeated in (
            (lift_curve(case.y, case.scores, weight=case.weight), lift_curve(*again)),
            (cumulative_gains(case.y, case.scores, weight=case.weight), cumulative_gains(*again)),
        ):
            for a, b in zip(weighted, repeated, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-14)
        got = lift_area(case.y, case.scores, weight=case.weight)
        assert got == pytest.approx(lift_area(*again), abs=1e-12)
