"""Linear regression with any of the regression losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, RegressorMixin

from auctor.core.checks import named_parameters
from auctor.core.errors import speaks
from auctor.core.types import FloatArray, Target
from auctor.data.coerce import refuse_swapped
from auctor.fit.model import RegressionModel
from auctor.fit.parameters import RegressorParameters, parameters_of
from auctor.fit.reasons import Reasons
from auctor.fit.result import FitOptions, RegressorResult
from auctor.fit.train_model import check_params, train_regression
from auctor.linear.estimators.base import (
    OfFit,
    OfModel,
    by_partition,
    issue_warnings,
    one_or_all,
    read_matrix,
    read_numbers,
    read_weight,
    start_of,
    take_start,
)


@named_parameters
@dataclass(eq=False, repr=False)
class LinearRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear model ``X w + intercept`` fitted by a chosen loss and penalty.

    Minimises the weighted mean of the loss plus ``strength`` times the penalty.

    Parameters
    ----------
    loss : str or loss object
        "squared", "huber", "absolute", "quantile", "epsilon_insensitive", "poisson" and "gamma"
        (log link), or an object such as ``auctor.losses.Quantile(0.9)``.
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

    loss: Any = "squared"
    _: KW_ONLY
    penalty: Any = "l2"
    strength: float = 1e-4
    l1_ratio: float | None = None
    solver: Any = "auto"
    fit_intercept: bool = True
    standardise: bool | str = "auto"
    tol: float = 1e-4
    max_iter: int = 1000
    max_seconds: float | None = None
    n_threads: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0

    #: The class of the parameters, which training functions take.
    _parameters: ClassVar[type[RegressorParameters]] = RegressorParameters
    result_: RegressorResult = field(init=False)

    model_ = OfFit[RegressionModel](lambda result: result.model)
    coef_ = OfModel[FloatArray](lambda model: model.coef[0])
    intercept_ = OfModel[float](lambda model: float(model.intercept[0]))
    gap_ = OfFit[float](lambda result: result.gap)
    n_iter_ = OfFit[int](lambda result: result.n_iter)
    solution_ = OfFit[Any](lambda result: one_or_all(result.solutions))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, numbers y and optional row weights."""
        params = parameters_of(self._parameters, self)
        check_params(params)
        refuse_swapped(X, y)
        matrix = self._read(X, reset=True)
        n = matrix.shape[0]
        numbers = read_numbers(y, n, classifier="MetricClassifier")
        target = Target(numbers, read_weight(sample_weight, n))
        result = train_regression(params, matrix, target, self._options(target))
        self.result_ = replace(result, warnings=[])
        issue_warnings(result.warnings)
        return self

    @speaks
    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_params(parameters_of(self._parameters, self))

    @speaks
    def continue_from(self, other: Any) -> Self:
        """Start the next `fit` where another one stopped, as in `MetricClassifier`."""
        self._start = start_of(other)
        return self

    @speaks
    @by_partition
    def predict(self, X: Any) -> FloatArray:
        """Predicted target, through the inverse link of the loss."""
        matrix = self._read(X, reset=False)
        return self.model_.predict(matrix)

    @speaks
    def reasons(
        self,
        X: Any,
        k: int = 4,
        *,
        baseline: str = "mean",
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> Reasons:
        """The k columns that raise the score of each row most, as `MetricClassifier.reasons`.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0]])
        >>> found = LinearRegressor(strength=0.0).fit(X, X @ [1.0, -2.0]).reasons(X, 1)
        >>> found.names.ravel().tolist(), found.parts.ravel().round(6).tolist()
        (['x1', 'x1', 'x0'], [4.0, 2.0, 1.0])
        """
        return self.model_.reasons_in(self._read(X, reset=False), k, baseline, texts)

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of X; names and number of columns are stored, or checked against `fit`."""
        return read_matrix(self, X, reset=reset)

    def _options(self, target: Target) -> FitOptions:
        """What the fit uses besides parameters and rows."""
        return take_start(self)
