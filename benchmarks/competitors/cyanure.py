"""cyanure: LogisticRegression, LinearSVC (squared hinge), Lasso, elastic net; solver="auto"."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "cyanure"
layouts = ("csr", "dense")
threads = (1, 2)
START = 1e-1
LOSSES = {"logistic": "logistic", "squared_hinge": "sqhinge", "squared": "square"}
PENALTIES = {"l1": "l1", "l2": "l2", "elastic_net": "elasticnet"}


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("cyanure")


def modes(form: Form) -> tuple[str, ...]:
    """Its own choice of QNing, Catalyst and the variance-reduced methods."""
    return ("auto",) if form.loss in LOSSES and form.penalty in PENALTIES else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve."""
    from cyanure.estimators import Classifier, Regression

    first, second = form.strength, 0.0
    if form.penalty == "elastic_net":
        first, second = form.strength * form.l1_ratio, form.strength * (1.0 - form.l1_ratio)
    shared = {
        "penalty": PENALTIES[form.penalty], "lambda_1": first, "lambda_2": second, "tol": tol,
        "fit_intercept": False, "max_iter": 100_000, "n_threads": threads, "verbose": False,
        "solver": "auto", "safe": False,
    }  # fmt: skip
    if form.loss == "squared":
        model = Regression(**shared)
    else:
        model = Classifier(loss=LOSSES[form.loss], **shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Fit(np.ravel(model.coef_), 0.0, {})
