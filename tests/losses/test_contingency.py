"""Threshold losses against enumeration, libsvm, linear programs and the published algorithm."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from auctor.core.errors import DataError, ParameterError
from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.fit.advice import vacuous
from auctor.kernels.losses import thresholds
from auctor.losses import PairwiseHinge, Prbep, PrecisionAtK, RecallAtK
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet
from auctor.problem import Problem
from auctor.solvers import Continuation, Lhac, Newton, ProximalNewton
from tests.fixtures.reference import sorted_flips


def instances(count, most, seed=0):
    """Small scores and labels: ties, constant scores, one positive, mostly positives."""
    rng = np.random.default_rng(seed)
    for trial in range(count):
        n = int(rng.integers(2, most + 1))
        y = np.where(rng.random(n) < (0.2, 0.5, 0.8)[trial % 3], 1.0, -1.0)
        y[:2] = 1.0, -1.0
        scores = (0.0, 1.0, 4.0)[int(rng.integers(3))] * rng.normal(size=n)
        yield (np.round(scores) if trial % 2 else scores), rng.permutation(y)


def labellings(n):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def enumerated(scores, y, kind, k):
    """The loss by enumeration, against the average ideal labelling with k positives."""
    n, n_pos = y.size, int((y > 0).sum())
    z = labellings(n)
    z = z[(z > 0).sum(axis=1) == k]
    hits = ((z > 0) & (y > 0)).sum(axis=1)
    delta = 1 - hits / (k if kind is PrecisionAtK else n_pos)
    up = np.where(y > 0, min(1.0, k / n_pos), max(0.0, k - n_pos) / (n - n_pos))
    return (delta + (z - (2 * up - 1)) @ scores / n).max()


def data(n=400, p=6, shift=0.8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > shift, 1.0, -1.0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def flips(loss, scores, y):
    return -y * loss.value_grad(scores, Target(y))[1] * y.size / 2


# --- exact values ---------------------------------------------------------------------------


def test_prbep_equals_the_enumeration_of_labellings():
    for scores, y in instances(60, 9):
        value, grad = Prbep().value_grad(scores, Target(y))
        n_pos = int((y > 0).sum())
        assert value == pytest.approx(enumerated(scores, y, Prbep, n_pos), abs=1e-12)
        assert grad.sum() == pytest.approx(0.0, abs=1e-12)
        flip = -y * grad * y.size / 2
        assert (flip >= 0.0).all()
        assert (flip <= 1.0 + 1e-12).all()
        assert value == pytest.approx(flip[y > 0].sum() / n_pos + grad @ scores, abs=1e-12)


@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
def test_at_k_equals_the_enumeration_of_labellings(kind):
    for scores, y in instances(30, 8, seed=1):
        for k in range(1, y.size + 1):
            wanted = enumerated(scores, y, kind, k)
            for given in (k, k / y.size) if k < y.size else (k,):
                assert kind(given).value(scores, Target(y)) == pytest.approx(wanted, abs=1e-12)


def test_constant_scores():
    for n_pos, n_neg in ((1, 5), (3, 3), (7, 2)):
        y = np.repeat([1.0, -1.0], [n_pos, n_neg])
        value = Prbep().value(np.zeros(y.size), Target(y))
        assert value == pytest.approx(min(1.0, n_neg / n_pos), abs=1e-13)


def test_at_the_number_of_positives_all_three_agree():
    for scores, y in instances(20, 12, seed=2):
        k = int((y > 0).sum())
        for width in (0.0, 0.3):
            wanted = Prbep(width).value(scores, Target(y))
            for kind in (PrecisionAtK, RecallAtK):
                assert kind(k, width).value(scores, Target(y)) == pytest.approx(wanted, abs=1e-12)


def test_they_bound_the_metric():
    rng = np.random.default_rng(3)
    for scores, y in instances(40, 12, seed=3):
        scores = scores + 1e-3 * rng.normal(size=y.size)
        for k in range(1, y.size + 1):
            hits = (y[np.argsort(-scores)[:k]] > 0).sum()
            target = Target(y)
            assert PrecisionAtK(k).value(scores, target) >= 1 - hits / k - 1e-12
            assert RecallAtK(k).value(scores, target) >= 1 - hits / (y > 0).sum() - 1e-12


def test_an_integer_k_counts_weight():
    rng = np.random.default_rng(4)
    scores, count = rng.normal(size=12), rng.integers(1, 5, size=12)
    y = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    for loss in (PrecisionAtK(7), RecallAtK(7, width=0.4)):
        weighted = loss.value(scores, Target(y, count.astype(float)))
        repeated = loss.value(np.repeat(scores, count), Target(np.repeat(y, count)))
        assert weighted == pytest.approx(repeated, abs=1e-12)


# --- smoothing ------------------------------------------------------------------------------


def by_patterns(scores, y, width):
    """Flips of the smoothed loss by trying every pattern of rows at 0, at 1 and in between."""
    n = y.size
    slope = np.where(y > 0, 0.5 * n / (y > 0).sum() - scores, scores)
    best, found = -np.inf, None
    for pattern in itertools.product((0, 1, 2), repeat=n):
        free, flip = np.array(pattern) == 2, (np.array(pattern) == 1).astype(float)
        if free.any():
            shift = (y[free] @ slope[free] + width * (y[~free] @ flip[~free])) / free.sum()
            flip[free] = (slope[free] - shift * y[free]) / width
            if (flip < -1e-12).any() or (flip > 1 + 1e-12).any():
                continue
        elif y @ flip:
            continue
        value = (slope @ flip - 0.5 * width * flip @ flip) * 2 / n
        if value > best:
            best, found = value, flip
    return best, found


def test_smoothed_prbep_equals_the_enumeration_of_patterns():
    rng = np.random.default_rng(0)
    for scores, y in instances(25, 6, seed=5):
        width = 10.0 ** rng.uniform(-2, 0.5)
        wanted, flip = by_patterns(scores, y, width)
        assert Prbep(width).value(scores, Target(y)) == pytest.approx(wanted, abs=1e-8)
        found = flips(Prbep(width), scores, y)
        np.testing.assert_allclose(found, flip, atol=1e-8)
        assert abs(found @ y) <= 1e-10


@pytest.mark.parametrize(
    "loss", [Prbep(0.1), PrecisionAtK(0.1, 0.1), RecallAtK(0.6, 0.1)], ids=repr
)
def test_gradients_in_w_by_central_differences(loss):
    X, y = data(200)
    problem = Problem(loss, L2(0.0), Dense(X, Target(y)))
    w, v = np.random.default_rng(1).normal(size=(2, X.shape[1]))
    slope = problem.evaluate(w).gradient @ v
    ahead, behind = (problem.evaluate(w + k * 1e-6 * v).value for k in (1, -1))
    assert (ahead - behind) / 2e-6 == pytest.approx(slope, rel=1e-6)


def test_smoothing_is_bounded_and_the_bound_is_tight():
    for scores, y in instances(40, 12, seed=6):
        fewer = 2 * min((y > 0).sum(), (y < 0).sum()) / y.size
        for width in (1e-3, 0.2, 3.0):
            error = Prbep().value(scores, Target(y)) - Prbep(width).value(scores, Target(y))
            assert -1e-13 <= error <= width * fewer + 1e-13
    y = np.array([1.0, -1.0, -1.0, -1.0])
    scores = np.array([-9.0, 9.0, 0.0, 0.0])
    error = Prbep().value(scores, Target(y)) - Prbep(0.2).value(scores, Target(y))
    assert error == pytest.approx(0.2 * 2 * 1 / 4)


def test_the_gradient_is_lipschitz():
    X, y = data(100)
    rng = np.random.default_rng(2)
    for width in (0.05, 0.5):
        problem = Problem(Prbep(width), L2(0.0), Dense(X, Target(y)))
        bound = 2.0 / (y.size * width) * np.linalg.norm(X, 2) ** 2
        for _ in range(50):
            u, v = rng.normal(size=(2, X.shape[1]))
            change = problem.evaluate(u).gradient - problem.evaluate(v).gradient
            assert np.linalg.norm(change) <= bound * np.linalg.norm(u - v) * (1 + 1e-9)


# --- many rows: sampled brackets ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "ties", "outliers", "sorted", "constant", "weights"])
def test_quantiles_of_many_rows(kind):
    rng = np.random.default_rng(7)
    n = 30_000
    u = rng.normal(size=n)
    p = rng.random(n) if kind == "weights" else np.ones(n)
    if kind == "weights":
        p[::7] = 0.0
    u = {
        "ties": np.round(3 * u),
        "outliers": np.where(np.arange(n) % 5000 == 0, 1e200 * u, u),
        "sorted": np.sort(u),
        "constant": np.zeros(n),
    }.get(kind, u)
    p /= p.sum()
    order = np.argsort(u, kind="stable")
    mass = np.cumsum(p[order])
    for goal in (1e-6, 0.03, 0.5, 0.77, 1.0):
        t, below, tied = thresholds.quantile(u, p, goal)
        assert t == u[order[min(np.searchsorted(mass, goal - 1e-12), n - 1)]]
        assert below == pytest.approx(p[u < t].sum(), abs=1e-12)
        assert tied == pytest.approx(p[u == t].sum(), abs=1e-12)
        for width in (1e-3, 0.5, 20.0):
            low, high, mix = thresholds.smooth_quantile(u, p, goal, width)
            ends = [p @ np.clip((t - u) / width, 0, 1) for t in (low, high)]
            assert (1 - mix) * ends[0] + mix * ends[1] == pytest.approx(goal, abs=1e-12)


def test_many_rows_equal_the_published_algorithm():
    rng = np.random.default_rng(8)
    n = 20_000
    y = np.where(rng.random(n) < 0.2, 1.0, -1.0)
    scores = rng.normal(size=n) + y
    for width in (1e-2, 1.0):
        wanted = sorted_flips(scores, y, 2 * width / n).flip
        np.testing.assert_allclose(flips(Prbep(width), scores, y), wanted, atol=1e-6)


# --- thresholds -----------------------------------------------------------------------------


def test_the_threshold_attains_the_loss():
    for scores, y in instances(30, 12, seed=9):
        target, n = Target(y), y.size
        margin = 0.5 * n / (y > 0).sum()
        t = Prbep().threshold(scores, target) + 0.5 * margin
        hinges = np.where(y > 0, t - scores, scores - t + margin)
        value = 2 / n * np.maximum(hinges, 0.0).sum()
        assert value == pytest.approx(Prbep().value(scores, target), abs=1e-12)


def test_the_threshold_of_separated_scores_is_midway_and_selects_k():
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    scores = np.array([9.0, 8.0, -4.0, -5.0, -6.0])
    assert Prbep().threshold(scores, Target(y)) == pytest.approx(2.0)
    for k in (1, 3, 4):
        at = PrecisionAtK(k).threshold(100 * scores, Target(y))
        assert (100 * scores > at).sum() == k


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1, 1.5, 0.0, True, np.nan, "3", None])
@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
def test_impossible_k(kind, k):
    with pytest.raises(ParameterError, match="needs k to be an integer of at least 1"):
        kind(k)


def test_targets_that_cannot_be_used():
    y = np.array([1.0, -1.0, -1.0])
    with pytest.raises(DataError, match=r"at most the total weight of the rows, 3; got 4"):
        PrecisionAtK(4).check_target(Target(y))
    PrecisionAtK(3).check_target(Target(y))
    RecallAtK(2).check_target(Target(y))  # more than the positives
    for loss in (Prbep(), PrecisionAtK(0.5), RecallAtK(1)):
        with pytest.raises(DataError, match="needs both classes; got no positive row"):
            loss.check_target(Target(-np.ones(3)))
        with pytest.raises(DataError, match="needs both classes; got no negative row"):
            loss.check_target(Target(np.ones(3)))
        with pytest.raises(DataError, match="needs rows without groups"):
            loss.check_target(Target(y, groups=np.array([0, 0, 1])))


# --- training -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Prbep(), PrecisionAtK(0.3), RecallAtK(200)], ids=repr)
@pytest.mark.parametrize("penalty", [L2(1e-3), L1(1e-3), ElasticNet(1e-3, 0.5)], ids=repr)
def test_they_train_to_a_certified_gap(loss, penalty):
    X, y = data()
    problem = Problem(loss, penalty, as_data(X, y))
    solution = minimise(problem, Continuation(), tol=1e-5)
    assert solution.certified
    assert solution.gap <= 1e-5 * problem.null.loss
    assert solution.value < problem.null.loss


def test_second_order_solvers_agree():
    X, y = data()
    values = []
    for solver in (Newton(), ProximalNewton(), Lhac()):
        solution = minimise(Problem(Prbep(0.1), L2(1e-3), as_data(X, y)), solver, tol=1e-9)
        assert solution.gap <= 1e-9
        values.append(solution.value)
    assert np.ptp(values) <= 2e-9


def programmed(X, y, kind, k, strength):
    """Optimum with an l1 penalty as a linear program over all labellings."""
    n, p = X.shape
    n_pos = int((y > 0).sum())
    z = labellings(n)
    z = z[(z > 0).sum(axis=1) == k]
    delta = 1 - ((z > 0) & (y > 0)).sum(axis=1) / (k if kind is PrecisionAtK else n_pos)
    up = np.where(y > 0, min(1.0, k / n_pos), max(0.0, k - n_pos) / (n - n_pos))
    slope = (z - (2 * up - 1)) @ X / n
    cost = np.concatenate((np.full(2 * p, strength), [1.0]))
    rows = np.column_stack((slope, -slope, -np.ones(len(z))))
    bounds = [(0, None)] * (2 * p) + [(None, None)]
    return linprog(cost, A_ub=rows, b_ub=-delta, bounds=bounds).fun


@pytest.mark.parametrize(("kind", "k"), [(PrecisionAtK, 4), (PrecisionAtK, 2), (RecallAtK, 6)])
def test_the_optimum_is_that_of_a_linear_program(kind, k):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(11, 3))
    y = np.where(np.arange(11) < 4, 1.0, -1.0)
    X[:, 0] += y
    wanted = programmed(X, y, kind, k, 0.05)
    solution = minimise(Problem(kind(k), L1(0.05), as_data(X, y)), Continuation(), tol=1e-7)
    assert solution.value == pytest.approx(wanted, abs=1e-6)
    assert solution.value - solution.gap <= wanted + 1e-12


def test_prbep_is_a_support_vector_machine_with_a_free_bias():
    X, y = data(300)
    strength, n, n_pos = 1e-3, y.size, int((y > 0).sum())
    margin = n / (2 * n_pos)
    svc = SVC(kernel="linear", C=8 * n_pos / (strength * n * n), tol=1e-9).fit(X, y)
    problem = Problem(Prbep(), L2(strength), as_data(X, y))
    wanted = problem.evaluate(0.5 * margin * svc.coef_[0]).value
    solution = minimise(problem, Continuation(), tol=1e-8)
    assert solution.value == pytest.approx(wanted, rel=1e-6)


def test_a_constant_column_gets_no_weight():
    X, y = data(300)
    X = np.column_stack((X, np.ones(len(X))))
    solution = minimise(Problem(Prbep(), L2(1e-3), as_data(X, y)), Continuation(), tol=1e-6)
    assert abs(solution.coef[-1]) <= 1e-8


def test_the_certificate_holds_everywhere_and_is_tight_at_the_smoothed_optimum():
    X, y = data(4000)
    exact = Problem(Prbep(), L2(1e-6), as_data(X, y))
    smoothed = exact.with_loss(Prbep(0.01))
    best = minimise(smoothed, Newton(), tol=1e-10)
    point = exact.evaluate(best.coef)
    certificate = exact.certificate(point, smoothed.evaluate(best.coef))
    assert certificate.certified
    assert certificate.gap <= 1e-4
    rng = np.random.default_rng(11)
    for size in (0.0, 0.1, 1.0, 10.0):
        w = best.coef + size * rng.normal(size=best.coef.size)
        gap = exact.certificate(exact.evaluate(w), smoothed.evaluate(w)).gap
        assert gap >= exact.evaluate(w).value - point.value - 1e-12


def test_threads_give_the_same_objective():
    X, y = data(20_000, 20)
    w = np.random.default_rng(12).normal(size=20)
    points = [
        Problem(Prbep(0.01), L2(1e-3), as_data(X, y, n_threads=k)).evaluate(w) for k in (1, 2, 3)
    ]
    for point in points[1:]:
        assert point.value == pytest.approx(points[0].value, rel=1e-12)
        np.testing.assert_allclose(point.gradient, points[0].gradient, rtol=0, atol=1e-12)


# --- vacuous problems -----------------------------------------------------------------------


@pytest.mark.parametrize("shift", [2.6, 2.9])
def test_heavy_skew_makes_prbep_vacuous_but_not_auc(shift):
    """Three positives in a thousand: at 2.6 as many negatives still lie higher, at 2.9 not."""
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(6000, 5)), np.full(6000, -1.0)
    y[:18] = 1.0
    X[:18, 0] += shift
    problem = Problem(Prbep(), L2(1e-6), as_data(X, y))
    solution = minimise(problem, Continuation(), tol=1e-4)
    auc = minimise(problem.with_loss(PairwiseHinge()), Continuation(), tol=1e-3)
    assert roc_auc_score(y, X @ auc.coef) >= 0.98
    assert vacuous(Prbep(), problem.data) == (shift == 2.6)
    assert (solution.value - solution.gap >= 1 - 1e-3) == (shift == 2.6)


def test_vacuous_says_whether_any_direction_helps():
    X, y = data()
    assert not vacuous(Prbep(), as_data(X, y))
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(4000, 4)), np.full(4000, -1.0)
    y[:12] = 1.0
    assert vacuous(Prbep(), as_data(X, y))
    problem = Problem(Prbep(), L2(1e-6), as_data(X, y))
    solution = minimise(problem, Continuation(), tol=1e-4)
    assert solution.value - solution.gap >= 1 - 1e-3


@pytest.mark.parametrize("loss", [Prbep(), PrecisionAtK(0.3), RecallAtK(0.3)], ids=str)
def test_the_conjugate_is_minus_the_flips_in_the_box_and_infinite_outside(loss):
    rng = np.random.default_rng(11)
    y = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    target = Target(y, rng.uniform(0.0, 2.0, size=60) * (rng.random(60) < 0.9))
    scores, margins = rng.normal(size=60), loss.margins(target)
    slopes = loss.smoothed(0.5).value_grad(scores, target)[1]
    ideal = np.where(y > 0.0, margins.ideal_pos, margins.ideal_neg)
    mass = target.share * ideal - 0.5 * y * slopes
    reward = np.where(y > 0.0, margins.margin_pos, margins.margin_neg)
    assert loss.conjugate(slopes, target) == pytest.approx(-2.0 * float(reward @ mass))
    row = int(np.argmax(target.share))
    for change in (3.0 * target.share[row], -3.0 * target.share[row], np.nan):
        broken = slopes.copy()
        broken[row] += change
        broken[row - 1] -= change  # which sums to zero still
        assert loss.conjugate(broken, target) == np.inf
    assert loss.conjugate(slopes + 1e-3 * target.share, target) == np.inf  # which does not
