"""Problems for ProximalNewton, and other solvers' answers."""

import numpy as np
import pytest

from auctor.data import as_data
from auctor.lab.solvers import ProximalGradient
from auctor.losses import Poisson
from auctor.minimise import minimise
from auctor.penalties import ElasticNet, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Fista, ProximalNewton

FEW, MANY = 25, 700  # columns: a matrix model, residual updates


def sample(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(0.3 * rng.normal(size=d)) + 0.1
    s = X[:, :5] @ np.array([1.5, -1.0, 1.0, 0.7, -0.7])
    y = s / s.std() + 0.3 + 0.4 * rng.normal(size=n)
    return X, y, rng.uniform(0.2, 2.0, size=n)


def problem_of(
    loss, penalty, *, n=100, d=FEW, stored=np.asarray, fit_intercept=True, weighted=True, seed=0
):
    X, y, weight = sample(n, d, seed)
    if isinstance(loss, Poisson):
        y = np.round(np.exp(np.clip(y, -2.0, 2.0)))
    elif loss.targets == "binary":
        y = np.where(y > 0.2, 1.0, -1.0)
    data = as_data(stored(X), y, weight=weight if weighted else None)
    return Problem(loss, penalty, data, fit_intercept=fit_intercept)


def solve(problem, **options):
    settings = {"tol": 1e-8, "max_iter": 200, "rng": 0, **options}
    return minimise(problem, ProximalNewton(), **settings)


def other(problem, tol=1e-8):
    first_order = Fista() if problem.certifiable else ProximalGradient()
    return minimise(problem, first_order, tol=tol, max_iter=50000)


def top(problem):
    """Strength from which on an l1 penalty leaves nothing."""
    return float(np.abs(problem.coef(problem.evaluate(problem.start()).gradient)).max())


def with_share(loss, share, *, ratio=1.0, **options):
    """An elastic net with a share of the strength that leaves nothing."""
    strength = share * top(problem_of(loss, NoPenalty(), **options)) / ratio
    return problem_of(loss, ElasticNet(strength, ratio), **options)


def assert_close(found, wanted, rel=1e-7):
    assert found.converged
    assert found.value == pytest.approx(wanted.value, rel=rel, abs=1e-12)


def thin(X):
    return np.where(np.abs(X) > 1.2, X, 0.0)
