"""Readable models, trained for the number you report, with a proof of how good the fit is.

Start with ``auctor.TableClassifier`` for a raw table, or ``auctor.MetricClassifier`` for a matrix.
Both follow scikit-learn's API. The rooms of the library (``auctor.metrics``, ``auctor.losses``,
``auctor.solvers``, ``auctor.tune``, ...) are modules; nothing is loaded until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auctor.core.version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers and editors; at run time `_HOMES` says where names live
    from auctor.additive import AdditiveClassifier as AdditiveClassifier
    from auctor.additive import AdditiveRegressor as AdditiveRegressor
    from auctor.core.errors import AuctorError as AuctorError
    from auctor.core.errors import ConvergenceWarning as ConvergenceWarning
    from auctor.core.errors import DataWarning as DataWarning
    from auctor.hierarchy import HierarchicalMultiLabel as HierarchicalMultiLabel
    from auctor.hierarchy import TopDownClassifier as TopDownClassifier
    from auctor.kernel import KernelClassifier as KernelClassifier
    from auctor.kernel import KernelRegressor as KernelRegressor
    from auctor.linear import LinearRegressor as LinearRegressor
    from auctor.linear import MetricClassifier as MetricClassifier
    from auctor.linear import MetricClassifierCV as MetricClassifierCV
    from auctor.linear import TableClassifier as TableClassifier
    from auctor.problem import Problem as Problem
    from auctor.saved import load as load
    from auctor.saved import save as save
    from auctor.streaming import StreamingAUC as StreamingAUC

#: Public names and the rooms they live in.
_HOMES = {
    "AdditiveClassifier": "additive",
    "AdditiveRegressor": "additive",
    "AuctorError": "core.errors",
    "ConvergenceWarning": "core.errors",
    "DataWarning": "core.errors",
    "HierarchicalMultiLabel": "hierarchy",
    "KernelClassifier": "kernel",
    "KernelRegressor": "kernel",
    "LinearRegressor": "linear",
    "MetricClassifier": "linear",
    "MetricClassifierCV": "linear",
    "Problem": "problem",
    "StreamingAUC": "streaming",
    "TableClassifier": "linear",
    "TopDownClassifier": "hierarchy",
    "load": "saved",
    "regularisation_path": "solvers",
    "save": "saved",
    "strength_max": "solvers",
    "to_onnx": "export",
    "to_sql": "export",
}

#: Rooms that are modules of ``auctor`` without being imported.
_ROOMS = (
    "additive",
    "contenders",
    "covariance",
    "dask",
    "data",
    "evaluate",
    "export",
    "fit",
    "hierarchy",
    "kernel",
    "lab",
    "linear",
    "losses",
    "metrics",
    "penalties",
    "reports",
    "saved",
    "solvers",
    "spark",
    "streaming",
    "tables",
    "testing",
    "tune",
)

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"auctor.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return import_module(f"auctor.{name}")
    raise AttributeError(f"module 'auctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_ROOMS])
