"""scikit-learn estimators: validate, build a problem, minimise, store."""

from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.regressor import LinearRegressor

__all__ = ["LinearRegressor", "MetricClassifier"]
