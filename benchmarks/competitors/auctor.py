"""auctor itself, from raw arrays to the solution: building the data object is part of the time."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit
from benchmarks.problems.generated import Matrix

name = "auctor"
kind = "logistic"
layouts = ("csr", "dense")


def available() -> str | None:
    """A reason why the library cannot be used yet."""
    try:
        from auctor.data import as_data  # noqa: F401
        from auctor.losses import Logistic  # noqa: F401
        from auctor.minimise import minimise  # noqa: F401
        from auctor.penalties import L2  # noqa: F401
        from auctor.problem import Problem  # noqa: F401
        from auctor.solvers import choose  # noqa: F401
    except ImportError as error:
        return str(error)
    return None


def refuses(rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, strength: float, tol: float, intercept: bool) -> Fit:
    """L2 logistic with the automatic solver."""
    from auctor.losses import Logistic

    return solve(Logistic(), X, y, strength, tol, intercept)


def solve(
    loss: object, X: Matrix, y: np.ndarray, strength: float, tol: float, intercept: bool
) -> Fit:
    """Any loss with an l2 penalty."""
    from auctor.data import as_data
    from auctor.minimise import minimise
    from auctor.penalties import L2
    from auctor.problem import Problem
    from auctor.solvers import choose

    problem = Problem(loss, L2(strength), as_data(X, y), fit_intercept=intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tolerances beyond floating point are expected
        answer = minimise(problem, choose(problem), tol=tol, max_iter=20_000)
    work = {
        "n_iter": int(answer.n_iter),
        "passes": float(answer.passes),
        "evaluations": int(answer.evaluations),
        "gap": float(answer.gap),
        "solver": str(answer.solver),
    }
    return Fit(np.asarray(answer.coef), float(answer.intercept), work)
