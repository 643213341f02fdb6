"""The one function that fits a classifier, and the one that fits a regression, of any kind.

The estimators and the command line call these functions. They issue no warnings: these are part of
the result, and whoever the user called issues them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from auctor.core.types import Target
from auctor.data import as_matrix
from auctor.fit.batch import for_parts
from auctor.fit.guarantee import Train, guaranteed_fit
from auctor.fit.linear import classifier_result, train_classifier, train_regressor
from auctor.fit.metric import Cut, resolve_cut
from auctor.fit.model import LinearModel
from auctor.fit.parameters import (
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_classifier,
    check_regressor,
    check_search,
    states_cut,
)
from auctor.fit.prior import with_prior
from auctor.fit.result import (
    ClassifierResult,
    FitOptions,
    FitResult,
    RegressorResult,
    StrengthChoice,
)
from auctor.fit.select import StrengthSearch
from auctor.fit.targets import Rows
from auctor.kernels.runtime.parallel import limit_threads
from auctor.tables.schema import Schema

P = TypeVar("P", bound=LinearParameters)


def train_model(
    params: ClassifierParameters, rows: Rows, options: FitOptions | None = None
) -> ClassifierResult:
    """Fit the classifier that the parameters ask for: linear, with a search, or additive.

    Parameters
    ----------
    params : ClassifierParameters, SearchParameters or AdditiveParameters
        A search without ``refit`` has no model in its result.
    rows : Rows
        The model is for their original columns, also if they are scaled.

    Notes
    -----
    An interrupt returns the best model so far. It is raised where there is none yet.
    """
    check_params(params)
    train: Train = kind_for(params).train
    options = options or FitOptions()
    with limit_threads(params.n_threads):
        rule = resolve_cut(params.threshold) if states_cut(params) else None
        if isinstance(rule, Cut) and rule.confidence is not None:
            result = guaranteed_fit(params, rows, options, rule, train)
        else:
            result = train(params, rows, options)
    return result if params.prior is None else with_prior(params, rows, result)


def train_regression(
    params: RegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> RegressorResult:
    """Fit the regression that the parameters ask for: linear or additive."""
    check_params(params)
    with limit_threads(params.n_threads):
        result: RegressorResult = kind_for(params).train(params, matrix, target, options)
    return result


# --- classifiers ----------------------------------------------------------------------------------


def _searched(
    params: SearchParameters, rows: Rows, options: FitOptions
) -> FitResult[SearchParameters, LinearModel | None]:
    """Pick the strength by cross-validation, then fit to all rows."""
    search = options.explored
    if not isinstance(search, StrengthSearch):
        shares = for_parts(params, rows.total)
        search = StrengthSearch(shares, rows, options.splits, options.judge)
    try:
        if search is options.explored:
            search.finish(params, rows, options)
        else:
            search.run(options)
    except KeyboardInterrupt:
        if search.result is None:
            raise
    complete = search.complete
    warned = search.warnings if complete else []
    result: FitResult[SearchParameters, LinearModel | None] = FitResult(
        params, None, warnings=warned
    )
    if search.result is not None:
        result = classifier_result(params, search.result.model, search.result.solutions, warned)
    choice = StrengthChoice(
        search.strengths, search.scores, search.best_index, search.surrogate, complete
    )
    stopped = result.interrupted or not complete
    return replace(
        result,
        search=choice,
        strength=search.strength,
        fold_scores=search.scores[:, search.best_index],
        choice=options.choice,
        interrupted=stopped,
    )


# --- kinds of models ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """The kind of model that was chosen, and how its fit goes on.

    Parameters
    ----------
    params : SearchParameters or AdditiveParameters
    schema : Schema
        Of the columns of the model.
    rows : Rows
        To fit it to.
    options : FitOptions
        With the fits to the folds.
    matrix : callable
        Other rows of the table as those of the model.
    """

    params: ClassifierParameters
    schema: Schema
    rows: Rows
    options: FitOptions
    matrix: Callable[[Any], Any] = lambda matrix: matrix


@dataclass(frozen=True)
class ModelKind:
    """A kind of model: the class of its parameters, how they are checked, and how it is fitted."""

    parameters: type[LinearParameters]
    check: Callable[[Any], None]
    train: Callable[..., FitResult[Any, Any]]

    #: Whether rows may have missing values.
    keeps_missing: ClassVar[bool] = False
    #: Whether `choose` says which kind of model to train; else it is this one.
    competes: ClassVar[bool] = False

    def choose(self, params: Any, rows: Rows, schema: Schema, options: FitOptions) -> Plan:
        """The kind of model to train on the rows of a table."""
        return Plan(params, schema, rows, options)

    def read_rows(self, X: Any) -> Any:
        """Rows as a matrix to which the model can be fitted."""
        return as_matrix(X)

    def columns_of_fit(self, params: Any, train: Any, X: Any) -> Any:
        """Rows X with the columns that the solver has in a fit to the rows ``train``, unscaled."""
        return self.read_rows(X)


LINEAR_CLASSIFIER = ModelKind(ClassifierParameters, check_classifier, train_classifier)
LINEAR_SEARCH = ModelKind(SearchParameters, check_search, _searched)
LINEAR_REGRESSOR = ModelKind(RegressorParameters, check_regressor, train_regressor)

#: Modules that define kinds of models.
_HOMES = ("auctor.fit.train_model", "auctor.additive.kinds")


@cache
def kinds() -> dict[str, ModelKind]:
    """Every kind of model by the name of its estimator, which files have, too."""
    parts = (part for home in _HOMES for part in vars(import_module(home)).values())
    return {kind.parameters.estimator_name: kind for kind in parts if isinstance(kind, ModelKind)}


def kind_for(params: LinearParameters) -> ModelKind:
    """The kind of the models that have these parameters.

    Examples
    --------
    >>> kind_for(SearchParameters("f1")) is LINEAR_SEARCH
    True
    """
    module, _, name = params.kind.rpartition(".")
    kind: ModelKind = getattr(import_module(module), name)
    return kind


def check_params(params: LinearParameters) -> None:
    """Raise `ParameterError` for parameters with which no model can be fitted."""
    kind_for(params).check(params)
