"""Kernel regression with scikit-learn's API: support vector regression and kernel ridge."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import Option, ParameterError
from auctor.core.types import FloatArray
from auctor.estimators.base import issue_warnings
from auctor.estimators.kernel import Kernel, KernelEstimator
from auctor.kernel_machine.machine import combine, regression, solve_dual, solve_ridge


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
    C : float > 0
        Weight of the loss of a row.
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

    _for_the_other_kind = "KernelClassifier"

    def __init__(
        self,
        kernel: Kernel = "rbf",
        *,
        loss: str = "epsilon_insensitive",
        C: float = 1.0,
        epsilon: float = 0.1,
        shift: float = 0.0,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        cache_bytes: int = 1 << 29,
        n_threads: int | None = None,
    ) -> None:
        self.kernel, self.loss, self.C, self.gamma = kernel, loss, C, gamma
        self.epsilon, self.shift = epsilon, shift
        self.degree, self.coef0 = degree, coef0
        self.tol, self.max_iter, self.cache_bytes = tol, max_iter, cache_bytes
        self.n_threads = n_threads

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        self._check_shared()
        check_choice(self._who, "loss", self.loss, ("epsilon_insensitive", "squared"))
        check_real(self._who, "epsilon", self.epsilon, low=0.0)
        check_real(self._who, "shift", self.shift)
        if self.loss == "squared" and self.shift != 0.0:
            raise ParameterError(
                self._who,
                needs="the epsilon-insensitive loss for a shift",
                got=f"shift={self.shift:g} with the squared loss",
                todo="Use {option}, or add the shift to y.",
                option=Option("loss", "epsilon_insensitive"),
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, numbers y and optional row weights, which multiply C."""
        self.check_parameters()
        matrix = self._matrix(X, reset=True)
        n = matrix.shape[0]
        target = self._read_numbers(y, n)
        weight = self._read_weight(sample_weight, n)
        caps = np.full(n, float(self.C)) if weight is None else self.C * weight
        kept = np.flatnonzero(caps)
        target, caps = target[kept], caps[kept]
        points = self._points(matrix, kept, weight)
        found = []
        if self.loss == "squared":  # a linear system instead of a dual with bounds
            beta, intercept, gap = solve_ridge(points, target, caps, self._who)
            self.n_iter_ = 1
        else:
            dual = regression(target, caps, self.epsilon, self.shift)
            one = solve_dual(points, dual, self._limits())
            # Each row has two dual variables, one for either side of the tube.
            beta, intercept, gap = (
                one.beta[: kept.size] + one.beta[kept.size :],
                one.intercept,
                one.gap,
            )
            self.n_iter_ = one.n_iter
            found = [one]
        model, support = combine(
            points, [(np.arange(kept.size), beta)], [intercept], self.n_threads
        )
        self._keep(kept, model, support)
        self.gap_ = gap / float(caps.sum())
        issue_warnings(self._warn(found))
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted targets."""
        matrix = self._matrix(X, reset=False)
        return self.model_.scores(matrix).ravel()
