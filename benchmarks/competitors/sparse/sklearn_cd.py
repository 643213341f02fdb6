"""scikit-learn ElasticNet (coordinate descent) and its path; lbfgs, newton-cg for l2 logistic."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit
from benchmarks.competitors.sparse import installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "sklearn"
layouts = ("csc", "csr", "fortran", "dense")
threads = (1,)
START = 1e-4


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("sklearn")


def modes(form: Form) -> tuple[str, ...]:
    """Coordinate descent for least squares; the general solvers for l2 logistic."""
    if form.loss == "squared" and form.penalty in ("l1", "elastic_net"):
        return ("cd",)
    return ("lbfgs", "newton-cg") if form.kind == ("logistic", "l2") else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve, without copies of X."""
    from sklearn.linear_model import ElasticNet, LogisticRegression

    if mode == "cd":
        model = ElasticNet(
            alpha=form.strength, l1_ratio=form.l1_ratio, fit_intercept=False, tol=tol,
            max_iter=1_000_000, copy_X=False,
        )  # fmt: skip
    else:
        C = 1.0 / (len(y) * form.strength)
        model = LogisticRegression(solver=mode, C=C, tol=tol, fit_intercept=False, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {"n_iter": int(np.max(model.n_iter_))})


def path(
    X: Matrix,
    y: np.ndarray,
    form: Form,
    strengths: np.ndarray,
    tol: float,
    mode: str,
    threads: int,
) -> tuple[np.ndarray, dict[str, object]]:
    """`enet_path`, warm-started."""
    from sklearn.linear_model import enet_path

    if mode != "cd":
        raise NotImplementedError("no path for this loss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, coefs, _ = enet_path(
            X,
            y,
            l1_ratio=form.l1_ratio,
            alphas=strengths,
            tol=tol,
            max_iter=1_000_000,
            copy_X=False,
        )
    return coefs.T, {}
