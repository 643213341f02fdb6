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
from auctor.additive.train import TrainedCurves, train_additive, train_additive_regressor
from auctor.core.errors import Option, ParameterError
from auctor.core.types import Target
from auctor.fit.fitted import Fitted, FittedClassifier, FittedRegressor, StrengthChoice
from auctor.fit.linear import Trained, unconverged
from auctor.fit.targets import Rows
from auctor.fit.train_model import FitOptions, ModelKind, P, fitted_classifier


def _additive(given: AdditiveParameters, rows: Rows, options: FitOptions) -> FittedClassifier:
    """Fit the curves of an additive model."""
    found = train_additive(given, rows, options.names, options.splits)
    return replace(
        fitted_classifier(
            given, Trained(found.model, found.solutions), unconverged(found.solutions)
        ),
        warnings=unconverged(found.solutions) + found.warnings,
        calibrators=found.model.calibrators if given.calibrate is not None else None,
        search=_choice(found),
        strength=found.strength,
        odds_slope=found.odds_slope,
        oof=found.oof,
        measured=found.measured,
    )


def _additive_regression(
    given: AdditiveRegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> FittedRegressor:
    """Fit the curves of an additive regression."""
    found = train_additive_regressor(given, matrix, target, options.names, options.splits)
    return Fitted(
        given,
        found.model,
        found.solutions,
        gap=max(solution.gap for solution in found.solutions),
        n_iter=max(solution.n_iter for solution in found.solutions),
        warnings=unconverged(found.solutions) + found.warnings,
        search=_choice(found),
        strength=found.strength,
        oof=found.oof,
        measured=found.measured,
    )


def _choice(found: TrainedCurves) -> StrengthChoice | None:
    """The search for the strength of an additive model, if there was one."""
    if found.strengths.size < 2:
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
