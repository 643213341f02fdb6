"""Thresholds with a confidence: the stated level holds in simulations with known rates."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, binomtest

from auctor.core.errors import DataError, ParameterError
from auctor.metrics import best_threshold
from auctor.metrics.guarantee import rows_needed

SHIFT = 2.0  # positives have mean 2, negatives 0, both with deviation 1


def true_rates(t, ties, positives, negatives):
    """Recall, precision and false positive rate of ``scores > t`` in the population."""
    if ties:  # scores are rounded to multiples of 1 / ties
        t = (np.floor(t * ties + 1e-9) + 0.5) / ties
    recall, fpr = ndtr(SHIFT - t), ndtr(-t)
    flagged = positives * recall + negatives * fpr
    return {"recall": recall, "fpr": fpr, "precision": positives * recall / flagged}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [0, 3])
@pytest.mark.parametrize(
    ("criterion", "value", "positives", "negatives"),
    [("recall", 0.8, 15, 60), ("fpr", 0.05, 10, 150), ("precision", 0.5, 60, 240)],
)
def test_the_level_holds(criterion, value, positives, negatives, ties, weighted):
    rng = np.random.default_rng(5)
    y = np.repeat([1, 0], [positives, negatives])
    wrong = found = 0
    repeats = 200  # 2,000 in `python -m benchmarks run rare`
    for _ in range(repeats):
        scores = rng.normal(size=y.size) + SHIFT * y
        scores = np.round(scores * ties) / ties if ties else scores
        weight = rng.choice([1.0, 1.5], y.size) if weighted else None
        try:
            t = best_threshold(y, scores, criterion, value, 0.9, weight=weight)
        except DataError:
            continue
        rate = true_rates(t, ties, positives, negatives)[criterion]
        wrong += rate > value + 1e-12 if criterion == "fpr" else rate < value - 1e-12
        found += 1
    assert found > repeats // 2
    assert wrong <= binom.ppf(0.9999, found, 0.1)


@pytest.mark.parametrize("n", [29, 30, 59, 100, 1000])
def test_the_order_statistic_is_that_of_clopper_and_pearson(n):
    rng = np.random.default_rng(n)
    positives = np.sort(rng.normal(size=n))[::-1]
    y, scores = np.repeat([1, 0], [n, 5]), np.append(positives, rng.normal(size=5) - 1)
    caught = int((positives > best_threshold(y, scores, "recall", 0.9, 0.95)).sum())

    def lower(x):
        return binomtest(x, n, alternative="greater").proportion_ci(0.95, method="exact").low

    assert lower(caught) >= 0.9 - 1e-12
    assert caught == 1 or lower(caught - 1) < 0.9
    # The false positive rate is the same question about the negatives, from the other side.
    t = best_threshold(1 - y, -scores, "fpr", 0.1, 0.95)
    assert int((-positives > t).sum()) == n - caught


def test_too_few_rows_are_refused_with_the_number_needed():
    for n in (rows_needed(0.9, 0.05) - 1, rows_needed(0.9, 0.05)):
        y, scores = np.repeat([1, 0], [n, 50]), np.arange(n + 50.0)
        if n == 29:
            assert (scores[:n] > best_threshold(y, scores, "recall", 0.9, 0.95)).all()
        else:
            with pytest.raises(DataError, match="at least 29 positives"):
                best_threshold(y, scores, "recall", 0.9, 0.95)
    scores = np.append(np.arange(50.0), np.arange(40.0))
    with pytest.raises(DataError, match="at least 299 negatives"):
        best_threshold(np.repeat([1, 0], [50, 40]), scores, "fpr", 0.01, 0.95)


def test_a_precision_says_how_many_rows_would_do():
    y, scores = np.tile([1, 1, 1, 0], 10), -np.arange(40.0)
    with pytest.raises(DataError, match=r"about [0-9]+ rows"):
        best_threshold(y, scores, "precision", 0.7, 0.95)
    with pytest.raises(DataError, match=r"precision above 0\.9 among the top rows"):
        best_threshold(np.tile([0, 1], 20), scores, "precision", 0.9, 0.95)
    more = np.tile(y, 100)
    t = best_threshold(more, -np.arange(more.size * 1.0), "precision", 0.7, 0.95)
    assert more[np.arange(more.size) < -t].mean() > 0.7


@pytest.mark.parametrize(
    "rule", [("recall", 1.0, 0.9), ("recall", 0.9, 1.0), ("fpr", 0.0, 0.9), ("cost", 2.0, 0.9)]
)
def test_what_no_number_of_rows_reaches_is_refused(rule):
    with pytest.raises(ParameterError):
        best_threshold([0, 1], [0.0, 1.0], *rule)
