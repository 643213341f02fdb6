"""AUC given an error rate, consistency and discriminancy, by enumeration."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from auctor.core.errors import AuctorError
from auctor.metrics import auc, error_rate
from auctor.metrics.agreement import agreement, agreement_on_rankings, auc_at_error


def rankings_with(m, n, errors):
    """AUC of every ranking with a threshold at which it makes that many errors."""
    for places in combinations(range(m + n), m):
        y = np.zeros(m + n)
        y[list(places)] = 1.0
        for top in range(m + n + 1):
            wrong = (m - y[:top].sum()) + (top - y[:top].sum())
            if wrong == errors:
                yield auc(y, -np.arange(m + n))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (3, 3), (3, 5), (2, 6), (4, 3)])
def test_auc_at_an_error_rate_is_that_of_all_rankings(m, n):
    for errors in range(min(m, n) + 1):
        every = list(rankings_with(m, n, errors))
        found = auc_at_error(m, n, errors)
        assert found.mean == pytest.approx(np.mean(every), abs=1e-12)
        assert found.deviation == pytest.approx(np.std(every), abs=1e-7)


@pytest.mark.parametrize(("m", "n", "k"), [(5, 5, 3), (3, 7, 3), (20, 80, 15), (400, 600, 200)])
def test_the_closed_form_of_the_mean(m, n, k):
    ratio = sum(math.comb(m + n, x) for x in range(k)) / sum(
        math.comb(m + n + 1, x) for x in range(k + 1)
    )
    skew = (n - m) ** 2 * (m + n + 1) / (4 * m * n)
    mean = 1.0 - k / (m + n) - skew * (k / (m + n) - ratio)
    assert auc_at_error(m, n, k).mean == pytest.approx(mean, abs=1e-12)


def test_values_of_the_literature():
    # Equal classes: the mean is the accuracy. Others: lower, and the deviation larger.
    equal, unequal = auc_at_error(5, 5, 3), auc_at_error(3, 7, 3)
    assert equal.mean == pytest.approx(0.7, abs=1e-15)
    assert (round(unequal.mean, 4), round(equal.deviation**2, 4)) == (0.5772, 0.0136)
    assert round(unequal.deviation**2, 4) == 0.0392
    assert auc_at_error(4, 9, 0) == (1.0, 0.0)
    with pytest.raises(AuctorError, match=r"auc_at_error needs errors of at most 3.*got 4"):
        auc_at_error(3, 7, 4)


@pytest.mark.parametrize(
    ("half", "counts"), [(2, (9, 0, 5, 0)), (3, (113, 1, 62, 4)), (4, (1459, 34, 762, 52))]
)
def test_auc_is_a_better_measure_than_accuracy(half, counts):
    found = agreement_on_rankings(auc, lambda y, s: 1.0 - error_rate(y, s), half, half)
    assert found[:4] == counts
    assert found.first_is_better
    swapped = agreement_on_rankings(lambda y, s: 1.0 - error_rate(y, s), auc, half, half)
    assert not swapped.first_is_better


def test_agreement_counts_pairs():
    rng = np.random.default_rng(0)
    f, g = rng.integers(0, 4, 30) / 10.0, rng.integers(0, 4, 30) / 7.0
    counts = [0, 0, 0, 0]
    for a, b in product(range(30), repeat=2):
        counts[0] += f[a] > f[b] and g[a] > g[b]
        counts[1] += f[a] > f[b] and g[a] < g[b]
        counts[2] += f[a] > f[b] and g[a] == g[b]
        counts[3] += g[a] > g[b] and f[a] == f[b]
    assert list(agreement(f, g)[:4]) == counts
    # Rounding errors are no differences.
    assert agreement([0.3, 0.1 + 0.2, 0.5], [1.0, 2.0, 3.0])[:4] == (2, 0, 0, 1)


def test_measures_that_tell_nothing():
    found = agreement([1.0, 1.0], [2.0, 2.0])
    assert math.isnan(found.consistency)
    assert found.discriminancy == math.inf
    assert not found.first_is_better
    with pytest.raises(AuctorError, match="at least two"):
        agreement([1.0], [1.0])
    with pytest.raises(AuctorError, match="second"):
        agreement([1.0, 2.0], [1.0])
