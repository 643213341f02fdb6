import itertools

import numpy as np
import pytest
from sklearn import metrics as sk

from auctor.core.errors import DataError
from auctor.metrics import auc, confusion, partial_auc, roc_curve


def brute_auc(y, scores, weight=None):
    weight = np.ones(len(scores)) if weight is None else weight
    pos = y == y.max()
    gap = scores[pos][:, None] - scores[~pos]
    pairs = weight[pos][:, None] * weight[~pos]
    return np.sum(pairs * ((gap > 0) + 0.5 * (gap == 0))) / pairs.sum()


def midrank_auc(y, scores):
    pos = y == y.max()
    below = (scores[:, None] > scores).sum(axis=1)
    ranks = below + 0.5 * ((scores[:, None] == scores).sum(axis=1) + 1)
    p, n = pos.sum(), (~pos).sum()
    return (ranks[pos].sum() - p * (p + 1) / 2) / (p * n)


def test_auc_agrees_with_pairs_midranks_and_sklearn():  # A2
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 40))
        y = rng.permutation(np.arange(n) < rng.integers(1, n)).astype(int)
        scores = rng.integers(-3, 4, n) / 7.0
        value = auc(y, scores)
        assert value == pytest.approx(brute_auc(y, scores), abs=1e-12)
        assert value == pytest.approx(midrank_auc(y, scores), abs=1e-12)
        assert value == pytest.approx(sk.roc_auc_score(y, scores), abs=1e-12)


def test_weighted_auc(cases):
    for case in cases:
        w = case.real_weight
        expected = brute_auc(case.y, case.scores, w)
        assert auc(case.y, case.scores, weight=w) == pytest.approx(expected, abs=1e-13)
        repeated = auc(*case.repeated())
        assert auc(case.y, case.scores, weight=case.weight) == pytest.approx(repeated, abs=1e-14)


def test_large_case_takes_the_radix_path():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 20_000)
    weight = rng.uniform(0, 2, y.shape[0])
    for scores in (rng.standard_normal(y.shape[0]) + y, np.round(rng.standard_normal(20_000), 1)):
        assert auc(y, scores) == pytest.approx(sk.roc_auc_score(y, scores), abs=1e-13)
        expected = sk.roc_auc_score(y, scores, sample_weight=weight)
        assert auc(y, scores, weight=weight) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_extreme_rankings_are_exact(weighted):
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [70, 30])
    w = rng.uniform(0.1, 1, 100) if weighted else None
    scores = np.sort(rng.standard_normal(100)) * 1e200
    assert auc(y, scores, weight=w) == 1.0
    assert auc(y, -scores, weight=w) == 0.0
    assert auc(y, np.zeros(100), weight=w) == 0.5
    assert auc(y, np.where(y == 1, 0.0, -0.0), weight=w) == 0.5


def test_calibration_example():  # Table 1.5
    y = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    scores = [0.999, 0.999, 0.992, 0.988, 0.974, 0.955, 0.682, 0.531, 0.480, 0.441]
    predicted = [1] * 6 + [0] * 4
    assert auc(y, scores) == 1.0
    assert confusion(y, predicted).accuracy == 0.8


def test_ten_times_the_negatives():  # A3
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 200)
    scores = rng.standard_normal(400) + 0.2 * y
    heavy = np.where(y == 0, 10.0, 1.0)
    count = heavy.astype(int)
    many = np.repeat(y, count), np.repeat(scores, count)
    for got in (auc(*many), auc(y, scores, weight=heavy)):
        assert got == pytest.approx(auc(y, scores), abs=1e-12)
    one, ten = confusion(y, scores), confusion(*many)
    assert ten == confusion(y, scores, weight=heavy)
    assert (ten.tpr, ten.fpr) == pytest.approx((one.tpr, one.fpr), abs=1e-12)
    assert one.precision > 0.4
    assert ten.precision < 0.15


def test_consistency_and_discriminancy_against_accuracy():  # section 2.4, n = 6
    half, lists = 3, []
    for chosen in itertools.combinations(range(6), half):
        y = np.isin(np.arange(6), chosen)
        lists.append((auc(y, np.arange(6.0)), int(y[half:].sum())))
    r = s = p = q = 0
    for (f_a, g_a), (f_b, g_b) in itertools.permutations(lists, 2):
        r += f_a > f_b and g_a > g_b
        s += f_a > f_b and g_a < g_b
        p += f_a > f_b and g_a == g_b
        q += g_a > g_b and f_a == f_b
    assert (r, s, p, q) == (113, 1, 62, 4)


def test_roc_curve_is_sklearns(cases):
    for case in cases:
        for w in (None, case.real_weight):
            fpr, tpr, threshold = roc_curve(case.y, case.scores, weight=w)
            expected = sk.roc_curve(
                case.y, case.scores, sample_weight=w, drop_intermediate=False, pos_label=1
            )
            np.testing.assert_allclose(fpr, expected[0], atol=1e-14)
            np.testing.assert_allclose(tpr, expected[1], atol=1e-14)
            np.testing.assert_array_equal(threshold, expected[2])
            assert (fpr[-1], tpr[-1], fpr[0], tpr[0]) == (1, 1, 0, 0)


def test_roc_curve_repetition(cases):
    for case in cases:
        weighted = roc_curve(case.y, case.scores, weight=case.weight)
        for a, b in zip(weighted, roc_curve(*case.repeated()), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.sample(2)
@pytest.mark.parametrize("max_fpr", [1e-3, 0.1, 0.5, 0.77, 1.0])
def test_partial_auc(cases, max_fpr):
    for case in cases:
        y = (case.y > 0).astype(int)
        for w in (None, case.real_weight):
            standardised = partial_auc(y, case.scores, max_fpr, standardised=True, weight=w)
            expected = sk.roc_auc_score(y, case.scores, sample_weight=w, max_fpr=max_fpr)
            assert standardised == pytest.approx(expected, abs=1e-12)
            raw = partial_auc(y, case.scores, max_fpr, weight=w)
            grid = np.unique(np.append(np.linspace(0, max_fpr, 7), max_fpr))
            fpr, tpr, _ = roc_curve(y, case.scores, weight=w)
            knots = np.unique(np.concatenate([grid, fpr[fpr < max_fpr]]))
            middle = 0.5 * (knots[1:] + knots[:-1])
            inside = np.diff(knots) > 1e-9
            area = np.diff(knots)[inside] @ np.interp(middle[inside], fpr, tpr)
            assert raw == pytest.approx(area, abs=1e-7)
        repeated = partial_auc(*case.repeated(), max_fpr)
        got = partial_auc(case.y, case.scores, max_fpr, weight=case.weight)
        assert got == pytest.approx(repeated, abs=1e-13)


def test_message():
    with pytest.raises(DataError) as caught:
        auc([1, 1], [0.0, 1.0])
    assert str(caught.value) == (
        "auc needs at least one negative row of positive weight; got none in 2. "
        "Pass rows of both classes."
    )
