"""scikit-learn LogisticRegression(solver="lbfgs")."""

from __future__ import annotations

import numpy as np

from benchmarks.competitors import Fit, _sklearn
from benchmarks.problems.generated import Matrix

name = "sklearn-lbfgs"
kind = "logistic"
layouts = ("csr", "dense")
available = _sklearn.available


def refuses(rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, strength: float, tol: float, intercept: bool) -> Fit:
    """One solve."""
    return _sklearn.logistic("lbfgs", X, y, strength, tol, intercept)
