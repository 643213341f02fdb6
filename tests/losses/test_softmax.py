"""The loss of several classes against scikit-learn, differences and its conjugate."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.data.stacked import Stacked
from auctor.losses.softmax import Softmax, one_hot
from auctor.minimise import minimise
from auctor.penalties import L1, L2, GroupL2, Repeated
from auctor.problem import Problem
from auctor.solvers import choose
from auctor.testing.differences import disagreement

BOTH = [Softmax(3), Softmax(3, offsets=False)]


def cases(seed=0, n=8):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % 3)
    for scale, weight in ((1.0, None), (5.0, rng.uniform(0.2, 3.0, size=n)), (0.0, None)):
        yield scale * rng.normal(size=3 * n), one_hot(codes, 3, weight), codes, weight


def probabilities(table):
    shifted = np.exp(table - table.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def test_without_offsets_it_is_the_log_loss():
    for scores, target, codes, weight in cases():
        p = probabilities(scores.reshape(-1, 3))
        wanted = log_loss(codes, p, sample_weight=weight)
        assert Softmax(3, offsets=False).value(scores, target) == pytest.approx(wanted)


def test_offsets_are_the_best():
    plain = Softmax(3, offsets=False)
    for scores, target, _, _ in cases():
        table = scores.reshape(-1, 3)
        found = minimize(lambda b, t=table, y=target: plain.value((t + b).ravel(), y), np.zeros(3))
        assert Softmax(3).value(scores, target) == pytest.approx(found.fun, abs=1e-9)
        best = Softmax(3).offsets_at(scores, target)
        assert best.sum() == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(best, found.x - found.x.mean(), atol=1e-4)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_the_gradient_is_that_of_differences(loss):
    rng = np.random.default_rng(1)
    for scores, target, _, _ in cases():
        value, grad = loss.value_grad(scores, target)
        assert value == loss.value(scores, target)
        for direction in rng.normal(size=(5, scores.size)):
            off = disagreement(
                lambda s, t=target: loss.value(s, t), float(grad @ direction), scores, direction
            )
            assert off < 1e-7
        if loss.offsets:
            np.testing.assert_allclose(grad.reshape(-1, 3).sum(axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_the_conjugate(loss):
    rng = np.random.default_rng(2)
    for scores, target, _, _ in cases():
        value, grad = loss.value_grad(scores, target)
        assert loss.conjugate(grad, target) == pytest.approx(grad @ scores - value, abs=1e-12)
        other = loss.value_grad(scores + rng.normal(size=scores.size), target)[1]
        for u in (0.0 * grad, 0.4 * grad, 0.5 * (grad + other)):
            bound = loss.conjugate(u, target)
            for _ in range(5):
                s = 3.0 * rng.normal(size=scores.size)
                assert bound >= u @ s - loss.value(s, target) - 1e-12
        assert loss.conjugate(-grad, target) == np.inf
        assert loss.conjugate(rng.normal(size=scores.size), target) == np.inf


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_far_scores_and_nan(loss):
    for scores, target, _, _ in cases():
        for size in (1e3, 1e6, 1e100):
            value, grad = loss.value_grad(size * scores, target)
            assert not np.isnan(value)
            assert not np.isnan(grad).any()
        broken = scores.copy()
        broken[4] = np.nan
        assert np.isnan(loss.value(broken, target))


def test_weights_are_repetition():
    scores, _, codes, _ = next(cases())
    count = np.array([1, 3, 2, 1, 1, 4, 2, 1])
    again = np.repeat(np.arange(8), count)
    repeated = one_hot(codes[again], 3)
    table = scores.reshape(-1, 3)[again].ravel()
    weighted = one_hot(codes, 3, count.astype(float))
    assert Softmax(3).value(scores, weighted) == pytest.approx(Softmax(3).value(table, repeated))


def test_bad_targets_are_refused():
    with pytest.raises(DataError, match="one of them"):
        Softmax(3).check_target(Target(np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])))
    with pytest.raises(DataError, match="every class"):
        Softmax(3).check_target(one_hot(np.array([0, 1]), 3))


def test_stacked_data_are_a_kronecker_product():
    rng = np.random.default_rng(0)
    X, w, u = rng.normal(size=(5, 3)), rng.normal(size=6), rng.normal(size=10)
    data = Stacked(as_data(X, np.ones(5)), Target(np.ones(10)), 2)
    matrix = np.kron(X, np.eye(2))[:, [0, 2, 4, 1, 3, 5]]
    np.testing.assert_allclose(data.scores(w, 0.5), matrix @ w + 0.5)
    np.testing.assert_allclose(data.gradient(u), matrix.T @ u)
    h = u**2
    np.testing.assert_allclose(data.square_gradient(h), (matrix**2).T @ h)
    moved, total = data.sandwich(h, w, 0.5)
    np.testing.assert_allclose(moved, matrix.T @ (h * (matrix @ w + 0.5)))
    assert total == pytest.approx((h * (matrix @ w + 0.5)).sum())


def rows(n=300, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    odds = X @ rng.normal(size=(d, k)) + [0.5, 0.0, -1.0]
    codes = (odds + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, codes


@pytest.mark.parametrize("offsets", [True, False])
def test_it_is_scikit_learns_regression(offsets):
    X, codes = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=codes.size)
    data = Stacked(as_data(X, codes), one_hot(codes, 3, weight), 3)
    problem = Problem(Softmax(3, offsets), Repeated(L2(0.01), 3), data)
    found = minimise(problem, choose(problem), tol=1e-12)
    assert found.certified
    C = 1.0 / (0.01 * weight.sum())
    model = LogisticRegression(C=C, fit_intercept=offsets, tol=1e-12, max_iter=10_000)
    model.fit(X, codes, weight)
    np.testing.assert_allclose(found.coef.reshape(3, -1), model.coef_, atol=1e-5)


@pytest.mark.parametrize("penalty", [L1(0.02), GroupL2(0.02, [[0, 1], [2, 3]])], ids=repr)
def test_kinked_penalties(penalty):
    X, codes = rows()
    data = Stacked(as_data(X, codes), one_hot(codes, 3), 3)
    problem = Problem(Softmax(3), Repeated(penalty, 3), data)
    found = minimise(problem, choose(problem), tol=1e-7)
    assert found.converged
    assert found.certified
    assert (found.coef == 0.0).any()


@pytest.mark.parametrize("scale", [1.0, 30.0, 500.0])
def test_offsets_balance_probabilities_and_shares(scale: float) -> None:
    """At the best offsets the mean probability of every class is its share, also far from 0."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    target = one_hot(codes, 3)
    scores = rng.normal(size=(60, 3)) + scale * np.array([1.0, 0.0, -1.0])
    loss = Softmax(3)
    offset = loss.offsets_at(scores.ravel(), target)
    probability = softmax(scores + offset, axis=1)
    np.testing.assert_allclose(probability.mean(axis=0), 1 / 3, atol=1e-12)
    plain = Softmax(3, offsets=False).value((scores + offset).ravel(), target)
    assert loss.value(scores.ravel(), target) == pytest.approx(plain, rel=1e-13)
