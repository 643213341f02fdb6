"""The one function that fits a classifier, and the one that fits a regression, of any kind.

The estimators and the command line call these functions. They issue no warnings: these are part of
the result, and whoever the user called issues them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from auctor.core.result import Solution, Status
from auctor.core.types import Target
from auctor.data import as_matrix
from auctor.fit.batch import for_parts
from auctor.fit.fitted import Fitted, FittedClassifier, FittedRegressor, StrengthChoice
from auctor.fit.fold_scores import Judge, Split
from auctor.fit.linear import Trained, train_classifier, train_regressor, unconverged
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import (
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_classifier,
    check_regressor,
    check_search,
)
from auctor.fit.select import StrengthSearch
from auctor.fit.targets import Rows

P = TypeVar("P", bound=LinearParameters)


@dataclass(frozen=True, eq=False)
class FitOptions:
    """What a fit can use besides its parameters and rows.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the columns, by which ``monotone`` may call them.
    previous : sequence of solutions, optional
        Solutions of an earlier fit, for a warm start.
    splits : sequence of (train, test) rows, optional
        Folds of a search for the strength; by default ``cv`` stratified ones.
    judge : callable, optional
        Scores a model on rows in a search, greater is better; by default the metric is used. It
        needs rows that are not scaled yet.
    """

    names: Sequence[str] | None = None
    previous: Sequence[Solution | None] | None = None
    splits: Sequence[Split] | None = None
    judge: Judge | None = None


def train_model(
    given: ClassifierParameters, rows: Rows, options: FitOptions | None = None
) -> FittedClassifier:
    """Fit the classifier that the parameters ask for: linear, with a search, or additive.

    Parameters
    ----------
    given : ClassifierParameters, SearchParameters or AdditiveParameters
        A search needs ``refit``; `choose_strength` does without.
    rows : Rows
        The model is for their original columns, also if they are scaled.
    options : FitOptions, optional

    Notes
    -----
    An interrupt returns the best model so far. It is raised where there is none yet.
    """
    check_given(given)
    fitted: FittedClassifier = kind_for(given).train(given, rows, options or FitOptions())
    return fitted


def choose_strength(
    given: SearchParameters, rows: Rows, options: FitOptions | None = None
) -> Fitted[SearchParameters, LinearModel | None]:
    """Pick the strength by cross-validation; then fit to all rows if ``refit`` says so.

    Parameters are those of `train_model`.
    """
    check_given(given)
    return _searched(given, rows, options or FitOptions())


def train_regression(
    given: RegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit the regression that the parameters ask for: linear or additive."""
    check_given(given)
    fitted: FittedRegressor = kind_for(given).train(given, matrix, target, options)
    return fitted


# --- classifiers ----------------------------------------------------------------------------------


def _linear(given: ClassifierParameters, rows: Rows, options: FitOptions) -> FittedClassifier:
    """Fit at the given strength."""
    trained = train_classifier(for_parts(given, rows.total), rows, options.previous)
    return fitted_classifier(given, trained, unconverged(trained.solutions) + trained.warnings)


def _searched(
    given: SearchParameters, rows: Rows, options: FitOptions
) -> Fitted[SearchParameters, LinearModel | None]:
    """Pick the strength by cross-validation, then fit to all rows."""
    shares = for_parts(given, rows.total)
    search = StrengthSearch(shares, rows, options.splits, options.judge)
    complete = True
    try:
        search.run(options.previous)
    except KeyboardInterrupt:
        if search.trained is None:
            raise
        complete = False
    warned = search.warnings if complete else []
    found: Fitted[SearchParameters, LinearModel | None] = Fitted(given, None, warnings=warned)
    if search.trained is not None:
        found = fitted_classifier(given, search.trained, warned)
    choice = StrengthChoice(
        search.strengths, search.scores, search.best_index, search.surrogate, complete
    )
    stopped = found.interrupted or not complete
    return replace(found, search=choice, strength=search.strength, interrupted=stopped)


C = TypeVar("C", bound=ClassifierParameters)


