import numpy as np
import pytest
from scipy.stats import norm

from auctor.metrics import auc, auc_interval, compare_auc


def placements(y, scores):
    pos = y == y.max()
    gap = scores[pos][:, None] - scores[~pos]
    ordered = (gap > 0) + 0.5 * (gap == 0)
    return ordered.mean(axis=1), ordered.mean(axis=0)


def brute_error(v10, v01):
    return np.sqrt(v10.var(ddof=1) / v10.size + v01.var(ddof=1) / v01.size)


def enough(y):
    return min((y > 0).sum(), (y <= 0).sum()) >= 2


def test_standard_error_against_all_placements(cases):
    tested = 0
    for case in cases:
        for y, scores in ((case.y, case.scores), case.repeated()):
            value = auc(y, scores)
            if not enough(y) or value in (0.0, 1.0):
                continue
            tested += 1
            result = auc_interval(y, scores, level=0.9)
            error = brute_error(*placements(y, scores))
            assert result.auc == value
            assert result.standard_error == pytest.approx(error, rel=1e-10)
            logit = np.log(value / (1 - value)) + norm.ppf([0.05, 0.95]) * error / value / (
                1 - value
            )
            expected = 1 / (1 + np.exp(-logit))
            np.testing.assert_allclose([result.low, result.high], expected, rtol=1e-9)
    assert tested > 60


def test_weights_are_frequencies(cases):
    rng = np.random.default_rng(0)
    for case in cases:
        other = np.round(case.scores + rng.standard_normal(case.scores.size))
        count = case.weight.astype(int)
        for weighted, repeated in (
            (auc_interval(case.y, case.scores, weight=case.weight), auc_interval(*case.repeated())),
            (
                compare_auc(case.y, case.scores, other, weight=case.weight),
                compare_auc(*case.repeated(), np.repeat(other, count)),
            ),
        ):
            np.testing.assert_allclose(weighted, repeated, rtol=1e-10, atol=1e-12)


def test_bootstrap_agrees():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [150, 60])
    scores = np.round(rng.standard_normal(210) + y, 1)
    other = scores + rng.standard_normal(210)
    values = []
    for _ in range(400):
        rows = np.concatenate([rng.integers(0, 150, 150), rng.integers(150, 210, 60)])
        values.append((auc(y[rows], scores[rows]), auc(y[rows], other[rows])))
    a, b = np.array(values).T
    result = auc_interval(y, scores)
    assert result.standard_error == pytest.approx(a.std(), rel=0.15)
    low, high = np.quantile(a, [0.025, 0.975])
    assert (result.low, result.high) == pytest.approx((low, high), abs=0.02)
    difference = compare_auc(y, scores, other)
    assert difference.standard_error == pytest.approx((a - b).std(), rel=0.15)


def test_coverage():
    rng = np.random.default_rng(2)
    truth, hits = norm.cdf(1 / np.sqrt(2)), 0
    y = np.repeat([0, 1], 40)
    for _ in range(300):
        result = auc_interval(y, rng.standard_normal(80) + y, level=0.9)
        hits += result.low <= truth <= result.high
    assert 0.85 < hits / 300 < 0.95


def test_perfect_and_inverted():
    y, scores = np.repeat([0, 1], [20, 5]), np.arange(25.0)
    bound = 0.025 ** (1 / 5)
    assert auc_interval(y, scores) == pytest.approx((1.0, bound, 1.0, 0.0))
    assert auc_interval(y, -scores) == pytest.approx((0.0, 0.0, 1 - bound, 0.0))
    one_pair = auc_interval([0, 1], [0.0, 1.0])
    assert one_pair == pytest.approx((1.0, 0.025, 1.0, 0.0))
    weight = np.full(25, 0.1)
    assert auc_interval(y, scores, weight=weight).auc == 1.0


def test_constant_scores_and_single_rows():
    assert auc_interval([0, 1, 0, 1], np.ones(4)) == (0.5, 0.5, 0.5, 0.0)
    y, scores = np.array([0, 0, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0, 3.5])
    result = auc_interval(y, scores)
    v01 = placements(y, scores)[1]
    assert result.standard_error == pytest.approx(np.sqrt(0.75 * 0.25 + v01.var(ddof=1) / 4))
    assert 0.0 <= result.low < 0.75 < result.high <= 1.0


def test_paired_comparison(cases):
    rng = np.random.default_rng(3)
    for case in cases:
        if not enough(case.y):
            continue
        other = np.round(case.scores + rng.standard_normal(case.scores.size))
        result = compare_auc(case.y, case.scores, other)
        a, b = placements(case.y, case.scores), placements(case.y, other)
        error = brute_error(a[0] - b[0], a[1] - b[1])
        difference = auc(case.y, case.scores) - auc(case.y, other)
        assert result.difference == pytest.approx(difference, abs=1e-14)
        assert result.standard_error == pytest.approx(error, rel=1e-9, abs=1e-12)
        if error > 0:
            p_value = 2 * norm.sf(abs(difference) / error)
            assert result.p_value == pytest.approx(p_value, rel=1e-8)
        swapped = compare_auc(case.y, other, case.scores)
        assert swapped.p_value == pytest.approx(result.p_value)


def test_comparison_without_noise():
    y, scores = [0, 0, 1, 1], np.arange(4.0)
    assert compare_auc(y, scores, 3 * scores) == (0.0, 0.0, 1.0)
    difference, error, p_value = compare_auc(y, scores, -scores)
    assert (difference, error) == (1.0, 0.0)
    assert np.isnan(p_value)


def test_comparison_is_calibrated():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 50)
    rejected = 0
    for _ in range(300):
        shared = rng.standard_normal(100) + y
        a, b = shared + rng.standard_normal(100), shared + rng.standard_normal(100)
        rejected += compare_auc(y, a, b).p_value < 0.1
    assert 0.05 < rejected / 300 < 0.16
