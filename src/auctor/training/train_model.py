"""The one function that fits a classifier, and the one that fits a regression, of any kind.

The estimators and the command line call these functions. They issue no warnings: these are part of
the result, and whoever the user called issues them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from auctor.core.errors import Option, ParameterError
from auctor.core.result import Solution, Status
from auctor.core.types import Target
from auctor.data import as_matrix
from auctor.training.additive import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    check_additive,
    check_additive_regressor,
)
from auctor.training.additive_training import (
    TrainedCurves,
    odds_slope,
    train_additive,
    train_additive_regressor,
)
from auctor.training.batch import for_parts
from auctor.training.bins import Bins, read_values
from auctor.training.fitted import Fitted, FittedClassifier, FittedRegressor, StrengthChoice
from auctor.training.fold_scores import Judge, Split
from auctor.training.linear import Trained, train_classifier, train_regressor, unconverged
from auctor.training.model import LinearModel, RegressionModel
from auctor.training.parameters import (
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_classifier,
    check_regressor,
    check_search,
)
from auctor.training.select import StrengthSearch
from auctor.training.targets import Rows

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
    who: str, given: ClassifierParameters, rows: Rows, options: FitOptions | None = None
) -> FittedClassifier:
    """Fit the classifier that the parameters ask for: linear, with a search, or additive.

    Parameters
    ----------
    who : str
        Name used in messages.
    given : ClassifierParameters, SearchParameters or AdditiveParameters
        A search needs ``refit``; `choose_strength` does without.
    rows : Rows
        The model is for their original columns, also if they are scaled.
    options : FitOptions, optional

    Notes
    -----
    An interrupt returns the best model so far. It is raised where there is none yet.
    """
    check_given(who, given)
    fitted: FittedClassifier = kind_for(given).train(who, given, rows, options or FitOptions())
    return fitted


def choose_strength(
    who: str, given: SearchParameters, rows: Rows, options: FitOptions | None = None
) -> Fitted[SearchParameters, LinearModel | None]:
    """Pick the strength by cross-validation; then fit to all rows if ``refit`` says so.

    Parameters are those of `train_model`.
    """
    check_given(who, given)
    return _searched(who, given, rows, options or FitOptions())


def train_regression(
    who: str, given: RegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit the regression that the parameters ask for: linear or additive."""
    check_given(who, given)
    fitted: FittedRegressor = kind_for(given).train(who, given, matrix, target, options)
    return fitted


# --- classifiers ----------------------------------------------------------------------------------


def _linear(
    who: str, given: ClassifierParameters, rows: Rows, options: FitOptions
) -> FittedClassifier:
    """Fit at the given strength."""
    trained = train_classifier(who, for_parts(who, given, rows.total), rows, options.previous)
    return _fitted(given, trained, unconverged(trained.solutions) + trained.warnings)


def _searched(
    who: str, given: SearchParameters, rows: Rows, options: FitOptions
) -> Fitted[SearchParameters, LinearModel | None]:
    """Pick the strength by cross-validation, then fit to all rows."""
    shares = for_parts(who, given, rows.total)
    search = StrengthSearch(who, shares, rows, options.splits, options.judge)
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
        found = _fitted(given, search.trained, warned)
    choice = StrengthChoice(
        search.strengths, search.scores, search.best_index, search.surrogate, complete
    )
    stopped = found.interrupted or not complete
    return replace(found, search=choice, strength=search.strength, interrupted=stopped)


def _additive(
    who: str, given: AdditiveParameters, rows: Rows, options: FitOptions
) -> FittedClassifier:
    """Fit the curves of an additive model."""
    found = train_additive(who, given, rows, options.names, options.previous, options.splits)
    search = _choice(found)
    # A search reports the solutions that missed their tolerance by itself.
    missed = unconverged(found.solutions) if search is None else []
    return replace(
        _fitted(given, Trained(found.model, found.solutions), missed + found.warnings),
        search=search,
        strength=found.strength,
        odds_slope=odds_slope(found.model, rows) if found.model.binary else None,
    )


C = TypeVar("C", bound=ClassifierParameters)


