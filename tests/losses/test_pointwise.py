"""Pointwise losses: hand-computed values, domains, parameters."""

import numpy as np
import pytest

from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.core.types import Target
from auctor.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)


def at(loss, score, y):
    """Value and slope of one row."""
    value, grad = loss.value_grad(np.array([float(score)]), Target(np.array([float(y)])))
    return value, grad[0]


@pytest.mark.parametrize(
    ("loss", "score", "y", "value", "slope"),
    [
        (Logistic(), 0, 1, np.log(2), -0.5),
        (Logistic(), 1000, 1, 0.0, 0.0),
        (Logistic(), -1000, 1, 1000.0, -1.0),
        (Hinge(), 0.25, 1, 0.75, -1),
        (Hinge(), 0.25, -1, 1.25, 1),
        (Hinge(), 2, 1, 0, 0),
        (SmoothedHinge(0.5), 0.75, 1, 0.0625, -0.5),
        (SmoothedHinge(0.5), 0, 1, 0.75, -1),
        (SquaredHinge(), -1, 1, 2, -2),
        (Exponential(), 1, -1, np.e, np.e),
        (Squared(), 3, 1, 2, 2),
        (Huber(0.5), 3, 1, 0.875, 0.5),
        (Huber(0.5), 1.25, 1, 0.03125, 0.25),
        (Quantile(0.9), 0, 2, 1.8, -0.9),
        (Quantile(0.9), 2, 0, 0.2, 0.1),
        (EpsilonInsensitive(0.5), 2, 0, 1.5, 1),
        (EpsilonInsensitive(0.5), 0.4, 0, 0, 0),
        (Absolute(), -2, 1, 3, -1),
        (Poisson(), 0, 3, 1, -2),
        (Poisson(), 1, 0, np.e, np.e),
    ],
    ids=lambda x: type(x).__name__ if hasattr(x, "value_grad") else f"{x:.3g}",
)
def test_values_by_hand(loss, score, y, value, slope):
    found = at(loss, score, y)
    assert found == pytest.approx((value, slope), rel=1e-15, abs=1e-300)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_the_best_constant_of_a_quantile_loss_is_the_quantile(tau):
    y = np.random.default_rng(0).normal(size=101)
    loss, target = Quantile(tau), Target(y)
    values = [loss.value(np.full(101, c), target) for c in np.sort(y)]
    assert np.sort(y)[int(np.argmin(values))] == np.sort(y)[int(np.ceil(tau * 101)) - 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: SmoothedHinge(0.0),
        lambda: SmoothedHinge(-1.0),
        lambda: Huber(0.0),
        lambda: Huber(float("nan")),
        lambda: Quantile(0.0),
        lambda: Quantile(1.0),
        lambda: Quantile(0.5, width=-1.0),
        lambda: EpsilonInsensitive(-0.1),
        lambda: Absolute(width=-1.0),
        lambda: Huber("wide"),
        lambda: Huber(True),
    ],
)
def test_parameters_outside_their_range_are_refused(make):
    with pytest.raises(ParameterError, match=r"needs .* got .*\. Pass") as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, AuctorError)


def test_targets_outside_the_domain_are_refused():
    with pytest.raises(DataError, match="-1 and \\+1"):
        Logistic().check_target(Target(np.array([0.0, 1.0])))
    with pytest.raises(DataError, match="not negative; got -2"):
        Poisson().check_target(Target(np.array([1.0, -2.0])))
    Squared().check_target(Target(np.array([-7.5, 2.0])))


def test_a_smooth_loss_offers_no_further_smoothing():
    """A narrower form would lie above it, and a gap from it would be no bound."""
    for loss in (Hinge(), Quantile(0.3), EpsilonInsensitive(0.2), Absolute()):
        narrow = loss.smoothed(0.5)
        assert narrow.smooth
        assert narrow.smoothed(0.1) is None


def test_poisson_infimum_is_reached_row_by_row():
    y = np.array([0.0, 1.0, 5.0])
    target = Target(y, np.array([1.0, 2.0, 3.0]))
    best = np.log(np.maximum(y, 1e-300))
    assert Poisson().value(best, target) == pytest.approx(Poisson().infimum(target), rel=1e-14)
