"""Estimators from parameters and fitted models: the step from `auctor.training` to scikit-learn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from auctor.estimators.additive import AdditiveClassifier, AdditiveRegressor
from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.regressor import LinearRegressor
from auctor.estimators.search import MetricClassifierCV
from auctor.training.fitted import Fitted
from auctor.training.model import LinearModel, RegressionModel
from auctor.training.parameters import LinearParameters
from auctor.training.train_model import kind_of

#: Estimators by the names in `auctor.training.train_model.KINDS`.
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
    estimator, model = unfitted(fitted.given), fitted.model
    estimator.n_features_in_ = model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return estimator.adopt(fitted)
