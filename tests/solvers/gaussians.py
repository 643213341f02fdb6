"""Classes that are Gaussian."""

import numpy as np

from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import ExpectedAuc, ExpectedError
from auctor.minimise import minimise
from auctor.penalties import NoPenalty
from auctor.problem import Problem
from auctor.solvers import GaussianDiscriminant

BOTH = [ExpectedAuc(), ExpectedError()]


def generate(n=400, d=6, seed=0, prior=0.35):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < prior, 1.0, -1.0)
    y[:4] = 1.0, -1.0, 1.0, -1.0
    mix = rng.normal(size=(2, d, d)) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    X = np.where(y[:, None] > 0, 1.4 * X @ mix[0] + 0.4, X @ mix[1])
    return X + 0.3 * rng.normal(size=(n, d)), y


def solve(loss, X, y, penalty=None, solver=None, *, weight=None, tol=1e-7, **options):
    data = as_data(X, y) if weight is None else as_data(X, y).with_target(Target(y, weight))
    problem = Problem(loss, NoPenalty() if penalty is None else penalty, data, **options)
    return minimise(problem, solver or GaussianDiscriminant(), tol=tol, max_iter=3000)


def covariances(X, y):
    return [np.atleast_2d(np.cov(X[y == k].T, bias=True)) for k in (1, -1)]


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)
