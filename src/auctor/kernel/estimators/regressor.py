"""Kernel regression with scikit-learn's API: support vector regression and kernel ridge."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from sklearn.base import RegressorMixin

from auctor.core.checks import named_parameters
from auctor.core.errors import speaks
from auctor.core.types import FloatArray, Target
from auctor.data.coerce import refuse_swapped
from auctor.fit.parameters import parameters_of
from auctor.kernel.estimators.base import KernelEstimator
from auctor.kernel.parameters import Kernel
from auctor.kernel.train import (
    KernelRegressorParameters,
    check_kernel_regressor,
    train_kernel_regressor,
)
from auctor.linear.estimators.base import issue_warnings, read_numbers, read_weight


# A dataclass of its own, so that errors on unknown parameters name this class.
@named_parameters
@dataclass(eq=False, repr=False)
class KernelRegressor(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Regression by a function that is linear in a kernel's features.

    Minimises ``|f|^2/2 + C sum_i w_i loss(y_i - f(x_i) - b)``. The loss of a residual r is the
    epsilon-insensitive one, ``max(0, |r + shift| - epsilon)``, or ``r^2/2``, which is kernel ridge
    regression with strength ``1 / C`` and an intercept.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        As in `KernelClassifier`.
    loss : {"epsilon_insensitive", "squared"}
        "squared" factorises the kernel matrix and takes at most 20,000 rows.
    strength, C : float > 0, optional
        As in `KernelClassifier`.
    epsilon : float >= 0
        Half the width of the tube of residuals without loss.
    shift : float
        Shift of the tube. If it is positive, predictions below the target are penalised earlier
        than those above it.
    gamma, degree, coef0, tol, max_iter, cache_bytes, n_threads
        As in `KernelClassifier`; ``tol`` in units of the target.

    Attributes
    ----------
    support_ : (n_support,) int array
        Indices of the support vectors.
    dual_coef_ : (1, n_support) array
    intercept_ : (1,) array
    gap_ : float
        Duality gap divided by ``C sum_i w_i``.
    n_iter_ : int
        Number of pair updates; 1 for the squared loss.
    gamma_ : float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> y = np.sin(X.ravel())
    >>> model = KernelRegressor(C=10.0, epsilon=0.01).fit(X, y)
    >>> float(np.abs(model.predict(X) - y).max()) < 0.02
    True
    """

    kernel: Kernel = "rbf"
    _: KW_ONLY
    strength: float | None = None
    C: float | None = None
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1
    shift: float = 0.0
    tol: float = 1e-3
    max_iter: int = 10_000
    cache_bytes: int = 1 << 29
    n_threads: int | None = None

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_kernel_regressor(parameters_of(KernelRegressorParameters, self))

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, numbers y and optional row weights, which multiply C."""
        self.check_parameters()
        refuse_swapped(X, y)
        matrix = self._matrix(X, reset=True)
        n = matrix.shape[0]
        target = Target(
            read_numbers(y, n, classifier="KernelClassifier"), read_weight(sample_weight, n)
        )
        params = parameters_of(KernelRegressorParameters, self)
        result = train_kernel_regressor(params, matrix, target)
        self._keep(result)
        issue_warnings(result.warnings)
        return self

    @speaks
    def predict(self, X: Any) -> FloatArray:
        """Predicted targets."""
        matrix = self._matrix(X, reset=False)
        return self.model_.scores(matrix).ravel()
