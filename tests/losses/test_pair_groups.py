"""Every pair loss against the matrix of pairs, with and without groups."""

import numpy as np
import pytest

from auctor.core.errors import DataError
from auctor.core.rng import systematic
from auctor.core.types import Target
from auctor.data import wrap
from auctor.losses import (
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquare,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import Exact, Lbfgs
from auctor.solvers.choose import resolve


def pair_weights(target):
    """Matrix of pair weights: positives by rows, negatives by columns, groups apart."""
    n = target.y.size
    weight = np.ones(n) if target.weight is None else target.weight
    groups = np.zeros(n, dtype=int) if target.groups is None else target.groups
    blocks, totals = [], []
    for g in np.unique(groups):
        p = weight * (target.y > 0) * (groups == g)
        q = weight * (target.y < 0) * (groups == g)
        if p.sum() > 0 and q.sum() > 0:
            blocks.append(np.outer(p / p.sum(), q / q.sum()))
            totals.append(p.sum() + q.sum())
    return sum(t * b for t, b in zip(totals, blocks, strict=True)) / sum(totals)


def matrix_of(loss, scores, target):
    """Curvature as a matrix."""
    curvature = loss.curvature(scores, target)
    return np.array([curvature.matvec(unit) for unit in np.eye(scores.size)])


def brute(functions, scores, target):
    """Value, gradient and curvature of the mean of ``f(s_j - s_i)``, given f, f' and f''."""
    weight = pair_weights(target)
    z = scores[None, :] - scores[:, None]
    value, slope, curve = (f(z) for f in functions)
    force = weight * slope
    stiff = weight * curve
    stiff = stiff + stiff.T
    return (
        (weight * value).sum(),
        force.sum(axis=0) - force.sum(axis=1),
        np.diag(stiff.sum(axis=1)) - stiff,
    )


def hinge(width):
    """Smoothed hinge of ``1 + z``."""
    steep = 1.0 / width if width else 0.0
    return (
        lambda z: np.where(
            1 + z < width, np.maximum(1 + z, 0) ** 2 * steep / 2, np.maximum(1 + z - width / 2, 0)
        ),
        lambda z: np.where(1 + z < width, np.maximum(1 + z, 0) * steep, 1.0 * (1 + z > 0)),
        lambda z: steep * ((1 + z > 0) & (1 + z < width)),
    )


SQUARE = (lambda z: (1 + z) ** 2, lambda z: 2 * (1 + z), lambda z: 2.0 + 0 * z)
SQUARED_HINGE = (
    lambda z: np.maximum(1 + z, 0) ** 2,
    lambda z: 2 * np.maximum(1 + z, 0),
    lambda z: 2.0 * (1 + z > 0),
)
EXPONENTIAL = (np.exp, np.exp, np.exp)
LOGISTIC = (
    lambda z: np.logaddexp(0, z),
    lambda z: np.exp(-np.logaddexp(0, -z)),
    lambda z: np.exp(-np.logaddexp(0, -z) - np.logaddexp(0, z)),
)

LOSSES = [
    (PairwiseSquare(), SQUARE),
    (PairwiseHinge(), hinge(0.0)),
    (PairwiseHinge(0.7), hinge(0.7)),
    (PairwiseSquaredHinge(), SQUARED_HINGE),
    (PairwiseExponential(), EXPONENTIAL),
    (PairwiseLogistic(), LOGISTIC),
]
each = pytest.mark.parametrize(("loss", "functions"), LOSSES, ids=[repr(x) for x, _ in LOSSES])


def sample(seed, n=60, groups=0, ties=False, weighted=False):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.35, 1.0, -1.0)
    scores = rng.normal(size=n) + 0.4 * y
    codes = None
    if groups:
        # Unsorted codes with holes; group -5 has one class only.
        codes = 3 * rng.integers(0, groups, size=n) - 2
        codes[:6], y[:6] = -5, 1.0
    y[6:10], scores[6:8] = (1.0, -1.0, 1.0, -1.0), 0.3
    if codes is not None:
        codes[6:10] = 100, 100, 101, 101
    if ties:
        scores = np.round(2 * scores) / 2
    weight = rng.integers(0, 4, size=n).astype(float) if weighted else None
    if weight is not None:
        weight[6:10] = 2.0
    return scores, Target(y, weight, codes)


