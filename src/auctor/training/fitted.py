"""A fitted model with its parameters and the search behind it: what is measured and saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray
from auctor.data.preparation import Scaling
from auctor.training.additive import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    check_additive,
    check_additive_regressor,
)
from auctor.training.additive_model import odds_slope, train_additive
from auctor.training.batch import for_parts
from auctor.training.calibrate import Calibrator
from auctor.training.fold_scores import Split
from auctor.training.model import LinearModel
from auctor.training.parameters import (
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_classifier,
    check_regressor,
    check_search,
)
from auctor.training.scale import to_data_units
from auctor.training.select import StrengthSearch
from auctor.training.targets import Rows
from auctor.training.train import Trained, train_classifier, unconverged

P_co = TypeVar("P_co", bound=LinearParameters, covariant=True)
M_co = TypeVar("M_co", covariant=True)


class Kind(NamedTuple):
    """The class of a model's parameters, and the function that checks them."""

    parameters: type[LinearParameters]
    check: Callable[[str, Any], None]


#: Kinds of models, by the names of their estimators, which are also their names in files.
KINDS = {
    "MetricClassifier": Kind(ClassifierParameters, check_classifier),
    "MetricClassifierCV": Kind(SearchParameters, check_search),
    "LinearRegressor": Kind(RegressorParameters, check_regressor),
    "AdditiveClassifier": Kind(AdditiveParameters, check_additive),
    "AdditiveRegressor": Kind(AdditiveRegressorParameters, check_additive_regressor),
}


def kind_of(given: LinearParameters) -> str:
    """The name in `KINDS` of the models that have these parameters.

    Examples
    --------
    >>> kind_of(SearchParameters("f1"))
    'MetricClassifierCV'
    """
    return next(name for name, kind in KINDS.items() if kind.parameters is type(given))


def check_given(who: str, given: LinearParameters) -> None:
    """Raise `ParameterError` for parameters with which no model can be fitted."""
    KINDS[kind_of(given)].check(who, given)


class Search(NamedTuple):
    """The search for the strength and the surrogate: candidates, scores by fold, and choice.

    Parameters
    ----------
    strengths : array
        Candidates, decreasing.
    scores : (folds, strengths) array
        NaN where a strength was not scored on a fold.
    best_index : int
        Position of the chosen strength.
    surrogate : str, optional
        Name of the chosen surrogate, if the search chose one.
    """

    strengths: FloatArray
    scores: FloatArray
    best_index: int
    surrogate: str | None = None

    @property
    def strength(self) -> float:
        """The chosen strength."""
        return float(self.strengths[self.best_index])


@dataclass(frozen=True, eq=False)
class Fitted(Generic[P_co, M_co]):
    """A model, the parameters that it was fitted with, and how it was found.

    Parameters
    ----------
    given : parameters
        Their class says which kind of model it is; see `KINDS`.
    model : LinearModel or RegressionModel
        The model with which it predicts.
    solutions : list of Solution
        One for two classes or a regression, else one per class; empty if they are not known.
    gap, n_iter : optional
        The largest gap and number of iterations of the solutions.
    calibrators : sequence, optional
        The fitted calibrators; a model of log-odds has none here.
    search : Search, optional
    strength : float, optional
        The strength of the penalty, if a search or an additive model picked it.
    odds_slope : float, optional
        Of an additive model of two classes: see `auctor.AdditiveClassifier`.
    warnings : list of Warning
        Warnings for the user.
    interrupted : bool
        Whether the user interrupted the fit, which then has the best model so far.
    """

    given: P_co
    model: M_co
    solutions: list[Solution] = field(default_factory=list)
    gap: float | None = None
    n_iter: int | None = None
    calibrators: Sequence[Calibrator] | None = None
    search: Search | None = None
    strength: float | None = None
    odds_slope: float | None = None
    warnings: list[Warning] = field(default_factory=list)
    interrupted: bool = False


#: A fitted classifier.
FittedClassifier: TypeAlias = Fitted[ClassifierParameters, LinearModel]


def train_model(
    who: str, given: ClassifierParameters, rows: Rows, splits: Sequence[Split] | None = None
) -> FittedClassifier:
    """Fit the classifier that the parameters ask for: linear, with a search, or additive.

    Parameters
    ----------
    who : str
        Name used in messages.
    given : ClassifierParameters, SearchParameters or AdditiveParameters
        A search needs ``refit``.
    rows : Rows
    splits : sequence of (train, test) rows, optional
        Folds of a search; by default ``given.cv`` stratified ones.

    Notes
    -----
    An interrupt returns the best model so far. It is raised where there is none yet.
    """
    check_given(who, given)
    if isinstance(given, AdditiveParameters):
        return _additive(who, given, rows, splits)
    if isinstance(given, SearchParameters):
        return _searched(who, given, rows, splits)
    trained = train_classifier(who, for_parts(who, given, rows.total), rows)
    return _fitted(given, trained, unconverged(trained.solutions) + trained.warnings)


def _searched(
    who: str, given: SearchParameters, rows: Rows, splits: Sequence[Split] | None
) -> FittedClassifier:
    """Pick the strength by cross-validation, then fit to all rows."""
    search = StrengthSearch(who, for_parts(who, given, rows.total), rows, splits=splits)
    interrupted = False
    try:
        search.run()
    except KeyboardInterrupt:
        if search.trained is None:
            raise
        interrupted = True
    assert search.trained is not None  # ``refit`` is on
    found = _fitted(given, search.trained, [] if interrupted else search.warnings)
    return replace(
        found,
        search=Search(search.strengths, search.scores, search.best_index, search.surrogate),
        strength=search.strength,
        interrupted=interrupted or found.interrupted,
    )


def _additive(
    who: str, given: AdditiveParameters, rows: Rows, splits: Sequence[Split] | None
) -> FittedClassifier:
    """Fit the curves of an additive model."""
    found = train_additive(who, given, rows, splits=splits)
    # A search reports the solutions that missed their tolerance by itself.
    searched = found.strengths is not None and found.scores is not None
    missed = [] if searched else unconverged(found.solutions)
    trained = Trained(found.model, found.solutions)
    search = None
    if found.strengths is not None and found.scores is not None:
        best = found.strengths.tolist().index(found.strength)
        search = Search(found.strengths, found.scores, best)
    return replace(
        _fitted(given, trained, missed + found.warnings),
        search=search,
        strength=found.strength,
        odds_slope=odds_slope(found.model, rows) if found.model.binary else None,
    )


def _fitted(
    given: ClassifierParameters, trained: Trained, warned: list[Warning]
) -> FittedClassifier:
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


def in_data_units(fitted: FittedClassifier, scaling: Scaling) -> FittedClassifier:
    """A model of scaled columns as a model of the original columns."""
    coef, intercept = scaling.undo(fitted.model.coef, fitted.model.intercept)
    model = replace(fitted.model, coef=coef, intercept=intercept)
    return replace(fitted, model=model, solutions=to_data_units(scaling, fitted.solutions))
