"""Pair sums in one sweep against the double loop."""

import numpy as np
import pytest

from auctor.kernels.losses.pairs import (
    by_group,
    hinge_windows,
    square_windows,
    window_mass,
    window_product,
)


def brute(a, p, t, q, width):
    """Value, slopes and window counts by a loop over all pairs."""
    total, slope, inside = 0.0, np.zeros(len(a)), np.zeros(len(a), dtype=int)
    for i in range(len(a)):
        for j in range(len(t)):
            z = t[j] - a[i]
            if z <= 0:
                continue
            if z < width:
                total += p[i] * q[j] * z * z / (2 * width)
                slope[i] += q[j] * z / width
                inside[i] += 1
            else:
                total += p[i] * q[j] * (z - width / 2)
                slope[i] += q[j]
    return total, slope, inside


def sweep(a, p, t, q, width):
    slope = np.empty(len(a))
    low, high = np.empty(len(a), dtype=np.int64), np.empty(len(a), dtype=np.int64)
    level = np.empty(len(a))
    ends = np.array([0, len(a)]), np.array([0, len(t)])
    total = hinge_windows(a, p, ends[0], t, q, ends[1], width, slope, low, high, level)
    assert total == pytest.approx(p @ level, rel=1e-12, abs=1e-300)
    return total, slope, low, high


def draw(kind, rng, n):
    values = {
        "normal": rng.normal(size=n),
        "ties": rng.integers(-3, 4, size=n) / 2.0,
        "all equal": np.full(n, 0.25),
        "huge": rng.normal(size=n) * 1e8,
        "outlier": np.append(rng.normal(size=n - 1), -1e12),
        "far apart": np.where(np.arange(n) % 2, 1e6, -1e6) + rng.normal(size=n),
        "tiny spread": 1.0 + 1e-9 * rng.normal(size=n),
    }[kind]
    return np.sort(values)


KINDS = ["normal", "ties", "all equal", "huge", "outlier", "far apart", "tiny spread"]


@pytest.mark.parametrize("width", [0.0, 1e-12, 1e-9, 0.5, 3.0, 1e9])
@pytest.mark.parametrize("kind", KINDS)
def test_windows_equal_the_double_loop(kind, width):
    rng = np.random.default_rng(KINDS.index(kind))
    for n_pos, n_neg in ((1, 1), (1, 9), (9, 1), (13, 17)):
        a, t = draw(kind, rng, n_pos), draw(kind, rng, n_neg)
        p, q = rng.uniform(0.1, 2, size=n_pos), rng.uniform(0.1, 2, size=n_neg)
        total, slope, low, high = sweep(a, p, t, q, width)
        wanted, slopes, inside = brute(a, p, t, q, width)
        assert total == pytest.approx(wanted, rel=1e-12, abs=1e-300)
        np.testing.assert_allclose(slope, slopes, rtol=1e-11, atol=1e-13 * q.sum())
        np.testing.assert_array_equal(high - low, inside)


def test_an_outlier_below_costs_no_digits():
    """A moment about the lowest value loses what an outlier's size swallows."""
    t = np.array([-1e15, 0.3, 0.7])
    a = np.array([-1.0, -0.8])
    half, third = np.full(2, 0.5), np.full(3, 1 / 3)
    total, _, _, _ = sweep(a, half, t, third, 0.5)
    assert total == pytest.approx(brute(a, half, t, third, 0.5)[0], rel=1e-15)


@pytest.mark.parametrize("width", [0.0, 0.4, 2.0])
def test_window_product_equals_the_double_loop(width):
    rng = np.random.default_rng(1)
    a, t = draw("ties", rng, 12), draw("normal", rng, 15)
    q = rng.uniform(0.1, 2, size=15)
    _, _, low, high = sweep(a, np.ones(12), t, q, width)
    own, other, out = rng.normal(size=(12, 2)), rng.normal(size=(15, 2)), np.empty((12, 2))
    window_product(low, high, own, other, q, out)
    z = t[None, :] - a[:, None]
    active = ((z > 0) & (z < width))[:, :, None] * q[:, None]
    wanted = (active * (own[:, None, :] - other[None, :, :])).sum(axis=1)
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-13)
    mass = np.empty(12)
    window_mass(low, high, q, mass)
    np.testing.assert_allclose(mass, active[:, :, 0].sum(axis=1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_square_windows_equal_the_double_loop(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for n_pos, n_neg in ((1, 1), (1, 9), (9, 1), (13, 17)):
        a, t = draw(kind, rng, n_pos), draw(kind, rng, n_neg)
        p, q = rng.uniform(0.1, 2, size=n_pos), rng.uniform(0.1, 2, size=n_neg)
        slope, low, high = np.empty(n_pos), np.empty(n_pos, int), np.empty(n_pos, int)
        ends = np.array([0, n_pos]), np.array([0, n_neg])
        total = square_windows(a, p, ends[0], t, q, ends[1], slope, low, high)
        z = np.maximum(t[None, :] - a[:, None], 0.0)
        assert total == pytest.approx(p @ (z * z) @ q, rel=1e-13, abs=1e-300)
        np.testing.assert_allclose(slope, 2 * z @ q, rtol=1e-13)
        np.testing.assert_array_equal(high - low, (z > 0).sum(axis=1))


def test_an_outlier_cancels_nothing_in_the_squares():
    """Moments about the current threshold would lose all digits once it has passed 1e12."""
    a, t, one = np.array([-1e12, 0.0]), np.array([0.5, 1.0]), np.ones(2)
    slope, low, high = np.empty(2), np.empty(2, int), np.empty(2, int)
    ends = np.array([0, 2])
    square_windows(a, one, ends, t, one, ends, slope, low, high)
    assert slope[1] == 3.0


def test_groups_are_swept_apart():
    rng = np.random.default_rng(5)
    a_ends, t_ends = np.array([0, 4, 5, 12]), np.array([0, 1, 9, 15])
    a, t = rng.normal(size=12), rng.normal(size=15)
    for g in range(3):
        a[a_ends[g] : a_ends[g + 1]].sort()
        t[t_ends[g] : t_ends[g + 1]].sort()
    p, q = rng.uniform(0.1, 2, size=12), rng.uniform(0.1, 2, size=15)
    slope, low, high = np.empty(12), np.empty(12, int), np.empty(12, int)
    total = hinge_windows(a, p, a_ends, t, q, t_ends, 0.5, slope, low, high, None)
    wanted = 0.0
    for g in range(3):
        own, other = slice(*a_ends[g : g + 2]), slice(*t_ends[g : g + 2])
        value, slopes, inside = brute(a[own], p[own], t[other], q[other], 0.5)
        wanted += value
        np.testing.assert_allclose(slope[own], slopes, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal((high - low)[own], inside)
        assert (low[own] >= t_ends[g]).all()
        assert (high[own] <= t_ends[g + 1]).all()
    assert total == pytest.approx(wanted, rel=1e-12)


def test_by_group_is_a_stable_sort():
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(0, 5, size=40))
    starts = np.searchsorted(group, np.arange(6))
    values = rng.integers(0, 4, size=40)
    order = np.argsort(values, kind="stable").astype(np.uint64)
    found = by_group(order, group, starts)
    np.testing.assert_array_equal(found, np.lexsort((np.arange(40), values, group)))
