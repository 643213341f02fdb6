"""scikit-learn estimators: validate, build a problem, minimise, store."""

from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.regressor import LinearRegressor
from auctor.estimators.search import MetricClassifierCV

__all__ = ["LinearRegressor", "MetricClassifier", "MetricClassifierCV"]
