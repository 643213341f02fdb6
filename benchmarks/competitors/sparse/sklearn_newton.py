"""scikit-learn's general solvers for l2 logistic: lbfgs, newton-cg, newton-cholesky."""

from __future__ import annotations

import numpy as np

from benchmarks.competitors import Fit, _sklearn
from benchmarks.competitors.sparse import installed
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
    """One solve."""
    return _sklearn.logistic(mode, X, y, form.strength, tol, False)
