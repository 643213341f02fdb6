from auctor.linear.classifier import MetricClassifier
from auctor.linear.regressor import LinearRegressor
from auctor.linear.search import MetricClassifierCV
from auctor.linear.table import TableClassifier

__all__ = ["LinearRegressor", "MetricClassifier", "MetricClassifierCV", "TableClassifier"]
