"""Kernel regression with a shifted tube, or of a quantile, with scikit-learn's API."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, ParameterError, speaks, warn
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.data import as_matrix
from auctor.data.matrices import dense_array
from auctor.forecast.tube import Tube, certified_tube, stochastic_tube
from auctor.kernel.functions import Rbf
from auctor.kernel.machine import KernelModel, make_points, whole_matrix
from auctor.kernel.parameters import KernelParameters, kernel_width
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.linear.estimators.base import check_columns, read_numbers

#: Most rows for stochastic steps, which store the kernel (3.2 GB).
MOST_ROWS = 20_000


class ShiftedTubeRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel regression whose tube is shifted upwards, so that forecasts are rarely too low.

    Minimises ``mean loss(y - f(x) - b) + strength/2 |f|^2`` with the Gaussian kernel. The loss of a
    residual r is 0 in ``[-(epsilon + shift), epsilon - shift]`` and grows with slope 1 outside of
    it; the fit moves up by about ``shift``. With ``quantile`` it is the pinball loss instead, which
    says by how much: that share of the loads is below.

    Parameters
    ----------
    strength : float > 0
    epsilon : float >= 0
    shift : float
        Between 0 and ``epsilon`` in the thesis; in units of y.
    quantile : float in (0, 1), optional
        In place of ``epsilon`` and ``shift``.
    gamma : {"scale", "auto"} or float > 0
        Width of ``exp(-gamma |x - z|^2)``.
    solver : {"stochastic", "certified"}
        Projected stochastic subgradients around the mean of y, or the solver of `KernelRegressor`
        with an intercept and a gap.
    passes : float > 0
        Passes over the rows of the stochastic solver.
    batch : int >= 1
        Rows of one of its steps.
    tol : float > 0
        Of the certified solver, in units of y.
    random_state : int, optional
    n_threads : int, optional

    Attributes
    ----------
    objective_ : float
    gap_ : float
        Bound on its distance from the optimum; NaN of the stochastic solver.
    intercept_ : float
    dual_coef_ : (n,) array

    Examples
    --------
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(X.ravel()) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = ShiftedTubeRegressor(1e-3, quantile=0.8, solver="certified").fit(X, y)
    >>> bool(0.75 < np.mean(y <= model.predict(X)) < 0.85)
    True
    """

    def __init__(
        self, strength: float = 1e-3, *, epsilon: float = 0.05, shift: float = 0.0,
        quantile: float | None = None, gamma: float | str = "scale", solver: str = "stochastic",
        passes: float = 200.0, batch: int = 20, tol: float = 1e-3, random_state: Any = 0,
        n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.strength, self.epsilon, self.shift = strength, epsilon, shift
        self.quantile, self.gamma, self.solver = quantile, gamma, solver
        self.passes, self.batch, self.tol = passes, batch, tol
        self.random_state, self.n_threads = random_state, n_threads

    @speaks
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows and numbers."""
        tube = self._tube()
        rows = np.ascontiguousarray(dense_array(as_matrix(X)), dtype=np.float64)
        check_columns(self, X, reset=True)
        y = np.asarray(read_numbers(y, len(rows), classifier="KernelClassifier"), np.float64)
        if self.solver == "stochastic" and len(rows) > MOST_ROWS:
            raise DataError(
                f"at most {MOST_ROWS:,} rows, whose kernel the stochastic solver stores; got "
                f"{len(rows):,}. Use `solver='certified'`."
            )
        self.gamma_ = kernel_width(self.gamma, rows, None)
        # The tolerance of the solver does not depend on the unit of y.
        unit = float(np.abs(y - y.mean()).mean()) or 1.0
        points = make_points(rows, Rbf(self.gamma_), self.tol)
        params = KernelParameters(tol=self.tol * unit, n_threads=self.n_threads)
        if self.solver == "certified":
            fit, converged = certified_tube(points, y, tube, self.strength, params)
        else:
            with quiet_blas():
                fit = stochastic_tube(
                    whole_matrix(points), y, tube, self.strength,
                    passes=self.passes, batch=self.batch, rng=as_rng(self.random_state),
                )  # fmt: skip
            converged = True
        if not converged:
            warn(
                ConvergenceWarning(
                    does=f"stopped before the tolerance was met: the gap is {fit.gap:.3g}.",
                    todo="Increase `tol` or `strength`.",
                )
            )
        self.dual_coef_, self.intercept_ = fit.coef, fit.intercept
        self.objective_, self.gap_ = fit.objective, fit.gap
        self.model_ = KernelModel(
            points, fit.coef[:, None], np.array([fit.intercept]), self.n_threads
        )
        return self

    def _tube(self) -> Tube:
        check_real("strength", self.strength, low=0.0, open_low=True)
        check_real("epsilon", self.epsilon, low=0.0)
        check_real("shift", self.shift)
        check_choice("solver", self.solver, ("stochastic", "certified"))
        check_real("passes", self.passes, low=0.0, open_low=True)
        check_int("batch", self.batch, low=1)
        check_real("tol", self.tol, low=0.0, open_low=True)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_real("gamma", self.gamma, low=0.0, open_low=True)
        if self.quantile is not None:
            check_real("quantile", self.quantile, low=0.0, high=1.0, open_low=True, open_high=True)
            if self.shift != 0.0:
                raise ParameterError(
                    "one of `shift` and `quantile`, which both move the fit; got both. Drop one."
                )
        return Tube(self.epsilon, self.shift, self.quantile)

    @speaks
    def predict(self, X: Any) -> FloatArray:
        """Forecasts of rows."""
        check_is_fitted(self)
        rows = np.ascontiguousarray(dense_array(as_matrix(X)), dtype=np.float64)
        check_columns(self, X, reset=False)
        return self.model_.scores(rows).ravel()
