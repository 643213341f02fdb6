import itertools

import numpy as np
import pytest
from sklearn import metrics as sk

from auctor.metrics import (
    average_precision,
    best_fbeta,
    confusion,
    fbeta,
    lift_at_k,
    prbep,
    precision_at_k,
    precision_recall_curve,
    recall_at_k,
)


def expected_positives(y, scores, k):
    """Positives among the k top rows, averaged over random orders of the ties, row by row."""
    total = 0.0
    for label, s in zip(y, scores, strict=True):
        above, tied = (scores > s).sum(), (scores == s).sum()
        total += (label > 0) * np.clip((k - above) / tied, 0, 1)
    return total


def test_curve_is_sklearns(cases):
    for case in cases:
        for w in (None, case.real_weight):
            got = precision_recall_curve(case.y, case.scores, weight=w)
            expected = sk.precision_recall_curve(case.y, case.scores, sample_weight=w, pos_label=1)
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-13)


def test_average_precision_is_sklearns(cases):
    for case in cases:
        for w in (None, case.real_weight):
            expected = sk.average_precision_score(case.y, case.scores, sample_weight=w)
            got = average_precision(case.y, case.scores, weight=w)
            assert got == pytest.approx(expected, abs=1e-13)


def test_random_tie_order_by_enumeration():
    y, scores = np.array([1, 0, 0, 1, 0, 1]), np.array([3.0, 2.0, 2.0, 2.0, 2.0, 1.0])
    orders = [
        [0, *middle, 5] for middle in itertools.permutations([1, 2, 3, 4])
    ]  # all descending orders
    for k in range(1, 7):
        mean = np.mean([y[order[:k]].mean() for order in orders])
        assert precision_at_k(y, scores, k) == pytest.approx(mean, abs=1e-14)
        assert expected_positives(y, scores, k) / k == pytest.approx(mean, abs=1e-14)
    assert prbep(y, scores) == precision_at_k(y, scores, 3)


def test_top_k(cases):
    for case in cases:
        y, scores = case.y, case.scores
        n, p = y.size, (y > 0).sum()
        for k in (1, 2, n // 2, n, np.int64(3), np.int32(4)):
            found = expected_positives(y, scores, k)
            assert precision_at_k(y, scores, k) == pytest.approx(found / k, abs=1e-13)
            assert recall_at_k(y, scores, k) == pytest.approx(found / p, abs=1e-13)
            assert lift_at_k(y, scores, k) == pytest.approx(found / k * n / p, abs=1e-12)
        for k in (0.01, 0.25, 1.0, np.float64(0.6)):
            found = expected_positives(y, scores, k * n)
            assert precision_at_k(y, scores, k) == pytest.approx(found / k / n, abs=1e-12)
            assert recall_at_k(y, scores, k) == pytest.approx(found / p, abs=1e-12)
        assert prbep(y, scores) == pytest.approx(expected_positives(y, scores, p) / p, abs=1e-13)


def test_repetition(cases):
    for case in cases:
        y, scores, w = case.y, case.scores, case.weight
        again = case.repeated()
        for metric in (prbep, average_precision):
            assert metric(y, scores, weight=w) == pytest.approx(metric(*again), abs=1e-12)
        for metric in (precision_at_k, recall_at_k, lift_at_k):
            for k in (1, int(w.sum()) // 2, int(w.sum()), 0.3):
                got = metric(y, scores, k, weight=w)
                assert got == pytest.approx(metric(*again, k), abs=1e-12)
        for beta in (0.5, 1.0, 2.0):
            assert best_fbeta(y, scores, beta, weight=w) == best_fbeta(*again, beta)
            hard = scores > 0
            got = fbeta(y, hard, beta, weight=w)
            assert got == pytest.approx(fbeta(again[0], again[1] > 0, beta), abs=1e-14)


def test_prbep_without_ties_balances_both_errors():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 50), rng.permutation(50).astype(float)
    cut = np.sort(scores)[-y.sum()]
    table = confusion(y, scores >= cut)
    assert table.fp == table.fn
    assert prbep(y, scores) == pytest.approx(table.precision) == pytest.approx(table.tpr)


@pytest.mark.sample(2)
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 2.0, 1e-9, 1e200])
def test_fbeta(cases, beta):
    for case in cases:
        hard = np.where(case.scores > 0.5, case.y.max(), case.y.min())
        for w in (None, case.real_weight):
            got = fbeta(case.y, hard, beta, weight=w)
            table = confusion(case.y, hard, weight=w)
            if beta < 1e100:
                expected = sk.fbeta_score(
                    case.y, hard, beta=beta, sample_weight=w, zero_division=0.0
                )
                assert got == pytest.approx(expected, abs=1e-13)
            else:
                assert got == pytest.approx(table.tpr)
            if table.tp > 0 and 0 < beta < 1e100:
                mean = (1 + beta**2) / (1 / table.precision + beta**2 / table.tpr)
                assert got == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 2.0])
def test_best_fbeta_is_the_best(cases, beta):
    for case in cases:
        for w in (None, case.real_weight):
            best = best_fbeta(case.y, case.scores, beta, weight=w)
            cuts = np.append(np.unique(case.scores) - 1e-9, case.scores.max())
            values = [fbeta(case.y, case.scores, beta, threshold=c, weight=w) for c in cuts]
            assert best.value == pytest.approx(max(values), abs=1e-13)
            at = fbeta(case.y, case.scores, beta, threshold=best.threshold, weight=w)
            assert at == pytest.approx(best.value, abs=1e-13)


def test_worked_example():  # Table 1.4
    y = np.repeat([1, 0, 1, 0], [1, 11, 9, 979])
    predicted = np.repeat([1, 1, 0, 0], [1, 11, 9, 979])
    assert fbeta(y, predicted) == pytest.approx(1 / 11, abs=1e-15)
    assert round(fbeta(y, predicted), 4) == 0.0909


def test_normalised_weights_need_a_fraction():
    y, scores, w = [0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0], np.full(4, 0.25)
    assert precision_at_k(y, scores, 0.5, weight=w) == precision_at_k(y, scores, 2) == 0.5
    assert precision_at_k(y, scores, 1, weight=np.full(4, 0.3) / 1.2 * (1 - 1e-16)) == 0.5
