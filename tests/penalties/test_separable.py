"""Separable penalties: values by hand, a brute-force conjugate, parameters."""

import math

import numpy as np
import pytest

from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.penalties import L1, L2, Box, ElasticNet, NonNegative, NoPenalty, Separable
from auctor.testing import discover

W = np.array([1.0, -2.0, 0.0, 0.5])


@pytest.mark.parametrize(
    ("penalty", "value"),
    [
        (NoPenalty(), 0.0),
        (L2(0.1), 0.05 * 5.25),
        (L1(0.1), 0.35),
        (ElasticNet(0.1, 0.25), 0.1 * (0.25 * 3.5 + 0.375 * 5.25)),
        (L1(0.1, weights=[1, 0, 5, 2]), 0.2),
        (L2(2.0, weights=[1, 0, 5, 2]), 1.5),
        (Box(-2, 1), 0.0),
        (Box(-1, 1), math.inf),
        (NonNegative(), math.inf),
    ],
)
def test_values_by_hand(penalty, value):
    assert penalty.value(W) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "penalty",
    [
        p
        for kind in discover.penalties()
        if issubclass(kind, Separable)
        for p in discover.examples(kind)
    ],
    ids=discover.label,
)
def test_conjugates_equal_a_fine_grid(penalty):
    """``sup v w - penalty(w)`` coordinate by coordinate, on a grid wide enough to hold it."""
    spec = penalty.separable(4)
    grid = np.linspace(-200, 200, 400_001)
    for v in (np.array([0.15, -0.1, 0.02, 0.3]), np.array([-2.0, 1.5, -0.3, 3.0])):
        v = penalty.dual_scale(v) * v
        wanted = 0.0
        for j in range(4):
            w = np.clip(grid, spec.lower[j], spec.upper[j])
            wanted += np.max(v[j] * w - spec.l1[j] * np.abs(w) - 0.5 * spec.l2[j] * w * w)
        assert penalty.conjugate(v) == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("kind", [L1, L2, ElasticNet])
@pytest.mark.parametrize("strength", [-1.0, math.inf, math.nan, "1", None, True])
def test_bad_strengths_are_refused(kind, strength):
    with pytest.raises(ParameterError, match="strength"):
        kind(strength)


def test_bad_shapes_of_parameters_are_refused():
    with pytest.raises(ParameterError, match="l1_ratio"):
        ElasticNet(1.0, 1.5)
    with pytest.raises(ParameterError, match="weights >= 0"):
        L1(1.0, weights=[1.0, -1.0])
    with pytest.raises(DataError, match="finite"):
        L1(1.0, weights=[1.0, math.nan])
    with pytest.raises(ParameterError, match="lower <= upper"):
        Box(1.0, 0.0)
    with pytest.raises(DataError, match=r"one value per column \(3\); got 2"):
        L1(1.0, weights=[1.0, 2.0]).value(np.zeros(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Separable(-1.0),
        lambda: Separable(0.0, -1.0),
        lambda: Separable(math.nan),
        lambda: Separable(math.inf),
        lambda: Separable(np.array([1.0, -1.0])),
        lambda: Box(math.inf, math.inf),
        lambda: Box(-math.inf, -math.inf),
        lambda: Box(math.nan, 1.0),
        lambda: Box("low", 1.0),
    ],
)
def test_levels_outside_their_range_are_refused(make):
    with pytest.raises(AuctorError):
        make()


def test_one_penalty_serves_problems_of_different_width():
    penalty = L1(0.5)
    assert penalty.value(np.ones(3)) == 1.5
    assert penalty.value(np.ones(5)) == 2.5
    assert penalty.prox(np.ones(2), 1.0).tolist() == [0.5, 0.5]
