"""The pair hinge over the top negatives against brute force."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.metrics import roc_curve

from auctor.core.errors import ParameterError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import PairwiseHinge, PartialPairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, Continuation

SHARES = [0.05, 0.3, 0.5, 0.97, 1.0]


def sample(seed, n=30, weighted=True):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    scores = rng.normal(size=n) + 0.4 * y
    if seed % 2:
        scores = np.round(2 * scores) / 2
    weight = rng.integers(0, 4, size=n).astype(float)
    weight[:2] = 1.0
    return scores, Target(y, weight if weighted else None)


def parts(target):
    weight = np.ones_like(target.y) if target.weight is None else target.weight
    p, q = weight * (target.y > 0), weight * (target.y < 0)
    return p / p.sum(), q / q.sum()


def levels(scores, target, width):
    """Mean over positives of the smoothed hinge, for every row as if it were a negative."""
    p, _ = parts(target)
    z = 1 - scores[:, None] + scores[None, :]
    pair = np.maximum(z - width / 2, 0.0)
    if width:
        pair = np.where(z < width, np.maximum(z, 0.0) ** 2 / (2 * width), pair)
    return p @ pair


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", range(6))
def test_the_exact_loss_is_the_best_weighting_of_the_negatives(share, seed):
    """Against a linear program over all weightings, and the sorted top share."""
    scores, target = sample(seed, weighted=seed % 3 > 0)
    _, q = parts(target)
    level = levels(scores, target, 0.0)
    bounds = [(0.0, x) for x in q]
    best = linprog(-level / share, A_eq=np.ones((1, 30)), b_eq=[share], bounds=bounds)
    found = PartialPairwiseHinge(share).value(scores, target)
    assert found == pytest.approx(-best.fun, rel=1e-9)
    left, total = share, 0.0
    for j in sorted(range(30), key=lambda j: -scores[j]):
        total += min(q[j], left) * level[j] / share
        left -= min(q[j], left)
    assert found == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("width", [1e-6, 0.3, 2.0])
def test_the_smoothed_loss_is_its_maximum(share, width):
    """Against the one-dimensional dual, minimised by bisection on its slope."""
    for seed in range(6):
        scores, target = sample(seed)
        _, q = parts(target)
        level = levels(scores, target, width)
        low, high = level.min() - 2 * width, level.max() + width
        for _ in range(200):
            t = 0.5 * (low + high)
            mass = q @ np.clip((level - t) / width, 0.0, 1.0)
            low, high = (t, high) if mass > share else (low, t)
        z = level - t
        pieces = np.where(z < width, np.maximum(z, 0.0) ** 2 / (2 * width), z - width / 2)
        wanted = t + q @ pieces / share + 0.5 * width * share
        found = PartialPairwiseHinge(share, width).value(scores, target)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.5])
def test_all_negatives_make_the_pair_hinge(width):
    for seed in range(6):
        scores, target = sample(seed)
        value, grad = PartialPairwiseHinge(1.0, width).value_grad(scores, target)
        wanted, slope = PairwiseHinge(width).value_grad(scores, target)
        assert value == pytest.approx(wanted, rel=1e-14)
        np.testing.assert_allclose(grad, slope, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_it_bounds_one_minus_the_partial_auc(share):
    for seed in range(8):
        scores, target = sample(seed, weighted=False)
        fpr, tpr, _ = roc_curve(target.y, scores, drop_intermediate=False)
        grid = np.unique(np.append(fpr[fpr <= share], share))
        area = np.trapezoid(np.interp(grid, fpr, tpr), grid) / share
        assert PartialPairwiseHinge(share).value(scores, target) >= 1 - area - 1e-12


@pytest.mark.parametrize("share", SHARES)
def test_curvature_by_differences(share):
    loss = PartialPairwiseHinge(share, width=0.8)
    for seed in (0, 2, 4):
        scores, target = sample(seed)
        curvature = loss.curvature(scores, target)
        matrix = np.array([curvature.matvec(unit) for unit in np.eye(30)])
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-13)
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-13
        step = 1e-7
        for i, unit in enumerate(np.eye(30)):
            ahead, behind = (loss.value_grad(scores + k * step * unit, target)[1] for k in (1, -1))
            np.testing.assert_allclose((ahead - behind) / (2 * step), matrix[i], atol=1e-6)
        both = curvature.matvec(np.column_stack([scores, scores**2]))
        np.testing.assert_allclose(both[:, 1], curvature.matvec(scores**2), atol=1e-13)


def test_ties_at_the_boundary_share_it_equally():
    y = np.array([1.0, -1.0, -1.0, -1.0, -1.0])
    scores = np.array([0.0, 3.0, 1.0, 1.0, -4.0])
    value, grad = PartialPairwiseHinge(0.5).value_grad(scores, Target(y))
    assert value == 3.0
    np.testing.assert_allclose(grad, [-1.0, 0.5, 0.25, 0.25, 0.0])


def test_one_negative_and_one_positive():
    for share, width in itertools.product(SHARES, (0.0, 0.1)):
        loss = PartialPairwiseHinge(share, width)
        value, grad = loss.value_grad(np.array([0.0, 1.0]), Target(np.array([1.0, -1.0])))
        assert value == pytest.approx(2.0 - width / 2)
        np.testing.assert_allclose(grad, [-1.0, 1.0])


@pytest.mark.parametrize("width", [1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("scale", [1.0, 1e8, 1e50])
def test_the_top_share_is_exact_however_narrow_the_width(width, scale):
    """The gradient must stay a feasible dual point where rounding swallows the width."""
    for seed in range(4):
        scores, target = sample(seed)
        _, grad = PartialPairwiseHinge(0.3, width).value_grad(scale * scores, target)
        _, q = parts(target)
        assert (grad[q > 0] <= q[q > 0] / 0.3 * (1 + 1e-12)).all()
        assert grad[q > 0].sum() <= 1 + 1e-12
        assert grad.sum() == pytest.approx(0.0, abs=1e-12)


RNG = np.random.default_rng(8)
X = RNG.normal(size=(120, 4))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=120) > 0.6, 1.0, -1.0)


@pytest.mark.parametrize("penalty", [L2(0.02), L1(0.02)], ids=["l2", "l1"])
def test_the_certificate_bounds_the_true_gap(penalty):
    """At random points, at smoothed gradients of random widths, against the solved problem."""
    problem = Problem(PartialPairwiseHinge(0.2), penalty, as_data(X, Y))
    best = minimise(problem, Continuation(), tol=1e-5, max_iter=5000)
    assert best.converged
    assert best.certified
    lower = best.value - best.gap
    rng = np.random.default_rng(0)
    for width in (1e-6, 0.1, 1.0, 5.0):
        smoothed = problem.with_loss(PartialPairwiseHinge(0.2, width))
        for _ in range(10):
            w = best.coef + rng.normal(size=4) * 10.0 ** rng.uniform(-4, 1)
            point, dual = problem.evaluate(w), smoothed.evaluate(w)
            certificate = problem.certificate(point, dual)
            assert certificate.certified
            assert point.value - certificate.gap <= best.value + 1e-12
            assert certificate.gap >= point.value - best.value - 1e-12
            assert lower <= best.value


def test_continuation_and_cutting_planes_agree():
    """Subgradients of the exact loss alone lead to the same minimum."""
    problem = Problem(PartialPairwiseHinge(0.2), L2(0.05), as_data(X, Y))
    first = minimise(problem, Continuation(), tol=1e-6, max_iter=2000)
    second = minimise(problem, Bmrm(line_search=False), tol=1e-5, max_iter=3000)
    assert first.value == pytest.approx(second.value, abs=2e-5)


def test_training_on_the_top_beats_training_on_all_at_the_top():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    y = np.where(rng.random(600) < 0.4, 1.0, -1.0)
    # Column 0 separates most rows; column 1 the hard negatives only.
    X[:, 0] += 1.5 * (y > 0)
    hard = (y < 0) & (rng.random(600) < 0.15)
    X[hard, 0] += 3.0
    X[hard, 1] -= 3.0
    data, exact = as_data(X, y), PartialPairwiseHinge(0.1)
    found = []
    for loss in (PartialPairwiseHinge(0.1), PairwiseHinge()):
        solution = minimise(Problem(loss, L2(1e-4), data), Continuation(), tol=1e-4, max_iter=2000)
        found.append(exact.value(data.scores(solution.coef), data.target))
    assert found[0] < found[1]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, np.nan, "a", True])
def test_rates_outside_their_range_are_refused(share):
    with pytest.raises(ParameterError, match="max_fpr"):
        PartialPairwiseHinge(share)
