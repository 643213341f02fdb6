"""Losses of Gaussian scores: Monte Carlo, limits, weights, the convex form."""

import numpy as np
import pytest
from scipy.stats import norm

from auctor.core.errors import DataError, IncompatibleError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.kernels.losses import gaussian
from auctor.losses import ExpectedAuc, ExpectedError, GaussianAuc, PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L1, L2, GroupL2, NonNegative
from auctor.problem import Problem
from auctor.solvers import Exact, resolve
from auctor.testing.differences import disagreement

BOTH = [ExpectedAuc(), ExpectedError()]


def sample(seed, n=60):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:4] = 1.0, -1.0, 1.0, -1.0
    scores = rng.normal(size=n) * np.where(y > 0, 1.5, 0.8) + 0.6 * y
    return scores, Target(y, rng.uniform(0.2, 2.0, n) if seed % 2 else None)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_the_gradient_is_that_of_the_value_and_orthogonal_to_the_scores(loss, seed):
    scores, target = sample(seed)
    value, grad = loss.value_grad(scores, target)
    direction = np.random.default_rng(seed + 50).normal(size=scores.size)
    error = disagreement(
        lambda s: loss.value(s, target), float(grad @ direction), scores, direction
    )
    assert error < 1e-6 * np.abs(grad @ direction)
    assert grad @ scores == pytest.approx(0.0, abs=1e-12)
    assert loss.value(7.0 * scores, target) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_the_rate_is_the_derivative_in_added_variance(loss, spread):
    scores, target = sample(1)
    _, grad, rate = loss.value_grad_rate(scores, target, spread)
    h = 1e-5
    ahead, behind = (
        loss.value_grad_rate(scores, target, abs(spread + k * h))[0] for k in (1.0, -1.0)
    )
    if spread:
        assert rate == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
    moved = scores + h * np.eye(scores.size)[3], scores - h * np.eye(scores.size)[3]
    up, down = (loss.value_grad_rate(s, target, spread)[0] for s in moved)
    assert grad[3] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-10)


@pytest.mark.slow
def test_a_million_gaussian_scores_have_the_expected_error_and_auc():
    rng, n = np.random.default_rng(0), 10**6
    mean, sd, prior = np.array([0.7, -0.4]), np.array([1.3, 0.6]), np.array([0.3, 0.7])
    positive = rng.random(n) < prior[0]
    scores = np.where(positive, rng.normal(mean[0], sd[0], n), rng.normal(mean[1], sd[1], n))
    error = np.mean((scores > 0) != positive)
    predicted = float(gaussian.expected_error(prior, mean, sd**2).value)
    assert abs(error - predicted) < 3 * np.sqrt(predicted * (1 - predicted) / n)
    up, down = rng.normal(mean[0], sd[0], n), rng.normal(mean[1], sd[1], n)
    miss = float(gaussian.expected_auc(mean, sd**2).value)
    assert abs(np.mean(up < down) - miss) < 3 * np.sqrt(miss * (1 - miss) / n)
    assert miss < 0.5


def test_correlated_classes_enter_through_the_variance_of_the_difference():
    rng, n = np.random.default_rng(1), 10**6
    joint = np.array([[1.0, 0.6], [0.6, 2.0]])
    pairs = rng.multivariate_normal([0.5, 0.0], joint, size=n)
    total = joint[0, 0] + joint[1, 1] - 2 * joint[0, 1]
    predicted = float(gaussian.expected_auc(np.array([0.5, 0.0]), np.array([total, 0.0])).value)
    observed = np.mean(pairs[:, 0] < pairs[:, 1])
    assert abs(observed - predicted) < 3 * np.sqrt(predicted * (1 - predicted) / n)


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_the_shift_in_closed_form_beats_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet([1.0, 1.0])
    mean, variance = rng.normal(size=2) * 2, rng.gamma(1.0, size=2) ** 2
    if seed % 5 == 0:
        variance[seed % 2] = 0.0

    def error(b):
        return gaussian.expected_error(prior, mean + b, variance).value

    best = error(float(gaussian.best_shift(prior, mean, variance)))
    grid = np.linspace(-30, 30, 20001)
    lowest = min(float(error(b)) for b in grid[:: 1 if seed < 6 else 10])
    assert best <= lowest + (1e-12 if variance.all() else 1e-8)
    assert best <= prior.min() + 1e-12


