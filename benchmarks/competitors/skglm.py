"""skglm: SparseLogisticRegression (ProxNewton), Lasso, ElasticNet, GroupLasso, and warm loops."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "skglm"
layouts = ("csc", "fortran")
threads = (1,)
START = 1e-2
KINDS = {
    ("logistic", "l1"), ("logistic", "elastic_net"), ("squared", "l1"), ("squared", "elastic_net"),
    ("squared", "group"), ("logistic", "group"),
}  # fmt: skip


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("skglm")


def modes(form: Form) -> tuple[str, ...]:
    """Working sets with Anderson-accelerated coordinate descent or proximal Newton."""
    return ("working sets",) if form.kind in KINDS else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def _model(form: Form, columns: int, tol: float) -> object:
    import skglm

    shared = {"tol": tol, "fit_intercept": False, "warm_start": True}
    if form.penalty == "group":
        return _group_model(form, columns, shared)
    if form.loss == "logistic":
        return skglm.SparseLogisticRegression(
            form.strength, l1_ratio=form.l1_ratio, max_iter=500, **shared
        )
    if form.penalty == "l1":
        return skglm.Lasso(form.strength, max_iter=500, **shared)
    return skglm.ElasticNet(form.strength, l1_ratio=form.l1_ratio, max_iter=500, **shared)


def _group_model(form: Form, columns: int, shared: dict) -> object:
    import skglm
    from skglm.datafits import LogisticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupProxNewton
    from skglm.utils.data import grp_converter

    sizes = [min(form.group, columns - j) for j in range(0, columns, form.group)]
    weights = np.sqrt(np.array(sizes, dtype=float))
    if form.loss == "squared":
        return skglm.GroupLasso(sizes, form.strength, weights=weights, max_iter=500, **shared)
    indices, pointer = grp_converter(sizes, columns)
    return skglm.GeneralizedLinearEstimator(
        LogisticGroup(pointer, indices),
        WeightedGroupL2(form.strength, weights, pointer, indices),
        GroupProxNewton(max_iter=500, **shared),
    )


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve."""
    model = _model(form, X.shape[1], tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {})


def path(
    X: Matrix, y: np.ndarray, form: Form, strengths: np.ndarray, tol: float, mode: str, threads: int
) -> tuple[np.ndarray, dict[str, object]]:
    """Least squares by its own path method, the rest by a warm-started loop."""
    model = _model(form.at(strengths[0]), X.shape[1], tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form.loss == "squared" and form.penalty != "group":
            return np.asarray(model.path(X, y, strengths)[1]).T, {}
        coefs = []
        for strength in strengths:
            model.alpha = float(strength)
            model.fit(X, y)
            coefs.append(np.ravel(model.coef_).copy())
    return np.array(coefs), {}
