"""celer: LogisticRegression (its own solver and proximal Newton), Lasso, ElasticNet, GroupLasso."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "celer"
layouts = ("csc", "fortran")
threads = (1,)
START = 1e-2


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("celer")


def modes(form: Form) -> tuple[str, ...]:
    """Two solvers for logistic, one for least squares."""
    if form.kind == ("logistic", "l1"):
        return ("celer-pn", "celer")
    return ("celer",) if form.loss == "squared" and form.penalty != "l2" else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve; its logistic loss is a sum over rows."""
    import celer

    shared = {"tol": tol, "fit_intercept": False, "max_iter": 500}
    if form.loss == "logistic":
        model = celer.LogisticRegression(C=1.0 / (len(y) * form.strength), solver=mode, **shared)
    elif form.penalty == "group":
        columns = X.shape[1]
        sizes = [min(form.group, columns - j) for j in range(0, columns, form.group)]
        weights = np.sqrt(np.array(sizes, dtype=float))
        model = celer.GroupLasso(sizes, form.strength, weights=weights, **shared)
    elif form.penalty == "l1":
        model = celer.Lasso(form.strength, **shared)
    else:
        model = celer.ElasticNet(form.strength, l1_ratio=form.l1_ratio, **shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {})


def path(
    X: Matrix, y: np.ndarray, form: Form, strengths: np.ndarray, tol: float, mode: str, threads: int
) -> tuple[np.ndarray, dict[str, object]]:
    """`celer_path`, warm-started, pruned."""
    from celer import celer_path

    logistic = form.loss == "logistic"
    alphas = np.asarray(strengths) * (len(y) if logistic else 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, coefs, _ = celer_path(
            X, y, "logreg" if logistic else "lasso", alphas=alphas, l1_ratio=form.l1_ratio, tol=tol,
            max_iter=500, prune=1, use_PN=logistic and mode == "celer-pn",
        )  # fmt: skip
    return coefs.T, {}
