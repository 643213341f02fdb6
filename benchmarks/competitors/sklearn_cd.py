"""scikit-learn ElasticNet (coordinate descent) and `enet_path`."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "sklearn"
layouts = ("csc", "fortran")
threads = (1,)
START = 1e-2


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("sklearn")


def modes(form: Form) -> tuple[str, ...]:
    """Coordinate descent for least squares."""
    good = form.loss == "squared" and form.penalty in ("l1", "elastic_net")
    return ("cd",) if good else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve, without copies of X."""
    from sklearn.linear_model import ElasticNet

    model = ElasticNet(
        alpha=form.strength, l1_ratio=form.l1_ratio, fit_intercept=False, tol=tol,
        max_iter=1_000_000, copy_X=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {"n_iter": int(np.max(model.n_iter_))})


def path(
    X: Matrix, y: np.ndarray, form: Form, strengths: np.ndarray, tol: float, mode: str, threads: int
) -> tuple[np.ndarray, dict[str, object]]:
    """`enet_path`, warm-started."""
    from sklearn.linear_model import enet_path

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