@each
@pytest.mark.parametrize("groups", [0, 1, 7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_everything_equals_the_matrix_of_pairs(loss, functions, groups, weighted, ties):
    for seed in range(3):
        scores, target = sample(seed, groups=groups, ties=ties, weighted=weighted)
        value, grad = loss.value_grad(scores, target)
        wanted, slope, matrix = brute(functions, scores, target)
        assert value == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(grad, slope, rtol=1e-10, atol=1e-14)
        if loss.order >= 2:
            scale = np.abs(matrix).max()
            found = matrix_of(loss, scores, target)
            np.testing.assert_allclose(found, matrix, rtol=0, atol=1e-12 * scale)
            curvature = loss.curvature(scores, target)
            low_rank = getattr(curvature, "factors", None) is not None
            if not low_rank:
                np.testing.assert_allclose(curvature.diagonal, np.diag(matrix), atol=1e-12 * scale)
                both = curvature.matvec(np.column_stack([scores, scores**2]))
                np.testing.assert_allclose(both[:, 1], curvature.matvec(scores**2), rtol=1e-10)


@each
def test_one_positive_and_constant_scores(loss, functions):
    y = -np.ones(9)
    y[4] = 1.0
    for scores in (np.zeros(9), np.arange(9.0), np.full(9, -3.25)):
        value, grad = loss.value_grad(scores, Target(y))
        wanted, slope, _ = brute(functions, scores, Target(y))
        assert value == pytest.approx(wanted, rel=1e-13)
        np.testing.assert_allclose(grad, slope, rtol=1e-12, atol=1e-15)


@each
def test_drawn_pairs_stay_inside_their_groups(loss, functions):
    scores, target = sample(2, groups=5, weighted=True)
    if loss.order < 2:
        return
    curvature = loss.curvature(scores, target)
    i, total = systematic(curvature.diagonal, 6000)
    j = curvature.partners(i)
    assert (target.groups[i] == target.groups[j]).all()
    assert (target.y[i] * target.y[j] < 0).all()
    drawn = np.zeros((60, 60))
    np.add.at(drawn, (i, j), total / 6000)
    _, _, matrix = brute(functions, scores, target)
    wanted = np.where(target.y[:, None] * target.y < 0, -matrix, 0.0)
    np.testing.assert_allclose(drawn.sum(), wanted.sum(), rtol=1e-10)
    np.testing.assert_allclose(drawn, wanted, rtol=0, atol=5e-3 * wanted.sum())


@each
def test_weights_are_repetition_inside_groups(loss, functions):
    scores, target = sample(1, groups=4, weighted=True)
    rows = np.repeat(np.arange(60), target.weight.astype(int))
    repeated = Target(target.y[rows], None, target.groups[rows])
    value, grad = loss.value_grad(scores, target)
    again, spread = loss.value_grad(scores[rows], repeated)
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(np.bincount(rows, spread, minlength=60), grad, atol=1e-14)
    if loss.order >= 2:
        v = np.random.default_rng(0).normal(size=60)
        product = loss.curvature(scores, target).matvec(v)
        found = loss.curvature(scores[rows], repeated).matvec(v[rows])
        np.testing.assert_allclose(np.bincount(rows, found, minlength=60), product, atol=1e-12)


@each
def test_one_group_is_no_groups_and_taking_rows_keeps_groups(loss, functions):
    scores, target = sample(3)
    one = Target(target.y, None, np.full(60, 9))
    value, grad = loss.value_grad(scores, target)
    assert loss.value(scores, one) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(loss.value_grad(scores, one)[1], grad, rtol=1e-12, atol=1e-16)
    grouped = sample(3, groups=4)[1]
    order = np.random.default_rng(1).permutation(60)
    taken = grouped.take(order)
    np.testing.assert_array_equal(taken.groups, grouped.groups[order])
    before = loss.value_grad(scores, grouped)[1]
    after = loss.value_grad(scores[order], taken)[1]
    np.testing.assert_allclose(after, before[order], rtol=1e-11, atol=1e-16)


@each
def test_conjugates_hold_in_groups(loss, functions):
    scores, target = sample(5, groups=4, weighted=True)
    value, grad = loss.value_grad(scores, target)
    found = loss.conjugate(grad, target)
    if found is None:
        return
    assert found == pytest.approx(grad @ scores - value, rel=1e-11)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.4, 1.0):
        for _ in range(20):
            s = scores + rng.normal(size=60)
            bound = scale * grad @ s - loss.value(s, target)
            assert loss.conjugate(scale * grad, target) >= bound - 1e-12
    if not isinstance(loss, PairwiseHinge):
        assert loss.conjugate(np.eye(60)[6], target) == np.inf


@each
def test_many_groups_need_no_loop_over_them(loss, functions):
    rng = np.random.default_rng(0)
    n, m = 40_000, 10_000
    y, groups = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.integers(0, m, size=n)
    scores, target = rng.normal(size=n), Target(y, None, groups)
    value, grad = loss.value_grad(scores, target)
    some = np.flatnonzero(groups < 40)
    part = target.take(some)
    # A group's rows see their own group alone; only its weight depends on the others.
    ratio = part.pairs.part[0] / target.pairs.part[0]
    np.testing.assert_allclose(
        loss.value_grad(scores[some], part)[1], ratio * grad[some], rtol=1e-9, atol=1e-12
    )
    assert value == pytest.approx(loss.value(scores, target), rel=1e-12)
    if loss.order >= 2:
        whole = loss.curvature(scores, target).matvec(scores)
        own = loss.curvature(scores[some], part).matvec(scores[some])
        np.testing.assert_allclose(own, ratio * whole[some], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", [x for x, _ in LOSSES] + [PartialPairwiseHinge(0.3)], ids=repr)
def test_groups_that_cannot_work_are_refused(loss):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(DataError, match="group with both classes"):
        loss.check_target(Target(y, None, np.arange(4)))
    with pytest.raises(DataError, match="integer group code"):
        loss.check_target(Target(y, None, np.zeros(3, dtype=int)))
    with pytest.raises(DataError, match="integer group code"):
        loss.check_target(Target(y, None, np.zeros(4)))
    with pytest.raises(DataError, match="group with both classes"):
        loss.check_target(Target(y, np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1, 1])))


