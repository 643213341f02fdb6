"""The Gamma loss: its best constant, its certificate, and a regression with it."""

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor

from auctor import AdditiveRegressor, LinearRegressor
from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.losses.gamma import Gamma
from auctor.testing import LossSuite


def _claims(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.gamma(2.0, 0.5 * np.exp(0.3 + 0.5 * X[:, 0] - 0.2 * X[:, 1]))


def test_linear_weights_are_those_of_scikit_learn():
    X, y = _claims()
    ours = LinearRegressor("gamma", penalty="none", standardise=False, tol=1e-10).fit(X, y)
    theirs = GammaRegressor(alpha=0.0, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3)


def test_the_conjugate_is_that_of_each_row():
    X, y = _claims(50)
    target = Target(y, np.random.default_rng(1).random(50))
    scores = X[:, 0]
    value, slope = Gamma().value_grad(scores, target)
    assert Gamma().conjugate(slope, target) == pytest.approx(slope @ scores - value, abs=1e-12)
    assert Gamma().conjugate(slope + 2.0 * target.share, target) == np.inf
    assert Gamma().infimum(target) == pytest.approx(Gamma().value(np.log(y), target))


def test_curves_of_claims():
    X, y = _claims(900)
    y = y * np.exp(np.abs(X[:, 0]))
    model = AdditiveRegressor("gamma", members=2, interactions=0).fit(X, y)
    assert all(one.certified and one.gap <= one.tol for one in model.solution_)
    linear = LinearRegressor("gamma").fit(X, y)
    target = Target(y)
    losses = [Gamma().value(np.log(one.predict(X)), target) for one in (model, linear)]
    assert losses[0] < losses[1] - 0.05


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_targets_that_are_not_above_zero_are_refused(bad):
    with pytest.raises(DataError, match="above 0"):
        LinearRegressor("gamma").fit(np.ones((3, 1)), [1.0, bad, 2.0])


@pytest.mark.parametrize("check", LossSuite(Gamma()).collectable())
def test_the_kit_of_losses(check):
    suite = LossSuite(Gamma())
    if not suite.applies(check):
        pytest.skip("does not apply")
    getattr(suite, check)()
