"""What the scikit-learn competitors share: LogisticRegression with C = 1 / (n strength)."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit
from benchmarks.problems.generated import Matrix


def logistic(
    solver: str,
    X: Matrix,
    y: np.ndarray,
    strength: float,
    tol: float,
    intercept: bool,
    max_iter: int = 20_000,
) -> Fit:
    """Fit as a user would, with the iteration limit out of the way."""
    from sklearn.linear_model import LogisticRegression

    C = 1.0 / (len(y) * strength)
    model = LogisticRegression(
        C=C, solver=solver, tol=tol, fit_intercept=intercept, max_iter=max_iter
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loose tolerances and stalled line searches are expected
        model.fit(X, y)
    iterations = int(np.max(model.n_iter_))
    return Fit(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), {"n_iter": iterations})


def available() -> str | None:
    """A reason why scikit-learn cannot be used."""
    try:
        import sklearn.linear_model  # noqa: F401
    except ImportError as error:
        return str(error)
    return None
