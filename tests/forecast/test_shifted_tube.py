"""The shifted tube: both solvers against a quadratic program, units, shifts and quantiles."""

import numpy as np
import pytest
from scipy.optimize import minimize

from auctor.core.errors import ParameterError
from auctor.forecast import ShiftedTubeRegressor
from auctor.forecast.tube import Tube


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(X.ravel()) + 0.2 * rng.normal(size=n)


def optimum(X, y, tube, strength, gamma):
    """Primal optimum of the machine without intercept, on centred y, from its box dual."""
    K = np.exp(-gamma * (X - X.T) ** 2)
    y, n = y - y.mean(), y.size
    low, high, down, up = tube.numbers

    def dual(v):  # 1/(2 strength n^2) (a-b)'K(a-b) - mean((y - high) a) + mean((y + low) b)
        a, b = v[:n], v[n:]
        f = K @ (a - b) / (strength * n)
        value = 0.5 * (a - b) @ f - (y - high) @ a + (y + low) @ b
        return value / n, np.concatenate((f - (y - high), -f + (y + low))) / n

    bounds = [(0.0, up)] * n + [(0.0, down)] * n
    found = minimize(dual, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-10})  # fmt: skip
    return -found.fun


@pytest.mark.parametrize(
    "tube", [Tube(0.1, 0.0), Tube(0.1, 0.05), Tube(quantile=0.8)], ids=["even", "shift", "quantile"]
)
def test_stochastic_steps_reach_the_optimum(tube):
    X, y = data()
    best = optimum(X, y, tube, 0.05, 0.5)
    model = ShiftedTubeRegressor(
        0.05, epsilon=tube.epsilon, shift=tube.shift, quantile=tube.quantile, gamma=0.5,
        passes=400.0, batch=20,
    ).fit(X, y)  # fmt: skip
    assert best <= model.objective_ <= 1.01 * best
    certified = ShiftedTubeRegressor(
        0.05, epsilon=tube.epsilon, shift=tube.shift, quantile=tube.quantile, gamma=0.5,
        solver="certified", tol=1e-5,
    ).fit(X, y)  # fmt: skip
    assert certified.objective_ <= best + 1e-6  # it has an intercept, too
    assert 0.0 <= certified.gap_ <= 1e-4 * best
    residual = y - certified.predict(X)
    norm = certified.dual_coef_ @ (certified.predict(X) - certified.intercept_)
    assert certified.objective_ == pytest.approx(tube.value(residual) + 0.025 * norm, rel=1e-6)


@pytest.mark.parametrize("solver", ["stochastic", "certified"])
def test_units_do_not_matter(solver):
    X, y = data()
    one = ShiftedTubeRegressor(0.01, epsilon=0.1, shift=0.05, gamma=0.5, solver=solver)
    large = ShiftedTubeRegressor(1e-5, epsilon=100.0, shift=50.0, gamma=0.5, solver=solver)
    expected = one.fit(X, y).predict(X)
    np.testing.assert_allclose(large.fit(X, 1000.0 * y).predict(X), 1000.0 * expected, rtol=1e-6)


@pytest.mark.parametrize("solver", ["stochastic", "certified"])
def test_shift_moves_the_fit_up(solver):
    X, y = data(400)
    shares, means = [], []
    for shift in (0.0, 0.05, 0.09):
        model = ShiftedTubeRegressor(0.005, epsilon=0.1, shift=shift, gamma=0.5, solver=solver)
        residual = y - model.fit(X, y).predict(X)
        shares.append(np.mean(residual > 0.0))
        means.append(residual.mean())
    assert shares[0] > shares[1] > shares[2]
    assert means[0] - means[2] == pytest.approx(0.09, rel=0.25)


def test_quantiles_hold_their_share():
    X, y = data(400)
    for level in (0.1, 0.5, 0.9):
        model = ShiftedTubeRegressor(1e-3, quantile=level, gamma=0.5, solver="certified").fit(X, y)
        assert np.mean(y <= model.predict(X)) == pytest.approx(level, abs=0.03)


def test_same_seed_same_fit():
    X, y = data()
    one, two = (ShiftedTubeRegressor(0.01, gamma=0.5).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_bad_input():
    X, y = data(20)
    with pytest.raises(ParameterError, match=r"^ShiftedTubeRegressor needs one of shift and quant"):
        ShiftedTubeRegressor(shift=0.1, quantile=0.5).fit(X, y)
    with pytest.raises(ParameterError, match="strength"):
        ShiftedTubeRegressor(0.0).fit(X, y)
    with pytest.raises(ParameterError, match="solver"):
        ShiftedTubeRegressor(solver="magic").fit(X, y)
