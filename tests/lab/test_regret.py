"""Regret of online learners against sums over pairs."""

import numpy as np
import pytest
from scipy.optimize import minimize

from auctor.core.errors import DataError
from auctor.lab.learners import AdaOam, Opauc
from auctor.lab.regret import regret


class Fixed:
    """Weights that are never changed."""

    def __init__(self, coef):
        self.coef_ = coef

    def partial_fit(self, X, y, classes):
        return self


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0.5, 0.0]), y


def by_pairs(w, X, y, strength):
    """The loss of weights, one earlier row of the other class at a time."""
    total, rows = 0.0, 0
    for t in range(len(y)):
        earlier = np.flatnonzero(y[:t] != y[t])
        if earlier.size:
            sign = 2.0 * y[t] - 1.0
            margins = sign * (X[t] - X[earlier]) @ w
            total += np.mean((1.0 - margins) ** 2) + 0.5 * strength * w @ w
            rows += 1
    return total, rows


@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_the_loss_and_its_best_weights(strength):
    X, y = stream(60)
    w = np.array([0.3, -0.1, 0.2])
    found = regret(Fixed(w), X, y, strength=strength)
    total, rows = by_pairs(w, X, y, strength)
    assert found.n_rows == rows
    assert found.learner == pytest.approx(total, rel=1e-12)
    best = minimize(lambda v: by_pairs(v, X, y, strength)[0], w, tol=1e-12)
    assert found.best == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(found.coef, best.x, atol=1e-4)
    assert regret(Fixed(found.coef), X, y, strength=strength).total == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("learner", [Opauc(strength=0.01), AdaOam(strength=0.01)], ids=repr)
def test_the_regret_per_row_falls(learner):
    X, y = stream(4000)
    short = regret(type(learner)(strength=0.01), X[:300], y[:300], strength=0.01)
    long = regret(learner, X, y, strength=0.01)
    assert 0.0 < long.mean < 0.5 * short.mean


def test_labels_that_do_not_fit_are_refused():
    X, y = stream(10)
    with pytest.raises(DataError, match="regret needs labels of two classes"):
        regret(Opauc(), X, np.zeros(10))
    with pytest.raises(DataError, match="one per row"):
        regret(Opauc(), X, y[:5])
