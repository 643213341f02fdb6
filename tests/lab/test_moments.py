"""Expected error and AUC from moments alone."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import multivariate_normal, norm

from auctor.core.errors import AuctorError
from auctor.lab.moments import Moments
from auctor.metrics import expected_auc, expected_error


def classes(seed, d=4):
    """Means and a joint covariance of a pair of rows."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(2 * d, 2 * d))
    joint = B @ B.T / d
    means = np.array([rng.normal(size=d), rng.normal(size=d)])
    return means, [joint[:d, :d], joint[d:, d:]], joint[:d, d:], rng


def test_moments_of_rows_give_the_values_of_the_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    X[:, 0] += y
    moments = Moments.of(X, y)
    for w in rng.normal(size=(5, 3)):
        assert moments.error(w, 0.3) == pytest.approx(expected_error(y, X @ w + 0.3), abs=1e-12)
        assert moments.auc(w) == pytest.approx(expected_auc(y, X @ w), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_are_drawn_together(seed):
    means, covariances, cross, rng = classes(seed)
    moments = Moments(means, covariances, 0.3, cross)
    joint = np.block([[covariances[0], cross], [cross.T, covariances[1]]])
    pairs = multivariate_normal(means.ravel(), joint, seed=rng).rvs(200_000)
    w = rng.normal(size=4)
    up, down = pairs[:, :4] @ w, pairs[:, 4:] @ w
    assert moments.auc(w) == pytest.approx((up > down).mean(), abs=0.005)
    error = 0.3 * (up < -0.5).mean() + 0.7 * (down > -0.5).mean()
    assert moments.error(w, 0.5) == pytest.approx(error, abs=0.005)
    assert Moments(means, covariances).auc(w) != pytest.approx(moments.auc(w), abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_directions_cannot_be_improved(seed):
    means, covariances, cross, rng = classes(seed)
    moments = Moments(means, covariances, 0.4, cross)
    area, plane = moments.best_for_auc(), moments.best_for_error()
    assert area.expected == moments.auc(area.coef)
    assert plane.expected == moments.error(plane.coef, plane.intercept)
    assert plane.expected <= moments.error(area.coef, area.intercept)
    for start in rng.normal(size=(4, 4)):
        other = minimize(lambda w: -moments.auc(w), start)
        assert area.expected >= -other.fun - 1e-7
    near = minimize(lambda v: moments.error(v[:4], v[4]), np.append(plane.coef, plane.intercept))
    assert plane.expected <= near.fun + 1e-7
    w = rng.normal(size=4)
    for call in (lambda v: moments._error(v, 0.2), moments._disorder):
        slope = approx_fprime(w, lambda v, call=call: call(v)[0])
        np.testing.assert_allclose(call(w)[1], slope, atol=1e-6)


def test_equal_covariances_give_the_discriminant_of_fisher():
    means, covariances, _, _ = classes(0)
    plane = Moments(means, [covariances[0]] * 2).best_for_error()
    fisher = np.linalg.solve(covariances[0], means[0] - means[1])
    np.testing.assert_allclose(plane.coef, fisher / np.linalg.norm(fisher), atol=1e-5)
    apart = np.sqrt((means[0] - means[1]) @ fisher)
    assert plane.expected == pytest.approx(norm.cdf(-apart / 2.0), abs=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"means": [[1.0]]}, "two means"),
        ({"covariances": [np.eye(2), np.eye(3)]}, "covariances of shape"),
        ({"covariances": [np.eye(2), -np.eye(2)]}, "smallest eigenvalue -1"),
        ({"cross": 3.0 * np.eye(2)}, "smallest eigenvalue -2"),
        ({"prior": 1.0}, "prior"),
    ],
)
def test_moments_of_no_distribution_are_refused(change, words):
    given = {"means": np.zeros((2, 2)), "covariances": [np.eye(2)] * 2, **change}
    with pytest.raises(AuctorError, match=f"Moments needs .*{words}"):
        Moments(**given)
    with pytest.raises(AuctorError, match="shape"):
        Moments(np.zeros((2, 2)), [np.eye(2)] * 2).auc([1.0])
