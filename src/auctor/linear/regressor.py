"""Linear regression with any of the regression losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from auctor.core.errors import speaks
from auctor.core.result import Solution
from auctor.core.types import FloatArray, Target
from auctor.fit.fitted import Fitted
from auctor.fit.model import RegressionModel
from auctor.fit.parameters import LinearParameters, RegressorParameters
from auctor.fit.train_model import FitOptions, train_regression
from auctor.linear.base import LinearEstimator
from auctor.linear.cluster import by_partition
from auctor.linear.fit_warnings import issue_warnings


class RegressorAttributes:
    """Types of the attributes that a fit sets."""

    solution_: Solution


@dataclass(eq=False, repr=False)
class LinearRegressor(
    RegressorMixin,  # type: ignore[misc]
    RegressorAttributes,
    LinearEstimator,
    RegressorParameters,
):
    """Linear model ``X w + intercept`` fitted by a chosen loss and penalty.

    Minimises the weighted mean of the loss plus ``strength`` times the penalty.

    Parameters
    ----------
    loss : str or loss object
        "squared", "huber", "absolute", "quantile", "epsilon_insensitive", "poisson" (log link), or
        an object such as ``auctor.losses.Quantile(0.9)``.
    penalty : {"l2", "l1", "elastic_net", "none"} or penalty object
        A penalty object has its own strength.
    strength : float >= 0
        Multiplier of the penalty.
    l1_ratio : float in [0, 1], optional
        Share of l1 in the elastic net, 0.5 by default.
    solver : str or solver object
        "auto" follows the table in `auctor.solvers.choose`.
    fit_intercept : bool
        The intercept is never penalised.
    standardise : "auto" or bool
        Whether columns are scaled to unit standard deviation inside the fit, as in
        `MetricClassifier`: the penalty acts on the scaled columns, ``coef_`` is in data units.
    tol : float
        Gap to reach, as a fraction of the loss of the best constant prediction.
    max_iter : int
    max_seconds : float, optional
    n_threads : int, optional
    warm_start : bool
        Start from the previous fit.
    random_state : int, optional
        Seeds randomised solvers; None is the same seed every time.
    verbose : int
        1 writes a line per iteration to the error stream.

    Attributes
    ----------
    coef_ : (d,) array
    intercept_ : float
    gap_ : float
        Bound on the distance to the optimal objective (see ``solution_.certified``).
    n_iter_ : int
    solution_ : Solution

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> LinearRegressor("absolute", penalty="none").fit(X, 2 * X.ravel() + 1).coef_.round(3)
    array([2.])
    """

    _for_the_other_kind = "MetricClassifier"
    _parameters: ClassVar[type[LinearParameters]] = RegressorParameters

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, numbers y and optional row weights."""
        issue_warnings(self._train(X, y, sample_weight))
        return self

    def _train(self, X: Any, y: Any, sample_weight: Any) -> list[Warning]:
        """Fit to rows and store the result; returns the warnings for `fit` to issue."""
        self.check_parameters()
        matrix = self._read(X, reset=True)
        n = matrix.shape[0]
        target = Target(self._read_numbers(y, n), self._read_weight(sample_weight, n))
        options = self._options(target)
        fitted = train_regression(self._given(), matrix, target, options)
        self.adopt(fitted)
        return fitted.warnings

    def _options(self, target: Target) -> FitOptions:
        """What the fit uses besides parameters and rows."""
        return FitOptions(names=self._feature_names(), previous=self._previous())

    @speaks
    def adopt(self, fitted: Fitted[Any, Any]) -> Self:
        """Show a fitted model as attributes; those that only an earlier fit had are removed."""
        super().adopt(fitted)
        if fitted.solutions and np.array_equal(fitted.solutions[0].coef, self.coef_):
            self.coef_ = fitted.solutions[0].coef  # one array in memory instead of two
        return self

    def _shown(self, model: Any) -> dict[str, Any]:
        return {"coef_": model.coef[0], "intercept_": float(model.intercept[0])}

    @by_partition
    @speaks
    def predict(self, X: Any) -> FloatArray:
        """Predicted target, through the inverse link of the loss."""
        matrix = self._read(X, reset=False)
        return self.to_model().predict(matrix)

    @speaks
    def to_model(self) -> RegressionModel:
        """The fitted coefficients as a model that predicts without scikit-learn."""
        return RegressionModel(
            coef=self.coef_[None, :],
            intercept=np.array([self.intercept_]),
            feature_names=self._feature_names(),
            loss=self.loss,
            n_threads=self.n_threads,
        )
