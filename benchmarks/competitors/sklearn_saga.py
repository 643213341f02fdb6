"""scikit-learn LogisticRegression(solver="saga")."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "sklearn-saga"
layouts = ("csr", "dense")
threads = (1,)
START = 1e-1


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("sklearn")


def modes(form: Form) -> tuple[str, ...]:
    """Logistic with l1 or l2."""
    return ("saga",) if form.kind in {("logistic", "l1"), ("logistic", "l2")} else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve."""
    from sklearn.linear_model import LogisticRegression

    ratio = 1.0 if form.penalty == "l1" else 0.0
    model = LogisticRegression(
        solver="saga", C=1.0 / (len(y) * form.strength), l1_ratio=ratio, tol=tol,
        fit_intercept=False, max_iter=100_000, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {"n_iter": int(np.max(model.n_iter_))})