def fitted_classifier(given: C, trained: Trained, warned: list[Warning]) -> Fitted[C, LinearModel]:
    """A model with its parameters; of an interrupted calibration without ``calibrate``."""
    # The metric is the user's: inside the fit an integer k is a share of the rows.
    model, solutions = replace(trained.model, metric=given.metric), trained.solutions
    stopped = any(solution.status is Status.INTERRUPTED for solution in solutions)
    if given.calibrate is not None and model.calibrators is None:
        given, stopped = replace(given, calibrate=None), True
    return Fitted(
        given,
        model,
        solutions,
        gap=max(solution.gap for solution in solutions),
        n_iter=max(solution.n_iter for solution in solutions),
        calibrators=model.calibrators if given.calibrate is not None else None,
        warnings=warned,
        interrupted=stopped,
    )


# --- regressions ----------------------------------------------------------------------------------


def _linear_regression(
    given: RegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit a linear regression."""
    previous = options.previous[0] if options.previous else None
    model, solution = train_regressor(given, matrix, target, previous)
    return fitted_regression(given, model, solution)


def fitted_regression(
    given: RegressorParameters, model: RegressionModel, solution: Solution
) -> FittedRegressor:
    """A regression with its parameters."""
    return Fitted(
        given,
        model,
        [solution],
        gap=solution.gap,
        n_iter=solution.n_iter,
        warnings=unconverged([solution]),
        interrupted=solution.status is Status.INTERRUPTED,
    )


# --- kinds of models ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelKind:
    """A kind of model: the class of its parameters, how they are checked, and how it is fitted."""

    parameters: type[LinearParameters]
    check: Callable[[Any], None]
    train: Callable[..., Fitted[Any, Any]]

    #: Whether rows may have missing values.
    keeps_missing: ClassVar[bool] = False

    def scaled(self, given: P, scale: bool | None) -> P:
        """The parameters with ``standardise=scale``; unchanged for ``None``."""
        return given if scale is None else replace(given, standardise=scale)

    def read_rows(self, X: Any) -> Any:
        """Rows as a matrix to which the model can be fitted."""
        return as_matrix(X)

    def columns_of_fit(self, given: Any, train: Any, X: Any) -> Any:
        """Rows X with the columns that the solver has in a fit to the rows ``train``, unscaled."""
        return self.read_rows(X)


LINEAR_CLASSIFIER = ModelKind(ClassifierParameters, check_classifier, _linear)
LINEAR_SEARCH = ModelKind(SearchParameters, check_search, _searched)
LINEAR_REGRESSOR = ModelKind(RegressorParameters, check_regressor, _linear_regression)

#: The dotted paths of every kind of model and of its estimator, by the name of the estimator.
KINDS = {
    "MetricClassifier": (
        "auctor.fit.train_model.LINEAR_CLASSIFIER",
        "auctor.linear.classifier.MetricClassifier",
    ),
    "MetricClassifierCV": (
        "auctor.fit.train_model.LINEAR_SEARCH",
        "auctor.linear.search.MetricClassifierCV",
    ),
    "LinearRegressor": (
        "auctor.fit.train_model.LINEAR_REGRESSOR",
        "auctor.linear.regressor.LinearRegressor",
    ),
    "AdditiveClassifier": (
        "auctor.additive.kinds.CLASSIFIER",
        "auctor.additive.estimators.AdditiveClassifier",
    ),
    "AdditiveRegressor": (
        "auctor.additive.kinds.REGRESSOR",
        "auctor.additive.estimators.AdditiveRegressor",
    ),
}


def _at(path: str) -> Any:
    """The object at a dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def kind_named(name: str) -> ModelKind:
    """The kind of models with a name in `KINDS`."""
    kind: ModelKind = _at(KINDS[name][0])
    return kind


def estimator_class(name: str) -> type[Any]:
    """The class of the estimator with a name in `KINDS`."""
    kind: type[Any] = _at(KINDS[name][1])
    return kind


def kind_of(given: LinearParameters) -> str:
    """The name in `KINDS` of the models that have these parameters.

    Examples
    --------
    >>> kind_of(SearchParameters("f1"))
    'MetricClassifierCV'
    """
    return given.estimator_name


def kind_for(given: LinearParameters) -> ModelKind:
    """The kind of the models that have these parameters."""
    return kind_named(given.estimator_name)


def check_given(given: LinearParameters) -> None:
    """Raise `ParameterError` for parameters with which no model can be fitted."""
    kind_for(given).check(given)
