"""glum GeneralizedLinearRegressor: iteratively reweighted least squares with coordinate descent."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "glum"
layouts = ("csc", "fortran")
threads = (1, 2)
START = 1e-2


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("glum")


def modes(form: Form) -> tuple[str, ...]:
    """Its own choice: irls-ls without, irls-cd with an l1 part."""
    good = form.loss in ("logistic", "squared") and form.penalty != "group"
    return ("auto",) if good else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Its Hessian is a dense columns x columns matrix."""
    size = 8e-9 * columns**2
    return f"needs a dense Hessian of {size:.1f} GB" if size > 0.1 else None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve; threads come from OMP_NUM_THREADS."""
    from glum import GeneralizedLinearRegressor

    ratio = {"l1": 1.0, "l2": 0.0}.get(form.penalty, form.l1_ratio)
    logistic = form.loss == "logistic"
    model = GeneralizedLinearRegressor(
        family="binomial" if logistic else "normal", alpha=form.strength, l1_ratio=ratio,
        fit_intercept=False, gradient_tol=tol, max_iter=10_000, copy_X=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (y > 0).astype(float) if logistic else y)
    return Fit(np.ravel(model.coef_), 0.0, {"n_iter": int(model.n_iter_)})