def _fitted(given: C, trained: Trained, warned: list[Warning]) -> Fitted[C, LinearModel]:
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
    who: str, given: RegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit a linear regression."""
    previous = options.previous[0] if options.previous else None
    model, solution = train_regressor(who, given, matrix, target, previous)
    return _fitted_regression(given, model, solution)


def _additive_regression(
    who: str, given: AdditiveRegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit the curves of an additive regression."""
    previous = options.previous[0] if options.previous else None
    found = train_additive_regressor(
        who, given, matrix, target, options.names, previous, options.splits
    )
    fitted = _fitted_regression(given, found.model, found.solutions[0])
    return replace(fitted, search=_choice(found), strength=found.strength)


def _fitted_regression(
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


def _choice(found: TrainedCurves) -> StrengthChoice | None:
    """The cross-validation of the strength of an additive model, if there was one."""
    if found.strengths is None or found.scores is None:
        return None
    best = found.strengths.tolist().index(found.strength)
    return StrengthChoice(found.strengths, found.scores, best)


# --- kinds of models ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelKind:
    """A kind of model: the class of its parameters, how they are checked, and how it is fitted."""

    parameters: type[LinearParameters]
    check: Callable[[str, Any], None]
    train: Callable[..., Fitted[Any, Any]]

    #: Whether rows may have missing values.
    keeps_missing: ClassVar[bool] = False

    def scaled(self, who: str, given: P, scale: bool | None) -> P:
        """The parameters with ``standardise=scale``; unchanged for ``None``."""
        return given if scale is None else replace(given, standardise=scale)

    def read_rows(self, who: str, X: Any) -> Any:
        """Rows as a matrix to which the model can be fitted."""
        return as_matrix(X, who=who)

    def columns_of_fit(self, who: str, given: Any, train: Any, X: Any) -> Any:
        """Rows X with the columns that the solver has in a fit to the rows ``train``, unscaled."""
        return self.read_rows(who, X)


class CurveKind(ModelKind):
    """A kind of additive model: its columns are binned, which needs no scaling."""

    keeps_missing = True

    def scaled(self, who: str, given: P, scale: bool | None) -> P:
        """The parameters themselves; refuses to standardise columns."""
        if scale:
            raise ParameterError(
                who,
                needs="columns that are not standardised for an additive model, whose bins do not "
                "depend on the scale",
                got="standardise",
                todo="Drop {option}.",
                option=Option("standardise", bare=True),
            )
        return given

    def read_rows(self, who: str, X: Any) -> Any:
        """Rows as a matrix in which values may be missing."""
        return read_values(X, who)

    def columns_of_fit(self, who: str, given: Any, train: Any, X: Any) -> Any:
        """Rows X with the binned columns of a fit to ``train``, in which curves are linear."""
        bins = Bins.of(self.read_rows(who, train), None, given.n_bins)
        return bins.encoded(self.read_rows(who, X))


#: Kinds of models, by the names of their estimators, which are also their names in files.
KINDS = {
    "MetricClassifier": ModelKind(ClassifierParameters, check_classifier, _linear),
    "MetricClassifierCV": ModelKind(SearchParameters, check_search, _searched),
    "LinearRegressor": ModelKind(RegressorParameters, check_regressor, _linear_regression),
    "AdditiveClassifier": CurveKind(AdditiveParameters, check_additive, _additive),
    "AdditiveRegressor": CurveKind(
        AdditiveRegressorParameters, check_additive_regressor, _additive_regression
    ),
}


def kind_of(given: LinearParameters) -> str:
    """The name in `KINDS` of the models that have these parameters.

    Examples
    --------
    >>> kind_of(SearchParameters("f1"))
    'MetricClassifierCV'
    """
    return next(name for name, kind in KINDS.items() if kind.parameters is type(given))


def kind_for(given: LinearParameters) -> ModelKind:
    """The kind of the models that have these parameters."""
    return KINDS[kind_of(given)]


def check_given(who: str, given: LinearParameters) -> None:
    """Raise `ParameterError` for parameters with which no model can be fitted."""
    kind_for(given).check(who, given)
