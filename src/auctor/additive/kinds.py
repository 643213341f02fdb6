"""Additive models as kinds of models, which the common functions of `auctor.fit` train."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from auctor.additive.bins import Bins, read_values
from auctor.additive.parameters import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    check_additive,
    check_additive_regressor,
)
from auctor.additive.train import (
    TrainedCurves,
    odds_slope,
    train_additive,
    train_additive_regressor,
)
from auctor.core.errors import Option, ParameterError
from auctor.core.types import Target
from auctor.fit.fitted import FittedClassifier, FittedRegressor, StrengthChoice
from auctor.fit.linear import Trained, unconverged
from auctor.fit.targets import Rows
from auctor.fit.train_model import FitOptions, ModelKind, P, fitted_classifier, fitted_regression


def _additive(given: AdditiveParameters, rows: Rows, options: FitOptions) -> FittedClassifier:
    """Fit the curves of an additive model."""
    found = train_additive(given, rows, options.names, options.previous, options.splits)
    search = _choice(found)
    # A search reports the solutions that missed their tolerance by itself.
    missed = unconverged(found.solutions) if search is None else []
    return replace(
        fitted_classifier(given, Trained(found.model, found.solutions), missed + found.warnings),
        search=search,
        strength=found.strength,
        odds_slope=odds_slope(found.model, rows) if found.model.binary else None,
    )


def _additive_regression(
    given: AdditiveRegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit the curves of an additive regression."""
    previous = options.previous[0] if options.previous else None
    found = train_additive_regressor(given, matrix, target, options.names, previous, options.splits)
    fitted = fitted_regression(given, found.model, found.solutions[0])
    return replace(fitted, search=_choice(found), strength=found.strength)


def _choice(found: TrainedCurves) -> StrengthChoice | None:
    """The cross-validation of the strength of an additive model, if there was one."""
    if found.strengths is None or found.scores is None:
        return None
    best = found.strengths.tolist().index(found.strength)
    return StrengthChoice(found.strengths, found.scores, best)


class CurveKind(ModelKind):
    """A kind of additive model: its columns are binned, which needs no scaling."""

    keeps_missing = True

    def scaled(self, given: P, scale: bool | None) -> P:
        """The parameters themselves; refuses to standardise columns."""
        if scale:
            raise ParameterError(
                "columns that are not standardised for an additive model, whose bins do not "
                "depend on the scale",
                got="standardise",
                todo="Drop {option}.",
                option=Option("standardise", bare=True),
            )
        return given

    def read_rows(self, X: Any) -> Any:
        """Rows as a matrix in which values may be missing."""
        return read_values(X)

    def columns_of_fit(self, given: Any, train: Any, X: Any) -> Any:
        """Rows X with the binned columns of a fit to ``train``, in which curves are linear."""
        bins = Bins.of(self.read_rows(train), None, given.n_bins)
        return bins.encoded(self.read_rows(X))


CLASSIFIER = CurveKind(AdditiveParameters, check_additive, _additive)
REGRESSOR = CurveKind(AdditiveRegressorParameters, check_additive_regressor, _additive_regression)
