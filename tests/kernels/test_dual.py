"""Dual steps against root finding on the optimality condition, and one epoch against algebra."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from auctor.data import as_data
from auctor.kernels.descent import dual
from auctor.kernels.losses import pointwise
from auctor.kernels.losses.pointwise import (
    EPSILON,
    EXPONENTIAL,
    HINGE,
    HUBER,
    LOGISTIC,
    POISSON,
    QUANTILE,
    SQUARED,
    SQUARED_HINGE,
)

SIZES = [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6]
PLACES = [-1e3, -40.0, -3.0, -1.0, -0.2, 0.0, 0.3, 1.0, 2.5, 30.0, 1e3]


def ramp(r, low, high, width):
    """Slope of the support function of [low, high], smoothed over ``width``."""
    if width > 0.0:
        return min(max(r / width, low), high)
    return high if r > 0.0 else low if r < 0.0 else min(max(0.0, low), high)


#: Plain slopes of every loss, written again.
SLOPES = {
    LOGISTIC: lambda s, y, a, c: -y * 0.5 * (1.0 - math.tanh(0.5 * y * s)),
    HINGE: lambda s, y, a, c: -y * ramp(1.0 - y * s, min(-y * a, 0.0), 1.0 + min(-y * a, 0.0), c),
    SQUARED_HINGE: lambda s, y, a, c: -y * max(1.0 - y * s, 0.0),
    EXPONENTIAL: lambda s, y, a, c: -y * math.exp(min(-y * s, 700.0)),
    SQUARED: lambda s, y, a, c: s - y,
    HUBER: lambda s, y, a, c: min(max(s - y, -a), a),
    QUANTILE: lambda s, y, a, c: ramp(s - y, -a, 1.0 - a, c),
    EPSILON: lambda s, y, a, c: ramp(math.copysign(max(abs(s - y) - a, 0.0), s - y), -1.0, 1.0, c),
    POISSON: lambda s, y, a, c: math.exp(min(s, 700.0)) - y,
}

CASES = [
    (LOGISTIC, 0.0, 0.0),
    (HINGE, 0.0, 0.0),
    (HINGE, 0.0, 0.5),
    (HINGE, 0.0, 1e-3),
    (HINGE, 0.3, 0.0),
    (HINGE, -0.8, 0.5),
    (SQUARED_HINGE, 0.0, 0.0),
    (EXPONENTIAL, 0.0, 0.0),
    (SQUARED, 0.0, 0.0),
    (HUBER, 0.7, 0.0),
    (QUANTILE, 0.5, 0.0),
    (QUANTILE, 0.2, 0.0),
    (QUANTILE, 0.9, 0.3),
    (EPSILON, 0.0, 0.0),
    (EPSILON, 0.4, 0.0),
    (EPSILON, 0.5, 0.2),
    (POISSON, 0.0, 0.0),
]
BINARY = (LOGISTIC, HINGE, SQUARED_HINGE, EXPONENTIAL)


def numeric_slope(slope, z, t):
    """Root of the increasing ``u - slope(z - t u)``, between 0 and ``slope(z)``."""
    far = slope(z)
    if far == 0.0:
        return 0.0
    # An exponential slope is below 1 past its zero margin.
    bound = math.copysign(min(abs(far), max(1.0, abs(slope(0.0))) + abs(z) / t + 1.0), far)
    if abs(bound) < abs(far) and (bound - slope(z - t * bound)) * far < 0.0:
        bound = far
    left, right = sorted((0.0, bound))

    def excess(u):
        return u - slope(z - t * u)

    if excess(left) >= 0.0:
        return left
    if excess(right) <= 0.0:
        return right
    return brentq(excess, left, right, xtol=1e-300, rtol=8.9e-16, maxiter=2000)


@pytest.mark.parametrize(("kind", "param", "width"), CASES)
def test_the_slope_at_the_prox(kind, param, width):
    targets = (-1.0, 1.0) if kind in BINARY else (0.0, 1.0, 7.5)
    for y in targets:
        for t in SIZES:
            for z in PLACES:
                wanted = numeric_slope(lambda s, y=y: SLOPES[kind](s, y, param, width), z, t)
                found = pointwise.prox_slope(kind, param, width, z, y, t)
                # A slope is known to the rounding of the score it comes from, divided by t.
                slack = 1e-11 * (1.0 + abs(wanted)) + 4e-16 * abs(z) / t
                assert abs(found - wanted) <= slack, (y, t, z, found, wanted)


@pytest.mark.parametrize("size", SIZES)
def test_iterated_slopes_are_fixed_points(size):
    for z in np.concatenate((PLACES, np.linspace(-50, 50, 201))):
        b = pointwise.logistic_slope(z, size)
        assert 0.0 <= b <= 1.0
        assert abs(b - 0.5 * (1.0 - math.tanh(0.5 * (z + size * b)))) <= 1e-12
        b = pointwise.exponential_slope(z, size)
        if b <= 1.0:
            assert abs(b - math.exp(-(z + size * b))) <= 1e-12
        else:  # known to the rounding of its margin
            assert abs(math.log(b) + z + size * b) <= 1e-14 * (1.0 + abs(z))


def test_no_room_gives_the_slope_itself():
    for kind, param, width in CASES:
        for z, y in ((0.3, 1.0), (-2.0, 1.0), (1.7, 1.0)):
            found = pointwise.prox_slope(kind, param, width, z, y, dual.EMPTY_ROW)
            assert found == pytest.approx(SLOPES[kind](z, y, param, width), rel=1e-12)
    # At a kink any slope between the two sides would do.
    assert -1.0 <= pointwise.prox_slope(HINGE, 0.0, 0.0, 1.0, 1.0, dual.EMPTY_ROW) <= 0.0
    assert -0.2 <= pointwise.prox_slope(QUANTILE, 0.2, 0.0, 1.0, 1.0, dual.EMPTY_ROW) <= 0.8


def epoch(X, kind, y, p, *, l1, l2, spread=0.0, u=None, rounds=1, seed=1):
    """Run sweeps from ``u``; returns (u, v, w, intercept, moved, order)."""
    n = X.shape[0]
    u = np.zeros(n) if u is None else u.copy()
    v = -X.T @ u
    w = np.sign(v) * np.maximum(np.abs(v) - l1, 0.0) / l2
    multiplier = -spread * u.sum()
    q = (X**2 / l2).sum(axis=1) + spread
    order, state = np.flatnonzero(p > 0.0), np.array([seed], dtype=np.uint64)
    moved = order.size
    for _ in range(rounds):
        intercept = np.array([0.0, multiplier])
        moved, _ = dual.dual_sweeps(
            *as_data(X, y).row_lines(), kind, 0.5, 0.0, y, p, q, l1, l2, order, order.size, 1, n,
            True, u, v, w, intercept, spread, state,
        )  # fmt: skip
        multiplier = intercept[0]
    return u, v, w, intercept[0], moved, order


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5))
    X[3] = 0.0
    y = np.where(rng.random(12) < 0.5, -1.0, 1.0)
    p = rng.uniform(0.5, 1.5, size=12)
    p[7] = 0.0
    return X, y, p / p.sum()


@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_an_epoch_keeps_weights_and_slopes_together(rows, l1, spread):
    X, y, p = rows
    l1, l2 = np.full(5, l1), np.linspace(0.1, 0.3, 5)
    u, v, w, intercept, moved, order = epoch(X, LOGISTIC, y, p, l1=l1, l2=l2, spread=spread)
    pull = -X.T @ u
    np.testing.assert_allclose(w, np.sign(pull) * np.maximum(np.abs(pull) - l1, 0.0) / l2)
    if l1.any():
        np.testing.assert_allclose(v, pull, atol=1e-15)
    assert intercept == pytest.approx(-spread * u.sum(), abs=1e-15)
    assert u[7] == 0.0  # no weight
    assert moved == 11
    assert sorted(order) == [i for i in range(12) if i != 7]


@pytest.mark.parametrize("kind", [LOGISTIC, HINGE, SQUARED_HINGE, SQUARED, QUANTILE, EPSILON])
def test_epochs_ascend_to_where_slopes_match_scores(rows, kind):
    X, y, p = rows
    l1, l2 = np.full(5, 0.01), np.full(5, 0.2)
    last = -math.inf
    for rounds in (1, 2, 5, 20, 800):
        u, _, w, _, _, _ = epoch(X, kind, y, p, l1=l1, l2=l2, rounds=rounds)
        soft = np.maximum(np.abs(X.T @ u) - 0.01, 0.0)
        value = dual_value(kind, u, y, p) - float(soft @ soft) / 0.4
        assert value >= last - 1e-14
        last = value
    for i in np.flatnonzero(p):
        score = float(X[i] @ w)
        below, above = (SLOPES[kind](score + e, y[i], 0.5, 0.0) for e in (-1e-7, 1e-7))
        assert below - 2e-7 <= u[i] / p[i] <= above + 2e-7


def dual_value(kind, u, y, p):
    """``-sum p conj(u / p)`` in plain numpy."""
    on = p > 0
    u, y, p = u[on], y[on], p[on]
    a = u / p
    if kind == LOGISTIC:
        b = np.clip(-y * a, 1e-300, 1 - 1e-16)
        return float(p @ -(b * np.log(b) + (1 - b) * np.log1p(-b)))
    curved = 0.5 * a * a if kind in (SQUARED, SQUARED_HINGE) else 0.0
    free = 0.5 * np.abs(a) if kind == EPSILON else 0.0
    return float(p @ -(a * y + curved + free))


def test_an_empty_row_takes_the_slope_of_its_loss(rows):
    X, y, p = rows
    zero, l2 = np.zeros(5), np.full(5, 0.2)
    for kind in (LOGISTIC, HINGE, SQUARED_HINGE, SQUARED, EPSILON, EXPONENTIAL):
        u = epoch(X, kind, y, p, l1=zero, l2=l2)[0]
        assert u[3] == pytest.approx(p[3] * SLOPES[kind](0.0, y[3], 0.5, 0.0))


def test_seeds(rows):
    X, y, p = rows
    same = [epoch(X, LOGISTIC, y, p, l1=np.zeros(5), l2=np.ones(5), seed=s)[0] for s in (5, 5, 6)]
    np.testing.assert_array_equal(same[0], same[1])
    assert (same[0] != same[2]).any()
