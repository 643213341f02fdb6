"""Estimators from parameters and fitted models: the step from `auctor.fit` to scikit-learn."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

import auctor
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import LinearParameters, parameters_of
from auctor.fit.result import FitResult


def unfitted(params: LinearParameters) -> Any:
    """The estimator with these parameters, which are its own.

    Examples
    --------
    >>> from auctor.fit.parameters import SearchParameters
    >>> unfitted(SearchParameters("f1"))
    MetricClassifierCV(metric='f1')
    """
    named = {one.name: getattr(params, one.name) for one in fields(params) if one.init}
    return getattr(auctor, params.estimator_name)(**named)


def as_result(estimator: Any) -> FitResult[Any, Any]:
    """The result of the last fit of an estimator, with the parameters that it has now."""
    result: FitResult[Any, Any] = estimator.result_
    return replace(result, params=parameters_of(type(result.params), estimator))


def as_estimator(result: FitResult[LinearParameters, LinearModel | RegressionModel]) -> Any:
    """The estimator whose `fit` had this result."""
    estimator, model = unfitted(result.params), result.model
    estimator.result_, estimator.n_features_in_ = result, model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return estimator
