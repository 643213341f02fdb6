"""The scans in NumPy, against the compiled kernels and against sums over all pairs."""

import numpy as np
import pytest

from auctor import losses
from auctor.core.types import Target
from auctor.scans.fbeta import f_beta
from auctor.scans.gaussian import gaussian_auc
from auctor.scans.logistic import DENSE_ROWS, largest_error, logistic_pairs
from auctor.scans.ops import NumpyOps
from auctor.scans.pairs import hinge_pairs, squared_hinge_pairs
from auctor.scans.partial import partial_pairs
from auctor.scans.rows import pair_rows, set_rows
from auctor.scans.threshold import precision_at_k

OPS = NumpyOps()
WIDTHS = (0.0, 0.5, 2.0)


def rows(kind, n=300):
    """Scores, labels, weights and groups of one kind."""
    rng = np.random.default_rng(len(kind) + n)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    scores, weight, group = 2.0 * rng.normal(size=n) + 0.7 * y, None, None
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "tied":
        scores[:] = 0.25
    elif kind == "weights":
        weight = rng.random(n) * (rng.random(n) < 0.8)
        weight[:2] = 1.0
    elif kind == "outliers":
        scores[:3] = 1e6, -1e7, 1e8
    elif kind == "groups":
        group, weight = rng.integers(0, 40, n), rng.random(n)
    return scores, y, weight, group


def agree(found, wanted, rtol=1e-12):
    size = max(1.0, abs(wanted[0]))
    assert abs(float(found[0]) - wanted[0]) <= rtol * size
    # Weights of levels of F are exponentials of values: these round by 1e-16 of their size.
    loose = 1e3 * max(1.0, 1e-3 * size)
    assert np.abs(found[1] - wanted[1]).max() <= loose * rtol * np.abs(wanted[1]).max()


KINDS = ("plain", "ties", "tied", "weights", "outliers", "groups")


@pytest.mark.parametrize("kind", KINDS)
def test_pair_losses_equal_the_kernels(kind):
    scores, y, weight, group = rows(kind)
    target, pairs = Target(y, weight, group), pair_rows(OPS, y > 0, weight, group)
    wanted = losses.PairwiseSquaredHinge().value_grad(scores, target)
    agree(squared_hinge_pairs(OPS, scores, pairs), wanted)
    for width in WIDTHS:
        wanted = losses.PairwiseHinge(width).value_grad(scores, target)
        agree(hinge_pairs(OPS, scores, pairs, width), wanted)
    agree(logistic_pairs(OPS, scores, pairs), losses.PairwiseLogistic().value_grad(scores, target))
    agree(gaussian_auc(OPS, scores, pairs), losses.GaussianAuc().value_grad(scores, target))


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_losses_on_sets_equal_the_kernels(kind):
    scores, y, weight, _ = rows(kind)
    target, pairs = Target(y, weight), pair_rows(OPS, y > 0, weight)
    sets = set_rows(OPS, y > 0, weight)
    for width in WIDTHS:
        for max_fpr in (0.05, 0.3, 1.0):
            loss = losses.PartialPairwiseHinge(max_fpr, width)
            agree(
                partial_pairs(OPS, scores, pairs, max_fpr, width), loss.value_grad(scores, target)
            )
        for k in (0.2, 0.6, 3):
            loss = losses.PrecisionAtK(k, width)
            agree(precision_at_k(OPS, scores, sets, k, width), loss.value_grad(scores, target))
        for beta in (0.5, 1.0, 2.0):
            loss = losses.FBeta(beta, width)
            agree(f_beta(OPS, scores, sets, beta, width), loss.value_grad(scores, target))


def brute(scores, y, weight, group, loss):
    """Mean over pairs, group by group."""
    weight = np.ones(y.size) if weight is None else weight
    group = np.zeros(y.size) if group is None else group
    value = total = 0.0
    for code in np.unique(group):
        pos, neg = ((y == side) & (group == code) & (weight > 0) for side in (1.0, -1.0))
        if not (pos.any() and neg.any()):
            continue
        shares = np.outer(weight[pos] / weight[pos].sum(), weight[neg] / weight[neg].sum())
        part = weight[pos].sum() + weight[neg].sum()
        value += part * (shares * loss(scores[pos][:, None] - scores[neg][None, :])).sum()
        total += part
    return value / total


@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "groups"])
def test_values_equal_sums_over_all_pairs(kind):
    scores, y, weight, group = rows(kind, 60)
    pairs = pair_rows(OPS, y > 0, weight, group)
    for found, loss in (
        (squared_hinge_pairs(OPS, scores, pairs), lambda d: np.maximum(1.0 - d, 0.0) ** 2),
        (hinge_pairs(OPS, scores, pairs), lambda d: np.maximum(1.0 - d, 0.0)),
        (hinge_pairs(OPS, scores, pairs, margin=0.5), lambda d: np.maximum(0.5 - d, 0.0)),
        (logistic_pairs(OPS, scores, pairs), lambda d: np.logaddexp(0.0, -d)),
    ):
        assert float(found[0]) == pytest.approx(brute(scores, y, weight, group, loss), rel=1e-12)


@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
def test_logistic_pairs_of_many_rows_on_the_grid(spread):
    # The grid, whose cells have unit width while scores span less than 4,096.
    n = DENSE_ROWS + 500
    rng = np.random.default_rng(3)
    y, scores = np.where(rng.random(n) < 0.2, 1.0, -1.0), spread * rng.normal(size=n)
    scores[:3] = 1e6, -1e7, 1e8  # gaps above 40 do not count
    found = logistic_pairs(OPS, scores, pair_rows(OPS, y > 0, None))
    assert largest_error(8.0 * spread) < 1e-12
    agree(found, losses.PairwiseLogistic().value_grad(scores, Target(y)))


@pytest.mark.parametrize("y", [np.ones(5), -np.ones(5)])
def test_one_class_gives_zero(y):
    scores = np.arange(5.0)
    pairs, sets = pair_rows(OPS, y > 0, None), set_rows(OPS, y > 0, None)
    with np.errstate(all="ignore"):
        for value, slopes in (
            squared_hinge_pairs(OPS, scores, pairs),
            hinge_pairs(OPS, scores, pairs, 0.5),
            logistic_pairs(OPS, scores, pairs),
            gaussian_auc(OPS, scores, pairs),
            partial_pairs(OPS, scores, pairs, 0.3),
            precision_at_k(OPS, scores, sets, 2),
            f_beta(OPS, scores, sets, 1.0, 0.0),
            f_beta(OPS, scores, sets, 1.0, 0.5),
        ):
            assert (float(value), np.abs(slopes).max()) == (0.0, 0.0)
