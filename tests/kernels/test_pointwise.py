"""Pointwise kernels against plain numpy, digit by digit."""

import numpy as np
import pytest
from scipy.special import expit

from auctor.core.types import Target
from auctor.kernels.losses import logistic, pointwise
from auctor.losses import Logistic

MARGINS = np.concatenate(
    (np.linspace(-800, 800, 4001), np.linspace(-2, 2, 2001), 10.0 ** np.arange(-18, 3))
)


def one_row(values, function):
    """Apply a one-row evaluation to each value, so that sums hide nothing."""
    return np.array([function(np.array([v])) for v in values])


@pytest.mark.parametrize("y", [1.0, -1.0])
def test_logistic_to_the_last_digits(y):
    one = Target(np.array([y]))
    found = one_row(MARGINS, lambda s: Logistic().value(s, one))
    wanted = np.logaddexp(0.0, -y * MARGINS)
    # exp is cut off at 1e-304, which only absolute accuracy can notice.
    np.testing.assert_allclose(found, wanted, rtol=2e-15, atol=1e-303)
    slope = one_row(MARGINS, lambda s: Logistic().value_grad(s, one)[1][0])
    np.testing.assert_allclose(slope, -y * expit(-y * MARGINS), rtol=2e-15, atol=1e-303)
    curve = one_row(MARGINS, lambda s: Logistic().curvature(s, one).diagonal[0])
    np.testing.assert_allclose(curve, expit(MARGINS) * expit(-MARGINS), rtol=4e-15, atol=1e-303)


def test_the_vector_loop_equals_the_scalar_function():
    s = np.linspace(-40, 40, 301)
    y = np.where(np.arange(301) % 2, 1.0, -1.0)
    grad = np.empty(301)
    p = np.full(301, 1 / 301)
    total = logistic.value_grad(s, y, p, grad)
    pairs = [pointwise.point(pointwise.LOGISTIC, 0.0, 0.0, a, b) for a, b in zip(s, y, strict=True)]
    assert total == pytest.approx(sum(value for value, _ in pairs) / 301, rel=1e-14)
    np.testing.assert_allclose(grad * 301, [slope for _, slope in pairs], rtol=1e-14)


def huber(r, delta):
    return np.where(abs(r) <= delta, r * r / 2, delta * (abs(r) - delta / 2))


PLAIN = {
    (pointwise.HINGE, 0.0, 0.0): lambda s, y: np.maximum(0, 1 - y * s),
    (pointwise.SQUARED_HINGE, 0.0, 0.0): lambda s, y: 0.5 * np.maximum(0, 1 - y * s) ** 2,
    (pointwise.EXPONENTIAL, 0.0, 0.0): lambda s, y: np.exp(-y * s),
    (pointwise.SQUARED, 0.0, 0.0): lambda s, y: 0.5 * (s - y) ** 2,
    (pointwise.HUBER, 0.7, 0.0): lambda s, y: huber(s - y, 0.7),
    (pointwise.QUANTILE, 0.3, 0.0): lambda s, y: np.maximum(0.3 * (y - s), 0.7 * (s - y)),
    (pointwise.EPSILON, 0.5, 0.0): lambda s, y: np.maximum(0, np.abs(s - y) - 0.5),
    (pointwise.EPSILON, 0.0, 0.4): lambda s, y: huber(s - y, 0.4) / 0.4,
    (pointwise.POISSON, 0.0, 0.0): lambda s, y: np.exp(s) - y * s,
}


@pytest.mark.parametrize(("key", "plain"), PLAIN.items(), ids=[str(k) for k in PLAIN])
def test_values_equal_plain_numpy(key, plain):
    s = np.linspace(-6, 6, 241)
    for y in (1.0, -1.0):
        found = [pointwise.point(*key, value, y)[0] for value in s]
        np.testing.assert_allclose(found, plain(s, y), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("key", [k for k in PLAIN if k[0] != pointwise.POISSON], ids=str)
def test_conjugates_equal_a_fine_grid(key):
    grid = np.linspace(-60, 60, 240_001)
    plain = PLAIN[key]
    for y in (1.0, -1.0):
        for s in (-1.3, 0.2, 0.9):
            for scale in (0.2, 0.7, 1.0):
                u = scale * pointwise.point(*key, s, y)[1]
                wanted = np.max(u * grid - plain(grid, y))
                assert pointwise.point_conjugate(*key, u, y) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("key", "u"),
    [
        ((pointwise.LOGISTIC, 0.0, 0.0), 0.1),
        ((pointwise.LOGISTIC, 0.0, 0.0), -1.1),
        ((pointwise.HINGE, 0.0, 0.0), 0.1),
        ((pointwise.HINGE, 0.0, 0.0), -1.1),
        ((pointwise.SQUARED_HINGE, 0.0, 0.0), 0.1),
        ((pointwise.EXPONENTIAL, 0.0, 0.0), 0.1),
        ((pointwise.HUBER, 0.7, 0.0), 0.8),
        ((pointwise.QUANTILE, 0.3, 0.0), 0.8),
        ((pointwise.QUANTILE, 0.3, 0.0), -0.4),
        ((pointwise.EPSILON, 0.5, 0.0), 1.1),
        ((pointwise.POISSON, 0.0, 0.0), -1.1),
    ],
)
def test_conjugates_are_infinite_outside_their_domain(key, u):
    assert pointwise.point_conjugate(*key, u, 1.0) == np.inf


@pytest.mark.parametrize("n", [5, 9, 12, 17, 40, 600])
def test_logistic_value_does_not_depend_on_addresses(n):
    rng = np.random.default_rng(n)
    s, y, p = rng.normal(size=n), np.sign(rng.normal(size=n)), np.full(n, 1.0 / n)
    found = set()
    for gap in range(24):
        near = np.empty(2 * n + gap)
        near[:n] = s
        found.add(logistic.value_grad(near[:n], y, p, near[n + gap :]))
    assert len(found) == 1
