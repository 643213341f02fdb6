"""Problems with a strength that varies."""

import numpy as np

from auctor.data import as_data
from auctor.losses import Poisson
from auctor.minimise import minimise
from auctor.penalties import L1
from auctor.problem import Problem
from auctor.solvers import choose

N, D = 90, 6


def make_data(loss, *, weighted=False, store=np.asarray, n=N, d=D):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, size=d) + 0.4
    score = X @ np.r_[1.0, -1.0, 0.5, np.zeros(d - 3)] + rng.normal(size=n)
    y = {
        "binary": np.where(score > 0.5, 1.0, -1.0),
        "real": score,
        "counts": rng.poisson(np.exp(0.3 * np.clip(score, -3, 3))).astype(float),
    }["counts" if isinstance(loss, Poisson) else loss.targets]
    return as_data(store(X), y, weight=rng.integers(0, 4, n) if weighted else None)


def make_problem(loss, penalty=None, *, fit_intercept=True, **kwargs):
    penalty = L1() if penalty is None else penalty
    return Problem(loss, penalty, make_data(loss, **kwargs), fit_intercept=fit_intercept)


def at(problem, strength, **kwargs):
    """An independent solve."""
    changed = problem.with_penalty(problem.penalty.with_strength(strength))
    options = {"tol": 1e-9, "on_failure": "ignore", "rng": 0} | kwargs
    return minimise(changed, choose(changed), **options)
