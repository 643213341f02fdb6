"""Sums of penalties."""

import math

import numpy as np
import pytest

from auctor.core.errors import AuctorError, DataError, IncompatibleError
from auctor.penalties import L1, L2, Box, ElasticNet, NonNegative, Sum
from auctor.penalties.base import BasePenalty


def test_a_sum_has_the_value_of_its_parts():
    parts = (L1(0.3), L2(0.2, weights=[1.0, 2.0, 0.0]), Box(-1.0, 2.0))
    for w in (np.array([0.5, -0.5, 1.0]), np.array([0.0, 2.0, -1.0])):
        assert Sum(*parts).value(w) == pytest.approx(sum(part.value(w) for part in parts))
    assert Sum(*parts).value(np.array([3.0, 0.0, 0.0])) == math.inf


def test_elastic_net_is_the_sum_of_its_two_parts():
    v, grad = np.array([2.0, -0.1, 0.4]), np.array([0.3, -0.2, 0.1])
    whole, parts = ElasticNet(0.4, 0.25), Sum(L1(0.1), L2(0.3))
    np.testing.assert_allclose(whole.prox(v, 0.7), parts.prox(v, 0.7), rtol=1e-15)
    np.testing.assert_allclose(whole.violation(v, grad), parts.violation(v, grad), rtol=1e-14)
    assert whole.conjugate(v) == pytest.approx(parts.conjugate(v), rel=1e-14)


def test_sums_nest_and_an_empty_one_is_no_penalty():
    v = np.array([2.0, -3.0])
    nested = Sum(Sum(L1(0.5), NonNegative()), Box(-1.0, 1.0))
    assert nested.prox(v, 1.0).tolist() == [1.0, 0.0]
    assert Sum().smooth
    assert Sum().prox(v, 1.0).tolist() == v.tolist()


@pytest.mark.parametrize(
    ("parts", "smooth"),
    [
        ((L2(0.1), L2(0.2)), True),
        ((L2(0.1), L1(0.0)), True),
        ((L2(0.1), L1(0.1)), False),
        ((L2(0.1), NonNegative()), False),
    ],
)
def test_a_sum_is_smooth_when_all_parts_are(parts, smooth):
    assert Sum(*parts).smooth is smooth


def test_disjoint_boxes_are_refused_when_made():
    with pytest.raises(AuctorError, match="lower <= upper"):
        Sum(Box(0.0, 1.0), Box(2.0, 3.0))


def test_parts_of_different_lengths_are_refused_when_made():
    with pytest.raises(DataError, match="same number of columns"):
        Sum(L1(0.1, weights=[1.0, 2.0]), L2(0.1, weights=[1.0, 2.0, 3.0]))


def test_parts_that_do_not_separate_are_refused():
    with pytest.raises(IncompatibleError, match="separable"):
        Sum(L1(0.1), BasePenalty())
