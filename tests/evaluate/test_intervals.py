import math

import numpy as np
import pytest

from auctor import metrics
from auctor.evaluate.intervals import around, fbeta_error, over_folds, spread, wilson
from auctor.metrics.error import Confusion
from auctor.metrics.inputs import validate
from auctor.metrics.sweep import sweep


def brute_force(y, scores, statistic, draws=400):
    """Bootstrap of rows, class by class."""
    rng = np.random.default_rng(1)
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    found = []
    for _ in range(draws):
        rows = np.concatenate((rng.choice(pos, pos.size), rng.choice(neg, neg.size)))
        found.append(statistic(y[rows], scores[rows]))
    return np.std(found, ddof=1)


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (1, 7), (30, 100), (7, 7), (499, 500)])
def test_wilson_solves_its_equation(hits, trials):
    """The bounds p are where the share lies 1.96 standard errors of p away."""
    share, low, high, _ = wilson(hits, trials)
    assert share == hits / trials
    assert 0.0 <= low <= share <= high <= 1.0
    for p in (low, high):
        if 0.0 < p < 1.0:
            assert abs(share - p) / math.sqrt(p * (1 - p) / trials) == pytest.approx(1.959964)
    assert (low == 0.0) == (hits == 0)
    assert (high == 1.0) == (hits == trials)


def test_wilson_without_trials():
    share, low, high, _ = wilson(0, 0)
    assert math.isnan(share)
    assert (low, high) == (0.0, 1.0)


@pytest.mark.parametrize("rare", [0.02, 0.3])
@pytest.mark.parametrize("decimals", [None, 1])
def test_bootstrap_errors_are_those_of_resampled_rows(rare, decimals):
    rng = np.random.default_rng(0)
    y = (rng.random(6000) < rare).astype(int)
    scores = rng.normal(size=6000) + 1.5 * y
    if decimals is not None:
        scores = scores.round(decimals)
    found = spread(sweep(validate(y, scores, None)), seed=0)
    for got, statistic in (
        (found.average_precision, metrics.average_precision),
        (found.prbep, metrics.prbep),
    ):
        assert got == pytest.approx(brute_force(y, scores, statistic), rel=0.2)


def test_fbeta_error_is_that_of_resampled_rows():
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.1).astype(int)
    scores = rng.normal(size=3000) + 1.5 * y
    for beta in (0.5, 1.0, 3.0):
        table = Confusion(*metrics.confusion(y, scores, threshold=1.0))
        wanted = brute_force(y, scores, lambda a, b, k=beta: metrics.fbeta(a, b, k, threshold=1.0))
        assert fbeta_error(table, beta, seed=0) == pytest.approx(wanted, rel=0.2)


def test_the_bootstrap_depends_on_its_seed_only():
    rng = np.random.default_rng(0)
    y = np.arange(500) % 5 == 0
    s = sweep(validate(y, rng.normal(size=500) + y, None))
    assert spread(s, 4) == spread(s, 4)
    assert spread(s, 4) != spread(s, 5)


def test_intervals_from_standard_errors_stay_inside():
    for value in (0.0, 1e-9, 0.2, 0.999, 1.0):
        for error in (0.0, 0.01, 0.6):
            found = around(value, error, 40)
            assert 0.0 <= found.low <= found.value + 1e-12
            assert found.value - 1e-12 <= found.high <= 1.0
    assert around(1.0, 0.0, 40).low == wilson(40, 40).low
    assert around(0.4, 0.0, 40)[:3] == pytest.approx((0.4, 0.4, 0.4))


def test_intervals_over_folds_stay_within_the_metric():
    values = np.array([0.9, 1.0, 0.98, 1.0])
    assert over_folds(values).high == 1.0
    assert over_folds(1.0 - values).low == 0.0
    assert over_folds(values, math.inf).high == pytest.approx(2.0 * 0.97 - over_folds(values).low)
