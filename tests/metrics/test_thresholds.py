import math
import sys

import numpy as np
import pytest

from auctor.metrics import balanced_error, best_fbeta, best_threshold, confusion, fbeta

CRITERIA = ["error", "balanced_error", "f1", "break_even", "cost"]
COSTS = {"cost_fp": 3.0, "cost_fn": 0.7}


def loss(criterion, y, scores, t, weight):
    table = confusion(y, scores, threshold=t, weight=weight)
    return {
        "error": lambda: table.fp + table.fn,
        "balanced_error": lambda: balanced_error(y, scores, threshold=t, weight=weight),
        "f1": lambda: -fbeta(y, scores, threshold=t, weight=weight),
        "break_even": lambda: abs(table.fp - table.fn),
        "cost": lambda: 3.0 * table.fp + 0.7 * table.fn,
    }[criterion]()


def keywords(criterion):
    return COSTS if criterion == "cost" else {}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_best_with_fewest_positives(cases, criterion):
    for case in cases:
        levels = np.unique(case.scores)
        cuts = np.concatenate([[levels[0] - 1], 0.5 * (levels[1:] + levels[:-1]), [levels[-1] + 1]])
        for w in (None, case.real_weight):
            t = best_threshold(case.y, case.scores, criterion, weight=w, **keywords(criterion))
            losses = np.array([loss(criterion, case.y, case.scores, c, w) for c in cuts])
            best = np.flatnonzero(losses <= losses.min() + 1e-12)[-1]
            assert np.array_equal(case.scores > t, case.scores > cuts[best])
            if 0 < best < len(cuts) - 1:
                assert t == cuts[best]
            assert math.isfinite(t)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_repetition_gives_the_same_threshold(cases, criterion):
    extra = keywords(criterion)
    for case in cases:
        weighted = best_threshold(case.y, case.scores, criterion, weight=case.weight, **extra)
        assert weighted == best_threshold(*case.repeated(), criterion, **extra)
        scaled = best_threshold(case.y, case.scores, criterion, weight=0.1 * case.weight, **extra)
        assert scaled == weighted


def test_row_order_does_not_matter(cases):
    rng = np.random.default_rng(0)
    for case in cases:
        order = rng.permutation(case.y.size)
        for criterion in CRITERIA[:-1]:
            w = case.real_weight
            one = best_threshold(case.y, case.scores, criterion, weight=w)
            other = best_threshold(case.y[order], case.scores[order], criterion, weight=w[order])
            assert one == other


def test_f1_is_best_fbeta(cases):
    for case in cases:
        best = best_fbeta(case.y, case.scores)
        assert best_threshold(case.y, case.scores, "f1") == best.threshold


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
    assert best_threshold(y, scores, "cost", cost_fp=5.0, cost_fn=1.0) == 3.5
    assert best_threshold(y, scores, "cost", cost_fp=1.0, cost_fn=5.0) == 1.5
    assert best_threshold(y, scores, "cost", cost_fp=1.0, cost_fn=0.0) > 4.0
