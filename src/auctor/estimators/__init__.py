"""scikit-learn estimators: validate, build a problem, minimise, store."""

from auctor.core.watching import Watcher, watch
from auctor.estimators.additive import AdditiveClassifier, AdditiveRegressor
from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.kernel_classifier import KernelClassifier
from auctor.estimators.kernel_regressor import KernelRegressor
from auctor.estimators.regressor import LinearRegressor
from auctor.estimators.search import MetricClassifierCV
from auctor.estimators.table import TableClassifier

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "KernelClassifier",
    "KernelRegressor",
    "LinearRegressor",
    "MetricClassifier",
    "MetricClassifierCV",
    "TableClassifier",
    "Watcher",
    "watch",
]
