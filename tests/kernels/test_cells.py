"""Sums of softplus over pairs by cells against the matrix of pairs."""

import numpy as np
import pytest

from auctor.kernels.losses import cells
from auctor.losses import PairwiseLogistic

FUNCTIONS = [
    lambda z: np.logaddexp(0, z),
    lambda z: np.exp(-np.logaddexp(0, -z)),
    lambda z: np.exp(-np.logaddexp(0, -z) - np.logaddexp(0, z)),
]


def sums(kind, a, t, c, direct, a_ends=None, t_ends=None):
    a_ends = np.array([0, a.size]) if a_ends is None else a_ends
    t_ends = np.array([0, t.size]) if t_ends is None else t_ends
    out = np.empty(a.size)
    own, other = cells.find_cells(a, a_ends), cells.find_cells(t, t_ends)
    cells.pair_sums(kind, cells.table(kind), a, own, t, other, c, direct, out)
    return out


@pytest.mark.parametrize("kind", [cells.VALUE, cells.SLOPE, cells.CURVE])
def test_the_expansion_has_its_stated_error(kind):
    """One pair at a time, so that errors cannot cancel; every distance and place in the cells."""
    places = np.concatenate((np.linspace(0.0, 1.0, 41)[:-1], [np.nextafter(1.0, 0.0)]))
    for distance in (*range(-45, 46), -1000, 1000):
        for t in distance + places:
            found = sums(kind, places, np.array([t]), np.ones(1), 0)
            worst = np.abs(found - FUNCTIONS[kind](t - places)).max()
            assert worst <= PairwiseLogistic.ERROR * max(1.0, abs(distance))


@pytest.mark.parametrize("kind", [cells.VALUE, cells.SLOPE, cells.CURVE])
@pytest.mark.parametrize("direct", [0, 16, 10**9])
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 20.0, 1e3, 1e8])
def test_sums_equal_the_matrix_of_pairs(kind, direct, scale):
    rng = np.random.default_rng(0)
    a, t = (np.sort(scale * rng.normal(size=size)) for size in (80, 90))
    c = rng.uniform(size=90) if kind != cells.CURVE else rng.normal(size=90)
    found = sums(kind, a, t, c, direct)
    wanted = FUNCTIONS[kind](t[None, :] - a[:, None]) @ c
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * np.abs(c).sum())


@pytest.mark.parametrize("direct", [0, 16])
def test_groups_are_summed_apart(direct):
    rng = np.random.default_rng(1)
    a_ends, t_ends = np.array([0, 30, 31, 70]), np.array([0, 1, 40, 90])
    a, t, c = rng.normal(size=70), 3 * rng.normal(size=90), rng.uniform(size=90)
    for g in range(3):
        a[a_ends[g] : a_ends[g + 1]].sort()
        t[t_ends[g] : t_ends[g + 1]].sort()
    for kind in range(3):
        found = sums(kind, a, t, c, direct, a_ends, t_ends)
        for g in range(3):
            own, other = slice(*a_ends[g : g + 2]), slice(*t_ends[g : g + 2])
            wanted = FUNCTIONS[kind](t[None, other] - a[own, None]) @ c[other]
            np.testing.assert_allclose(found[own], wanted, rtol=1e-11)


@pytest.mark.parametrize("size", [1e20, 1e100, 1e200])
def test_huge_scores_give_no_nan(size):
    a, t = size * np.array([-1.0, 0.5, 1.0]), size * np.array([-0.7, 0.5, 0.6])
    for kind in range(3):
        found = sums(kind, a, t, np.ones(3), 0)
        wanted = FUNCTIONS[kind](t[None, :] - a[:, None]).sum(axis=1)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    # A tie at any size is softplus(0).
    assert sums(0, a[1:2], t[1:2], np.ones(1), 0)[0] == pytest.approx(np.log(2.0))


def test_partners_are_drawn_in_proportion_to_curvature_where_rows_are_many():
    rng = np.random.default_rng(2)
    t, q = np.sort(2 * rng.normal(size=3000)), rng.uniform(size=3000)
    mass = np.concatenate(([0.0], np.cumsum(q)))
    inside = (np.arange(4000) + 0.5) / 4000
    out, zero = np.empty(4000, dtype=np.int64), np.zeros(4000, dtype=np.int64)
    cells.draw_partners(np.full(4000, 0.3), zero, t, mass, np.array([0, 3000]), inside, 256, out)
    weight = q * FUNCTIONS[2](t - 0.3)
    bins = np.linspace(-6, 6, 13)
    wanted = np.histogram(t, bins, weights=weight / weight.sum())[0]
    np.testing.assert_allclose(np.histogram(t[out], bins)[0] / 4000, wanted, atol=0.02)
    # All far away: the nearest are still the likeliest.
    cells.draw_partners(np.full(4000, 60.0), zero, t, mass, np.array([0, 3000]), inside, 256, out)
    assert np.median(t[out]) > 4.0
