"""scikit-learn's copy of LIBLINEAR: LogisticRegression(solver="liblinear") and LinearSVC.

Dense input is turned into its own sparse rows at every fit, so it gets CSR.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "sklearn-liblinear"
layouts = ("csr",)
threads = (1,)
START = 1e-1
MODES = {
    ("logistic", "l1"): ("primal",),
    ("logistic", "l2"): ("primal", "dual"),
    ("squared_hinge", "l1"): ("primal",),
    ("squared_hinge", "l2"): ("primal", "dual"),
    ("hinge", "l2"): ("dual",),
}


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("sklearn")


def modes(form: Form) -> tuple[str, ...]:
    """Primal trust region or coordinate descent; dual coordinate descent."""
    return MODES.get(form.kind, ())


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """C = 1 / (n strength), halved for the squared hinge, which has no 1/2 there."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    C = 1.0 / (len(y) * form.strength)
    shared = {"tol": tol, "fit_intercept": False, "dual": mode == "dual", "max_iter": 100_000}
    shared["random_state"] = 0
    if form.loss == "logistic":
        ratio = 1.0 if form.penalty == "l1" else 0.0
        model = LogisticRegression(solver="liblinear", C=C, l1_ratio=ratio, **shared)
    else:
        if form.loss == "squared_hinge":
            C *= 0.5
        model = LinearSVC(penalty=form.penalty, loss=form.loss, C=C, **shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loose tolerances are expected
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {"n_iter": int(np.max(model.n_iter_))})
