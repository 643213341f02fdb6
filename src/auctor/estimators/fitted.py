"""Estimators from parameters and fitted models: the step from `auctor.training` to scikit-learn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from auctor.estimators.additive import AdditiveClassifier, AdditiveRegressor
from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.regressor import LinearRegressor
from auctor.estimators.search import MetricClassifierCV
from auctor.training.additive_model import Curves
from auctor.training.fitted import Fitted, kind_of
from auctor.training.model import LinearModel, RegressionModel
from auctor.training.parameters import LinearParameters

#: Estimators by the names in `auctor.training.fitted.KINDS`.
ESTIMATORS: dict[str, type[Any]] = {
    one.__name__: one
    for one in (
        MetricClassifier,
        MetricClassifierCV,
        LinearRegressor,
        AdditiveClassifier,
        AdditiveRegressor,
    )
}


def unfitted(given: LinearParameters) -> Any:
    """The estimator with these parameters, which are its own.

    Examples
    --------
    >>> from auctor.training.parameters import SearchParameters
    >>> unfitted(SearchParameters("f1"))
    MetricClassifierCV(metric='f1')
    """
    named = {one.name: getattr(given, one.name) for one in fields(given) if one.init}
    return ESTIMATORS[kind_of(given)](**named)


def as_estimator(fitted: Fitted[LinearParameters, LinearModel | RegressionModel]) -> Any:
    """The estimator of a fitted model, with its attributes as after `fit`."""
    estimator, model, solutions = unfitted(fitted.given), fitted.model, fitted.solutions
    estimator.n_features_in_ = model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    if isinstance(model, LinearModel):
        estimator.classes_, estimator.threshold_ = model.classes, model.threshold
        estimator.pos_label_ = model.classes[model.positive] if model.binary else None
        estimator.coef_, estimator.intercept_ = model.coef, model.intercept
    else:
        estimator.coef_, estimator.intercept_ = model.coef[0], float(model.intercept[0])
        if solutions and np.array_equal(solutions[0].coef, estimator.coef_):
            estimator.coef_ = solutions[0].coef  # one array, as after a fit
    if isinstance(model, Curves):
        estimator.bins_, estimator.signs_ = model.bins, model.signs
        if model.bands is not None:
            estimator.bands_ = model.bands
    if solutions:
        estimator.solution_ = solutions if len(solutions) > 1 else solutions[0]
    # Attributes that a fit sets only if it had them.
    found = fitted.search
    optional = {
        "calibrators_": None if fitted.calibrators is None else list(fitted.calibrators),
        "gap_": fitted.gap,
        "n_iter_": fitted.n_iter,
        "strength_": fitted.strength,
        "odds_slope_": fitted.odds_slope,
        "strengths_": None if found is None else found.strengths,
        "scores_": None if found is None else found.scores,
        "best_index_": None if found is None else found.best_index,
        "surrogate_": None if found is None else found.surrogate,
    }
    for name, value in optional.items():
        if value is not None:
            setattr(estimator, name, value)
    return estimator
