"""Estimators from parameters and fitted models: the step from `auctor.fit` to scikit-learn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from auctor.fit.fitted import Fitted
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import LinearParameters
from auctor.fit.train_model import estimator_class, kind_of


def unfitted(given: LinearParameters) -> Any:
    """The estimator with these parameters, which are its own.

    Examples
    --------
    >>> from auctor.fit.parameters import SearchParameters
    >>> unfitted(SearchParameters("f1"))
    MetricClassifierCV(metric='f1')
    """
    named = {one.name: getattr(given, one.name) for one in fields(given) if one.init}
    return estimator_class(kind_of(given))(**named)


def as_estimator(fitted: Fitted[LinearParameters, LinearModel | RegressionModel]) -> Any:
    """The estimator of a fitted model, with its attributes as after `fit`."""
    estimator, model = unfitted(fitted.given), fitted.model
    estimator.n_features_in_ = model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return estimator.adopt(fitted)