def test_no_variance_is_the_limit():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    for scores, auc, error in (
        (y, 0.0, 0.0),
        (-y, 1.0, 1.0),
        (np.zeros(4), 0.5, 0.5),
        (np.full(4, 0.1), 0.5, 0.5),
        (np.full(4, -7.3), 0.5, 0.5),
    ):
        for loss, wanted in ((ExpectedAuc(), auc), (ExpectedError(), error)):
            value, grad = loss.value_grad(scores, Target(y))
            assert value == wanted
            assert not grad.any()


def test_weights_are_the_priors():
    scores, target = sample(0)
    costly = Target(target.y, np.where(target.y > 0, 5.0, 1.0))
    m, v, total = {}, {}, 5 * np.sum(target.y > 0) + np.sum(target.y < 0)
    for label in (1.0, -1.0):
        own = scores[target.y == label]
        m[label], v[label] = own.mean(), own.var()
    share = 5 * np.sum(target.y > 0) / total
    wanted = share * norm.cdf(-m[1] / np.sqrt(v[1])) + (1 - share) * norm.cdf(m[-1] / v[-1] ** 0.5)
    assert ExpectedError().value(scores, costly) == pytest.approx(wanted, rel=1e-12)


def test_the_convex_form_has_the_direction_of_the_best_auc_and_a_certificate():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    y = np.where(X[:, 0] + 2 * rng.normal(size=200) > 1, 1.0, -1.0)
    up, down = X[y > 0], X[y < 0]
    total = np.cov(up.T, bias=True) + np.cov(down.T, bias=True)
    for strength in (0.0, 0.01, 3.0):
        found = minimise(Problem(GaussianAuc(), L2(strength), as_data(X, y)), Exact(), tol=1e-10)
        wanted = np.linalg.solve(total + strength * np.eye(6), up.mean(0) - down.mean(0))
        cosine = found.coef @ wanted / np.linalg.norm(found.coef) / np.linalg.norm(wanted)
        assert cosine == pytest.approx(1.0, abs=1e-12)
        assert found.certified == (strength > 0)


@pytest.mark.parametrize("penalty", [L1(0.05), GroupL2(0.1, 2), NonNegative()], ids=repr)
def test_the_convex_form_takes_any_penalty(penalty):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 6))
    y = np.where(X[:, 0] + 2 * rng.normal(size=200) > 1, 1.0, -1.0)
    problem = Problem(GaussianAuc(), penalty, as_data(X, y))
    found = minimise(problem, resolve("auto", problem), tol=1e-6)
    assert found.converged
    assert (found.coef == 0.0).any()


def test_half_the_pairwise_square_loss():
    scores, target = sample(3)
    half, whole = GaussianAuc(), PairwiseSquare()
    np.testing.assert_allclose(
        2 * half.value_grad(scores, target)[1], whole.value_grad(scores, target)[1]
    )
    groups = Target(target.y, target.weight, np.arange(scores.size) % 3)
    v = np.cos(np.arange(scores.size))
    for each in (target, groups):
        np.testing.assert_allclose(
            2 * half.curvature(scores, each).matvec(v), whole.curvature(scores, each).matvec(v)
        )


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_other_penalties_are_refused_with_an_alternative(loss):
    data = as_data(np.eye(4), [1.0, -1.0, 1.0, -1.0])
    with pytest.raises(IncompatibleError, match="GaussianAuc"):
        Problem(loss, L1(0.1), data)


def test_groups_are_refused_by_the_loss_that_cannot_use_them():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(DataError, match="GaussianAuc"):
        ExpectedAuc().check_target(Target(y, groups=np.array([0, 0, 1, 1])))
