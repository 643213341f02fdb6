"""Steps in the intersection of a ball and a box, against brute force."""

import numpy as np
import pytest

from auctor.tune.model import Quadratic
from auctor.tune.step import ball_step, check_step, largest_value, trust_step

SEEDS = range(20)


def random_model(seed, d, indefinite):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(d, d))
    hessian = half + half.T if indefinite else half @ half.T
    return Quadratic(0.0, rng.normal(size=d), hessian)


def grid(lower, upper, radius, points=201):
    ends = zip(np.maximum(lower, -radius), np.minimum(upper, radius), strict=True)
    axes = [np.linspace(low, high, points) for low, high in ends]
    found = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
    return found[np.linalg.norm(found, axis=1) <= radius]


def values(model, steps):
    return steps @ model.gradient + 0.5 * np.einsum("ij,jk,ik->i", steps, model.hessian, steps)


@pytest.mark.parametrize("indefinite", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_ball_step_is_the_global_minimiser(seed, indefinite):
    model = random_model(seed, 2, indefinite)
    step = ball_step(model.gradient, model.hessian, 0.7)
    assert np.linalg.norm(step) <= 0.7 * (1 + 1e-9)
    everywhere = np.full(2, np.inf)
    assert model.change(step) <= values(model, grid(-everywhere, everywhere, 0.7)).min() + 1e-6


def test_the_hard_case_reaches_the_boundary():
    step = ball_step(np.array([0.0, 1.0]), np.diag([-2.0, 1.0]), 1.0)
    assert np.linalg.norm(step) == pytest.approx(1.0)
    assert step[1] == pytest.approx(-1.0 / 3.0)


def test_a_zero_model_gives_a_zero_step():
    assert not ball_step(np.zeros(3), np.zeros((3, 3)), 1.0).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_box_step_of_a_convex_model_is_the_minimiser(seed):
    model = random_model(seed, 2, indefinite=False)
    rng = np.random.default_rng(seed + 100)
    lower, upper = -rng.uniform(0, 1, 2), rng.uniform(0, 1, 2)
    step = trust_step(model, lower, upper)
    check_step(model, step, lower, upper, 1.0)
    assert model.change(step) <= values(model, grid(lower, upper, 1.0)).min() + 1e-4


@pytest.mark.parametrize("seed", SEEDS)
def test_the_box_step_is_feasible_and_decreases_in_ten_dimensions(seed):
    model = random_model(seed, 10, indefinite=True)
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 0.3, 10), rng.uniform(0, 0.3, 10)
    lower[0] = upper[1] = 0.0
    step = trust_step(model, lower, upper)
    check_step(model, step, lower, upper, 1.0)
    assert model.change(step) < 0.0


def test_debug_mode_objects_to_a_bad_step():
    model = random_model(0, 2, indefinite=False)
    low, high = np.full(2, -1.0), np.full(2, 1.0)
    with pytest.raises(AssertionError, match="leaves the trust region"):
        check_step(model, np.array([2.0, 0.0]), low, high, 1.0)
    with pytest.raises(AssertionError, match="steepest descent"):
        check_step(model, np.zeros(2), low, high, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_geometry_step_is_far_from_zero(seed):
    function = random_model(seed, 2, indefinite=True)
    low, high = np.full(2, -1.0), np.full(2, 1.0)
    step = largest_value(function, low, high, 1.0)
    found = abs(function.change(step))
    assert found >= 0.9 * np.abs(values(function, grid(low, high, 1.0))).max()
