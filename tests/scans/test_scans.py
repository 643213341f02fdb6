"""The scans in every engine, against the compiled kernels and against brute force."""

import itertools
from importlib.util import find_spec

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


def numpy_engine():
    yield NumpyOps(), np.asarray


def torch_engine():
    import torch

    from auctor.torch.ops import OPS

    yield OPS, torch.from_numpy


def jax_engine():
    import jax

    from auctor.jax.ops import OPS

    with jax.enable_x64(True):
        yield OPS, jax.numpy.asarray


ENGINES = {"numpy": numpy_engine, "torch": torch_engine, "jax": jax_engine}


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.skipif(not find_spec(name), reason=f"no {name}"))
        for name in ENGINES
    ]
)
def engine(request):
    """The operations of an engine, and what makes its arrays."""
    yield from ENGINES[request.param]()


class Scans:
    """The scans of an engine as functions of NumPy arrays."""

    def __init__(self, engine, y, weight=None, group=None):
        self.ops, self.array = engine
        self.given = [None if x is None else self.array(x) for x in (y > 0, weight, group)]

    def pairs(self, scan, scores, *settings):
        return self._found(scan, scores, pair_rows(self.ops, *self.given), settings)

    def sets(self, scan, scores, *settings):
        return self._found(scan, scores, set_rows(self.ops, *self.given[:2]), settings)

    def _found(self, scan, scores, rows, settings):
        value, slopes = scan(self.ops, self.array(scores), rows, *settings)
        return float(value), np.asarray(slopes)


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
def test_pair_losses_equal_the_kernels(engine, kind):
    scores, y, weight, group = rows(kind)
    target, scans = Target(y, weight, group), Scans(engine, y, weight, group)
    cases = [
        (losses.PairwiseSquaredHinge(), squared_hinge_pairs, ()),
        *((losses.PairwiseHinge(width), hinge_pairs, (width,)) for width in WIDTHS),
        (losses.PairwiseLogistic(), logistic_pairs, ()),
        (losses.GaussianAuc(), gaussian_auc, ()),
    ]
    for loss, scan, settings in cases:
        agree(scans.pairs(scan, scores, *settings), loss.value_grad(scores, target))


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("width", WIDTHS)
def test_losses_on_sets_equal_the_kernels(engine, kind, width):
    scores, y, weight, _ = rows(kind)
    target, scans = Target(y, weight), Scans(engine, y, weight)
    for max_fpr in (0.05, 0.3, 1.0):
        loss = losses.PartialPairwiseHinge(max_fpr, width)
        found = scans.pairs(partial_pairs, scores, max_fpr, width)
        agree(found, loss.value_grad(scores, target))
    for k in (0.2, 0.6, 3):
        found = scans.sets(precision_at_k, scores, k, width)
        agree(found, losses.PrecisionAtK(k, width).value_grad(scores, target))
    for beta in (0.5, 1.0, 2.0):
        found = scans.sets(f_beta, scores, beta, width)
        agree(found, losses.FBeta(beta, width).value_grad(scores, target))


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
def test_values_equal_sums_over_all_pairs(engine, kind):
    scores, y, weight, group = rows(kind, 60)
    scans = Scans(engine, y, weight, group)
    for (scan, *settings), loss in (
        ((squared_hinge_pairs,), lambda d: np.maximum(1.0 - d, 0.0) ** 2),
        ((hinge_pairs,), lambda d: np.maximum(1.0 - d, 0.0)),
        ((hinge_pairs, 0.0, 0.5), lambda d: np.maximum(0.5 - d, 0.0)),
        ((logistic_pairs,), lambda d: np.logaddexp(0.0, -d)),
    ):
        wanted = brute(scores, y, weight, group, loss)
        assert scans.pairs(scan, scores, *settings)[0] == pytest.approx(wanted, rel=1e-12)


def best_sets(scores, y, k):
    """The loss of precision at k by all sets of k rows, against the average ideal set."""
    n, positives = y.size, int((y > 0).sum())
    z = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    z = z[(z > 0).sum(1) == k]
    missed = 1.0 - ((z > 0) & (y > 0)).sum(1) / k
    ideal = np.where(y > 0, min(1.0, k / positives), max(0.0, k - positives) / (n - positives))
    return (missed + (z - (2.0 * ideal - 1.0)) @ scores / n).max()


def best_tables(scores, y, beta):
    """The loss of F-beta by all numbers of flipped rows, those of the negatives in small parts."""
    n, positives = y.size, int((y > 0).sum())
    cost = np.concatenate(([0.0], np.cumsum(np.sort(scores[y > 0]))))
    gain = np.concatenate(([0.0], np.cumsum(np.sort(scores[y < 0])[::-1])))
    false = np.linspace(0.0, n - positives, 4000 * (n - positives) + 1)
    missed = np.arange(positives + 1)[:, None]
    hit = (1 + beta**2) * (positives - missed)
    delta = 1 - hit / (hit + beta**2 * missed + false)
    gained = np.interp(false, np.arange(gain.size), gain)
    return (delta + 2.0 / n * (gained - cost[missed])).max()


def test_losses_on_sets_equal_brute_force(engine):
    rng = np.random.default_rng(1)
    for trial in range(6):
        y = rng.permutation(np.where(np.arange(8) < 2 + trial % 3, 1.0, -1.0))
        scores = rng.normal(size=8)
        scans = Scans(engine, y)
        for k in (1, 3, 6):
            found = scans.sets(precision_at_k, scores, k)[0]
            assert found == pytest.approx(best_sets(scores, y, k), abs=1e-12)
        for beta in (0.5, 2.0):
            found = scans.sets(f_beta, scores, beta, 0.0)[0]
            assert found == pytest.approx(best_tables(scores, y, beta), abs=1e-6)
        gaps = 1.0 - scores[y > 0][:, None] + scores[y < 0][None, :]
        levels = np.sort(np.maximum(gaps, 0.0).mean(0))[::-1]
        for top in range(1, levels.size + 1):  # whole negatives in the top share
            found = scans.pairs(partial_pairs, scores, top / levels.size)[0]
            assert found == pytest.approx(levels[:top].mean(), rel=1e-12)


@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
def test_logistic_pairs_of_many_rows_on_the_grid(engine, spread):
    # The grid, whose cells have unit width while scores span less than 4,096.
    n = DENSE_ROWS + 500
    rng = np.random.default_rng(3)
    y, scores = np.where(rng.random(n) < 0.2, 1.0, -1.0), spread * rng.normal(size=n)
    scores[:3] = 1e6, -1e7, 1e8  # gaps above 40 do not count
    found = Scans(engine, y).pairs(logistic_pairs, scores)
    assert largest_error(8.0 * spread) < 1e-12
    agree(found, losses.PairwiseLogistic().value_grad(scores, Target(y)))


@pytest.mark.parametrize("y", [np.ones(5), -np.ones(5)])
def test_one_class_gives_zero(engine, y):
    scores, scans = np.arange(5.0), Scans(engine, y)
    with np.errstate(all="ignore"):
        for value, slopes in (
            scans.pairs(squared_hinge_pairs, scores),
            scans.pairs(hinge_pairs, scores, 0.5),
            scans.pairs(logistic_pairs, scores),
            scans.pairs(gaussian_auc, scores),
            scans.pairs(partial_pairs, scores, 0.3),
            scans.sets(precision_at_k, scores, 2),
            scans.sets(f_beta, scores, 1.0, 0.0),
            scans.sets(f_beta, scores, 1.0, 0.5),
        ):
            assert (value, np.abs(slopes).max()) == (0.0, 0.0)
