from auctor.linear.classifier import MetricClassifier as MetricClassifier
from auctor.linear.regressor import LinearRegressor as LinearRegressor
from auctor.linear.search import MetricClassifierCV as MetricClassifierCV
from auctor.linear.table import TableClassifier as TableClassifier

__all__: list[str]
