import math

import numpy as np
import pytest
from sklearn import metrics as sk

from auctor.core.errors import DataError
from auctor.metrics import balanced_error, confusion, error_rate, log_loss


def test_worked_example():  # Table 1.4
    y = np.repeat([1, 0, 1, 0], [1, 11, 9, 979])
    predicted = np.repeat([1, 1, 0, 0], [1, 11, 9, 979])
    table = confusion(y, predicted)
    assert table == (1, 11, 9, 979)
    values = (table.accuracy, table.tpr, table.fpr, table.precision)
    assert values == (0.98, 0.1, 11 / 990, 1 / 12)
    assert round(table.fpr, 4) == 0.0111
    assert round(table.precision, 4) == 0.0833


def test_against_sklearn(cases):
    for case in cases:
        y = (case.y > 0).astype(int)
        hard = (case.scores > 0).astype(int)
        for w in (None, case.real_weight):
            (tn, fp), (fn, tp) = sk.confusion_matrix(y, hard, sample_weight=w)
            for predicted in (hard, case.scores, hard.astype(bool)):
                assert confusion(y, predicted, weight=w) == pytest.approx((tp, fp, fn, tn))
            error = 1 - sk.accuracy_score(y, hard, sample_weight=w)
            assert error_rate(y, case.scores, weight=w) == pytest.approx(error, abs=1e-14)
            balanced = 1 - sk.balanced_accuracy_score(y, hard, sample_weight=w)
            assert balanced_error(y, hard, weight=w) == pytest.approx(balanced, abs=1e-14)
            probability = 1 / (1 + np.exp(-case.scores))
            loss = sk.log_loss(y, probability, sample_weight=w)
            assert log_loss(y, case.scores, weight=w) == pytest.approx(loss, rel=1e-12)


def test_repetition(cases):
    for case in cases:
        again = case.repeated()
        w = case.weight
        assert confusion(case.y, case.scores, weight=w) == confusion(*again)
        for metric in (error_rate, balanced_error, log_loss):
            got = metric(case.y, case.scores, weight=w)
            assert got == pytest.approx(metric(*again), rel=1e-12, abs=1e-15)


def test_predictions_in_any_coding():
    y = np.array([0, 1, 1, 0])
    right = (1.0, 1.0, 1.0, 1.0)
    assert confusion(y, [0, 1, 0, 1]) == right
    assert confusion(y + 1, [1, 2, 1, 2]) == right
    assert confusion(y + 1, [-0.5, 2.5, -1.0, 1.0]) == right
    assert confusion(y + 1, np.array([False, True, False, True])) == right
    assert confusion(np.array(["n", "y"])[y], ["n", "y", "n", "y"]) == right
    assert confusion(np.array(["n", "y"])[y], [-1.0, 1.0, -2.0, 1.0]) == right
    assert confusion(y, [-1, 1, -1, 1]) == right
    assert confusion(y, [0.2, 0.7, 0.4, 0.6], threshold=0.5) == right
    with pytest.raises(DataError, match="predicted to be numbers"):
        confusion(y, ["a", "b", "a", "b"])


def test_threshold_is_strict():
    assert confusion([0, 1, 1], [0.0, 0.0, 1.0]) == (1, 0, 1, 1)
    assert confusion([0, 1], [-0.0, 1e-300]) == (1, 0, 0, 1)


def test_missing_classes():
    table = confusion([0, 0], [0, 0])
    assert table == (0, 0, 0, 2)
    assert math.isnan(table.tpr)
    assert math.isnan(table.precision)
    assert table.fpr == 0.0
    assert error_rate([1, 1, 1], [1, 1, 0]) == pytest.approx(1 / 3)
    assert log_loss([1, 1], [0.0, 0.0]) == pytest.approx(math.log(2))


def test_enormous_scores():
    assert log_loss([0, 1], [1e200, 1e200]) == 5e199
    assert log_loss([0, 1], [-1e200, 1e200]) == 0.0
    assert log_loss([0, 1], [-40.0, 40.0]) == pytest.approx(math.exp(-40), rel=1e-12)
