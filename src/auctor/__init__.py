"""Train classifiers on the metric you report, with a certified gap.

``auctor.MetricClassifier`` and ``auctor.LinearRegressor`` follow scikit-learn's API; the parts they
are made of live in ``auctor.losses``, ``auctor.penalties``, ``auctor.solvers``, ``auctor.metrics``
and ``auctor.data``. Nothing is imported until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auctor.core.version import __version__ as __version__

if TYPE_CHECKING:
    from auctor import data, losses, metrics, penalties, solvers
    from auctor.core.errors import AuctorError, ConvergenceWarning, DataWarning
    from auctor.estimators import LinearRegressor, MetricClassifier, MetricClassifierCV
    from auctor.export import to_onnx
    from auctor.online import StreamingAUC
    from auctor.problem import Problem
    from auctor.saved import load, save
    from auctor.solvers import regularisation_path, strength_max

_HOMES = {
    "AuctorError": "auctor.core.errors",
    "ConvergenceWarning": "auctor.core.errors",
    "DataWarning": "auctor.core.errors",
    "LinearRegressor": "auctor.estimators",
    "MetricClassifier": "auctor.estimators",
    "MetricClassifierCV": "auctor.estimators",
    "Problem": "auctor.problem",
    "StreamingAUC": "auctor.online",
    "load": "auctor.saved",
    "regularisation_path": "auctor.solvers",
    "save": "auctor.saved",
    "strength_max": "auctor.solvers",
    "to_onnx": "auctor.export",
}

_MODULES = (
    "data",
    "estimators",
    "losses",
    "metrics",
    "online",
    "penalties",
    "saved",
    "solvers",
    "tables",
    "training",
)

__all__ = [
    "AuctorError",
    "ConvergenceWarning",
    "DataWarning",
    "LinearRegressor",
    "MetricClassifier",
    "MetricClassifierCV",
    "Problem",
    "StreamingAUC",
    "data",
    "load",
    "losses",
    "metrics",
    "penalties",
    "regularisation_path",
    "save",
    "solvers",
    "strength_max",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"auctor.{name}")
    raise AttributeError(f"module 'auctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
