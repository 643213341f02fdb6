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
from auctor.additive.train import CurvesFit, train_additive, train_additive_regressor
from auctor.core.types import Target
from auctor.fit.linear import classifier_result, named, unconverged
from auctor.fit.result import (
    ClassifierResult,
    FitOptions,
    FitResult,
    RegressorResult,
    StrengthChoice,
)
from auctor.fit.targets import Rows
from auctor.fit.train_model import ModelKind


def _additive(params: AdditiveParameters, rows: Rows, options: FitOptions) -> ClassifierResult:
    """Fit the curves of an additive model."""
    curves = train_additive(params, rows, options)
    model = replace(curves.model, feature_names=named(options.names))
    warned = unconverged(curves.solutions) + curves.warnings
    return replace(
        classifier_result(params, model, curves.solutions, warned),
        search=_choice(curves),
        strength=curves.strength,
        odds_slope=curves.odds_slope,
        oof=curves.oof,
        measured=curves.measured,
        interrupted=curves.interrupted,
        fold_scores=curves.fold_scores,
        choice=options.choice,
    )


def _additive_regression(
    params: AdditiveRegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> RegressorResult:
    """Fit the curves of an additive regression."""
    curves = train_additive_regressor(params, matrix, target, options)
    return FitResult(
        params,
        replace(curves.model, feature_names=named(options.names)),
        curves.solutions,
        gap=max(solution.gap for solution in curves.solutions),
        n_iter=max(solution.n_iter for solution in curves.solutions),
        warnings=unconverged(curves.solutions) + curves.warnings,
        search=_choice(curves),
        strength=curves.strength,
        oof=curves.oof,
        measured=curves.measured,
        interrupted=curves.interrupted,
    )


def _choice(curves: CurvesFit) -> StrengthChoice | None:
    """The search for the strength of an additive model, if there was one."""
    if curves.strengths.size < 2:
        return None
    best = curves.strengths.tolist().index(curves.strength)
    return StrengthChoice(curves.strengths, curves.scores, best)


class CurveKind(ModelKind):
    """A kind of additive model: its columns are binned, which needs no scaling."""

    keeps_missing = True

    def read_rows(self, X: Any) -> Any:
        """Rows as a matrix in which values may be missing."""
        return read_values(X)

    def columns_of_fit(self, params: Any, train: Any, X: Any) -> Any:
        """Rows X with the binned columns of a fit to ``train``, in which curves are linear."""
        bins = Bins.of(self.read_rows(train), None, params.n_bins)
        return bins.encoded(self.read_rows(X))


CLASSIFIER = CurveKind(AdditiveParameters, check_additive, _additive)
REGRESSOR = CurveKind(AdditiveRegressorParameters, check_additive_regressor, _additive_regression)
