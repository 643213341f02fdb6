from auctor.linear.estimators.classifier import MetricClassifier as MetricClassifier
from auctor.linear.estimators.regressor import LinearRegressor as LinearRegressor
from auctor.linear.estimators.search import MetricClassifierCV as MetricClassifierCV
from auctor.linear.estimators.table import TableClassifier as TableClassifier

__all__: list[str]
