"""Base class of the kernel machines: the kernel, the solver's limits, the fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, Option
from auctor.core.types import FloatArray, IntArray
from auctor.data.coerce import LARGEST
from auctor.data.matrices import dense_array, is_dense
from auctor.estimators.base import TableEstimator
from auctor.kernel_machine.dual import DualSolution
from auctor.kernel_machine.functions import KernelFunction, Linear, Polynomial, Rbf
from auctor.kernel_machine.machine import KernelModel, Limits, check_definite, make_points
from auctor.kernel_machine.points import GivenPoints, Points, ProductPoints, squared_lengths

Kernel = str | Callable[[Any, Any], Any]


class KernelEstimator(TableEstimator):
    """Base class of `KernelClassifier` and `KernelRegressor`."""

    kernel: Kernel
    C: float
    gamma: float | str
    degree: int
    coef0: float
    tol: float
    max_iter: int
    cache_bytes: int
    n_threads: int | None

    model_: KernelModel
    support_: IntArray
    dual_coef_: FloatArray
    gamma_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_shared(self) -> None:
        """Raise for invalid parameters that both estimators have."""
        who = self._who
        if not callable(self.kernel):
            check_choice(who, "kernel", self.kernel, tuple(KERNELS))
        check_real(who, "C", self.C, low=0.0, open_low=True, high=LARGEST)
        if isinstance(self.gamma, str):
            check_choice(who, "gamma", self.gamma, ("scale", "auto"))
        else:
            check_real(who, "gamma", self.gamma, low=0.0, open_low=True)
        check_int(who, "degree", self.degree, low=1)
        check_real(who, "coef0", self.coef0, low=0.0)
        check_real(who, "tol", self.tol, low=0.0, open_low=True)
        check_int(who, "max_iter", self.max_iter, low=1)
        check_int(who, "cache_bytes", self.cache_bytes, low=1)

    def _limits(self) -> Limits:
        return Limits(self.tol, self.max_iter, self.cache_bytes, self.n_threads, self._who)

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        """Rows in the format that kernels need: a C-contiguous array or a CSR matrix."""
        matrix = self._read(X, reset=reset)
        if not is_dense(matrix):
            matrix = matrix.tocsr()
        if self.kernel != "precomputed":
            return matrix
        matrix = dense_array(matrix)
        if reset and matrix.shape[0] != matrix.shape[1]:
            raise DataError(
                self._who,
                needs="a square kernel matrix",
                got=f"shape {matrix.shape}",
                todo="Pass the kernel of the training rows with themselves.",
            )
        return matrix

    def _points(self, matrix: Any, kept: IntArray, weight: FloatArray | None) -> Points:
        """The rows ``kept``, those with weight, with the kernel; sets ``gamma_``."""
        self.gamma_ = self._resolve_gamma(matrix, weight)
        kernel: Any = self.kernel
        if isinstance(kernel, str):
            kernel = KERNELS[kernel](self)
        points = make_points(matrix, kernel, self._limits())
        check_definite(points, self._who)
        return points if kept.size == points.size else points.only(kept)

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
        self.gamma_ = gamma
        kernel = KERNELS[self.kernel](self) if isinstance(self.kernel, str) else None
        if kernel is None:
            points: Points = GivenPoints(np.empty((0, self.n_features_in_)), support)
        else:
            points = ProductPoints(matrix, kernel, np.float64 if double else np.float32)
        model = KernelModel(points, coef, intercept, self.n_threads)
        self._keep(support, model, np.arange(support.size))

    def _resolve_gamma(self, matrix: Any, weight: FloatArray | None) -> float:
        """The value of ``gamma``; "scale" and "auto" as in scikit-learn, with row weights."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        n, columns = matrix.shape
        if self.gamma == "auto":
            return float(1.0 / columns)
        share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        # Weighted variance of all entries; computed without centring if the matrix is sparse.
        mean = float(np.asarray(matrix.T @ share).sum()) / columns
        if is_dense(matrix):
            spread = float(squared_lengths(matrix - mean) @ share) / columns
        else:
            spread = float(squared_lengths(matrix) @ share) / columns - mean**2
        return float(1.0 / (columns * spread)) if spread > 0.0 else 1.0

    def _warn(self, found: list[DualSolution]) -> list[Warning]:
        """A warning if solves missed the tolerance, with their largest violation."""
        late = [one for one in found if not one.converged]
        if not late:
            return []
        worst = max(one.violation for one in late)
        return [
            ConvergenceWarning(
                self._who,
                does=f"stopped after {self.max_iter} blocks: the optimality conditions are "
                f"violated by {worst:.3g}, the tolerance is {self.tol:.3g}",
                todo="Increase {option} or {option2}, or scale the columns.",
                option=(Option("max_iter", bare=True), Option("tol", bare=True)),
            )
        ]

    def _keep(self, kept: IntArray, model: KernelModel, support: IntArray) -> None:
        self.model_, self.support_ = model, kept[support]
        self.dual_coef_, self.intercept_ = model.coef.T, model.intercept


#: Kernel functions by name; None means that X holds kernel values.
KERNELS: dict[str, Callable[[KernelEstimator], KernelFunction | None]] = {
    "linear": lambda given: Linear(),
    "poly": lambda given: Polynomial(given.gamma_, given.degree, given.coef0),
    "rbf": lambda given: Rbf(given.gamma_),
    "precomputed": lambda given: None,
}
