"""Predicted error and AUC of Gaussian scores, and the comparison with the observed ones."""

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.losses import ExpectedAuc, ExpectedError
from auctor.metrics import auc, error_rate, expected_auc, expected_error, gaussian_check


def test_the_metrics_are_the_losses(cases):
    for case in cases:
        y = np.where(case.y == case.y.max(), 1.0, -1.0)
        for weight in (None, case.weight, case.real_weight):
            target = Target(y, weight)
            loss = ExpectedError().value(case.scores, target)
            assert expected_error(case.y, case.scores, weight=weight) == pytest.approx(loss)
            loss = 1 - ExpectedAuc().value(case.scores, target)
            assert expected_auc(case.y, case.scores, weight=weight) == pytest.approx(loss)


def test_a_threshold_shifts_the_scores(cases):
    for case in cases:
        moved = expected_error(case.y, case.scores + 0.3)
        assert expected_error(case.y, case.scores, threshold=-0.3) == pytest.approx(moved)


def test_gaussian_scores_are_predicted_within_the_standard_error():
    rng = np.random.default_rng(0)
    y = (rng.random(20000) < 0.3).astype(int)
    scores = rng.normal(size=y.size) * np.where(y, 1.5, 0.7) + 1.2 * y - 0.6
    found = gaussian_check(y, scores)
    assert found.error.observed == error_rate(y, scores, threshold=0.0)
    assert found.auc.observed == auc(y, scores)
    for each in (found.error, found.auc):
        assert each.difference == each.predicted - each.observed
        assert abs(each.difference) < 3 * each.standard_error
    for shape in (found.positive, found.negative):
        assert abs(shape.skewness) < 0.1
        assert abs(shape.excess_kurtosis) < 0.2


def test_skewed_scores_are_found_out():
    rng = np.random.default_rng(0)
    y = (rng.random(20000) < 0.5).astype(int)
    scores = np.where(y, rng.exponential(size=y.size) - 0.2, -0.3 + 0.1 * rng.normal(size=y.size))
    found = gaussian_check(y, scores)
    assert abs(found.error.difference) > 5 * found.error.standard_error
    assert found.positive.skewness > 1.5
    assert found.positive.skewness == pytest.approx(skew(scores[y == 1]))
    assert found.positive.excess_kurtosis == pytest.approx(kurtosis(scores[y == 1]))


def test_weights_are_frequencies(cases):
    for case in cases:
        y, scores = case.repeated()
        wanted = gaussian_check(y, scores)
        found = gaussian_check(case.y, case.scores, weight=case.weight)
        for a, b in zip(found, wanted, strict=True):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def test_constant_scores_are_chance():
    y = [0, 1, 0, 1]
    assert expected_auc(y, [0.1] * 4) == 0.5
    assert expected_error(y, [0.1] * 4) == 0.5
    assert gaussian_check(y, [0.1] * 4).positive == (0.0, 0.0)


@pytest.mark.parametrize("metric", [expected_error, expected_auc, gaussian_check])
def test_one_class_is_refused(metric):
    with pytest.raises(DataError, match=metric.__name__):
        metric([1, 1], [0.0, 1.0])


@pytest.mark.sample(3)
@pytest.mark.parametrize("d", [5, 20, 100])
@pytest.mark.parametrize("kind", ["bernoulli", "exponential"])
def test_scores_of_many_independent_columns_are_nearly_gaussian(d, kind):
    """The error predicted from exact moments nears the true one as columns become many."""
    rng, n = np.random.default_rng(d), 400000
    w = rng.normal(size=d) / np.sqrt(d)
    parts, moments = [], []
    for shift in (0.15, -0.15):
        if kind == "bernoulli":
            p = np.clip(rng.uniform(0.05, 0.3, size=d) + shift * np.sign(w), 0.05, 0.6)
            X = rng.random((n // 2, d)) < p
            mean, variance = p, p * (1 - p)
        else:
            scale = 1.0 + shift * np.sign(w)
            X, mean, variance = rng.exponential(scale, (n // 2, d)), scale, scale**2
        parts.append(X @ w)
        moments.append((w @ mean, w * w @ variance))
    cut = 0.5 * (moments[0][0] + moments[1][0])
    y, scores = np.repeat([1, 0], n // 2), np.concatenate(parts) - cut
    from auctor.kernels.losses import gaussian

    mean, variance = (np.array(m) for m in zip(*moments, strict=True))
    predicted = float(gaussian.expected_error(np.full(2, 0.5), mean - cut, variance).value)
    assert abs(predicted - error_rate(y, scores, threshold=0.0)) < (0.03 if d == 5 else 0.01)


def test_blocks_of_dependent_columns_need_their_covariances():
    rng, n, d = np.random.default_rng(0), 50000, 60
    shared = rng.exponential(size=(2, n, d // 3)) - 1.0
    X = np.repeat(shared, 3, axis=2) + 0.5 * rng.normal(size=(2, n, d))
    X[0] += 0.1
    w = np.ones(d)
    y, scores = np.repeat([1, 0], n), np.concatenate(X @ w) - 0.05 * d
    observed = error_rate(y, scores, threshold=0.0)
    assert expected_error(y, scores) == pytest.approx(observed, abs=0.02)
    from auctor.kernels.losses import gaussian

    mean = np.array([0.05 * d, -0.05 * d])
    alone = np.array([(w * w @ X[k].var(axis=0)) for k in (0, 1)])
    diagonal = float(gaussian.expected_error(np.full(2, 0.5), mean, alone).value)
    assert abs(diagonal - observed) > 0.05
