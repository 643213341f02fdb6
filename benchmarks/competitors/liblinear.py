"""liblinear-official: the authors' own build, from scipy CSR, conversion included as in its API."""

from __future__ import annotations

import numpy as np

from benchmarks.competitors import Fit, installed
from benchmarks.problems.forms import Form
from benchmarks.problems.generated import Matrix

name = "liblinear"
layouts = ("csr",)
threads = (1,)
START = 1e-1
TYPES = {
    "l2r_lr": 0, "l2r_l2loss_dual": 1, "l2r_l2loss": 2, "l2r_l1loss_dual": 3, "l1r_l2loss": 5,
    "l1r_lr": 6, "l2r_lr_dual": 7,
}  # fmt: skip
MODES = {
    ("logistic", "l1"): ("l1r_lr",),
    ("logistic", "l2"): ("l2r_lr", "l2r_lr_dual"),
    ("squared_hinge", "l1"): ("l1r_l2loss",),
    ("squared_hinge", "l2"): ("l2r_l2loss", "l2r_l2loss_dual"),
    ("hinge", "l2"): ("l2r_l1loss_dual",),
}


def available() -> str | None:
    """A reason why it cannot be used."""
    return installed("liblinear")


def modes(form: Form) -> tuple[str, ...]:
    """Its own names."""
    return MODES.get(form.kind, ())


def refuses(form: Form, rows: int, columns: int) -> str | None:
    """Nothing."""
    return None


def fit(X: Matrix, y: np.ndarray, form: Form, tol: float, mode: str, threads: int) -> Fit:
    """C = 1 / (n strength), halved for the squared hinge; no bias term."""
    from liblinear.liblinearutil import train
    from scipy.sparse import csr_matrix

    C = 1.0 / (len(y) * form.strength * (2.0 if form.loss == "squared_hinge" else 1.0))
    # Its converter knows the matrix classes, not the array classes; this shares the memory.
    rows = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    model = train(y, rows, f"-s {TYPES[mode]} -c {C:.17g} -e {tol:.17g} -q")
    w = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
    sign = 1.0 if model.get_labels()[0] > 0 else -1.0
    coef = np.zeros(X.shape[1])
    coef[: len(w)] = sign * w  # columns after the last non-zero one are not in the model
    return Fit(coef, 0.0, {})
