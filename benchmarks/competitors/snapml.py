"""snapml: LogisticRegression primal and dual, SupportVectorMachine; the loss is a sum over rows.

Its squared hinge has no 1/2. Its hinge stalls above the optimum however tight the tolerance
(2e-3 and 2e-5 relative on two generated problems), so it may not reach the accuracies asked for.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "snapml"
layouts = ("csr", "dense")
threads = (1, 2)
START = 1e-2
MODES = {
    ("logistic", "l1"): ("primal",),
    ("logistic", "l2"): ("primal", "dual"),
    ("hinge", "l2"): ("dual",),
    ("squared_hinge", "l2"): ("dual",),
    ("squared", "l1"): ("primal",),
}


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("snapml")


def modes(form: Form) -> tuple[str, ...]:
    """Coordinate descent or dual coordinate ascent."""
    return MODES.get(form.kind, ())


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve, on the processor."""
    import snapml
    from scipy.sparse import csc_matrix, csr_matrix, issparse

    if issparse(X):  # it knows the matrix classes only; this shares the memory
        kind = csr_matrix if X.format == "csr" else csc_matrix
        X = kind((X.data, X.indices, X.indptr), shape=X.shape)
    regularizer = len(y) * form.strength * (2.0 if form.loss == "squared_hinge" else 1.0)
    shared = {
        "regularizer": regularizer, "tol": tol, "n_jobs": threads, "max_iter": 100_000,
        "fit_intercept": False, "random_state": 0,
    }  # fmt: skip
    if form.loss == "logistic":
        model = snapml.LogisticRegression(penalty=form.penalty, dual=mode == "dual", **shared)
    elif form.loss == "squared":
        model = snapml.LinearRegression(penalty=form.penalty, dual=mode == "dual", **shared)
    else:
        model = snapml.SupportVectorMachine(loss=form.loss, **shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_).astype(float), 0.0, {})
