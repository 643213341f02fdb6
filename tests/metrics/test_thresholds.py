import math
import sys

import numpy as np
import pytest

from auctor.metrics import balanced_error, best_fbeta, best_threshold, confusion, fbeta

VALUES = {
    "error": None,
    "balanced_error": None,
    "break_even": None,
    "cost": 0.7,
    "fbeta": 2.0,
    "top": 0.3,
    "recall": 0.6,
    "precision": 0.05,
    "fpr": 0.3,
}
CRITERIA = list(VALUES)


def loss(criterion, y, scores, t, weight):
    table = confusion(y, scores, threshold=t, weight=weight)
    return {
        "error": lambda: table.fp + table.fn,
        "balanced_error": lambda: balanced_error(y, scores, threshold=t, weight=weight),
        "fbeta": lambda: -fbeta(y, scores, 2.0, threshold=t, weight=weight),
        "break_even": lambda: abs(table.fp - table.fn),
        "cost": lambda: table.fp + 0.7 * table.fn,
        "top": lambda: abs(table.tp + table.fp - 0.3 * sum(table)),
        "recall": lambda: -precision(table) if table.tp >= 0.6 * (table.tp + table.fn) else 2.0,
        "precision": lambda: -table.tp if precision(table) >= 0.05 else 1e9,
        "fpr": lambda: -table.tp if table.fp <= 0.3 * (table.fp + table.tn) * (1 + 1e-12) else 1e9,
    }[criterion]()


def precision(table):
    return table.tp / (table.tp + table.fp) if table.tp + table.fp else -1.0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_best_with_fewest_positives(cases, criterion):
    for case in cases:
        levels = np.unique(case.scores)
        cuts = np.concatenate([[levels[0] - 1], 0.5 * (levels[1:] + levels[:-1]), [levels[-1] + 1]])
        for w in (None, case.real_weight):
            t = best_threshold(case.y, case.scores, criterion, VALUES[criterion], weight=w)
            losses = np.array([loss(criterion, case.y, case.scores, c, w) for c in cuts])
            best = np.flatnonzero(losses <= losses.min() + 1e-12)[-1]
            assert np.array_equal(case.scores > t, case.scores > cuts[best])
            if 0 < best < len(cuts) - 1:
                assert t == cuts[best]
            assert math.isfinite(t)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_repetition_gives_the_same_threshold(cases, criterion):
    rule = criterion, VALUES[criterion]
    for case in cases:
        weighted = best_threshold(case.y, case.scores, *rule, weight=case.weight)
        assert weighted == best_threshold(*case.repeated(), *rule)
        scaled = best_threshold(case.y, case.scores, *rule, weight=0.1 * case.weight)
        assert scaled == weighted


def test_row_order_does_not_matter(cases):
    rng = np.random.default_rng(0)
    for case in cases:
        order = rng.permutation(case.y.size)
        for rule in VALUES.items():
            w = case.real_weight
            one = best_threshold(case.y, case.scores, *rule, weight=w)
            other = best_threshold(case.y[order], case.scores[order], *rule, weight=w[order])
            assert one == other


def test_fbeta_is_best_fbeta(cases):
    for case in cases:
        best = best_fbeta(case.y, case.scores, 0.5)
        assert best_threshold(case.y, case.scores, "fbeta", 0.5) == best.threshold


def test_everything_or_nothing():
    scores = np.array([1.0, 2.0, 3.0])
    nothing = best_threshold([0, 0, 0], scores)
    assert 3.0 < nothing < 3.0 + 1e-6
    everything = best_threshold([1, 1, 1], scores)
    assert 1.0 - 1e-6 < everything < 1.0
    assert best_threshold([1, 1], [0.0, 0.0]) < 0.0
    assert best_threshold([1, 1], [5e-324, 5e-324]) < 5e-324
    assert best_threshold([0, 0], [sys.float_info.max, 0.0]) == sys.float_info.max


def test_midpoints_neither_overflow_nor_touch_the_upper_score():
    for low, high in (
        (1e308, 1.7e308),
        (-1.7e308, -1e308),
        (-1.7e308, 1.7e308),
        (1.0, np.nextafter(1.0, 2.0)),
        (np.nextafter(1.0, 0.0), 1.0),
        (0.0, 5e-324),
        (-5e-324, 0.0),
        (-1e200, 1e-200),
    ):
        t = best_threshold([0, 1], [low, high])
        assert low <= t < high


def test_signed_zeros_are_one_score():
    y, scores = [0, 1, 1, 1], [0.0, -0.0, 0.0, -1.0]
    t = best_threshold(y, scores, "break_even")
    assert np.array_equal(np.asarray(scores) > t, [True, True, True, False])


def test_break_even_keeps_ties_on_the_closer_side():
    assert best_threshold([1, 1, 0, 0, 0], [3.0, 2.0, 2.0, 2.0, 1.0], "break_even") == 2.5
    assert best_threshold([1, 1, 1, 0, 0], [3.0, 2.0, 2.0, 2.0, 1.0], "break_even") == 1.5
    # two positives; one or three rows can be selected: the fewer
    assert best_threshold([1, 1, 0, 0], [3.0, 2.0, 2.0, 1.0], "break_even") == 2.5


def test_cost_moves_the_threshold():
    y, scores = [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]
    assert best_threshold(y, scores, "cost", 0.2) == 3.5
    assert best_threshold(y, scores, "cost", 5.0) == 1.5
    assert best_threshold(y, scores, "cost", 0.0) > 4.0


def test_stated_precision_and_recall():
    y, scores = [0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0]
    assert best_threshold(y, scores, "precision", 1.0) == 3.5
    assert best_threshold(y, scores, "precision", 0.75) == 1.5
    assert best_threshold(y, scores, "recall", 1.0) == 1.5
    assert best_threshold(y, scores, "recall", 0.3) == 4.5  # one or two: the fewest
    assert best_threshold(y, scores, "top", 2) == 3.5
    with pytest.warns(UserWarning, match=r"at most 0\.5 on these rows"):
        assert best_threshold([0, 1, 0, 0], [4.0, 3.0, 2.0, 1.0], "precision", 0.9) == 2.5
