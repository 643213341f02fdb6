"""The constant that is best added to all scores."""

from __future__ import annotations

import numpy as np
import pytest

from auctor.core.shift import ShiftedScores, best_shift
from auctor.core.types import Target
from auctor.losses import Hinge, Logistic, Quantile, SmoothedHinge
from auctor.losses.pointwise import PinballHinge

LOSSES = [
    Logistic(),
    Hinge(),
    SmoothedHinge(0.3),
    SmoothedHinge(1e-4),
    PinballHinge(0.3),
    PinballHinge(-0.4, 0.2),
    Quantile(0.3),
    Quantile(0.8, 0.1),
]


def ident(loss):
    return str(loss)


def made(n, seed, *, weighted=False, tied=False):
    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=n)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weight = rng.integers(0, 4, size=n).astype(float) if weighted else None
    if weighted:
        weight[:2] = 1.0
    return np.round(scores) if tied else scores, Target(y, weight)


@pytest.mark.parametrize("loss", LOSSES, ids=ident)
@pytest.mark.parametrize("kind", [{}, {"weighted": True}, {"tied": True}], ids=str)
@pytest.mark.parametrize("n", [2, 3, 40, 6000])
def test_best_shift_is_the_best(loss, kind, n):
    """Against every kink, and a slope of zero where there are none."""
    scores, target = made(n, n, **kind)
    found = best_shift(loss, scores, target)
    plain = ShiftedScores(loss, scores, target)
    value, slope, size = plain.at(found)
    if loss.smooth:
        assert abs(slope) <= 1e-11 * max(size, 1e-3)
        return
    rows = np.random.default_rng(0).permutation(n)[:60]
    kinks = (target.y - scores)[rows]
    assert value <= min(plain.at(t).value for t in kinks) + 1e-14
    assert value <= min(plain.at(found + t).value for t in (-1e-3, 1e-3)) + 1e-14


@pytest.mark.parametrize("loss", LOSSES, ids=ident)
def test_weights_are_repetitions(loss):
    scores, target = made(500, 5, weighted=True)
    times = target.weight.astype(int)
    repeated = Target(np.repeat(target.y, times))
    found = best_shift(loss, scores, target), best_shift(loss, np.repeat(scores, times), repeated)
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.parametrize("loss", [Hinge(), SmoothedHinge(0.1)], ids=ident)
def test_classes_apart_are_parted_in_the_middle(loss):
    """Where no row has a loss, neither does any after a small step to either side."""
    scores = np.array([-3.0, -2.0, 4.0, 5.0]) + 7.0
    shift = best_shift(loss, scores, Target(np.array([-1.0, -1.0, 1.0, 1.0])))
    assert -8.0 - 0.5 < shift < -8.0 + 0.5


@pytest.mark.parametrize("score", [-0.4, -0.7, 0.1, 3.0])
def test_the_middle_does_not_depend_on_rounding(score):
    target = Target(np.array([-1.0, 1.0]))
    assert best_shift(Hinge(), np.array([-5.0, score]), target) == pytest.approx(2.5 - 0.5 * score)
    assert best_shift(Hinge(), np.zeros(2), target) == 0.0


@pytest.mark.parametrize("loss", [Hinge(), SmoothedHinge(0.1), Logistic()], ids=ident)
def test_one_class_has_no_best_constant_but_an_answer(loss):
    shift = best_shift(loss, np.array([0.0, 1.0]), Target(np.ones(2)))
    assert np.isfinite(shift)
    assert shift >= 0.0


def test_large_scores():
    scores, target = made(50, 1)
    assert best_shift(Hinge(), 1e8 * scores, target) == pytest.approx(
        1e8 * best_shift(Quantile(float((target.y > 0).mean())), scores, Target(0.0 * scores)),
        rel=1e-6,
    )
