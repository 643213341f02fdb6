"""Base class of the kernel machines: reading rows, and the attributes of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from auctor.core.errors import DataError, NotOfferedError, speaks
from auctor.core.types import FloatArray, IntArray
from auctor.data.matrices import dense_array, is_dense
from auctor.kernel.machine import KernelModel
from auctor.kernel.parameters import Kernel
from auctor.kernel.train import TrainedKernel, stored_model
from auctor.linear.estimators.base import read_matrix
from auctor.linear.offered import offered_if


def refuse_reasons(estimator: Any) -> None:
    """Raise: the score of a kernel machine is no sum over columns."""
    raise NotOfferedError(
        f"a score that is a sum over columns for reasons; got {type(estimator).__name__}. Use "
        "MetricClassifier, AdditiveClassifier or TableClassifier."
    )


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of `KernelClassifier` and `KernelRegressor`."""

    kernel: Kernel
    model_: KernelModel
    support_: IntArray
    gamma_: float
    gap_: float
    n_iter_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @offered_if(refuse_reasons)
    def reasons(self, X: Any, k: int = 4) -> None:
        """Not offered: the score is no sum over columns. Additive and linear models have it."""

    @speaks
    def adopt(
        self,
        support: IntArray,
        matrix: Any,
        coef: FloatArray,
        intercept: FloatArray,
        *,
        gamma: float,
        double: bool,
    ) -> None:
        """Set the attributes of a fitted model, such as one read from a file.

        ``matrix`` has the support vectors, None for a precomputed kernel. ``double`` says whether
        products are computed in float64 rather than float32.
        """
        rows = np.empty((0, self.n_features_in_)) if matrix is None else matrix
        model = stored_model(self, rows, support, coef, intercept, gamma=gamma, double=double)
        self._keep_model(model, support, gamma)

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        """Rows in the format that kernels need: a C-contiguous array or a CSR matrix."""
        matrix = read_matrix(self, X, reset=reset)
        if not is_dense(matrix):
            matrix = matrix.tocsr()
        if self.kernel != "precomputed":
            return matrix
        matrix = dense_array(matrix)
        if reset and matrix.shape[0] != matrix.shape[1]:
            raise DataError(
                f"a square kernel matrix; got shape {matrix.shape}. Pass that among training rows."
            )
        return matrix

    def _keep(self, result: TrainedKernel) -> None:
        """Store a fitted model as attributes."""
        self._keep_model(result.model, result.support, result.gamma)
        self.gap_ = result.gap
        # The squared loss has no solution of a dual; its linear system counts as one iteration.
        self.n_iter_ = max((one.n_iter for one in result.solutions), default=1)

    def _keep_model(self, model: KernelModel, support: IntArray, gamma: float) -> None:
        self.model_, self.support_, self.gamma_ = model, support, gamma

    @property
    def dual_coef_(self) -> FloatArray:
        """Coefficients of the support vectors in each score function."""
        return self.model_.coef.T

    @property
    def intercept_(self) -> FloatArray:
        """Constant of each score function."""
        return self.model_.intercept
