"""scikit-learn LogisticRegression(solver="liblinear"), the primal trust-region Newton method.

It penalises the intercept, so it is comparable only on problems without one. Dense input is turned
into its own sparse rows at every fit, so it prefers CSR.
"""

from __future__ import annotations

import numpy as np

from benchmarks.competitors import Fit, _sklearn
from benchmarks.problems.generated import Matrix

name = "sklearn-liblinear"
kind = "logistic"
layouts = ("csr",)
available = _sklearn.available


def refuses(rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, strength: float, tol: float, intercept: bool) -> Fit:
    """One solve; refuses an intercept because its own is penalised."""
    if intercept:
        raise ValueError("liblinear needs a problem without intercept; got intercept=True.")
    return _sklearn.logistic("liblinear", X, y, strength, tol, intercept)
