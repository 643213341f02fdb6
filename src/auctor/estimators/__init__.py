"""scikit-learn estimators: validate, build a problem, minimise, store."""

from auctor.core.watching import Watcher, watch
from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.kernel_classifier import KernelClassifier
from auctor.estimators.kernel_regressor import KernelRegressor
from auctor.estimators.regressor import LinearRegressor
from auctor.estimators.search import MetricClassifierCV

__all__ = [
    "KernelClassifier",
    "KernelRegressor",
    "LinearRegressor",
    "MetricClassifier",
    "MetricClassifierCV",
    "Watcher",
    "watch",
]
