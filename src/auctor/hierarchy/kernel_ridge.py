"""Kernel ridge regression on the indicators of all labels, from one factorisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray
from auctor.data.matrices import dense_array
from auctor.hierarchy.decoders import coherent
from auctor.hierarchy.metrics import pooled_auprc
from auctor.hierarchy.taxonomy import Taxonomy

#: Widths of the Laplacian and the Gaussian kernel that are tried, over the number of columns.
WIDTHS = ((0.5, 0.1), (2.0, 0.3))
#: Ridges that are tried.
RIDGES = (0.03, 0.1, 0.3, 1.0, 2.0, 3.0)
#: Rows that widths and ridge are chosen on, at most: an eigendecomposition takes their cube.
MOST_CHOSEN_ON = 3500
#: Most rows, whose kernel is factorised (3.2 GB).
MOST_ROWS = 20_000
#: Rows of a chunk of predictions.
CHUNK = 2000
#: Log-odds of a score of 1; those of a score of 1/2 are 0.
CERTAIN = 4.0


class Kernel(NamedTuple):
    """The mean of a Laplacian and a Gaussian kernel on standardised columns, and a ridge."""

    laplace: float
    gauss: float
    ridge: float = 1.0

    def values(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """Kernel values of rows with rows."""
        laplace, gauss = self.laplace / one.shape[1], self.gauss / one.shape[1]
        values: FloatArray = np.exp(-laplace * cdist(one, two, "cityblock"))
        values += np.exp(-gauss * cdist(one, two, "sqeuclidean"))
        values *= 0.5
        return values


class KernelModels(NamedTuple):
    """A kernel machine with a coefficient per row and label."""

    kernel: Kernel
    centre: FloatArray
    scale: FloatArray
    rows: FloatArray
    coef: FloatArray
    intercept: FloatArray

    def scores(self, X: Any) -> FloatArray:
        """Scores (n, k) as log-odds: 0 where the regression on 0 and 1 has the value 1/2."""
        out = np.empty((X.shape[0], self.intercept.size))
        for start in range(0, X.shape[0], CHUNK):
            part = slice(start, start + CHUNK)
            rows = (dense_array(X[part]) - self.centre) / self.scale
            out[part] = self.kernel.values(rows, self.rows) @ self.coef + self.intercept
        scores: FloatArray = 2.0 * CERTAIN * (out - 0.5)
        return scores


def train_kernel(X: Any, on: Array, weight: FloatArray | None, kernel: Kernel) -> KernelModels:
    """Fit ``|S (y - mean - K a)|^2 + ridge a'Ka`` for all labels; S has the roots of the weights.

    With ``b = S^-1 a`` the equations are ``(S K S + ridge I) b = S (y - mean)``.
    """
    kept = np.arange(on.shape[0]) if weight is None else np.flatnonzero(weight)
    if kept.size > MOST_ROWS:
        raise DataError(
            f"at most {MOST_ROWS:,} rows for a kernel, whose matrix it factorises; got "
            f"{kept.size:,}. Pass a transformer such as RandomFeatures as `features=`, or fewer "
            "rows."
        )
    rows: FloatArray = np.asarray(dense_array(X[kept]), dtype=np.float64)
    labels = on[kept].astype(np.float64)
    share = np.ones(kept.size) if weight is None else weight[kept] / weight[kept].mean()
    root = np.sqrt(share)
    # Columns of mean 0 and variance 1 on the rows that are trained on.
    centre = np.average(rows, axis=0, weights=share)
    scale = np.sqrt(np.average((rows - centre) ** 2, axis=0, weights=share))
    scale[scale <= 0.0] = 1.0
    rows = (rows - centre) / scale
    mean = np.average(labels, axis=0, weights=share)
    # One factorisation, as many right-hand sides as labels.
    matrix = kernel.values(rows, rows)
    matrix *= root
    matrix *= root[:, None]
    matrix[np.diag_indices_from(matrix)] += kernel.ridge
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    coef = root[:, None] * cho_solve(
        factor, root[:, None] * (labels - mean), overwrite_b=True, check_finite=False
    )
    return KernelModels(kernel, centre, scale, rows, coef, mean)


def choose_kernel(
    X: Any, on: Array, weight: FloatArray | None, taxonomy: Taxonomy, rng: np.random.Generator
) -> Kernel:
    """Widths and ridge of the largest pooled AU(PRC) on a third of the rows that is held out."""
    kept = np.arange(on.shape[0]) if weight is None else np.flatnonzero(weight)
    order = rng.permutation(kept)[:MOST_CHOSEN_ON]
    rest, held = np.split(order, [2 * order.size // 3])
    if not rest.size or not on[held].any():
        return Kernel(*WIDTHS[0])
    tried = []
    for widths in WIDTHS:
        # All ridges of a width from one eigendecomposition.
        start = train_kernel(X[rest], on[rest], None, Kernel(*widths))
        values, vectors = np.linalg.eigh(start.kernel.values(start.rows, start.rows))
        along = vectors.T @ (on[rest] - start.intercept)
        new = (dense_array(X[held]) - start.centre) / start.scale
        new = start.kernel.values(new, start.rows) @ vectors
        for ridge in RIDGES:
            scores = new @ (along / (values + ridge)[:, None]) + start.intercept
            raised = coherent(scores, taxonomy, "raise")
            tried.append((pooled_auprc(on[held], raised), Kernel(*widths, ridge)))
    return max(tried)[1]
