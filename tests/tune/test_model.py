"""Models from scattered values."""

import numpy as np
import pytest

from auctor.tune.model import Quadratic, check_model, fit_linear, fit_quadratic, full_size


def points(m, d, seed=0):
    return np.vstack((np.zeros(d), np.random.default_rng(seed).uniform(-1, 1, size=(m - 1, d))))


def test_a_full_set_recovers_a_quadratic_whatever_the_hessian_before():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(4, 4))
    truth = Quadratic(0.7, rng.normal(size=4), half + half.T)
    where = points(full_size(4), 4)
    values = np.array([truth.value + truth.change(s) for s in where])
    model, basis = fit_quadratic(where, values, np.eye(4))
    np.testing.assert_allclose(model.hessian, truth.hessian, atol=1e-6)
    np.testing.assert_allclose(model.gradient, truth.gradient, atol=1e-6)
    check_model(model, basis, values, np.eye(4))


@pytest.mark.parametrize("m", [5, 7, 12])
def test_fewer_points_interpolate_and_change_the_hessian_least(m):
    rng = np.random.default_rng(2)
    where, values = points(m, 4), rng.normal(size=m)
    before = np.diag([1.0, 2.0, 3.0, 4.0])
    model, basis = fit_quadratic(where, values, before)
    check_model(model, basis, values, before)
    # Any other interpolating quadratic is farther from the Hessian before: add one that is zero at
    # every point, found in the null space of the design.
    columns = [np.ones(m), *where.T]
    index = [(i, j) for i in range(4) for j in range(i, 4)]
    columns += [where[:, i] * where[:, j] for i, j in index]
    null = np.linalg.svd(np.column_stack(columns))[2][m:]
    own = np.linalg.norm(model.hessian - before)
    for row in null:
        other = np.zeros((4, 4))
        for weight, (i, j) in zip(row[5:], index, strict=True):
            other[i, j] += weight
            other[j, i] += weight
        assert np.linalg.norm(model.hessian + 0.1 * other - before) >= own - 1e-9


def test_lagrange_functions_are_one_at_their_point_and_zero_at_others():
    where = points(9, 3)
    _, basis = fit_quadratic(where, np.zeros(9), np.zeros((3, 3)))
    np.testing.assert_allclose([basis.at(s) for s in where], np.eye(9), atol=1e-8)
    for t in range(9):
        function = basis.function(t)
        shown = [function.value + function.change(s) for s in where]
        np.testing.assert_allclose(shown, np.eye(9)[t], atol=1e-8)


def test_linear_models_interpolate_and_regress():
    where = points(5, 4)
    values = 1.0 + where @ np.array([1.0, -2.0, 0.5, 0.0])
    model, basis = fit_linear(where, values)
    np.testing.assert_allclose(model.gradient, [1.0, -2.0, 0.5, 0.0], atol=1e-10)
    np.testing.assert_allclose([basis.at(s) for s in where], np.eye(5), atol=1e-10)
    more = points(40, 4)
    noisy = (
        1.0
        + more @ np.array([1.0, -2.0, 0.5, 0.0])
        + 0.01 * np.random.default_rng(0).normal(size=40)
    )
    np.testing.assert_allclose(fit_linear(more, noisy)[0].gradient, model.gradient, atol=0.02)


def test_regression_smooths_noise():
    rng = np.random.default_rng(3)
    where = points(40, 2)
    truth = Quadratic(0.0, np.array([1.0, 0.0]), np.diag([2.0, 0.5]))
    noisy = np.array([truth.change(s) for s in where]) + 0.1 * rng.normal(size=40)
    model, _ = fit_quadratic(where, noisy, np.zeros((2, 2)), ridge=0.01)
    np.testing.assert_allclose(model.gradient, truth.gradient, atol=0.15)
    np.testing.assert_allclose(model.hessian, truth.hessian, atol=0.6)


def test_points_that_coincide_are_still_interpolated():
    where = np.vstack((points(5, 4), points(5, 4)))
    values = np.tile(np.arange(5.0), 2)
    model, _ = fit_quadratic(where, values, np.zeros((4, 4)))
    found = [model.value + model.change(x) for x in where]
    # Coincident points leave a singular system, which is solved with a small ridge.
    np.testing.assert_allclose(found, values, atol=0.1)


def test_debug_mode_objects_to_a_model_that_misses_its_values():
    where, values, none = points(3, 2), np.arange(3.0), np.zeros((2, 2))
    model, basis = fit_quadratic(where, values, none)
    check_model(model, basis, values, none)
    with pytest.raises(AssertionError, match="misses a value by 2"):
        check_model(Quadratic(0.0, np.zeros(2), none), basis, values, none)
    slanted = Quadratic(model.value, model.gradient + 1e-3, model.hessian)
    with pytest.raises(AssertionError, match="misses a value"):
        check_model(slanted, basis, values, none)
