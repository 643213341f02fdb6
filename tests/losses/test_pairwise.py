"""Pairwise losses against the full matrix of pairs."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.losses import PairwiseHinge, PairwiseSquare
from auctor.testing.plain import PLAIN_PAIRWISE_SQUARE, by_pair, huber_hinge

WIDTHS = [0.0, 1e-6, 0.3, 2.0, 50.0]
PAIRS = [(PairwiseSquare(), PLAIN_PAIRWISE_SQUARE)] + [
    (PairwiseHinge(width), by_pair(*huber_hinge(width))) for width in WIDTHS
]


def sample(seed, n=40):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    scores = rng.normal(size=n) + 0.4 * y
    if seed % 2:
        scores = np.round(2 * scores) / 2  # ties, and margins of exactly 0
    weight = rng.integers(0, 4, size=n).astype(float) if seed % 3 else None
    if weight is not None:
        weight[:2] = 1.0
    return scores, Target(y, weight)


@pytest.mark.parametrize(("loss", "plain"), PAIRS, ids=lambda x: repr(x)[:30])
@pytest.mark.parametrize("seed", range(6))
def test_value_and_gradient_equal_the_matrix_of_pairs(loss, plain, seed):
    scores, target = sample(seed)
    value, grad = loss.value_grad(scores, target)
    wanted, slope = plain(scores, target)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(grad, slope, rtol=1e-9, atol=1e-13)
    assert grad.sum() == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("width", WIDTHS[1:])
@pytest.mark.parametrize("seed", range(4))
def test_curvature_equals_the_matrix_of_pairs(width, seed):
    scores, target = sample(seed)
    weight = np.ones_like(scores) if target.weight is None else target.weight
    p, q = weight * (target.y > 0), weight * (target.y < 0)
    z = 1 - scores[:, None] + scores[None, :]
    stiff = np.outer(p / p.sum(), q / q.sum()) * ((z > 0) & (z < width)) / width
    stiff = stiff + stiff.T
    matrix = np.diag(stiff.sum(axis=1)) - stiff
    curvature = PairwiseHinge(width).curvature(scores, target)
    found = np.array([curvature.matvec(unit) for unit in np.eye(40)])
    scale = np.abs(matrix).max() or 1.0
    np.testing.assert_allclose(found, matrix, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(curvature.diagonal, np.diag(matrix), rtol=0, atol=1e-11 * scale)


def test_huge_scores_keep_their_digits():
    scores, target = sample(0)
    for factor in (1e6, 1e12, 1e100):
        for loss, plain in PAIRS:
            wanted = plain(factor * scores, target)[0]
            assert loss.value(factor * scores, target) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("n", [40, 5000])
@pytest.mark.parametrize("nan", [np.nan, -np.nan], ids=["positive", "negative"])
def test_a_nan_of_either_sign_is_not_hidden(n, nan):
    """Hardware makes NaNs with the sign bit set, which a sort by bits puts first."""
    scores, target = sample(0, n)
    for loss, _ in PAIRS:
        for row in (0, 1, n // 2, n - 1):
            spoilt = scores.copy()
            spoilt[row] = np.copysign(np.nan, np.copysign(1.0, nan))
            assert np.isnan(loss.value(spoilt, target))


def test_the_hinge_bounds_one_minus_auc():
    for seed in range(6):
        scores, target = sample(seed)
        auc = roc_auc_score(target.y, scores, sample_weight=target.weight)
        assert PairwiseHinge().value(scores, target) >= 1 - auc


@pytest.mark.parametrize("loss", [PairwiseSquare(), PairwiseHinge()], ids=repr)
@pytest.mark.parametrize(
    ("y", "weight", "lacks"),
    [
        ([1.0, 1.0], None, "negative"),
        ([-1.0, -1.0], None, "positive"),
        ([1.0, -1.0], [0.0, 1.0], "positive"),
        ([1.0, -1.0], [1.0, 0.0], "negative"),
    ],
)
def test_one_class_is_refused(loss, y, weight, lacks):
    target = Target(np.array(y), None if weight is None else np.array(weight))
    with pytest.raises(DataError, match=f"no {lacks} row"):
        loss.check_target(target)


def test_slopes_of_a_million_rows_are_counts():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=1_000_000), 4)  # with ties
    y = np.where(rng.random(scores.size) < 0.3, 1.0, -1.0)
    _, slope = PairwiseHinge(width=0.0).value_grad(scores, Target(y))
    above, below = scores[y > 0], np.sort(scores[y < 0])
    # A positive loses to the negatives with t > s - 1.
    counts = below.size - np.searchsorted(below, above - 1.0, side="right")
    wanted = -counts / (above.size * below.size)
    np.testing.assert_allclose(slope[y > 0], wanted, rtol=1e-13, atol=0.0)
