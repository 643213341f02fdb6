"""scikit-learn LogisticRegression(solver="newton-cholesky")."""

from __future__ import annotations

import numpy as np

from benchmarks.competitors import Fit, _sklearn
from benchmarks.problems.generated import Matrix

name = "sklearn-newton-cholesky"
kind = "logistic"
layouts = ("csr", "dense")
available = _sklearn.available


def refuses(rows: int, columns: int) -> str | None:
    """Its Hessian is a dense columns x columns matrix."""
    size = 8e-9 * columns**2
    return f"needs a dense Hessian of {size:.0f} GB" if size > 1.0 else None


def fit(X: Matrix, y: np.ndarray, strength: float, tol: float, intercept: bool) -> Fit:
    """One solve."""
    return _sklearn.logistic("newton-cholesky", X, y, strength, tol, intercept)
