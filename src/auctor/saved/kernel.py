"""Kernel machines in files: support vectors, coefficients and kernel width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from auctor.core.codec import floats, whole
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.matrices import is_dense, join_compressed
from auctor.fit.calibrate import Isotonic, Sigmoid
from auctor.saved.classes import KERNEL
from auctor.saved.values import check_calibrators, check_labels, need
from auctor.saved.whole import SavedEstimator


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """The arrays of a CSR matrix."""

    indptr: IntArray
    indices: IntArray
    data: FloatArray

    def matrix(self, shape: tuple[int, int]) -> Any:
        """The matrix, with finite values."""
        need(self.indptr.size == shape[0] + 1, "rows of its support")
        floats(self.data, (self.data.size,))
        matrix = join_compressed(self.data, self.indices, self.indptr, shape)
        matrix.check_format(full_check=True)
        return matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedKernel(SavedEstimator):
    """A kernel machine; ``rows`` are its support vectors, ``None`` for a precomputed kernel."""

    support: IntArray
    coef: FloatArray
    intercept: FloatArray
    rows: FloatArray | CompressedRows | None
    double: bool
    gap: float
    gamma: float
    n_iter: int
    classes: Array | None = None
    positive: int = 1
    threshold: float = 0.0
    dual_value: float | None = None
    calibrators: list[Sigmoid | Isotonic] | None = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The fitted values of a kernel machine."""
        points = estimator.model_.points
        values = vars(estimator)
        decision: dict[str, Any] = {}
        if hasattr(estimator, "class_scores_"):
            positive, threshold = estimator.class_scores_.positive, estimator.threshold_[0]
            decision = {"positive": int(positive), "threshold": float(threshold)}
            decision["classes"] = estimator.classes_
        return cls(
            **cls.parameters(estimator),
            support=np.asarray(estimator.support_, np.int64),
            coef=estimator.model_.coef,
            intercept=estimator.model_.intercept,
            rows=None if estimator.kernel == "precomputed" else _rows(points.matrix),
            double=bool(points.dtype == np.float64),
            **{name: values[f"{name}_"] for name in ("gap", "gamma", "n_iter")},
            **{name: values.get(f"{name}_") for name in ("dual_value", "calibrators")},
            **decision,
        )

    def estimator(self) -> Any:
        """The fitted estimator, checked; imports scikit-learn."""
        need(self.name in KERNEL, "a kernel machine")
        estimator, support, d = self.unfitted(), self.support, self.n_features
        estimator.check_parameters()
        count = 1  # score functions
        need((self.classes is None) == (self.name == "KernelRegressor"), "a list of classes")
        if self.classes is not None:
            classes, threshold = check_labels(self.classes), self.threshold
            need(self.positive in (0, 1), "a positive class that is the first or the second")
            need(bool(np.isfinite(threshold)), "a finite threshold")
            need(classes.size == 2 or threshold == 0.0, "a threshold of two classes")
            estimator.keep_classes(classes, self.positive, threshold)
            count = estimator.n_scores
            need(self.dual_value is not None, "a dual value")
            estimator.dual_value_ = self.dual_value
            check_calibrators(self.calibrators, 1 if classes.size == 2 else classes.size)
            calibrated = self.calibrators is not None
            need(calibrated == (estimator.calibrate is not None), "calibrators as calibrate says")
            if calibrated:
                estimator.calibrators_ = self.calibrators
        # Positions of the support vectors increase; coefficients and rows must match their number.
        need(support.ndim == 1 and bool((np.diff(support, prepend=-1) > 0).all()), "support")
        floats(self.coef, (support.size, count))
        floats(self.intercept, (count,))
        need((self.rows is None) == (estimator.kernel == "precomputed"), "rows of its support")
        rows: Any = self.rows
        if rows is None:
            need(bool((support < d).all()), "support among the columns of the kernel matrix")
        elif isinstance(rows, CompressedRows):
            rows = rows.matrix((support.size, d))
        else:
            floats(rows, (support.size, d))
        need(bool(np.isfinite(self.gamma)) and self.gamma > 0.0, "a width of the kernel")
        estimator.gap_, estimator.n_iter_ = self.gap, whole(self.n_iter)
        estimator.adopt(
            support, rows, self.coef, self.intercept, gamma=self.gamma, double=self.double
        )
        return estimator


def _rows(matrix: Any) -> FloatArray | CompressedRows:
    """The support vectors for a file."""
    if is_dense(matrix):
        return np.asarray(matrix, dtype=np.float64)
    indptr, indices = (getattr(matrix, part).astype(np.int64) for part in ("indptr", "indices"))
    return CompressedRows(indptr, indices, matrix.data.astype(np.float64))