def test_partial_refuses_groups():
    with pytest.raises(DataError, match="one ranking"):
        PartialPairwiseHinge(0.3).check_target(
            Target(np.array([1.0, -1.0]), None, np.zeros(2, dtype=int))
        )


X = np.random.default_rng(3).normal(size=(60, 4))


@each
@pytest.mark.parametrize("penalty", [L2(0.05), L1(0.01)], ids=["l2", "l1"])
def test_default_solvers_solve_grouped_problems(loss, functions, penalty):
    _, target = sample(4, groups=4, weighted=True)
    problem = Problem(loss, penalty, wrap(X, target))
    found = minimise(problem, resolve("auto", problem), tol=1e-6, max_iter=3000)
    assert found.converged
    assert found.certified
    rng = np.random.default_rng(0)
    for _ in range(30):
        other = problem.evaluate(found.coef + 0.1 * rng.normal(size=4)).value
        assert found.value - other <= found.gap + 1e-12


def test_grouped_square_is_solved_exactly():
    _, target = sample(4, groups=4, weighted=True)
    problem = Problem(PairwiseSquare(), L2(0.05), wrap(X, target))
    direct = minimise(problem, Exact(direct=True), tol=1e-12)
    for solver in (Exact(direct=False), Lbfgs()):
        again = minimise(problem, solver, tol=1e-12, max_iter=500, on_failure="ignore")
        np.testing.assert_allclose(again.coef, direct.coef, atol=1e-6)
    assert np.abs(problem.total_gradient(problem.evaluate(direct.coef))).max() < 1e-12


@each
@pytest.mark.parametrize("groups", [0, 4])
def test_a_nan_is_not_hidden_and_huge_scores_make_none(loss, functions, groups):
    scores, target = sample(4, groups=groups)
    takes_part = np.flatnonzero(loss.value_grad(scores, target)[1])
    for row in takes_part:
        spoilt = scores.copy()
        spoilt[row] = np.copysign(np.nan, scores[row])
        assert np.isnan(loss.value(spoilt, target))
    for size in (1e3, 1e100, 1e200):
        with np.errstate(over="ignore"):
            value, grad = loss.value_grad(size * scores, target)
        assert not np.isnan(value)
        assert not np.isnan(grad).any()


@each
@pytest.mark.parametrize("groups", [None, 500])
def test_threads_change_no_bit(loss, functions, groups, monkeypatch):
    rng = np.random.default_rng(0)
    n = 25_000  # enough for a second thread
    y, scores = np.where(rng.random(n) < 0.4, 1.0, -1.0), rng.normal(size=n)
    codes = None if groups is None else rng.integers(0, groups, size=n)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        target = Target(y, None, codes)
        value, grad = loss.value_grad(scores, target)
        product = loss.curvature(scores, target).matvec(scores) if loss.order >= 2 else grad
        found.append((value, grad, product))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][2], found[1][2])


@pytest.mark.sample(3)
@pytest.mark.parametrize("scale", [0.2, 2.0, 30.0])
def test_the_logistic_loss_of_many_rows_equals_all_pairs(scale):
    """Full cells go through their moments, sparse ones pair by pair."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(800) < 0.4, 1.0, -1.0)
    scores = scale * (rng.normal(size=800) + 0.3 * y)
    weight = rng.uniform(0.1, 3.0, size=800)
    for target in (Target(y), Target(y, weight), Target(y, weight, rng.integers(0, 9, size=800))):
        value, grad = PairwiseLogistic().value_grad(scores, target)
        wanted, slope, matrix = brute(LOGISTIC, scores, target)
        assert value == pytest.approx(wanted, rel=1e-13)
        np.testing.assert_allclose(grad, slope, rtol=1e-11, atol=1e-15)
        v = rng.normal(size=800)
        product = PairwiseLogistic().curvature(scores, target).matvec(v)
        np.testing.assert_allclose(product, matrix @ v, rtol=0, atol=1e-12 * np.abs(product).max())


def test_the_logistic_loss_of_repeated_rows_may_take_the_other_way():
    """Four rows meet pair by pair; their 200 copies go through moments."""
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=12), np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    count = rng.integers(30, 80, size=12)
    rows = np.repeat(np.arange(12), count)
    value, grad = PairwiseLogistic().value_grad(scores, Target(y, count.astype(float)))
    again, spread = PairwiseLogistic().value_grad(scores[rows], Target(y[rows]))
    assert again == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(np.bincount(rows, spread), grad, rtol=1e-11)
