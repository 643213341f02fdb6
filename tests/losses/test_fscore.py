"""F-beta against enumeration, the quadratic search, plain knapsacks and linear programs."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

from auctor.core.errors import DataError, ParameterError
from auctor.core.shift import ShiftedScores
from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.fit.advice import vacuous
from auctor.losses import FBeta, Prbep
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet
from auctor.problem import Problem
from auctor.solvers import Continuation

BETAS = (0.5, 1.0, 2.0, 7.0)


def instances(count, most, seed=0):
    """Small scores and labels: ties, constant scores, one positive, mostly positives."""
    rng = np.random.default_rng(seed)
    for trial in range(count):
        n = int(rng.integers(2, most + 1))
        y = np.where(rng.random(n) < (0.2, 0.5, 0.8)[trial % 3], 1.0, -1.0)
        y[:2] = 1.0, -1.0
        scores = (0.0, 0.3, 1.0, 4.0)[trial % 4] * rng.normal(size=n)
        yield (np.round(scores) if trial % 5 == 0 else scores), rng.permutation(y)


def one_minus_f(beta, missed, false, n_pos):
    hit = (1 + beta**2) * (n_pos - missed)
    return 1 - hit / (hit + beta**2 * missed + false)


def by_labellings(scores, y, beta):
    z = np.array(list(itertools.product((-1.0, 1.0), repeat=y.size)))
    missed, false = ((z < 0) & (y > 0)).sum(axis=1), ((z > 0) & (y < 0)).sum(axis=1)
    delta = one_minus_f(beta, missed, false, (y > 0).sum())
    return (delta + (z - y) @ scores / y.size).max()


def by_tables(scores, y, beta):
    """The O(n^2) search over all contingency tables."""
    n, n_pos = y.size, int((y > 0).sum())
    cost = np.concatenate(([0.0], np.cumsum(np.sort(scores[y > 0]))))
    gain = np.concatenate(([0.0], np.cumsum(-np.sort(-scores[y < 0]))))
    b, c = np.arange(cost.size)[:, None], np.arange(gain.size)[None, :]
    return (one_minus_f(beta, b, c, n_pos) + 2 / n * (gain[c] - cost[b])).max()


@pytest.mark.parametrize("beta", BETAS)
def test_whole_rows_equal_the_enumeration_of_labellings(beta):
    for scores, y in instances(40, 9):
        value, grad = FBeta(beta, whole=True).value_grad(scores, Target(y))
        assert value == pytest.approx(by_labellings(scores, y, beta), abs=1e-12)
        flip = -y * grad * y.size / 2
        assert set(np.round(flip, 12)) <= {0.0, 1.0}
        delta = one_minus_f(beta, flip[y > 0].sum(), flip[y < 0].sum(), (y > 0).sum())
        assert delta + grad @ scores == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_whole_rows_equal_the_quadratic_search(beta):
    for scores, y in instances(24, 120, seed=1):
        value = FBeta(beta, whole=True).value(scores, Target(y))
        assert value == pytest.approx(by_tables(scores, y, beta), abs=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_rows_in_part_add_a_term_of_second_order(beta):
    for scores, y in instances(24, 60, seed=2):
        n, positive = y.size, (y > 0).mean()
        parts, whole = (FBeta(beta, whole=w).value(scores, Target(y)) for w in (False, True))
        bound = (1 + beta**2) / (4 * beta**6 * n**2 * positive**2)
        assert -1e-13 <= parts - whole <= bound + 1e-13


def test_rows_in_part_are_the_limit_of_repetition():
    for scores, y in instances(12, 8, seed=3):
        parts = FBeta(1.0).value(scores, Target(y))
        fine = FBeta(1.0, whole=True).value(np.repeat(scores, 300), Target(np.repeat(y, 300)))
        assert parts == pytest.approx(fine, abs=1e-4)
        assert fine <= parts + 1e-12


def test_it_bounds_the_metric_at_zero():
    for scores, y in instances(40, 30, seed=4):
        z = np.where(scores > 0, 1.0, -1.0)
        delta = one_minus_f(
            2.0, ((z < 0) & (y > 0)).sum(), ((z > 0) & (y < 0)).sum(), (y > 0).sum()
        )
        assert FBeta(2.0, whole=True).value(scores, Target(y)) >= delta - 1e-12


def plain_smoothed(scores, y, beta, width):
    """Log-sum-exp over the whole lattice of levels, each a knapsack solved by bisection."""
    n, factor, m = y.size, 1 + beta**2, (y > 0).mean()
    fine = max(3, math.ceil(math.log2(8 / width)))
    ramp, heat = 0.75 * width, width / 8 / math.log(2**fine + 1)
    s_pos, s_neg = scores[y > 0], scores[y < 0]

    def hinge(z):
        return np.where(z <= 0, 0.0, np.where(z < ramp, z * z / (2 * ramp), z - ramp / 2))

    values = []
    for phi in np.arange(2**fine + 1) / 2**fine:
        goal = factor * m * (1 - phi)

        def share(mu, phi=phi):
            flip_pos = np.clip(((factor - phi) * mu - s_pos) / ramp, 0, 1)
            flip_neg = np.clip((phi * mu + s_neg) / ramp, 0, 1)
            return ((factor - phi) * flip_pos.sum() + phi * flip_neg.sum()) / n

        top = max(0.0, (s_pos.max() + ramp) / (factor - phi))
        mu = 0.0 if share(0.0) >= goal else top
        if mu > 0 and share(top) > goal + 1e-13:
            mu = brentq(lambda mu: share(mu) - goal, 0, top, xtol=1e-15, rtol=1e-15)  # noqa: B023
        total = hinge((factor - phi) * mu - s_pos).sum() + hinge(phi * mu + s_neg).sum()
        values.append(1 - phi + 2 * (total / n - mu * goal))
    values = np.array(values)
    return values.max() + heat * np.log(np.exp((values - values.max()) / heat).mean())


@pytest.mark.sample(3)
@pytest.mark.parametrize("width", [2.0, 0.3, 0.02])
def test_the_smoothed_form_equals_plain_knapsacks(width):
    for scores, y in instances(12, 150, seed=5):
        for beta in (0.5, 1.0):
            wanted = plain_smoothed(scores, y, beta, width)
            found = FBeta(beta, width=width).value(scores, Target(y))
            assert found == pytest.approx(wanted, abs=1e-11)


def test_the_smoothed_form_stays_within_its_width_on_many_rows():
    rng = np.random.default_rng(6)
    for n, spread in ((3000, 1.0), (300, 1e6), (200, 1e150)):
        y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
        scores = spread * (rng.normal(size=n) + y - 1.0)
        exact = FBeta().value(scores, Target(y))
        for width in (1.0, 1e-2, 1e-5):
            value, slope = FBeta(width=width).value_grad(scores, Target(y))
            slack = 1e-12 * max(1.0, abs(exact))
            assert -slack <= exact - value <= width + slack
            assert np.isfinite(slope).all()


@pytest.mark.parametrize("loss", [FBeta(), FBeta(2.0, whole=True), FBeta(0.5, width=0.3)])
def test_the_loss_along_a_constant(loss):
    for scores, y in instances(30, 40):
        target = Target(y, np.random.default_rng(1).integers(1, 4, y.size).astype(float))
        own, plain = loss.shifts(scores, target), ShiftedScores(loss, scores, target)
        for t in (-0.8, 0.0, 0.05, 2.0):
            assert own.at(t) == pytest.approx(plain.at(t), abs=1e-12)
            if np.unique(scores).size == scores.size:  # ties may sit at the end of a ramp
                assert own.curve(t) == pytest.approx(plain.curve(t), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("beta", [1e-6, 0.5, 1.0, 2.0, 1e3])
@pytest.mark.parametrize("width", [1e-4, 0.1, 2.0])
def test_the_tangent_of_the_smoothed_form_stays_below_the_exact_loss(beta, width):
    rng, smoothed, exact = np.random.default_rng(2), FBeta(beta, width=width), FBeta(beta)
    for scores, y in instances(30, 40):
        target = Target(y, rng.integers(1, 4, y.size).astype(float))
        value, slope = smoothed.value_grad(scores, target)
        offset = smoothed.tangent(scores, target)
        for other in (scores, -scores, 0.0 * scores, rng.normal(size=y.size)):
            assert slope @ other + offset <= exact.value(other, target) + 1e-12
        assert offset >= value - slope @ scores - 1e-12  # above the smoothed form's own


def test_scores_that_are_not_numbers_have_no_loss_along_a_constant():
    scores, target = np.array([0.0, np.nan, 1.0]), Target(np.array([1.0, -1.0, 1.0]))
    assert math.isnan(FBeta().shifts(scores, target).at(0.0).value)


def test_the_curvature_takes_all_columns_at_once():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=50), np.where(rng.random(50) < 0.3, 1.0, -1.0)
    weight = np.where(np.arange(50) < 40, 1.0, 0.0)
    curvature = FBeta(width=0.4).curvature(scores, Target(y, weight))
    columns = rng.normal(size=(50, 4))
    one_by_one = np.column_stack([curvature.matvec(v) for v in columns.T])
    np.testing.assert_allclose(curvature.matvec(columns), one_by_one, rtol=1e-13, atol=1e-15)
    assert not one_by_one[40:].any()


def test_bad_parameters():
    for beta in (0.0, -1.0, 1e-9, 1e9, np.nan, "1", None):
        with pytest.raises(ParameterError, match="FBeta needs beta in"):
            FBeta(beta)
    with pytest.raises(ParameterError, match="FBeta needs width in"):
        FBeta(width=0.1, whole=True)
    with pytest.raises(DataError, match="needs both classes"):
        FBeta().check_target(Target(np.ones(3)))


# --- training -------------------------------------------------------------------------------


def data(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n) > 0.8, 1.0, -1.0)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("penalty", [L2(1e-2), L1(1e-2), ElasticNet(1e-2, 0.5)], ids=repr)
def test_it_trains_to_a_certified_gap(beta, penalty):
    problem = Problem(FBeta(beta), penalty, as_data(*data()))
    solution = minimise(problem, Continuation(), tol=1e-3)
    assert solution.certified
    assert solution.gap <= 1e-3 * problem.null.loss
    assert solution.value < problem.null.loss


def test_the_certificate_holds_against_a_linear_program():
    rng = np.random.default_rng(7)
    n, beta, strength = 11, 1.0, 0.03
    X = rng.normal(size=(n, 2))
    y = np.where(np.arange(n) < 4, 1.0, -1.0)
    X[:, 0] += y
    z = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    missed, false = ((z < 0) & (y > 0)).sum(axis=1), ((z > 0) & (y < 0)).sum(axis=1)
    delta = one_minus_f(beta, missed, false, 4)
    slope = (z - y) @ np.column_stack((X, np.ones(n))) / n
    cost = np.array([strength] * 4 + [0.0, 0.0, 1.0])
    rows = np.column_stack(
        (slope[:, :2], -slope[:, :2], slope[:, 2:], -slope[:, 2:], -np.ones(len(z)))
    )
    bounds = [(0, None)] * 6 + [(None, None)]
    whole = linprog(cost, A_ub=rows, b_ub=-delta, bounds=bounds).fun
    solution = minimise(Problem(FBeta(beta), L1(strength), as_data(X, y)), Continuation(), tol=1e-4)
    in_part = (1 + beta**2) / (4 * beta**6 * 4**2)
    assert solution.value - solution.gap <= whole + in_part
    assert whole <= solution.value + 1e-9
    for width in (1.0, 0.1, 1e-2):
        exact = Problem(FBeta(beta), L1(strength), as_data(X, y))
        smoothed = exact.with_loss(FBeta(beta, width=width))
        for _ in range(5):
            w = smoothed.with_best_intercept(smoothed.evaluate(rng.normal(size=3)))
            gap = exact.certificate(exact.evaluate(w.w), w).gap
            assert gap >= exact.evaluate(w.w).value - solution.value - 1e-12


def test_vacuous_covers_losses_with_an_intercept():
    X, y = data()
    assert not vacuous(FBeta(), as_data(X, y))
    assert not vacuous(Prbep(), as_data(X, y))
    rng = np.random.default_rng(8)
    assert vacuous(
        FBeta(), as_data(rng.normal(size=(2000, 2)), np.where(np.arange(2000) < 8, 1, -1))
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", [3168, *range(12)])
def test_weights_of_very_different_sizes_with_l1(seed):
    """A step of the intercept alone from a point without violation was divided by zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 31))
    X = rng.integers(-2, 3, size=(n, 1)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    target = Target(y, 10.0 ** rng.uniform(-6.0, 6.0, size=n))
    problem = Problem(FBeta(), L1(10.0 ** rng.uniform(-8.0, 0.5)), Dense(X, target))
    found = minimise(problem, Continuation(), max_iter=300, on_failure="ignore")
    # No further above the empty model, hence above the least value, than the gap says.
    assert found.value <= problem.evaluate(np.zeros(2)).value + found.gap + 1e-12
