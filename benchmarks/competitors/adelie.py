"""adelie grpnet, in an environment of its own because it pins numpy 1.26.

``AUCTOR_ADELIE_PYTHON`` names its interpreter; ``.venv-adelie/bin/python`` by default.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from benchmarks.competitors import Fit
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "adelie"
layouts = ("csc", "fortran")
threads = (1, 2)
START = 1e-4


def python() -> str:
    """The interpreter that has adelie."""
    default = Path(__file__).resolve().parents[3] / ".venv-adelie" / "bin" / "python"
    return os.environ.get("AUCTOR_ADELIE_PYTHON", str(default))


def available() -> str | None:
    """A reason why it cannot be used."""
    if Path(python()).exists():
        return None
    return (
        "adelie pins numpy 1.26 and needs its own environment: python -m venv .venv-adelie && "
        ".venv-adelie/bin/pip install adelie, or set AUCTOR_ADELIE_PYTHON"
    )


def modes(form: Form) -> tuple[str, ...]:
    """The naive (residual) method."""
    good = form.loss in ("logistic", "squared") and form.penalty != "l2"
    return ("naive",) if good else ()


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """One solve."""
    coefs, work = path(X, y, form, np.array([form.strength]), tol, mode, threads)
    return Fit(coefs[-1], 0.0, work)


def path(
    X: Matrix, y: np.ndarray, form: Form, strengths: np.ndarray, tol: float, mode: str, threads: int
) -> tuple[np.ndarray, dict[str, object]]:
    """Its path over the given strengths, never ended early."""
    import adelie as ad
    from scipy.sparse import csc_matrix, issparse

    columns = X.shape[1]
    if issparse(X):
        X = csc_matrix((X.data, X.indices, X.indptr), shape=X.shape)
        matrix = ad.matrix.sparse(X, method="naive", n_threads=threads)
    else:
        matrix = ad.matrix.dense(X, method="naive", n_threads=threads)
    logistic = form.loss == "logistic"
    family = ad.glm.binomial((y > 0).astype(float)) if logistic else ad.glm.gaussian(y)
    starts = np.arange(0, columns, form.group)
    sizes = np.diff(np.append(starts, columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = ad.grpnet(
            matrix, family, groups=starts, penalty=np.sqrt(sizes), alpha=form.l1_ratio,
            lmda_path=np.asarray(strengths), intercept=False, tol=tol, irls_tol=tol,
            n_threads=threads, early_exit=False, progress_bar=False,
        )  # fmt: skip
    return np.asarray(state.betas.toarray()), {"strengths": len(strengths)}
