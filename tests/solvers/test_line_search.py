"""Parts of line searches that no solver shows on their own."""

import math
from typing import NamedTuple

import pytest

from auctor.solvers.line_search import MOST_TRIALS, bracket, first_accepted, sizes


class At(NamedTuple):
    step: float
    value: float
    slope: float


def kinked(step, minimum):
    """``2 (x - m)`` to the right of the minimum m, ``-(x - m) + (x - m)^2 / 8`` to its left."""
    x = step - minimum
    return At(step, 2.0 * x, 2.0) if x >= 0.0 else At(step, -x + x * x / 8.0, -1.0 + x / 4.0)


@pytest.mark.parametrize("minimum", [-37.5, -1e-3, 0.0, 0.3, 2500.0])
def test_a_bracket_holds_the_minimum_to_either_side_of_the_start(minimum):
    trials = []

    def at(step):
        trials.append(step)
        return kinked(step, minimum)

    low, high = bracket(at, 1e-9)
    assert low.step <= minimum <= high.step
    assert low.slope < 0.0 < high.slope
    crossing = (low.value - high.value + high.slope * (high.step - low.step)) / (
        high.slope - low.slope
    )
    assert min(low.value, high.value) - (low.value + low.slope * crossing) <= 1e-9
    assert len(trials) < MOST_TRIALS


def test_a_bracket_is_the_start_if_that_is_the_minimum_and_has_one_sign_if_there_is_none():
    low, high = bracket(lambda step: At(step, step * step, 2.0 * step), 1e-9)
    assert low.step == high.step == 0.0
    low, high = bracket(lambda step: At(step, math.exp(-min(step, 700.0)), -1e-300), 1e-9)
    assert low.slope < 0.0
    assert high.slope < 0.0


def test_steps_of_a_search_may_be_anything():
    found = first_accepted(lambda word: len(word), lambda word, size: size > 2, ["a", "bb", "ccc"])
    assert found == ("ccc", 3)
    assert first_accepted(lambda step: step, lambda *_: False, sizes(most=3)) is None
    assert list(sizes(1.0, 3.0, most=3)) == [1.0, 3.0, 9.0]
