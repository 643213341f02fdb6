"""scikit-learn's general solvers for l2 logistic: lbfgs, newton-cg, newton-cholesky."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "sklearn"
layouts = ("csr", "dense")
threads = (1,)
START = 1e-2


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("sklearn")


def modes(form: Form) -> tuple[str, ...]:
    """All three."""
    return ("lbfgs", "newton-cg", "newton-cholesky") if form.kind == ("logistic", "l2") else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def refuses_mode(mode: str, rows: int, columns: int) -> str | None:
    """newton-cholesky has a dense columns x columns Hessian."""
    wide = mode == "newton-cholesky" and columns > 3000
    return f"{mode} needs a dense Hessian of {columns} columns" if wide else None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """As a user would, with the iteration limit out of the way."""
    from sklearn.linear_model import LogisticRegression

    C = 1.0 / (len(y) * form.strength)
    model = LogisticRegression(C=C, solver=mode, tol=tol, fit_intercept=False, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loose tolerances and stalled line searches are expected
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {"n_iter": int(np.max(model.n_iter_))})
