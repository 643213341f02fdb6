"""glmnet by python-glmnet: LogitNet and ElasticNet without standardising or intercept.

Its authors advise against a single strength, so a solve is a short decreasing path to it.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "glmnet"
layouts = ("csc", "fortran")
threads = (1,)
START = 1e-4
path_modes = ("path",)
#: Steps of the short path for each decade below the top strength.
PER_DECADE = 4


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("glmnet")


def modes(form: Form) -> tuple[str, ...]:
    """A path to the strength, or the strength alone."""
    good = form.loss in ("logistic", "squared") and form.penalty in ("l1", "elastic_net")
    return ("short path", "alone") if good else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve."""
    strengths = np.array([form.strength])
    if mode == "short path":
        top = form.strength_max(X, y)
        steps = max(1, round(PER_DECADE * np.log10(max(top / form.strength, 1.0))))
        strengths = np.geomspace(top, form.strength, steps + 1)[1:]
    coefs, work = path(X, y, form, strengths, tol, mode, threads)
    return Fit(coefs[-1], 0.0, work)


def path(
    X: Matrix, y: np.ndarray, form: Form, strengths: np.ndarray, tol: float, mode: str, threads: int
) -> tuple[np.ndarray, dict[str, object]]:
    """Its path over the given strengths."""
    from glmnet import ElasticNet, LogitNet
    from scipy.sparse import csc_matrix, issparse

    if issparse(X):  # it knows the matrix classes only; this shares the memory
        X = csc_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    kind = LogitNet if form.loss == "logistic" else ElasticNet
    model = kind(
        alpha=form.l1_ratio, lambda_path=np.asarray(strengths), standardize=False,
        fit_intercept=False, n_splits=0, tol=tol, max_iter=10_000_000,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    coefs = np.asarray(model.coef_path_).reshape(X.shape[1], -1).T
    return coefs, {"strengths": len(strengths)}
